package portfolio

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// New returns the flow of a portfolio. All faults of cfg are in the one error.
func New[I, O any](cfg Config[I, O]) (orchestrator.Flow[Input[I], Outcome[O]], error) {
	cfg, err := cfg.whole()
	if err != nil {
		return orchestrator.Flow[Input[I], Outcome[O]]{}, fmt.Errorf("portfolio: %w", err)
	}
	return orchestrator.Flow[Input[I], Outcome[O]]{
		Name:   cfg.Name,
		Agents: append(slices.Clone(cfg.Work.Agents), team.RuleAgents(cfg.Rules)...),
		Roles:  cfg.Work.Roles,
		Do: func(c *orchestrator.Context, in Input[I]) (Outcome[O], error) {
			return (&run[I, O]{cfg: cfg, in: in}).do(c)
		},
	}, nil
}

// run is one run of a portfolio.
type run[I, O any] struct {
	*team.Run

	cfg Config[I, O]
	in  Input[I]
	out Outcome[O]

	machine  *team.Machine[string, move]
	phase    string
	projects []*project[I, O] // in the order of the input
	queue    *orchestrator.Queue[round[O]]
	running  int
	graded   int   // number of graded rounds
	cut      bool  // a round was cut off before it could be graded
	broken   error // first rule of the host that failed
	left     providers.NanoUSD
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
	err := r.check()
	if err == nil {
		err = r.work(c)
	}
	return r.end(c, err)
}

func (r *run[I, O]) begin(c *orchestrator.Context) *orchestrator.Context {
	var ids []string
	for _, e := range r.in.Projects {
		p := &project[I, O]{Report: Report[O]{Project: e.Project}, in: e.Input}
		p.Stage = cmp.Or(p.Stage, Idea)
		if p.LastProgress.IsZero() {
			p.LastProgress = c.Now()
		}
		r.projects, ids = append(r.projects, p), append(ids, p.ID)
	}
	limits := r.in.Limits.Or(r.cfg.Limits)
	limits.AllowUnpriced = limits.AllowUnpriced || c.Left().AllowUnpriced
	r.Run, c = team.Begin(c, team.Start{
		Team: "portfolio", Asked: strings.Join(ids, ", "), Outcome: &r.out.Outcome, Limits: limits, State: func() any { return r.state() },
	})
	r.machine = team.NewMachine(r.Run, "", phases, &r.phase)
	r.queue = orchestrator.NewQueue[round[O]](c)
	return c
}

