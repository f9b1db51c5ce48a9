package hierarchy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// The errors of runs. ErrUnableToGenerate is the message for users and matches
// every failure of the master; what caused it is matched, too (H4, HC33).
const (
	ErrUnableToGenerate = agent.Code("Unable to generate content")
	ErrEmptyRequest     = agent.Code("hierarchy/empty-request")     // the prompt is blank (HX2)
	ErrRequestTooLarge  = agent.Code("hierarchy/request-too-large") // the prompt exceeds Limits.PromptBytes
	ErrPartial          = agent.Code("hierarchy/partial")           // Config.FailOnPartial and a department is missing
)

var (
	errCanceled    = fmt.Errorf("hierarchy: %w", orchestrator.ErrCanceled)
	errNothingDone = errors.New("no department is done")
)

// New returns the flow of a team. All faults of cfg are in the one error; it is
// ErrCycle if departments depend on each other in a circle.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	err := cfg.validate()
	cfg = cfg.withDefaults()
	schemas, schemaErr := cfg.schemas()
	texts, promptErr := newPrompts(cfg.Prompts, cfg.Limits.QuoteBytes)
	if err := errors.Join(err, schemaErr, promptErr); err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("hierarchy: %w", err)
	}
	return orchestrator.Flow[Input, Outcome]{
		Name:   cfg.Name,
		Agents: cfg.agents(),
		Do: func(c *orchestrator.Context, in Input) (Outcome, error) {
			r := &run{cfg: cfg, prompts: texts, schemas: schemas, in: in}
			r.grader = cfg.Hooks.Grade
			if r.grader == nil {
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
	schemas map[string]*schema
	grader  Grader
	in      Input

	actor       *actor[RunPhase]
	state       State
	departments []*department // the chosen ones, in the order of the route
	errors      []DepartmentError
	out         Outcome

	over     error // the budget's first refusal
	canceled bool
}

// do is the master: route, dispatch, combine, check (H1-H4).
func (r *run) do(c *orchestrator.Context) (Outcome, error) {
	r.actor = newActor("run", RunTable, &r.state.Phase)
	r.out.Checks = Checks{checkSkipped, checkSkipped, []Issue{}}
	r.out.Output = map[string]json.RawMessage{}
	c.Expose(func() any { return r.state.snapshot() })
	c = c.WithBudget(orchestrator.Budget{Calls: r.cfg.Limits.Calls, Cost: r.cfg.Limits.Cost})

	if err := r.accept(); err != nil {
		r.actor.fire("reject")
		return r.fail(c, "request", err)
	}
	r.actor.fire("accept")
	r.actor.emit(c, "run.started", Event{})
	var err error
	if r.out.Route, err = r.route(); err != nil {
		r.actor.fire("error")
		return r.fail(c, "routing", err)
	}
	r.actor.fire("routed")
	r.actor.emit(c, "routing.decided", Event{Route: &r.out.Route})

	r.dispatch(c)
	switch {
	case r.canceled:
		return r.cancel(c)
	case len(r.done()) == 0:
		r.actor.fire("none_done")
		return r.fail(c, "departments", r.nothingDone())
	}
	r.actor.fire("all_done")
	if err := r.combine(c); r.canceled {
		return r.cancel(c)
	} else if err != nil {
		r.actor.fire("error")
		return r.fail(c, "aggregation", err)
	}
	r.actor.fire("combined")
	r.check(c)
	if r.canceled {
		return r.cancel(c)
	}
	return r.complete(c)
}

// nothingDone is why there is no result: the budget, or what is in Outcome.Errors.
func (r *run) nothingDone() error {
	if r.over != nil {
		return fmt.Errorf("%w: %w", errNothingDone, r.over)
	}
	return errNothingDone
}

// accept says whether the prompt is a request (HX2).
func (r *run) accept() error {
	if strings.TrimSpace(r.in.Prompt) == "" {
		return ErrEmptyRequest
	}
	if n := len(r.in.Prompt); n > r.cfg.Limits.PromptBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrRequestTooLarge, n, r.cfg.Limits.PromptBytes)
	}
	return nil
}

// stops reports whether err means that no further calls are made: the run is
// canceled, or a budget is used up. An agent's own error of these names does not.
func (r *run) stops(c *orchestrator.Context, err error) bool {
	switch {
	case !orchestrator.IsOver(err):
		return false
	case c.IsCanceled(err):
		r.canceled = true
	case r.over == nil:
		r.over = err
	}
	return true
}

// complete ends a run with at least one department done.
func (r *run) complete(c *orchestrator.Context) (Outcome, error) {
	missing := len(r.done()) < len(r.departments)
	if missing || r.over != nil {
		r.actor.fire("checked_partial")
		r.out.Status = orchestrator.Partial
	} else {
		r.actor.fire("checked")
		r.out.Status = orchestrator.Completed
	}
	var err error
	if missing && r.cfg.FailOnPartial {
		err = fmt.Errorf("hierarchy: %w", ErrPartial)
	}
	if r.over != nil {
		err = errors.Join(err, fmt.Errorf("hierarchy: %w", r.over))
	}
	return r.end(c), err
}

// fail ends a run that has no result: a failure of the master (H4, H73). Finished
// reports are in the Outcome all the same (HC33).
func (r *run) fail(c *orchestrator.Context, stage string, err error) (Outcome, error) {
	r.out.Status = orchestrator.Failed
	r.errors = append(r.errors, DepartmentError{Stage: stage, Message: prompt.OneLine(err.Error())})
	return r.end(c), &unable{err}
}

// cancel ends a run that somebody canceled (HX1).
func (r *run) cancel(c *orchestrator.Context) (Outcome, error) {
	r.actor.fire("cancel")
	r.out.Status = orchestrator.Canceled
	return r.end(c), errCanceled
}

// end fills in what every outcome has.
func (r *run) end(c *orchestrator.Context) Outcome {
	r.out.Reports = []Report{}
	for _, d := range r.departments {
		r.out.Reports = append(r.out.Reports, d.report)
		if d.report.Status != Done {
			r.out.Unverified = append(r.out.Unverified, d.ID)
		}
	}
	r.out.Errors = append([]DepartmentError{}, r.errors...)
	r.out.Spent = c.Spent()
	r.out.Elapsed = millis(c.Elapsed())
	r.actor.emit(c, "run.finished", Event{Status: string(r.out.Status), Score: r.out.Score, Usage: &r.out.Spent})
	return r.out
}

// unable is the master's failure: one message for users, and its cause for errors.Is.
type unable struct{ cause error }

func (u *unable) Error() string   { return ErrUnableToGenerate.Error() }
func (u *unable) Unwrap() []error { return []error{ErrUnableToGenerate, u.cause} }
