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
// routing.ErrCycle if departments depend on each other in a circle.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	err := cfg.validate()
	cfg = cfg.withDefaults()
	texts, promptErr := team.Prompts(ownPrompts, cfg.Prompts, samples(), cfg.Bounds.QuoteBytes, functions)
	if err := errors.Join(err, promptErr); err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("hierarchy: %w", err)
	}
	marks, own := marksOf(cfg.Rules.Scores.Output)
	grades, err := shapeOf(marks)
	if err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("hierarchy: Rules.Scores.Output: %w", err)
	}
	agents, shapes := cfg.agents(), cfg.shapes()
	return orchestrator.Flow[Input, Outcome]{
		Name:   cfg.Name,
		Agents: agents,
		Roles:  team.Roles(cfg, agents),
		Do: func(c *orchestrator.Context, in Input) (Outcome, error) {
			return (&run{cfg: cfg, agents: agents, shapes: shapes, marks: marks, own: own, grades: grades, in: in}).do(c, texts)
		},
	}, nil
}

// run is one run of the team. Only one branch executes at a time, so that branches
// may share it.
type run struct {
	cfg    Config
	shapes map[string]*answer.Shape // of agents that have a schema, by ID
	agents []string                 // that the flow declares, sorted
	marks  []string                 // names of those of a grade, in order
	own    []string                 // the same for prompts; nil: the usual ones
	grades *answer.Shape            // of a head's answer with these marks
	in     Input

	*team.Run
	*team.Machine[Phase, Move]
	state       State
	departments []*department // the chosen ones, in the order of the route
	out         Outcome
	refused     error // why a call was refused: money, calls or time were used up
}

// do is the master: route, dispatch, combine, check.
func (r *run) do(c *orchestrator.Context, prompts prompt.Set) (Outcome, error) {
	r.out = Outcome{Reports: []Report{}, Output: map[string]json.RawMessage{}, Checks: Checks{CheckSkipped, CheckSkipped, []Issue{}}}
	r.Run, c = team.Begin(c, team.Start{
		Team: "hierarchy", Asked: r.in.Prompt, Outcome: &r.out.Outcome, Limits: r.in.Limits.Or(r.cfg.Limits), Permit: r.cfg.Rules.Permit,
		Prompts: prompts, State: func() any { return r.state }, Path: "run", Agents: r.agents,
	})
	r.Machine = team.NewMachine(r.Run, "", phases, &r.state.Phase)
	for _, step := range []func(*orchestrator.Context) error{r.accept, r.route, r.dispatch, r.combine, r.check, r.complete} {
		err := step(c)
		if canceled := c.Err(); canceled != nil {
			err = canceled
		}
		if err != nil {
			return r.fail(c, err)
		}
	}
	return r.end(c, nil), r.partial()
}

func (r *run) accept(c *orchestrator.Context) error {
	if blank(r.in.Prompt) {
		return team.Fail(ErrEmptyRequest, "the prompt is empty")
	}
	if n, most := len(r.in.Prompt), r.cfg.Bounds.PromptBytes; n > most {
		return team.Fail(ErrRequestTooLarge, "the prompt has %d bytes, want at most %d", n, most)
	}
	return r.Go(c, moveAccept)
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

// complete sets what is unverified, and moves to the last phase of a run that has at least
// one department done.
func (r *run) complete(c *orchestrator.Context) error {
	for _, d := range r.departments {
		if d.report.Status == DepartmentDone && d.unverified {
			r.out.Unverified = append(r.out.Unverified, d.ID)
		}
	}
	if r.refused == nil && len(r.missing())+len(r.out.Unverified) == 0 {
		return r.Go(c, moveCheckedAll)
	}
	return r.Go(c, moveCheckedPart)
}

// missing are the chosen departments that are not done.
func (r *run) missing() (ids []string) {
	for _, report := range r.out.Reports {
		if report.Status != DepartmentDone {
			ids = append(ids, report.DepartmentID)
		}
	}
	return ids
}

// partial is the error of a result that is partial, if the policy makes it one.
func (r *run) partial() error {
	if r.Phase() != phasePartial || !r.cfg.Policy.FailOnPartial {
		return nil
	}
	err := fmt.Errorf("hierarchy: the result is partial: missing %q, unverified %q", r.missing(), r.out.Unverified)
	for _, cause := range []error{r.refused, r.broken()} {
		if cause != nil {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	return team.Fail(ErrPartial, "%w", err)
}

// broken is the first failure of a department that a rule is to blame for; nil: none.
func (r *run) broken() error {
	for _, d := range r.departments {
		if codeOf(d.failure) != "" {
			return d.failure
		}
	}
	return nil
}

// fail ends a run that has no result. The Outcome has the finished reports.
func (r *run) fail(c *orchestrator.Context, err error) (Outcome, error) {
	switch {
	case c.IsCanceled(err):
		r.Fire(c, moveCancel)
		return r.end(c, err), fmt.Errorf("hierarchy: %w", err)
	case r.over(c, err):
		r.Fire(c, moveRefused)
	default:
		r.Fire(c, moveFail)
	}
	return r.end(c, err), team.Fail(ErrUnable, "hierarchy: %w", err)
}

// end sets what every outcome has, by the last phase. The warnings of departments come
// first, in the order of the route.
func (r *run) end(c *orchestrator.Context, err error) Outcome {
	r.out.Status = r.Phase().status()
	if r.out.Status == orchestrator.Failed || r.out.Status == orchestrator.OutOfBudget {
		r.out.Message = unableToGenerate
	}
	isBudget := func(w orchestrator.Warning) bool { return w.Code == WarnBudget }
	if r.refused != nil && !slices.ContainsFunc(r.out.Warnings, isBudget) {
		r.Warn(c, WarnBudget, "", "%v", r.refused)
	}
	var warnings []orchestrator.Warning
	for _, d := range r.departments {
		warnings = append(warnings, d.desk.Outcome.Warnings...)
	}
	r.out.Warnings = append(warnings, r.out.Warnings...)
	r.End(c, err, &Event{Score: r.out.Score})
	return r.out
}
