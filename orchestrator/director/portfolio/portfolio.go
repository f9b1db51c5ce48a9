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
	flow, err := team.New(team.Definition[Config[I, O], Input[I], Outcome[O]]{
		Name: "portfolio", Rules: defaultRules[I, O](), Check: check[I, O],
		Agents: func(cfg Config[I, O]) []string { return cfg.Work.Agents },
		Run: func(c *orchestrator.Context, s team.Start, cfg Config[I, O], in Input[I]) (Outcome[O], error) {
			return (&run[I, O]{Config: cfg, in: in}).do(c, s)
		},
	}, cfg)
	flow.Roles = cfg.Work.Roles
	return flow, err
}

// run is one run of a portfolio.
type run[I, O any] struct {
	Config[I, O]
	*team.Run

	in  Input[I]
	out Outcome[O]

	machine  *team.Machine[orchestrator.Status, move]
	phase    orchestrator.Status
	projects []*project[I, O] // in the order of the input
	queue    *orchestrator.Queue[round[O]]
	running  int               // number of rounds under way
	graded   int               // number of graded rounds
	cut      bool              // a round was cut off
	broken   error             // first rule of the host that failed
	left     providers.NanoUSD // money to be shared out
}

// project is one project of a run.
type project[I, O any] struct {
	Report[O]
	in      I
	running bool
	judged  bool // its score has been used for a promotion
	unfit   bool // Rules.Brief has failed for it: no further round begins
	budget  providers.NanoUSD
}

// round is what came of a child run.
type round[O any] struct {
	out  O
	used providers.Usage
}

var errOver = fmt.Errorf("%w: money or time ended before a round was graded", orchestrator.ErrBudget)

// do is the run: money is shared out, rounds are started, and after each one both again,
// until no project may run.
func (r *run[I, O]) do(c *orchestrator.Context, s team.Start) (Outcome[O], error) {
	c, err := r.begin(c, s)
	if err == nil {
		err = r.work(c)
	}
	if err == nil || errors.Is(err, orchestrator.ErrBudget) {
		r.judge(c)
	}
	for _, p := range r.projects {
		r.out.Projects = append(r.out.Projects, p.Report)
	}
	move, err := r.ending(c, err)
	r.out.Status = r.machine.Fire(c, move)
	r.End(c, err, nil)
	if err != nil {
		err = fmt.Errorf("portfolio: %w", err)
	}
	return r.out, err
}

// begin returns the Context of the run, and every fault of the input.
func (r *run[I, O]) begin(c *orchestrator.Context, s team.Start) (*orchestrator.Context, error) {
	var ids []string
	var projects []Project
	for _, e := range r.in.Projects {
		p := &project[I, O]{Report: Report[O]{Project: e.Project}, in: e.Input}
		p.Stage = cmp.Or(p.Stage, idea)
		if p.LastProgress.IsZero() {
			p.LastProgress = c.Now()
		}
		r.projects, projects, ids = append(r.projects, p), append(projects, p.Project), append(ids, p.ID)
	}
	s.Asked, s.Outcome, s.State = strings.Join(ids, ", "), &r.out.Outcome, func() any { return r.state() }
	s.Limits.AllowUnpriced = s.Limits.AllowUnpriced || c.Left().AllowUnpriced
	r.Run, c = team.Begin(c, s)
	r.machine = team.NewMachine(r.Run, "", phases, &r.phase)
	r.queue = orchestrator.NewQueue[round[O]](c)
	var f team.Faults
	f.CheckAt("limits", r.in.Limits)
	f.If(len(projects) == 0, "the input has no projects, want at least one")
	if err := errors.Join(f.Err(), checkProjects(projects, 0)); err != nil {
		return c, team.Fail(ErrBadProjects, "%w", err)
	}
	return c, nil
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
		free := r.Bounds.Slots == 0 || r.running < r.Bounds.Slots
		if o.Runs && free && !p.running && !p.unfit && (o.Budget > 0 || left == 0) {
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
	slots := r.Bounds.Slots
	for _, p := range r.projects {
		if p.running && p.Rounds == r.Bounds.Rounds && slots > 1 {
			slots-- // a last round under way has its own
		}
	}
	orders, err := team.Rule(r.Run, c, "", "Rules.Allocator", func() ([]Order, error) {
		orders, err := r.Rules.Allocator.Allocate(team.Clone(active), Means{Budget: money, Slots: slots, Now: c.Now()})
		if err != nil {
			return nil, err
		}
		orders = slices.Clone(orders)
		return orders, complete(orders, active, money)
	})
	for i, o := range orders {
		if p := r.project(o.Project); o.Action == Promote && p.judged {
			orders[i].Action, orders[i].Stage = Keep, p.Stage
		}
	}
	return orders, err
}

// active returns the projects that may make another round, and the largest number of rounds
// that one of them has to go.
func (r *run[I, O]) active(c *orchestrator.Context) (active []Project, rounds int) {
	for _, p := range r.projects {
		left := r.Bounds.Rounds - p.Rounds
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
		r.Emit(c, eventProjectKilled, &Event{Event: team.Event{Text: p.Killed}, Project: p.ID, Stage: p.Stage})
	case Promote:
		p.judged = true
		r.Emit(c, eventProjectPromoted, &Event{Project: p.ID, Stage: p.Stage, Score: p.Score})
	case Keep:
	}
}

// judge says which projects did not make all their rounds, and why.
func (r *run[I, O]) judge(c *orchestrator.Context) {
	for i, p := range r.projects {
		switch {
		case p.Stage == Killed:
		case p.Score == nil:
			r.out.Unverified = append(r.out.Unverified, p.ID)
			if r.in.Projects[i].Score == nil { // it made no round
				r.Warn(c, r.Code("ungraded"), p.ID, "the input has no score of it")
			}
		case p.Rounds < r.Bounds.Rounds:
			r.Warn(c, r.Code("no-money"), p.ID, "it made %d of %d rounds", p.Rounds, r.Bounds.Rounds)
		}
	}
}

// ending returns the move that ends the run, and the run's error.
func (r *run[I, O]) ending(c *orchestrator.Context, err error) (move, error) {
	left := slices.ContainsFunc(r.projects, func(p *project[I, O]) bool { return p.Stage != Killed })
	if err == nil && left && r.graded == 0 {
		const text = "no round of any project could be graded"
		switch {
		case r.cut || c.Left().Cost < 0:
			err = errOver
		case r.broken != nil:
			err = team.Fail(ErrNoRound, text+": %w", r.broken)
		default:
			err = team.Fail(ErrNoRound, text)
		}
	}
	over := errors.Is(err, orchestrator.ErrBudget)
	switch {
	case c.IsCanceled(err):
		return moveCancel, err
	case over && r.graded == 0:
		return moveOverspend, err
	case err != nil && !over:
		return moveFail, err
	case over || len(r.out.Warnings) > 0:
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
