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
	if each := max(r.dearest, r.state.Input.Limits.Estimate); exceeds(2*each, c.Left().Cost) {
		r.keepDrafts(c, "budget", "%s: too little for a merger and its grade", r.left(c))
		return article, nil
	}
	draft, err := r.merger(c, it.writing)
	text := articleOf([]WorkerOutput{draft})
	text.Title = cmp.Or(text.Title, article.Title)
	switch {
	case r.breaks(c, err):
		return article, err
	case err != nil:
		r.keepDrafts(c, "agent-failed", "the merger failed: %s", prompt.OneLine(err.Error()))
		return article, nil
	case isCut(text, longest):
		r.keepDrafts(c, "text-dropped", "the merger made %d words of a draft of %d", text.Words, longest)
		return article, nil
	}
	if replaces, err := r.weigh(c, it, draft, text); err != nil || !replaces {
		return article, err
	}
	r.out.Drafts = &article
	return text, nil
}

// keepDrafts warns that the merger's text does not replace the drafts.
func (r *run) keepDrafts(c *orchestrator.Context, code, format string, args ...any) {
	r.warn(c, code, "merger", "%s: the drafts stay", fmt.Sprintf(format, args...))
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

// weigh tells whether the merger's text replaces the drafts: its score is at least theirs.
// Then the iteration gets its grade, and a text that the Gate passes completes the run.
func (r *run) weigh(c *orchestrator.Context, it *iteration, draft WorkerOutput, text Article) (replaces bool, err error) {
	work := r.workOf(text, Results{r.state.Research, r.state.Analysis, []WorkerOutput{draft}, it.quality})
	lacks := r.factsOf(work).lacks(r.Policy.MinShare)
	j, err := r.judge(c, work)
	if err != nil {
		return false, err
	}
	if j.failed != nil {
		r.keepDrafts(c, "ungraded", "the merger's text was not graded: %s", prompt.OneLine(j.failed.Error()))
		return false, err
	}
	if j.score < *it.score || lacks != "" && it.lacks == "" {
		r.keepDrafts(c, "text-dropped", "the merger's text has a quality of %.2f, the drafts %.2f", j.score, *it.score)
		return false, nil
	}
	it.grade, it.score, it.lacks = j.grade, &j.score, lacks
	if r.verdict == grading.ForceComplete && lacks == "" {
		verdict, err := r.gate(c, it, j.score)
		if err != nil {
			return false, err
		}
		if verdict == grading.Complete {
			r.verdict = grading.Complete
		}
	}
	return true, nil
}
