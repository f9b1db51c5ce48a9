package research

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// supervisorInput is what a supervisor gets, as JSON.
type supervisorInput struct {
	Research      []wireOutput `json:"research"`
	Analysis      []wireOutput `json:"analysis"`
	Writing       []wireOutput `json:"writing"`
	Quality       []wireOutput `json:"quality"`
	Brief         Brief        `json:"brief"`
	Threshold     float64      `json:"threshold"`
	Iteration     int          `json:"iteration"`
	MaxIterations int          `json:"max_iterations"`
	Missed        []string     `json:"failed_workers,omitempty"`
	Words         int          `json:"word_count"`
	Sources       int          `json:"source_count"`
	Lacking       int          `json:"missing_sources,omitempty"` // how many fewer than the brief requires
}

// evaluate lets the supervisor mark the result and concludes the iteration.
func (r *run) evaluate(c *orchestrator.Context) error {
	in, s := r.state.Input, r.state
	sources := len(sourcesOf(s.Research))
	k := r.call("evaluate", "supervisor", r.Agents.Supervisor, marksWanted, supervisorInput{
		Research: shown(s.Research), Analysis: shown(s.Analysis), Writing: shown(s.Writing), Quality: shown(s.Results.Quality),
		Brief: in.brief(), Threshold: *in.MinQuality, Iteration: s.Iteration, MaxIterations: s.MaxIterations,
		Missed: r.missed, Words: articleOf(s.Writing).Words, Sources: sources, Lacking: max(in.MinSources-sources, 0),
	})
	k.grace = 30 * time.Second
	began := c.Elapsed()
	it, err := team.Graded(func() (iteration, error) { return ask(r, c, k, r.grade) })
	if r.breaks(c, err) {
		return err
	}
	r.overhead.Cost += k.used.Cost
	r.overhead.Wall += c.Elapsed() - began
	it.Plan, it.writing, it.quality = *s.Plan, s.Writing, s.Results.Quality
	if err != nil {
		r.ungraded(c, &it, err)
	}
	r.conclude(c, it, sources)
	return nil
}

// grade reads the marks of an iteration.
func (r *run) grade(resp agent.Response) (it iteration, err error) {
	if it.marks, err = read[marks](marksIn)(resp); err != nil {
		return it, err
	}
	it.Quality, err = grading.Overall(it.marks.Facets, r.Policy.Weights)
	it.score = new(it.Quality)
	return it, err
}

// ungraded handles an iteration that could not be graded.
func (r *run) ungraded(c *orchestrator.Context, it *iteration, err error) {
	it.Ungraded = true
	cause := prompt.OneLine(err.Error())
	if orchestrator.IsOver(err) {
		code, _ := r.shortage(c)
		r.warn(c, code, "supervisor", "%s: too little for the supervisor", r.left(c))
	}
	if s := r.Policy.AssumeScore; s != nil {
		it.Quality = grading.Round6(*s)
		it.score = new(it.Quality)
		r.warn(c, "assumed-score", "", "iteration %d was not graded: its score is assumed to be %.2f: %s", r.state.Iteration, *s, cause)
		return
	}
	r.because = fmt.Sprintf("the grade of iteration %d did not come", r.state.Iteration)
	r.warn(c, "ungraded", "", "iteration %d was not graded: %s", r.state.Iteration, cause)
}

// conclude decides whether the run is complete, continues or ends.
func (r *run) conclude(c *orchestrator.Context, it iteration, sources int) {
	s, threshold := &r.state, *r.state.Input.MinQuality
	r.verdict = grading.ForceComplete
	if it.score != nil {
		r.verdict = grading.Next(it.Quality, threshold, s.Iteration, s.MaxIterations)
	}
	if r.verdict == grading.Continue && r.short(c) {
		r.verdict = grading.ForceComplete
	}
	s.QualityScore, s.Completeness = it.Quality, *cmp.Or(it.marks.Completeness, &it.marks.Article)
	s.ShouldContinue, s.Feedback = r.verdict == grading.Continue, nil
	s.History, r.done = append(s.History, it.Iteration), append(r.done, &it)
	r.act(c, "Supervisor", "evaluate", map[string]any{"quality": it.Quality, "decision": string(r.verdict)})
	c.Emit(EventIterationEvaluated, Event{Score: it.score, Threshold: &threshold, Decision: r.verdict, Iteration: s.Iteration})
	switch r.verdict {
	case grading.Complete:
		r.fire(c, moveAccept)
	case grading.ForceComplete:
		s.Feedback = new(sentence(r.because))
		r.fire(c, moveForce)
	case grading.Continue:
		s.Feedback = new(r.feedback(it, sources))
	}
}

// short tells whether no further iteration is possible: no critical writer fits the rest
// of money and time.
func (r *run) short(c *orchestrator.Context) bool {
	room, code, message := r.room(c), "budget", r.left(c)+": too little for another plan"
	affordable := func(w Worker) bool { return w.writes() && !exceeds(w.EstCost, room.Cost) }
	quick := func(w Worker) bool { return w.writes() && !exceeds(w.EstTime, room.Time) }
	because := budgetUsed
	switch {
	case c.Left().Calls < 0:
		message = "no calls are left"
	case !slices.ContainsFunc(r.Workers, affordable):
	case !slices.ContainsFunc(r.Workers, quick):
		code, because = "time", timeUp
	default:
		return false
	}
	r.because = because
	r.warn(c, code, "", "%s", message)
	return true
}

