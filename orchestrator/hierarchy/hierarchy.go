package hierarchy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// New returns the flow of a team. All faults of cfg are in the one error; it is
// ErrCycle if departments depend on each other in a circle.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	err := cfg.validate()
	cfg = cfg.withDefaults()
	texts, promptErr := team.Prompts(ownPrompts, cfg.Prompts, samples(), cfg.Limits.QuoteBytes, functions)
	if err := errors.Join(err, promptErr); err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("hierarchy: %w", err)
	}
	shapes := cfg.shapes()
	return orchestrator.Flow[Input, Outcome]{
		Name:   cfg.Name,
		Agents: cfg.agents(),
		Do: func(c *orchestrator.Context, in Input) (Outcome, error) {
			r := &run{cfg: cfg, prompts: texts, shapes: shapes, in: in}
			if r.grader = cfg.Hooks.Grade; r.grader == nil {
				r.grader = r.headGrade
			}
			return r.do(c)
		},
	}, nil
}

// run is one run of the team. Only one branch executes at a time, so that branches
// may share it.
type run struct {
	cfg     Config
	prompts prompt.Set
	shapes  map[string]*answer.Shape // of agents that have a schema, by ID
	grader  Grader
	in      Input

	*tracker[Phase]
	state       State
	departments []*department // the chosen ones, in the order of the route
	out         Outcome
	refused     error // why a call was refused: money, calls or time were used up
}

// do is the master: route, dispatch, combine, check.
func (r *run) do(c *orchestrator.Context) (Outcome, error) {
	r.tracker = newTracker("run", phases, &r.state.Phase)
	r.out = Outcome{Reports: []Report{}, Output: map[string]json.RawMessage{}, Checks: Checks{CheckSkipped, CheckSkipped, []Issue{}}}
	c.Expose(func() any { return r.state })
	l := r.cfg.Limits
	c = c.WithBudget(orchestrator.Budget{Calls: l.Calls, Cost: l.Cost, Wall: l.Time, AllowUnpriced: l.AllowUnpriced})

	r.emit(c, EventRunStarted, Event{})
	for _, step := range []func(*orchestrator.Context) error{r.accept, r.route, r.dispatch, r.combine, r.check} {
		err := step(c)
		if canceled := c.Err(); canceled != nil {
			err = canceled
		}
		if err != nil {
			return r.fail(c, err)
		}
	}
	return r.complete(c)
}

// accept returns an error unless the prompt is a request.
func (r *run) accept(*orchestrator.Context) error {
	if blank(r.in.Prompt) {
		return team.Fail(ErrEmptyRequest, "the prompt is empty")
	}
	if n, most := len(r.in.Prompt), r.cfg.Limits.PromptBytes; n > most {
		return team.Fail(ErrRequestTooLarge, "the prompt has %d bytes, want at most %d", n, most)
	}
	r.Fire(moveAccept)
	return nil
}

// over tells whether err ends the run: it is canceled, or money, calls or time are used
// up. It records the latter.
func (r *run) over(c *orchestrator.Context, err error) bool {
	if !team.Ends(err) {
		return false
	}
	if r.refused == nil && !c.IsCanceled(err) {
		r.refused = err
	}
	return true
}

// warn adds a warning of the run.
func (r *run) warn(code, who, message string) {
	r.out.Warnings = append(r.out.Warnings, warning(code, who, message))
}

func warning(code, who, message string) orchestrator.Warning {
	return orchestrator.Warning{Code: code, Who: who, Message: prompt.OneLine(message)}
}

// complete ends a run with at least one department done.
func (r *run) complete(c *orchestrator.Context) (Outcome, error) {
	var missing []string
	for _, d := range r.departments {
		switch {
		case d.report.Status != DepartmentDone:
			missing = append(missing, d.ID)
		case d.unverified:
			r.out.Unverified = append(r.out.Unverified, d.ID)
		}
	}
	if r.refused == nil && len(missing)+len(r.out.Unverified) == 0 {
		return r.end(c, moveCheckedAll), nil
	}
	out := r.end(c, moveCheckedPart)
	if !r.cfg.Policy.FailOnPartial {
		return out, nil
	}
	err := fmt.Errorf("hierarchy: the result is partial: missing %q, unverified %q", missing, r.out.Unverified)
	if r.refused != nil {
		err = fmt.Errorf("%w: %w", err, r.refused)
	}
	return out, team.Fail(ErrPartial, "%w", err)
}

// fail ends a run that has no result. The Outcome has the finished reports.
func (r *run) fail(c *orchestrator.Context, err error) (Outcome, error) {
	m := moveFail
	switch {
	case c.IsCanceled(err):
		return r.end(c, moveCancel), fmt.Errorf("hierarchy: %w", err)
	case r.Phase() == phaseDispatching && r.refused != nil:
		m = moveRefused
	}
	return r.end(c, m), team.Fail(ErrUnable, "hierarchy: %w", err)
}

// end fires the last event of the run and sets what every outcome has. The warnings of
// departments come first, in the order of the route.
func (r *run) end(c *orchestrator.Context, m Move) Outcome {
	r.out.Status = statuses[r.Fire(m)]
	if r.out.Status == orchestrator.Failed || r.out.Status == orchestrator.OutOfBudget {
		r.out.Message = UnableToGenerate
	}
	if r.refused != nil && !slices.ContainsFunc(r.out.Warnings, func(w orchestrator.Warning) bool { return w.Code == WarnBudget }) {
		r.warn(WarnBudget, "", r.refused.Error())
	}
	var warnings []orchestrator.Warning
	for _, d := range r.departments {
		warnings = append(warnings, d.warnings...)
	}
	r.out.Warnings = append(warnings, r.out.Warnings...)
	r.out.Spent, r.out.Elapsed = c.Spent(), c.Elapsed()
	r.emit(c, EventRunFinished, Event{Status: string(r.out.Status), Score: r.out.Score, Usage: &r.out.Spent})
	return r.out
}
