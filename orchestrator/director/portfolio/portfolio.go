package portfolio

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// New returns the flow of a portfolio. All faults of cfg are in the one error.
func New[I, O any](cfg Config[I, O]) (orchestrator.Flow[Input[I], Outcome[O]], error) {
	whole := cfg.withDefaults()
	if err := whole.validate(); err != nil {
		return orchestrator.Flow[Input[I], Outcome[O]]{}, fmt.Errorf("portfolio: %w", err)
	}
	return orchestrator.Flow[Input[I], Outcome[O]]{
		Name:   whole.Name,
		Agents: whole.Work.Agents,
		Do: func(c *orchestrator.Context, in Input[I]) (Outcome[O], error) {
			return (&run[I, O]{Config: whole, in: in}).do(c)
		},
	}, nil
}

// run is one run of a portfolio.
type run[I, O any] struct {
	Config[I, O]
	in Input[I]

	tracker  *team.Tracker[Phase]
	phase    Phase
	projects []*project[I, O] // in the order of the input
	queue    *orchestrator.Queue[round[O]]
	running  int
	graded   int  // rounds
	cut      bool // a round was cut off before it could be graded
	left     providers.NanoUSD
	out      Outcome[O]
}

// project is one project of a run.
type project[I, O any] struct {
	Report[O]
	in      I
	running bool
	judged  bool // its score has been used for a promotion
	budget  providers.NanoUSD
}

// round is what came of a child run.
type round[O any] struct {
	out  O
	used providers.Usage
}

var errOver = fmt.Errorf("%w: portfolio: money or time ended before a round was graded", orchestrator.ErrBudget)

// do is the run: money is shared out, rounds are started, and after each one both again,
// until no project may run.
func (r *run[I, O]) do(c *orchestrator.Context) (Outcome[O], error) {
	c = r.begin(c)
	err := r.in.check(r.Policy)
	if err == nil {
		err = r.work(c)
	}
	return r.end(c, err)
}

func (r *run[I, O]) begin(c *orchestrator.Context) *orchestrator.Context {
	l := r.Limits
	c = c.WithBudget(orchestrator.Budget{Cost: l.Cost, Wall: l.Time, AllowUnpriced: l.AllowUnpriced || c.Left().AllowUnpriced})
	r.tracker = team.Track("portfolio", Phases, &r.phase)
	r.queue = orchestrator.NewQueue[round[O]](c)
	r.in.Projects = slices.Clone(r.in.Projects)
	for i, e := range r.in.Projects {
		e.Stage = cmp.Or(e.Stage, Idea)
		if e.LastProgress.IsZero() {
			e.LastProgress = c.Now()
		}
		r.in.Projects[i] = e
		r.projects = append(r.projects, &project[I, O]{Report: Report[O]{Project: e.Project}, in: e.Input})
	}
	c.Expose(func() any { return r.state() })
	r.emit(c, EventRunStarted, Event{})
	return c
}

func (in Input[I]) check(p Policy) error {
	if len(in.Projects) == 0 {
		return team.Fail(ErrBadProjects, "portfolio: the input has no projects, want at least one")
	}
	projects := make([]Project, len(in.Projects))
	for i, e := range in.Projects {
		projects[i] = e.Project
	}
	if err := check(projects, 0, p); err != nil {
		return team.Fail(ErrBadProjects, "portfolio: %w", err)
	}
	return nil
}

func (r *run[I, O]) work(c *orchestrator.Context) (over error) {
	for {
		if over == nil {
			over = r.allocate(c)
		}
		next, ok := r.queue.Next()
		if !ok {
			return over
		}
		r.finished(c, next)
		if over = c.Err(); over == nil && c.Left().Wall < 0 {
			over = errOver
		}
	}
}

// allocate shares out what is left, and starts the rounds that have a slot. What a round
// that cannot start would have had is shared out again.
func (r *run[I, O]) allocate(c *orchestrator.Context) error {
	left := c.Left().Cost
	active, rounds := r.active(c)
	r.left = max(left, 0)
	money := r.left / providers.NanoUSD(max(rounds, 1))
	orders, err := Allocate(active, money, r.policy(), c.Now())
	if err != nil {
		return err
	}
	for i := range orders {
		if p := r.project(orders[i].Project); orders[i].Action == Promote && p.judged {
			orders[i].Action, orders[i].Stage = Keep, p.Stage
		}
	}
	r.tracker.Fire("allocated")
	r.emit(c, EventMoneyAllocated, Event{Orders: orders, Budget: money})
	all := true
	for _, o := range orders {
		p := r.project(o.Project)
		r.apply(c, p, o)
		free := r.Policy.Slots <= 0 || r.running < r.Policy.Slots
		if o.Runs && free && !p.running && (o.Budget > 0 || left == 0) {
			all = r.start(c, p, o.Budget) && all
		}
	}
	if !all {
		return r.allocate(c)
	}
	return nil
}