// sentence is text with a capital letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// feedback is what to improve: what the supervisor says, and computed shortfalls.
func (r *run) feedback(it iteration, sources int) string {
	parts := append([]string{it.marks.Feedback}, it.marks.Issues...)
	for i, text := range parts {
		parts[i] = prompt.OneLine(text)
	}
	parts = slices.DeleteFunc(parts, func(text string) bool { return text == "" })
	if want := r.state.Input.MinSources; sources < want {
		parts = append(parts, fmt.Sprintf("only %d of %d sources", sources, want))
	}
	if len(r.missed) > 0 {
		parts = append(parts, "workers that failed or were left out: "+strings.Join(r.missed, ", "))
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("the score is %.2f, want %.2f", it.Quality, *r.state.Input.MinQuality))
	}
	return strings.Join(parts, "; ")
}

// merge makes the outcome from the chosen iteration. An error ends the run.
func (r *run) merge(c *orchestrator.Context) error {
	it := r.chosen()
	article, err := r.polish(c, it.writing)
	if err != nil {
		return err
	}
	if r.verdict == grading.Complete {
		r.out.Status = orchestrator.Completed
		if n := len(r.state.History); n > 1 {
			r.out.SystemNotes = []string{fmt.Sprintf("Generated after %d iterations to meet quality threshold.", n)}
		}
	} else {
		r.out.Status = orchestrator.Partial
		if it.score != nil {
			r.warn(c, "below-target", "", "Quality %.2f below target %.2f, but %s", *it.score, *r.state.Input.MinQuality, r.because)
		}
		if r.because == maxIterations {
			r.warn(c, "max-iterations", "", "%s", sentence(maxIterations))
		}
		r.out.SystemNotes = []string{"A lower quality threshold or a larger budget may lead to a complete result."}
	}
	r.present(c, it, article)
	r.act(c, "Merger", "create_output", map[string]any{"status": string(r.out.Status), "quality": r.state.QualityScore})
	r.fire(c, moveMerged)
	return nil
}

// polish lets the merger make one text of several drafts; if it fails, or there is no
// money or time for it, they stay concatenated.
func (r *run) polish(c *orchestrator.Context, drafts []WorkerOutput) (Article, error) {
	article := articleOf(drafts)
	if r.Agents.Merger == "" {
		return article, nil
	}
	input := map[string]any{"drafts": shown(drafts), "tone": r.state.Input.Tone}
	merged, err := ask(r, c, r.call("merge", "merger", r.Agents.Merger, draftWanted, input), payload(Worker{Category: Writing}))
	switch {
	case r.breaks(c, err):
		return article, err
	case err != nil:
		r.warn(c, "agent-failed", "merger", "the merger failed: %s", prompt.OneLine(err.Error()))
		return article, nil
	}
	polished := articleOf([]WorkerOutput{{Payload: merged}})
	polished.Title = cmp.Or(polished.Title, article.Title)
	return polished, nil
}

// present sets the article of an iteration in the outcome.
func (r *run) present(c *orchestrator.Context, it *iteration, a Article) {
	r.out.Article, r.out.Score, r.out.Sources = &a, it.score, sourcesOf(r.state.Research)
	if have, want := len(r.out.Sources), r.state.Input.MinSources; have < want {
		r.warn(c, "few-sources", "", "%d distinct sources were found, want %d", have, want)
	}
	quality := "it was not graded"
	if it.score != nil {
		r.state.QualityScore = *it.score
		quality = fmt.Sprintf("quality %.2f, wanted %.2f", *it.score, *r.state.Input.MinQuality)
		q := map[string]float64{"overall": *it.score}
		if m := it.marks; m.Facets != (grading.Facets{}) {
			q["article"], q["source"], q["factual"], q["writing"] = m.Article, m.Source, m.Factual, m.Writing
		}
		r.out.Quality = q
		if first := r.done[0].score; len(r.done) > 1 && first != nil {
			points := math.Round(grading.Round6(100**it.score - 100**first)) // halves away from zero
			r.out.Metrics.Improvement = fmt.Sprintf("%+d%% quality (%.2f → %.2f)", int(points), *first, *it.score)
		}
	}
	if r.out.Status != orchestrator.Completed {
		a.Content = fmt.Sprintf("> Partial result: %s; %s.\n\n%s", quality, r.because, a.Content)
		r.out.Unverified = []string{"article"}
	}
}

// articleOf concatenates drafts in their order.
func articleOf(drafts []WorkerOutput) Article {
	var a Article
	var texts []string
	for _, o := range drafts {
		var d Draft
		if json.Unmarshal(o.Payload, &d) == nil {
			a.Title = cmp.Or(a.Title, d.Title)
			texts = append(texts, strings.TrimSpace(d.Content))
		}
	}
	a.Content = strings.Join(texts, "\n\n")
	a.Words = len(strings.Fields(a.Content))
	a.ReadMinutes = grading.ReadingMinutes(a.Words)
	return a
}
