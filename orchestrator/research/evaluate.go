package research

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
)

// supervisorInput is what a supervisor gets, as JSON.
type supervisorInput struct {
	Results

	Brief         Input    `json:"brief"`
	Threshold     float64  `json:"threshold"`
	Iteration     int      `json:"iteration"`
	MaxIterations int      `json:"max_iterations"`
	Missed        []string `json:"failed_workers,omitempty"`
	Words         int      `json:"word_count"`
	Sources       int      `json:"source_count"`
	Lacking       int      `json:"missing_sources,omitempty"` // of those that the brief wants
}

// grace is the time that an evaluation has at least, although the time is up.
const grace = 30 * time.Second

// evaluate has the supervisor mark the result and draws the conclusion.
func (r *run) evaluate(c *orchestrator.Context) error {
	text, err := r.prompts.Fill("evaluate.tmpl", promptData{Brief: r.state.Input, Iteration: r.state.Iteration})
	if err != nil {
		return err
	}
	in, s := r.state.Input, r.state
	sources := len(sourcesOf(s.Research))
	req := agent.Request{Op: "evaluate", Prompt: text, Output: json.RawMessage(marksWanted), Input: agent.JSON(supervisorInput{
		Results: s.Results, Brief: in.shown(), Threshold: *in.MinQuality, Iteration: s.Iteration, MaxIterations: s.MaxIterations,
		Missed: r.missed, Words: articleOf(s.Writing).Words, Sources: sources, Lacking: max(in.MinSources-sources, 0),
	})}
	before := orchestrator.Budget{Cost: c.Spent().Cost, Wall: c.Elapsed()}
	attempt := 0
	marks, err := team.Graded(func() (Marks, error) {
		attempt++
		k := r.meta("supervisor", r.Agents.Supervisor, attempt)
		k.grace = grace
		return askMeta(r, c, k, req, read[Marks](marksIn))
	})
	if c.IsCanceled(err) || errors.Is(err, orchestrator.ErrFlow) {
		return err
	}
	r.overhead.Cost += c.Spent().Cost - before.Cost
	r.overhead.Wall += c.Elapsed() - before.Wall
	it := iteration{writing: s.Writing, quality: s.Quality}
	if err == nil {
		it.marks = marks
		var score float64
		if score, err = grading.Overall(marks.Facets, r.Policy.Weights); err != nil {
			return err
		}
		it.score = &score
	} else {
		r.ungraded(c, &it, err)
	}
	r.conclude(c, it, sources, err != nil)
	return nil
}

// ungraded says what becomes of an iteration whose grade did not come.
func (r *run) ungraded(c *orchestrator.Context, it *iteration, err error) {
	cause := prompt.OneLine(err.Error())
	if orchestrator.IsOver(err) {
		r.warn(c, r.describe(c, err).code, "supervisor", "%s: too little for the supervisor", r.left(c))
	}
	if s := r.Policy.AssumeScore; s != nil {
		it.score = new(grading.Round6(*s))
		r.warn(c, "assumed-score", "", "iteration %d was not graded: its score is assumed to be %.2f: %s", r.state.Iteration, *s, cause)
		return
	}
	r.outOf = fmt.Sprintf("the grade of iteration %d did not come", r.state.Iteration)
	r.warn(c, "ungraded", "", "iteration %d was not graded: %s", r.state.Iteration, cause)
}

// conclude decides what follows from an iteration.
func (r *run) conclude(c *orchestrator.Context, it iteration, sources int, ungraded bool) {
	threshold := *r.state.Input.MinQuality
	record := IterationRecord{Plan: r.state.Plan.clone(), Ungraded: ungraded}
	r.verdict = grading.ForceComplete
	if it.score != nil {
		record.Quality = *it.score
		r.verdict = grading.Next(*it.score, threshold, r.state.Iteration, r.state.MaxIterations)
	}
	if r.verdict == grading.Continue && r.short(c) {
		r.verdict = grading.ForceComplete
	}
	r.state.QualityScore, r.state.Completeness = record.Quality, it.marks.Article
	if it.marks.Completeness != nil {
		r.state.Completeness = *it.marks.Completeness
	}
	r.state.History = append(r.state.History, record)
	r.done = append(r.done, it)
	r.state.ShouldContinue = r.verdict == grading.Continue
	r.state.Feedback = nil
	switch r.verdict {
	case grading.Complete:
	case grading.Continue:
		r.state.Feedback = new(r.feedback(it, sources))
	case grading.ForceComplete:
		r.state.Feedback = new(sentence(r.reason()))
	}
	r.act(c, supervisor, "evaluate", map[string]any{"quality": record.Quality, "decision": string(r.verdict)})
	c.Emit(EventIterationEvaluated, Event{Score: it.score, Threshold: &threshold, Decision: r.verdict, Iteration: r.state.Iteration})
	switch r.verdict {
	case grading.Complete:
		r.fire(c, "accept")
	case grading.ForceComplete:
		r.fire(c, "force")
	case grading.Continue: // see replan
	}
}

// short tells whether no further iteration is possible: no critical writer fits what is
// left of money and time.
func (r *run) short(c *orchestrator.Context) bool {
	room := r.room(c)
	affordable := func(w Worker) bool { return w.writes() && !exceeds(w.EstCost, room.Cost) }
	quick := func(w Worker) bool { return w.writes() && !exceeds(w.EstTime, room.Time) }
	switch {
	case c.Left().Calls < 0:
		r.outOf = budgetUsed
		r.warn(c, "budget", "", "no calls are left")
	case !slices.ContainsFunc(r.Workers, affordable):
		r.outOf = budgetUsed
		r.warn(c, "budget", "", "%s: too little for another plan", r.left(c))
	case !slices.ContainsFunc(r.Workers, quick):
		r.outOf = timeUp
		r.warn(c, "time", "", "%s: too little for another plan", r.left(c))
	}
	return r.outOf != ""
}

// reason is why a run ends although it is not good enough.
func (r *run) reason() string {
	if r.outOf == "" {
		return maxIterations
	}
	return r.outOf
}

// sentence is text with a capital.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// feedback is what to improve: what the supervisor says, and what can be counted.
func (r *run) feedback(it iteration, sources int) string {
	var parts []string
	for _, text := range append([]string{it.marks.Feedback}, it.marks.Issues...) {
		if text = prompt.OneLine(text); text != "" {
			parts = append(parts, text)
		}
	}
	if want := r.state.Input.MinSources; sources < want {
		parts = append(parts, fmt.Sprintf("only %d of %d sources", sources, want))
	}
	if len(r.missed) > 0 {
		parts = append(parts, "workers that failed or were left out: "+strings.Join(r.missed, ", "))
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("the score is %.2f, want %.2f", *it.score, *r.state.Input.MinQuality))
	}
	return strings.Join(parts, "; ")
}
