package delivery

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// New returns the flow of a team. All faults of cfg are in the one error.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	texts, err := newPrompts(cfg.Prompts)
	whole := cfg.withDefaults()
	if err := errors.Join(whole.validate(cfg), err); err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("delivery: %w", err)
	}
	return orchestrator.Flow[Input, Outcome]{
		Name:   whole.Name,
		Agents: whole.agents(),
		Do: func(c *orchestrator.Context, in Input) (Outcome, error) {
			return (&run{Config: whole, prompts: texts, in: in}).do(c)
		},
	}, nil
}

// run is one run of the team.
type run struct {
	Config
	prompts prompt.Set
	in      Input

	state    State
	limit    time.Duration // the run is over after this much work time
	grace    time.Duration
	sent     int // messages
	planned  int // requests for plans
	guidance map[Role]*Guidance
	verdicts []Verdict
	reasons  []string       // why steps failed
	last     *LastIteration // nil: this is the first one
	goal     *Verdict
	resumed  map[string]bool // steps whose attempt the previous run did not finish
}

// Errors that end a part of the run, beside those that end all runs.
var (
	errLate    = errors.New("no call may begin any more")  // in this part
	errExpired = team.Fail(ErrTimeExpired, "time expired") // in any
	errAborted = team.Fail(ErrAborted, "aborted after too many rejections in a row")
)

// do is the run: it makes and executes plans until the goal is reached or an error ends
// it.
func (r *run) do(c *orchestrator.Context) (Outcome, error) {
	err := r.in.validate()
	c = r.begin(c)
	if err != nil {
		r.fire(c, moveRefuse)
		return r.end(c, err)
	}
	if from := r.in.From; from != nil {
		r.continues(*from)
	}
	err = r.goBack(c)
	if err == nil {
		err = r.iterate(c)
	}
	return r.end(c, err)
}

// begin sets the state, and returns c with the budget of the run.
func (r *run) begin(c *orchestrator.Context) *orchestrator.Context {
	c = c.WithBudget(orchestrator.Budget{Cost: r.Limits.Cost, Calls: r.Limits.Calls, AllowUnpriced: c.Left().AllowUnpriced})
	r.limit, r.grace = r.Limits.time(), graceTime(r.Limits.time(), r.Limits.Grace)
	r.guidance, r.resumed = map[Role]*Guidance{}, map[string]bool{}
	r.state = State{
		ID: c.RunID(), PrimaryGoal: r.in.goal(), Plans: []Plan{}, PlanStack: []string{}, Iteration: 1, StartTime: c.Now(),
		TimeLimit: r.Limits.Time, Agents: map[Role]AgentState{}, EventLog: []Header{},
	}
	for _, role := range []Role{Planner, Coder, Tester, Supervisor} {
		r.state.Agents[role] = AgentState{Status: "idle"}
	}
	r.state.Status = phases.Start(nil).Current()
	c.Expose(func() any { return r.state })
	return c
}

// continues copies what a previous run has done.
func (r *run) continues(from State) {
	s := &r.state
	s.Plans, s.Iteration, s.Metrics = slices.Clone(from.Plans), max(1, from.Iteration), from.Metrics
	s.Unverified, s.Snapshot, s.Unrestored = slices.Clone(from.Unverified), from.Snapshot, from.Snapshot != ""
	r.planned = len(s.Plans)
	root := s.root()
	for i := range s.Plans {
		p := &s.Plans[i]
		p.Steps = slices.Clone(p.Steps)
		if p.Status == planInProgress && (root == nil || p.ID != root.ID) {
			p.Status = planFailed
		}
	}
	if root == nil {
		return
	}
	for i := range root.Steps {
		if step := &root.Steps[i]; step.Status == stepInProgress || step.Status == StepBlocked && !step.skipped() {
			step.Status, r.resumed[step.ID] = stepPending, step.Attempts > 0
		}
	}
}

// iterate returns nil when the goal is reached.
func (r *run) iterate(c *orchestrator.Context) error {
	root := r.state.root()
	if root != nil && root.Status == planInProgress {
		r.fire(c, moveContinue)
	} else {
		r.fire(c, moveStart)
		root = nil
	}
	for {
		begun := c.Elapsed()
		if root == nil {
			planned, latest := r.planningEnds(begun)
			id, err := r.plan(c, planJob{op: OpPlan, goal: r.state.PrimaryGoal, end: planned, until: latest, least: r.Limits.MinSteps})
			if err != nil {
				return err
			}
			root = r.state.plan(id)
		}
		id := root.ID
		_, err := r.execute(c, id, r.executionEnd(begun, c.Elapsed()))
		if err != nil && !errors.Is(err, errLate) {
			return err
		}
		reached, again, err := r.judgeGoal(c, id)
		if err != nil || reached {
			return err
		}
		if !again || r.state.Iteration >= r.Retry.Iterations {
			return team.Fail(ErrGoalNotReached, "the goal is not reached: %s", r.last.Reason)
		}
		r.fire(c, moveGoalUnmet)
		r.state.Iteration++
		r.state.PlanStack, root = []string{}, nil
	}
}

// planningEnds returns when, in an iteration that began at a time, the last plan may be
// asked for, and when the time of verification begins.
func (r *run) planningEnds(begun time.Duration) (planned, latest time.Duration) {
	if r.limit == endless {
		return endless, endless
	}
	a := Allocate(r.limit-begun, 0)
	return begun + a.Planning, r.limit - a.Verification
}

// executionEnd returns when execution ends in an iteration that began at a time, and whose
// plan is approved now.
func (r *run) executionEnd(begun, now time.Duration) time.Duration {
	if r.limit == endless {
		return endless
	}
	return now + executionTime(r.limit-begun, now-begun)
}

// end ends the run and returns the outcome so far.
func (r *run) end(c *orchestrator.Context, err error) (Outcome, error) {
	if !phases.Terminal(r.state.Status) {
		r.fire(c, ending(c, err))
	}
	if r.state.Status != Completed {
		r.restoreAccepted(c)
	}
	s := &r.state
	s.EndTime, s.CurrentRole = new(c.Now()), ""
	s.Metrics.countSteps(s.Plans)
	root := s.root()
	whole := len(s.Unverified) == 0 && root != nil && root.unmet(0) == ""
	out := Outcome{Outcome: orchestrator.Outcome{
		Status: ended(s.Status, err, s.achieved(), whole), Unverified: s.Unverified, Warnings: s.Warnings, Spent: c.Spent(), Elapsed: c.Elapsed(),
	}, State: *s, Report: s.report(r.verdicts, r.reasons)}
	if r.goal != nil {
		out.Score = new(r.goal.Score)
	}
	e := Event{Status: out.Status, Percent: r.percent()}
	if err != nil {
		if out.Status == orchestrator.OutOfBudget && !errors.Is(err, orchestrator.ErrBudget) {
			err = team.Fail(orchestrator.ErrBudget, "%w", err)
		}
		err = fmt.Errorf("delivery: %w", err)
		e.Text = prompt.OneLine(err.Error())
	}
	c.Emit(EventRunFinished, e)
	return out, err
}

// ending returns the move for an error that ends a run.
func ending(c *orchestrator.Context, err error) Move {
	switch {
	case errors.Is(err, ErrTimeExpired):
		return moveExpire
	case c.IsCanceled(err):
		return moveCancel
	case orchestrator.IsOver(err):
		return moveOverspend
	case errors.Is(err, ErrPlanning):
		return movePlanFailed
	case errors.Is(err, ErrGoalNotReached):
		return moveGoalFailed
	}
	return moveAbort
}