// check returns every fault of the input.
func (r *run[I, O]) check() error {
	projects := make([]Project, len(r.projects))
	for i, p := range r.projects {
		projects[i] = p.Project
	}
	var f team.Faults
	f.Check(r.in.Limits)
	f.If(len(projects) == 0, "the input has no projects, want at least one")
	if err := errors.Join(f.Err(), check(projects, 0)); err != nil {
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
		if over = cmp.Or(over, c.Err()); over == nil && c.Left().Wall < 0 {
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
	orders, err := r.orders(c, active, money)
	if err != nil {
		return err
	}
	r.machine.Fire(c, moveAllocated)
	r.Emit(c, EventMoneyAllocated, &Event{Orders: orders, Budget: money})
	all := true
	for _, o := range orders {
		p := r.project(o.Project)
		r.apply(c, p, o)
		free := r.cfg.Bounds.Slots == 0 || r.running < r.cfg.Bounds.Slots
		if o.Runs && free && !p.running && (o.Budget > 0 || left == 0) {
			all = r.start(c, p, o.Budget) && all
		}
	}
	if !all {
		return r.allocate(c)
	}
	return nil
}

// orders asks the Allocator. A score that has promoted a project does not do so again.
func (r *run[I, O]) orders(c *orchestrator.Context, active []Project, money providers.NanoUSD) ([]Order, error) {
	orders, err := team.Rule(r.Run, c, "", "Rules.Allocator", func() ([]Order, error) {
		orders, err := r.cfg.Rules.Allocator.Allocate(active, Means{Budget: money, Slots: r.slots(), Now: c.Now()})
		if err == nil {
			err = checked(orders, active, money)
		}
		return orders, err
	})
	orders = slices.Clone(orders)
	for i := range orders {
		p, o := r.project(orders[i].Project), &orders[i]
		if o.Action == Promote && p.judged {
			o.Action = Keep
		}
		o.Stage, _ = o.next(p.Stage)
	}
	return orders, err
}

// slots is the number of those for active projects: last rounds under way have theirs.
func (r *run[I, O]) slots() int {
	slots := r.cfg.Bounds.Slots
	for _, p := range r.projects {
		if p.running && p.Rounds == r.cfg.Bounds.Rounds && slots > 1 {
			slots--
		}
	}
	return slots
}

// active are the projects that may make another round, and the largest number of rounds
// that one of them has to go.
func (r *run[I, O]) active(c *orchestrator.Context) (active []Project, rounds int) {
	for _, p := range r.projects {
		left := r.cfg.Bounds.Rounds - p.Rounds
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
	p.Stage = o.Stage
	switch o.Action {
	case Kill:
		p.Killed = cmp.Or(o.Why, "the allocator killed it")
		r.Emit(c, EventProjectKilled, &Event{Event: team.Event{Text: p.Killed}, Project: p.ID, Stage: p.Stage})
	case Promote:
		p.judged = true
		r.Emit(c, EventProjectPromoted, &Event{Project: p.ID, Stage: p.Stage, Score: p.Score})
	case Keep:
	}
}

// start begins a round, under its budget if there is one; false: it has no input.
func (r *run[I, O]) start(c *orchestrator.Context, p *project[I, O], budget providers.NanoUSD) bool {
	in, err := team.Rule(r.Run, c, p.ID, "Rules.Brief", func() (I, error) { return r.cfg.Rules.Brief(p.Project, p.in, p.Last), nil })
	if err != nil {
		p.Score, r.broken = nil, cmp.Or(r.broken, err)
		return false
	}
	p.Rounds++
	r.running++
	p.running, p.budget = true, budget
	r.Emit(c, EventRoundStarted, &Event{Project: p.ID, Stage: p.Stage, Round: p.Rounds, Budget: budget})
	work := r.cfg.Work
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
		r.Warn(c, roundFailed, p.ID, "%s", p.Error)
	}
	r.Emit(c, EventRoundFinished, &Event{
		Event: team.Event{Text: p.Error, Usage: &next.Value.used}, Project: p.ID, Stage: p.Stage, Round: p.Rounds, Score: p.Score,
	})
}

// grade gives a project the score of its round.
func (r *run[I, O]) grade(c *orchestrator.Context, p *project[I, O], out O) {
	score, err := team.Rule(r.Run, c, p.ID, "Rules.Score", func() (*float64, error) {
		var f team.Faults
		score := r.cfg.Rules.Score(p.Project, out)
		f.WithinIfSet("the score", score, 0, 1)
		return score, f.Err()
	})
	switch {
	case err != nil:
		r.broken = cmp.Or(r.broken, err)
	case score == nil:
		r.Warn(c, ungraded, p.ID, "round %d could not be graded", p.Rounds)
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
	move, err := r.ending(c, err)
	r.out.Status = orchestrator.Status(r.machine.Fire(c, move))
	r.End(c, err, nil)
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
				r.Warn(c, ungraded, p.ID, "the input has no score of it")
			}
		case p.Rounds < r.cfg.Bounds.Rounds:
			r.Warn(c, noMoney, p.ID, "it made %d of %d rounds", p.Rounds, r.cfg.Bounds.Rounds)
		}
	}
}

// ending is the move that ends the run, and the run's error.
func (r *run[I, O]) ending(c *orchestrator.Context, err error) (move, error) {
	left := slices.ContainsFunc(r.projects, func(p *project[I, O]) bool { return p.Stage != Killed })
	if err == nil && left && r.graded == 0 {
		err = team.Fail(ErrNoRound, "portfolio: no round of any project could be graded")
		switch {
		case r.cut || c.Left().Cost < 0:
			err = errOver
		case r.broken != nil:
			err = team.Fail(ErrNoRound, "portfolio: no round of any project could be graded: %w", r.broken)
		}
	}
	switch {
	case c.IsCanceled(err):
		return moveCancel, err
	case errors.Is(err, orchestrator.ErrBudget) && r.graded > 0:
		return moveFinishPartly, nil
	case errors.Is(err, orchestrator.ErrBudget):
		return moveOverspend, err
	case err != nil:
		return moveFail, err
	case len(r.out.Warnings) > 0:
		return moveFinishPartly, nil
	}
	return moveFinish, nil
}

func (r *run[I, O]) project(id string) *project[I, O] {
	return r.projects[slices.IndexFunc(r.projects, func(p *project[I, O]) bool { return p.ID == id })]
}

func (r *run[I, O]) state() State {
	s := State{Phase: r.phase, Left: r.left}
	for _, p := range r.projects {
		s.Projects = append(s.Projects, projectState{Project: p.Project, Rounds: p.Rounds, Running: p.running, Budget: p.budget, Spent: p.Spent.Cost})
	}
	return s
}
