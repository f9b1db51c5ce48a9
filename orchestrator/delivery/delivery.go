package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

var definition = team.Definition[Config, Input, Outcome]{
	Name: "delivery", Prompts: ownPrompts, Samples: samples(), Rules: DefaultRules(),
	Defaults: func(cfg *Config) {
		cfg.Limits.Time = cmp.Or(cfg.Limits.Time, 2*time.Hour)
		team.Defaults(cfg)
	},
	Check: func(cfg Config, f *team.Faults) {
		retries, own := defaultRetries, false
		if cfg.Rules.Retrier != nil {
			retries, own = cfg.Rules.Retrier.(Retries)
			own = !own
		}
		most := retries.of(rolePlan).Max
		f.If(!own && most > 0 && cfg.Policy.Revisions > most, "Policy.Revisions is %d, want at most Rules.Retrier.Plan.Max, %d", cfg.Policy.Revisions, most)
		b := cfg.Bounds
		f.If(b.MinSteps > b.MaxSteps && b.MaxSteps > 0, "Bounds.MinSteps is %d, want at most Bounds.MaxSteps, %d", b.MinSteps, b.MaxSteps)
	},
	Run: func(c *orchestrator.Context, s team.Start, cfg Config, in Input) (Outcome, error) {
		in.Goal = text.Newlines(in.Goal)
		return (&run{Config: cfg, in: in}).do(c, s)
	},
}

// New returns the flow of a team. All faults of cfg are in the one error.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) { return team.New(definition, cfg) }

// run is one run of the team.
type run struct {
	Config
	in Input

	kernel   *team.Run
	machine  *team.Machine[Phase, move]
	state    State
	out      Outcome
	limit    time.Duration // the run is over after this much work time
	began    time.Duration // time at which the iteration began
	grace    time.Duration
	turns    int // number of turns in out.Course
	plans    int // requests for plans
	guidance map[Role]*guidance
	last     *lastIteration       // nil: this is the first one
	resumed  map[string]bool      // steps whose attempt the previous run did not finish
	scores   map[string][]float64 // earlier scores by gate and piece of work
	named    map[string]named     // later steps that verdicts name, by the step that they are on
	looked   time.Duration        // time of the last look of the supervisor
	changes  []string             // words of members since then
	next     orchestrator.Again   // answer of the Retrier about this iteration
	hostErr  error                // why rules of the host failed parts of the run
}

// Errors that end a part of the run, beside those that end all runs.
var (
	errLate    = errors.New("no call may begin any more")  // the time of this part is up
	errExpired = team.Fail(ErrTimeExpired, "time expired") // the time of the run is up
	errAborted = team.Fail(ErrAborted, "aborted after too many rejections in a row")
)

