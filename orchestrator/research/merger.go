package research

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

var errNoDraft = errors.New("its answer is not JSON with a content, and nothing else")

// isCut tells whether a text has less than 0.6 of the words that it was made of.
func isCut(text Article, words int) bool { return 10*text.Words < 6*words }

// merged returns the article of an iteration: what the merger made of its drafts, if that
// is graded at least as well, else the drafts one after another. The merger's text has the
// marks in it, and the drafts stay in the outcome.
func (r *run) merged(c *orchestrator.Context, it *iteration) (Article, error) {
	article, longest := articleOf(it.writing), 0
	for _, draft := range it.writing {
		longest = max(longest, articleOf([]WorkerOutput{draft}).Words)
	}
	if r.Agents.Merger == "" || len(it.writing) < 2 || it.score == nil {
		return article, nil
	}
	keep := func(code, format string, args ...any) (Article, error) {
		r.warn(c, code, "merger", "%s: the drafts stay", fmt.Sprintf(format, args...))
		return article, nil
	}
	if each := max(r.dearest, r.state.Input.Limits.Estimate); exceeds(2*each, c.Left().Cost) {
		return keep("budget", "%s: too little for a merger and its grade", r.left(c))
	}
	draft, err := r.merger(c, it.writing)
	text := articleOf([]WorkerOutput{draft})
	switch {
	case r.breaks(c, err):
		return article, err
	case err != nil:
		return keep("agent-failed", "the merger failed: %s", prompt.OneLine(err.Error()))
	case isCut(text, longest):
		return keep("text-dropped", "the merger made %d words of a draft of %d", text.Words, longest)
	}
	text.Title = cmp.Or(text.Title, article.Title)
	return r.weighed(c, it, draft, article, text, keep)
}

// merger asks the merger to make one text of drafts.
func (r *run) merger(c *orchestrator.Context, drafts []WorkerOutput) (WorkerOutput, error) {
	input := map[string]any{"drafts": shown(drafts), "tone": r.state.Input.Tone}
	made, err := ask(r, c, r.call("merge", "merger", r.Agents.Merger, draftWanted, input), func(resp agent.Response, dropped *[]string) (Draft, error) {
		if d, ok := draftOf(resp, dropped); ok {
			return d, nil
		}
		return Draft{}, errNoDraft
	})
	return WorkerOutput{Worker: "merger", Iteration: r.state.Iteration, Payload: agent.JSON(made)}, err
}

// weighed returns the merger's text if its score is at least that of the drafts.
func (r *run) weighed(c *orchestrator.Context, it *iteration, draft WorkerOutput, article, text Article, keep func(code, format string, args ...any) (Article, error)) (Article, error) {
	made := Results{r.state.Research, r.state.Analysis, []WorkerOutput{draft}, it.quality}
	work := r.workOf(text, made)
	lacks := r.factsOf(work).lacks(r.Policy.MinShare)
	g, score, failed, err := r.judge(c, work)
	switch {
	case err != nil:
		return article, err
	case failed != nil:
		return keep("ungraded", "the merger's text was not graded: %s", prompt.OneLine(failed.Error()))
	case score < *it.score, lacks != "" && it.lacks == "":
		return keep("text-dropped", "the merger's text has a quality of %.2f, the drafts %.2f", score, *it.score)
	}
	r.out.Drafts = &article
	it.grade, it.score, it.lacks = g, &score, lacks
	if r.verdict == grading.ForceComplete && lacks == "" {
		verdict, err := r.gate(c, it, score)
		if err != nil {
			return article, err
		}
		if verdict == grading.Complete {
			r.verdict = grading.Complete
		}
	}
	return text, nil
}
