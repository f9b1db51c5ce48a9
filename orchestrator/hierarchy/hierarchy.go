package hierarchy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// New returns the flow of a team. All faults of cfg are in the one error; it is
// routing.ErrCycle if departments depend on each other in a circle.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	return team.New(team.Definition[Config, Input, Outcome]{
		Name: "hierarchy", Prompts: ownPrompts, Samples: samples(), Quote: cmp.Or(cfg.Bounds.QuoteBytes, 64<<10), Funcs: functions,
		Rules: DefaultRules(), Defaults: setDefaults, Check: Config.check, Agents: Config.agents,
		Run: func(c *orchestrator.Context, s team.Start, cfg Config, in Input) (Outcome, error) {
			return (&run{cfg: cfg, in: in}).do(c, s)
		},
	}, cfg)
}

// run is one run of the team. Only one branch executes at a time, so that branches
// may share it.
type run struct {
	cfg   Config
	marks []string // marks of a grade, in order
	own   []string // marks that prompts explain; nil: the usual ones
	in    Input

	*team.Run
	*team.Machine[Phase, Move]
	state       State
	departments []*department          // the chosen ones, in the order of the route
	byID        map[string]*department // all of the Config; those that were not chosen have no run
	out         Outcome
	refused     error // why a call was refused: money, calls or time were used up
}

// do is the master: route, dispatch, combine, check.
func (r *run) do(c *orchestrator.Context, s team.Start) (Outcome, error) {
	r.out = Outcome{Reports: []Report{}, Output: map[string]json.RawMessage{}, Checks: Checks{checkSkipped, checkSkipped, []Issue{}}}
	r.in.Prompt = text.Newlines(r.in.Prompt)
	r.marks, r.own = marksOf(r.cfg.Rules.Scores.Output)
	s.Asked, s.Outcome, s.State, s.Path = r.in.Prompt, &r.out.Outcome, func() any { return r.state }, "run"
	r.Run, c = team.Begin(c, s)
	r.Machine = team.NewMachine(r.Run, "", phases, &r.state.Phase)
	var err error
	for _, step := range []func(*orchestrator.Context) error{r.accept, r.route, r.dispatch, r.combine, r.check, r.complete} {
		err = step(c)
		if canceled := c.Err(); canceled != nil {
			err = canceled
		}
		if err != nil {
			break
		}
	}
	err = r.end(c, err)
	return r.out, err
}

func (r *run) accept(c *orchestrator.Context) error {
	if err := r.cfg.checkInput(r.in); err != nil {
		return err
	}
	return r.Go(c, moveAccept)
}

// checkInput returns what is wrong with an input: ErrInput.
func (c Config) checkInput(in Input) error {
	var f team.Faults
	f.Check(in)
	f.If(text.IsBlank(in.Prompt), "the prompt is empty")
	f.Text("the prompt", in.Prompt)
	n, most := len(in.Prompt), c.Bounds.PromptBytes
	f.If(n > most, "the prompt has %d bytes, want at most %d", n, most)
	for _, id := range slices.Sorted(maps.Keys(in.History)) {
		for i, score := range in.History[id] {
			f.Within(fmt.Sprintf("History[%q][%d]", id, i), score, 0, 100)
		}
	}
	if err := f.Err(); err != nil {
		return team.Fail(ErrInput, "%w", err)
	}
	return nil
}

// over tells whether err ends the run: it is canceled, or money, calls or time are used
// up. It records the latter.
func (r *run) over(c *orchestrator.Context, err error) bool {
	ends := team.Ends(err)
	if ends && r.refused == nil && !c.IsCanceled(err) {
		r.refused = err
	}
	return ends
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
	if r.out.Status != orchestrator.Partial || !r.cfg.Policy.FailOnPartial {
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
		if r.IsHostError(d.failure) {
			return d.failure
		}
	}
	return nil
}

// end moves to the last phase, completes the outcome and returns the error of the run. The
// warnings of departments come first, in the order of the route.
func (r *run) end(c *orchestrator.Context, err error) error {
	r.over(c, err)
	canceled := c.IsCanceled(err)
	if err == nil {
		r.out.Status = orchestrator.Status(r.Phase())
	} else {
		r.out.Status = r.Ending(c, err)
		r.Fire(c, endings[r.out.Status])
		if !canceled {
			r.out.Message = unableToGenerate
		}
	}
	budget := r.Code("budget")
	isBudget := func(w orchestrator.Warning) bool { return w.Code == string(budget) }
	if r.refused != nil && !slices.ContainsFunc(r.out.Warnings, isBudget) {
		r.Warn(c, budget, "", "%v", r.refused)
	}
	var warnings []orchestrator.Warning
	for _, d := range r.departments {
		warnings = append(warnings, d.desk.Outcome.Warnings...)
	}
	r.out.Warnings = append(warnings, r.out.Warnings...)
	r.End(c, err, &Event{Score: r.out.Score})
	switch {
	case err == nil:
		return r.partial()
	case canceled:
		return fmt.Errorf("hierarchy: %w", err)
	}
	return team.Fail(ErrUnable, "hierarchy: %w", err)
}