// do is the run: it makes and executes plans until the goal is reached or an error ends
// it.
func (r *run) do(c *orchestrator.Context, s team.Start) (Outcome, error) {
	err := r.in.validate()
	c = r.begin(c, s)
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
func (r *run) begin(c *orchestrator.Context, s team.Start) *orchestrator.Context {
	r.Limits = s.Limits
	if r.limit = r.Limits.Time; r.limit <= 0 {
		r.limit = endless
	}
	r.grace = graceTime(r.limit, r.Bounds.Grace)
	r.guidance, r.resumed, r.scores, r.named = map[Role]*guidance{}, map[string]bool{}, map[string][]float64{}, map[string]named{}
	r.state = State{
		ID: c.RunID(), PrimaryGoal: r.in.goal(), Plans: []Plan{}, PlanStack: []string{}, Iteration: 1, StartTime: c.Now(),
		TimeLimit: cmp.Or(max(0, r.Limits.Time), off), Agents: map[Role]*AgentState{}, EventLog: []Header{},
	}
	for _, role := range []Role{Planner, Coder, Tester, Supervisor} {
		r.state.Agents[role] = &AgentState{Status: "idle"}
	}
	s.Limits.Time = 0 // a call that is running at the end may continue
	s.Limits.AllowUnpriced = s.Limits.AllowUnpriced || c.Left().AllowUnpriced
	s.Asked, s.Outcome, s.State = r.in.goal(), &r.out.Outcome, func() any { return r.state }
	r.kernel, c = team.Begin(c, s)
	r.machine = team.NewMachine(r.kernel, "", phases, &r.state.Status)
	return c
}

// iterate returns nil when the goal is reached.
func (r *run) iterate(c *orchestrator.Context) error {
	root, on := r.state.root(), moveContinue
	if root == nil || root.Status != stepInProgress {
		root, on = nil, moveStart
	}
	if err := r.allow(c, "run", on); err != nil {
		return err
	}
	r.fire(c, on)
	for tries := make([]orchestrator.Try, r.state.Iteration-1); ; root = nil {
		id, end, err := r.planned(c, root)
		if err != nil {
			return err
		}
		if err := r.execute(c, id, end); err != nil && lossOf(err) == "" {
			return err
		}
		reached, again, err := r.judgeGoal(c, id)
		if err != nil || reached {
			return err
		}
		tries = append(tries, r.last.gate.try(cmp.Or(r.next.Agent, r.agent(Planner))))
		if again && r.hostErr == nil {
			if again, err = r.another(c, id, tries); err != nil {
				return err
			}
		}
		switch {
		case r.hostErr != nil && r.last.Reason == r.hostErr.Error():
			return team.Fail(ErrGoalNotReached, "the goal is not reached: %w", r.hostErr)
		case r.hostErr != nil:
			return team.Fail(ErrGoalNotReached, "the goal is not reached: %s: %w", r.last.Reason, r.hostErr)
		case !again:
			return team.Fail(ErrGoalNotReached, "the goal is not reached: %s", r.last.Reason)
		}
		r.fire(c, moveGoalUnmet)
		r.last = advised(*r.last, r.next)
		r.state.Iteration++
		r.state.PlanStack = []string{}
	}
}

// planned returns the root plan of an iteration, which is root if it is not nil, and when its
// execution ends.
func (r *run) planned(c *orchestrator.Context, root *Plan) (id string, end time.Duration, err error) {
	if err := r.late(c, r.limit); err != nil {
		return "", 0, err
	}
	r.began = c.Elapsed()
	shares, err := r.allocate(c, "goal", Timing{Total: r.limit - r.began})
	if err != nil {
		return "", 0, err
	}
	if root != nil {
		id = root.ID
	} else if id, err = r.plan(c, planJob{
		op: OpPlan, goal: r.state.PrimaryGoal, least: r.Bounds.MinSteps,
		end: after(r.began, shares.Planning),
	}); err != nil {
		return "", 0, err
	}
	now := c.Elapsed()
	return id, now + executionTime(shares, r.limit-r.began, now-r.began), nil
}

// another asks the Retrier for a further iteration, and then the Permit.
func (r *run) another(c *orchestrator.Context, id string, tries []orchestrator.Try) (again bool, err error) {
	r.next, err = r.again(c, orchestrator.Working{Role: roleIteration, ID: "goal"}, tries, endless)
	if err == nil && r.next.Retry {
		err = r.allow(c, "plan/"+id, moveGoalUnmet)
		again = err == nil
	}
	return again, tolerated(err)
}

// advised is what the planner of a further iteration is told of the one before; nil: nothing.
func advised(last lastIteration, next orchestrator.Again) *lastIteration {
	switch {
	case next.Fresh && next.Feedback == "":
		return nil
	case next.Fresh:
		last = lastIteration{Completed: []StepSummary{}, Failed: []StepSummary{}}
	}
	last.Reason = cmp.Or(next.Feedback, last.Reason)
	return &last
}

// end ends the run and returns the outcome so far.
func (r *run) end(c *orchestrator.Context, err error) (Outcome, error) {
	if !r.machine.Over() {
		r.fire(c, ending(c, err))
	}
	if r.state.Status != phaseCompleted {
		r.restoreAccepted(c)
	}
	s := &r.state
	s.EndTime, s.CurrentRole = new(c.Now()), ""
	r.countSteps()
	root := s.root()
	whole := len(s.Unverified) == 0 && root != nil && root.unmet(0) == ""
	out := &r.out
	out.Status, out.Unverified = ended(s.Status, err, s.achieved(), whole), s.Unverified
	out.State, out.Report.Steps, out.Report.Unfinished = *s, s.summaries(), []string{}
	if root != nil {
		for _, step := range root.Steps {
			if step.Status != StepCompleted {
				out.Report.Unfinished = append(out.Report.Unfinished, step.ID)
			}
		}
	}
	e := Event{Percent: r.percent()}
	if err != nil {
		if out.Status == orchestrator.OutOfBudget && !errors.Is(err, orchestrator.ErrBudget) {
			err = team.Fail(orchestrator.ErrBudget, "%w", err)
		}
		err = fmt.Errorf("delivery: %w", err)
		e.Text = prompt.OneLine(err.Error())
	}
	r.kernel.End(c, err, &e)
	return r.out, err
}

// ending returns the move for an error that ends a run.
func ending(c *orchestrator.Context, err error) move {
	switch {
	case errors.Is(err, ErrTimeExpired):
		return moveExpire
	case c.IsCanceled(err):
		return moveCancel
	case orchestrator.IsOver(err):
		return moveOverspend
	case isLost(err):
		return moveFail
	case errors.Is(err, ErrPlanning):
		return movePlanFailed
	case errors.Is(err, ErrGoalNotReached):
		return moveGoalFailed
	}
	return moveAbort
}
