package director

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// New returns the flow of a team. All faults of cfg are in the one error.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	return team.New(team.Definition[Config, Input, Outcome]{
		Name: "director", Prompts: ownPrompts, Samples: samples(), Rules: defaultRules,
		Defaults: setDefaults, Check: Config.check, Agents: Config.agents,
		Run: func(c *orchestrator.Context, s team.Start, cfg Config, in Input) (Outcome, error) {
			return (&run{Config: cfg, in: in}).do(c, s)
		},
	}, cfg)
}

// run is one run of the team. Only one branch executes at a time, so that branches may
// share it: between two effects of a branch nothing else happens to the board.
type run struct {
	Config
	*team.Run

	in      Input
	out     Outcome
	state   State
	machine *team.Machine[Phase, string]
	board   *blackboard.Editor
	before  providers.Usage // usage of earlier runs of the board
	store   artifactStore
	tasks   map[string]*job // jobs by the ID of their task
	queue   *orchestrator.Queue[struct{}]
	running map[string]bool // keys of the branches in queue
	stops   []string        // keys of branches that the loop is to cancel
	merges  []string        // IDs of tasks that may be merged, in the order of their permits
	permits []string        // IDs of tasks that passed and whose merge needs a permit
	shares  shares
	lists   lists

	added    int            // tasks that the run did not begin with
	plea     *plea          // a change of the tasks that waits for its permit; nil: none does
	pleas    int            // pleas so far
	refusals []error        // errors of the host's rules and its Permit
	held     []routing.Node // READY tasks that the Scheduler held back when it was asked last
	wakes    []time.Time    // times at which the loop is to look again
	lastWake time.Time      // the last of all of them

	failures  stagnation
	outages   outages
	planWrong string // why the strategist wants a re-plan; "": it does not
	paused    bool   // no attempt begins until a person wants it
	asking    bool   // the question about that is open
	over      error  // why no attempt begins any more: money, calls or time are used up
}

// job is what the run keeps for a task beside the board.
type job struct {
	asked    int                           // questions so far
	pauses   int                           // pauses and escalations since a person last had it done again
	caused   int                           // tasks that follow from it, or that it suggested
	question string                        // key of the open question; "": none is open
	silent   bool                          // its last question got no answer in time
	held     *Answer                       // answer that waits until the task's needs are complete; nil: none does
	shown    map[string]string             // hashes of the texts by path that its last attempt got; nil: not known
	passed   bool                          // its merge is due
	waits    string                        // why its merge waits for a person whom the run cannot ask; "": it does not
	tries    map[string][]orchestrator.Try // failed tries by role
	refused  bool                          // there is no money or time for its review
}

// job returns that of a task.
func (r *run) job(id string) *job {
	j := r.tasks[id]
	if j == nil {
		j = new(job)
		r.tasks[id] = j
	}
	return j
}

// do is the run: the board is made or taken over, tasks are planned, and worked on until
// nothing is left or something ends it.
func (r *run) do(c *orchestrator.Context, s team.Start) (Outcome, error) {
	c = r.begin(c, s)
	for _, step := range []func(*orchestrator.Context) error{r.open, r.decompose, r.work} {
		if err := step(c); err != nil {
			return r.end(c, err)
		}
	}
	return r.end(c, nil)
}

// begin makes the state, and c the budget of the run.
func (r *run) begin(c *orchestrator.Context, s team.Start) *orchestrator.Context {
	r.tasks, r.running = map[string]*job{}, map[string]bool{}
	r.state.Phase = opening
	s.Limits.AllowUnpriced = s.Limits.AllowUnpriced || c.Left().AllowUnpriced
	r.in.Objective = text.Newlines(r.in.Objective)
	s.Asked = r.in.Objective
	if r.in.Board != nil {
		s.Asked = cmp.Or(s.Asked, r.in.Board.Objective)
	}
	s.Outcome, s.State = &r.out.Outcome, func() any { return r.shown() }
	if r.Policy.ReturnWhenWaiting {
		s.Waits = ErrWaiting
	}
	r.Run, c = team.Begin(c, s)
	r.machine = team.NewMachine(r.Run, "", phases, &r.state.Phase)
	return c
}

// shown is the state as it is now.
func (r *run) shown() State {
	s := r.state
	s.Warnings = slices.Clone(r.out.Warnings)
	s.Ready, s.Blocked, s.Active = []string{}, []blockedTask{}, []string{}
	if r.board == nil {
		return s
	}
	bare := *r.board.Board()
	bare.Memories = nil
	s.Board = &bare
	s.Ready = append(s.Ready, r.board.ReadyQueue()...)
	s.Active = append(s.Active, r.board.In(blackboard.Active)...)
	for _, id := range r.board.In(blackboard.Blocked) {
		t, _ := r.board.Task(id)
		s.Blocked = append(s.Blocked, blockedTask{id, *t.Blocked})
	}
	return s
}

// end fires the event that ends the run, and returns its outcome.
func (r *run) end(c *orchestrator.Context, err error) (Outcome, error) {
	if !r.machine.Over() {
		r.fire(c, ending(c, err))
	}
	r.leaveFolders(c)
	r.out.End, r.out.Spent = r.state.Phase, c.Spent()
	r.out.Status, err = r.summarize(&r.out).status(r.out.End, err)
	e := Event{To: string(r.out.End)}
	if err != nil {
		err = r.withRefusals(fmt.Errorf("director: %w", err))
		e.Text = prompt.OneLine(err.Error())
	}
	r.End(c, err, &e)
	return r.out, err
}

// withRefusals adds the errors of rules to the run's own, which keeps their codes.
func (r *run) withRefusals(err error) error {
	for _, refusal := range r.refusals {
		if !strings.Contains(err.Error(), refusal.Error()) {
			err = fmt.Errorf("%w; %w", err, refusal)
		}
		for _, code := range []agent.Code{ErrRule, ErrNotPermitted} {
			if errors.Is(refusal, code) && !errors.Is(err, code) {
				err = team.Fail(code, "%w", err)
			}
		}
	}
	return err
}

// summarize fills in what follows from the board.
func (r *run) summarize(out *Outcome) (d done) {
	if r.board == nil {
		return d
	}
	d.whole = true
	out.Board, out.Files, out.Drafts, out.Branch = r.board.Board(), r.store.files, r.store.drafts, r.store.branch
	out.Board.Spent = r.before.Add(out.Spent) // includes usage that canceled calls reported late
	out.Summary = map[blackboard.State]int{}
	for i := range out.Board.Tasks {
		t := &out.Board.Tasks[i]
		out.Summary[t.Status]++
		d.any = d.any || t.Status == blackboard.Complete
		if !t.Final() {
			out.Pending = append(out.Pending, t.ID)
		}
		partial := t.QA != nil && t.QA.Outcome == string(OutcomePartial)
		if partial {
			out.Unverified = append(out.Unverified, t.ID)
		}
		if partial || t.Status == blackboard.Abandoned && givenUp(t.Reason) {
			d.whole = false
		}
	}
	return d
}

// ending is the event with which an error ends a run.
func ending(c *orchestrator.Context, err error) string {
	switch {
	case err == nil:
		return moveComplete
	case c.IsCanceled(err):
		return moveCancel
	case orchestrator.IsOver(err), errors.Is(err, errNoMoney):
		return moveOverspend
	case errors.Is(err, ErrWaiting):
		return moveWait
	case errors.Is(err, ErrStuck):
		return moveStick
	}
	return moveFail
}
