package research

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
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
	Sources       int          `json:"source_count"`              // those that were read
	Lacking       int          `json:"missing_sources,omitempty"` // how many fewer than the brief requires
}

// evaluate lets the Grader mark the result and concludes the iteration.
func (r *run) evaluate(c *orchestrator.Context) error {
	s := r.state
	it := &iteration{Iteration: Iteration{Plan: *s.Plan}, writing: s.Writing, quality: s.Quality}
	work := r.workOf(articleOf(s.Writing), s.Results)
	it.lacks = r.factsOf(work).lacks(r.Policy.MinShare)
	began, spent := c.Elapsed(), c.Spent().Cost
	j, err := r.judge(c, work)
	r.overhead.Cost += c.Spent().Cost - spent
	r.overhead.Wall += c.Elapsed() - began
	if err != nil {
		return err
	}
	it.grade = j.grade
	if j.failed != nil {
		r.ungraded(c, it, j.failed)
	} else {
		it.Quality, it.score = j.score, &j.score
	}
	return r.conclude(c, it, work.read)
}

// workOf is what a Grader marks of these results.
func (r *run) workOf(a Article, made Results) Work {
	sources, read := sourcesOf(made.Research)
	return Work{r.state.Input, r.state.Iteration, a, sources, made, r.missed, read, nil}
}

// supervisor returns how the supervisor is asked about work.
func (r *run) supervisor(work Work) func(c *orchestrator.Context) (Grade, error) {
	in, made := work.Input, work.Results
	k := r.call("evaluate", "supervisor", r.Agents.Supervisor, marksWanted, supervisorInput{
		Research: shown(made.Research), Analysis: shown(made.Analysis), Writing: shown(made.Writing), Quality: shown(made.Quality),
		Brief: in.brief(), Threshold: *in.MinQuality, Iteration: work.Iteration, MaxIterations: r.Policy.Iterations, Missed: work.Missed,
		Words: work.Article.Words, Sources: work.read, Lacking: max(in.MinSources-work.read, 0),
	})
	k.grace = 30 * time.Second
	return func(c *orchestrator.Context) (Grade, error) {
		m, err := ask(r, c, k, read[marks](marksIn))
		return m.grade(), err
	}
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
		it.score = &it.Quality
		r.warn(c, "assumed-score", "", "iteration %d was not graded: its score is assumed to be %.2f: %s", r.state.Iteration, *s, cause)
		return
	}
	r.because = fmt.Sprintf("the grade of iteration %d did not come", r.state.Iteration)
	r.warn(c, "ungraded", "", "iteration %d was not graded: %s", r.state.Iteration, cause)
}

// conclude decides whether the run is complete, continues or ends.
func (r *run) conclude(c *orchestrator.Context, it *iteration, sources int) error {
	s := &r.state
	s.QualityScore, s.Completeness = it.Quality, it.grade.completeness()
	s.History, r.done = append(s.History, it.Iteration), append(r.done, it)
	if err := r.rank(c); err != nil {
		return err
	}
	if err := r.decide(c, it); err != nil {
		return err
	}
	s.ShouldContinue, s.Feedback = r.verdict == grading.Continue, nil
	r.act(c, "Supervisor", "evaluate", map[string]any{"quality": it.Quality, "decision": string(r.verdict)})
	r.Emit(c, EventIterationEvaluated, &Event{Score: it.score, Threshold: s.Input.MinQuality, Decision: r.verdict, Iteration: s.Iteration})
	switch r.verdict {
	case grading.Complete:
		return r.machine.Go(c, moveAccept)
	case grading.ForceComplete:
		s.Feedback = new(sentence(r.because))
		return r.machine.Go(c, moveForce)
	case grading.Continue:
	}
	s.Feedback = new(r.feedback(it, sources))
	return r.machine.Go(c, moveRevise)
}