// policy is the one for active projects: last rounds under way have their slots already.
func (r *run[I, O]) policy() Policy {
	p := r.Policy
	for _, project := range r.projects {
		if project.running && project.Rounds == r.Limits.Rounds && p.Slots > 1 {
			p.Slots--
		}
	}
	return p
}

// active are the projects that may make another round, and the largest number of rounds
// that one of them has to go.
func (r *run[I, O]) active(c *orchestrator.Context) (active []Project, rounds int) {
	for _, p := range r.projects {
		left := r.Limits.Rounds - p.Rounds
		if p.Stage == Killed || left == 0 {
			continue
		}
		one := p.Project
		if p.running {
			one.LastProgress = c.Now()
		}
		active, rounds = append(active, one), max(rounds, left)
	}
	return active, rounds
}

// apply moves a project to the stage that an order gives it.
func (r *run[I, O]) apply(c *orchestrator.Context, p *project[I, O], o Order) {
	switch o.Action {
	case Kill:
		p.Killed, p.Stage = r.whyKilled(c, p), o.Stage
		r.emit(c, EventProjectKilled, Event{Project: p.ID, Stage: p.Stage, Text: p.Killed})
	case Promote:
		p.Stage, p.judged = o.Stage, true
		r.emit(c, EventProjectPromoted, Event{Project: p.ID, Stage: p.Stage, Score: p.Score})
	case Keep:
	}
}

func (r *run[I, O]) whyKilled(c *orchestrator.Context, p *project[I, O]) string {
	if r.Policy.stale(p.LastProgress, c.Now()) {
		return fmt.Sprintf("no progress for more than %v", r.Policy.StaleAfter)
	}
	return fmt.Sprintf("its score of %.2f is below %.2f", *p.Score, r.Policy.Kill)
}

// start begins a round, under its budget if there is one; false: it has no input.
func (r *run[I, O]) start(c *orchestrator.Context, p *project[I, O], budget providers.NanoUSD) bool {
	in, err := team.Guard("Hooks.Brief", func() (I, error) { return r.Hooks.Brief(p.Project, p.in, p.Last), nil })
	if err != nil {
		p.Score = nil
		r.warn(c, WarnBadBrief, p.ID, err.Error())
		return false
	}
	p.Rounds++
	r.running++
	p.running, p.budget = true, budget
	r.emit(c, EventRoundStarted, Event{Project: p.ID, Stage: p.Stage, Round: p.Rounds, Budget: budget})
	work := r.Work
	r.queue.Go(p.ID, func(c *orchestrator.Context) (round[O], error) {
		c = c.WithBudget(orchestrator.Budget{Cost: budget, AllowUnpriced: c.Left().AllowUnpriced})
		out, err := work.Child(c, in)
		return round[O]{out, c.Spent()}, err
	})
	return true
}

// finished takes in what came of a round. One that money, time or a cancel of its own
// ended is graded by what it has, too.
func (r *run[I, O]) finished(c *orchestrator.Context, next orchestrator.Result[round[O]]) {
	p := r.project(next.Key)
	r.running--
	p.running, p.budget, p.judged, p.Score, p.Last, p.Error = false, 0, false, nil, &next.Value.out, ""
	p.Spent = p.Spent.Add(next.Value.used)
	cut := errors.Is(next.Err, orchestrator.ErrBudget) || errors.Is(next.Err, orchestrator.ErrCanceled)
	switch {
	case cut:
		p.Error = "it was cut off"
	case next.Err != nil:
		p.Error = next.Err.Error()
	}
	switch {
	case c.Err() != nil:
	case next.Err == nil || cut:
		r.grade(c, p, next.Value.out)
		r.cut = r.cut || cut && p.Score == nil
	default:
		r.warn(c, WarnRoundFailed, p.ID, p.Error)
	}
	r.emit(c, EventRoundFinished, Event{Project: p.ID, Stage: p.Stage, Round: p.Rounds, Score: p.Score, Text: p.Error, Usage: &next.Value.used})
}

// grade gives a project the score of its round, and the input of its next one.
func (r *run[I, O]) grade(c *orchestrator.Context, p *project[I, O], out O) {
	score, err := team.Guard("Hooks.Score", func() (*float64, error) { return r.Hooks.Score(p.Project, out), nil })
	var f team.Faults
	if err == nil && score != nil {
		f.Within("the score", *score, 0, 1)
		err = f.Err()
	}
	switch {
	case err != nil:
		r.warn(c, WarnBadScore, p.ID, err.Error())
	case score == nil:
		r.warn(c, WarnUngraded, p.ID, fmt.Sprintf("round %d could not be graded", p.Rounds))
	default:
		p.Score, p.LastProgress = score, c.Now()
		r.graded++
	}
}

// end finds the status of the run, and the faults of projects that went without.
func (r *run[I, O]) end(c *orchestrator.Context, err error) (Outcome[O], error) {
	if err == nil || errors.Is(err, orchestrator.ErrBudget) {
		r.judge(c)
	}
	for _, p := range r.projects {
		r.out.Projects = append(r.out.Projects, p.Report)
	}
	event, err := r.ending(c, err)
	r.out.Status = orchestrator.Status(r.tracker.Fire(event))
	r.out.Spent, r.out.Elapsed = c.Spent(), c.Elapsed()
	r.emit(c, EventRunFinished, Event{Status: r.out.Status, Usage: &r.out.Spent})
	return r.out, err
}

// judge says which projects did not make all their rounds, and why.
func (r *run[I, O]) judge(c *orchestrator.Context) {
	for i, p := range r.projects {
		switch {
		case p.Stage == Killed:
		case p.Score == nil:
			r.out.Unverified = append(r.out.Unverified, p.ID)
			if r.in.Projects[i].Score == nil { // it made no round
				r.warn(c, WarnUngraded, p.ID, "the input has no score of it")
			}
		case p.Rounds < r.Limits.Rounds:
			r.warn(c, WarnNoMoney, p.ID, fmt.Sprintf("it made %d of %d rounds", p.Rounds, r.Limits.Rounds))
		}
	}
}

// ending is the event that ends the run, and the run's error.
func (r *run[I, O]) ending(c *orchestrator.Context, err error) (string, error) {
	left := slices.ContainsFunc(r.projects, func(p *project[I, O]) bool { return p.Stage != Killed })
	if err == nil && left && r.graded == 0 {
		err = team.Fail(ErrNoRound, "portfolio: no round of any project could be graded")
		if r.cut || c.Left().Cost < 0 {
			err = errOver
		}
	}
	switch {
	case c.IsCanceled(err):
		return "cancel", err
	case errors.Is(err, orchestrator.ErrBudget) && r.graded > 0:
		return "finish_partly", nil
	case errors.Is(err, orchestrator.ErrBudget):
		return "overspend", err
	case err != nil:
		return "fail", err
	case len(r.out.Warnings) > 0:
		return "finish_partly", nil
	}
	return "finish", nil
}

func (r *run[I, O]) project(id string) *project[I, O] {
	return r.projects[slices.IndexFunc(r.projects, func(p *project[I, O]) bool { return p.ID == id })]
}

func (r *run[I, O]) state() State {
	s := State{Phase: r.phase, Left: r.left}
	for _, p := range r.projects {
		s.Projects = append(s.Projects, ProjectState{Project: p.Project, Rounds: p.Rounds, Running: p.running, Budget: p.budget, Spent: p.Spent.Cost})
	}
	return s
}

// emit writes a record with the moves since the last one.
func (r *run[I, O]) emit(c *orchestrator.Context, kind string, e Event) {
	e.Moves = r.tracker.Moves()
	c.Emit(kind, e)
}

// warn notes what went wrong, as a record and in the outcome.
func (r *run[I, O]) warn(c *orchestrator.Context, code, who, message string) {
	w := orchestrator.Warning{Code: code, Who: who, Message: message}
	r.out.Warnings = append(r.out.Warnings, w)
	r.emit(c, EventWarningRaised, Event{Warning: &w})
}