// decide sets the verdict on an iteration: what the Gate says of its score. Without a
// score, a further iteration or enough money and time the end is forced.
func (r *run) decide(c *orchestrator.Context, it *iteration) (err error) {
	r.verdict = grading.ForceComplete
	if it.score == nil {
		return nil
	}
	r.verdict, err = r.gate(c, it, *it.score)
	if r.verdict == grading.Complete && it.lacks != "" {
		r.verdict = grading.Continue // whatever the marks
	}
	switch {
	case err != nil, r.verdict == grading.Complete:
	case r.state.Iteration >= r.state.MaxIterations:
		r.verdict = grading.ForceComplete
	case r.verdict == grading.ForceComplete:
		r.because = fmt.Sprintf("the gate ended the work after iteration %d", r.state.Iteration)
	case r.short(c):
		r.verdict = grading.ForceComplete
	}
	return err
}

// gate returns what the Gate says of the score of an iteration.
func (r *run) gate(c *orchestrator.Context, it *iteration, score float64) (grading.Verdict, error) {
	standing := grading.Standing{
		Of: grading.Subject{ID: it.Plan.ID}, Threshold: *r.state.Input.MinQuality, Score: score, Try: r.state.Iteration, Most: r.state.MaxIterations,
	}
	for _, before := range r.done[:len(r.done)-1] {
		if before.score != nil {
			standing.Before = append(standing.Before, *before.score)
		}
	}
	return team.Decide(r.Run, c, "supervisor", "Rules.Gate", r.Rules.Gate, standing, grading.Complete, grading.Continue, grading.ForceComplete)
}

// sentence is text with a capital letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// feedback is what to improve: what the supervisor says, and computed shortfalls.
func (r *run) feedback(it *iteration, sources int) string {
	parts := append([]string{it.grade.Feedback}, it.grade.Issues...)
	for i, text := range parts {
		parts[i] = prompt.OneLine(text)
	}
	parts = slices.DeleteFunc(parts, func(text string) bool { return text == "" })
	if want := r.state.Input.MinSources; sources < want && !strings.HasSuffix(it.lacks, "sources") {
		parts = append(parts, fmt.Sprintf("only %d of %d sources", sources, want))
	}
	if it.lacks != "" {
		parts = append(parts, "there are only "+it.lacks)
	}
	if len(r.missed) > 0 {
		parts = append(parts, "workers that failed or were left out: "+strings.Join(r.missed, ", "))
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("the score is %.2f, want %.2f", it.Quality, *r.state.Input.MinQuality))
	}
	return strings.Join(parts, "; ")
}

// iteration is an Iteration with what it was evaluated by.
type iteration struct {
	Iteration

	score            *float64 // Quality; nil: there is none
	grade            Grade
	lacks            string // facts that are less than Policy.MinShare of what was wanted; "": none
	writing, quality []WorkerOutput
}

// isWhole tells whether the iteration was graded and lacks nothing. Others stand behind it.
func (it *iteration) isWhole() bool { return it.score != nil && it.lacks == "" }

// last returns the last iteration that was evaluated.
func (r *run) last() *iteration { return r.done[len(r.done)-1] }

// chosen returns the iteration that the article is from: the last one if it is good
// enough, else the first one by the Ranker. nil: none was evaluated.
func (r *run) chosen() *iteration {
	switch {
	case len(r.done) == 0:
		return nil
	case r.verdict == grading.Complete || r.best == nil:
		return r.last()
	default:
		return r.best
	}
}

// rank lets the Ranker choose between the iterations so far.
func (r *run) rank(c *orchestrator.Context) error {
	var entries []grading.Ranked
	left := map[string]*iteration{}
	for _, it := range r.done {
		entries = append(entries, grading.Ranked{ID: it.Plan.ID, Score: it.score, Marks: it.grade.Marks})
		left[it.Plan.ID] = it
	}
	best, err := team.Rule(r.Run, c, "supervisor", "Rules.Ranker", func() (best *iteration, _ error) {
		for _, e := range r.Rules.Ranker.Rank(team.Clone(entries)) {
			it := left[e.ID]
			if it == nil {
				return nil, fmt.Errorf("it has %q, which was not given, or twice", e.ID)
			}
			delete(left, e.ID)
			if best == nil || !best.isWhole() && it.isWhole() {
				best = it
			}
		}
		if len(left) > 0 {
			return nil, errors.New("it leaves out an iteration")
		}
		return best, nil
	})
	if err == nil {
		r.best = best
	}
	return err
}
