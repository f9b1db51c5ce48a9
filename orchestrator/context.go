package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// The errors that callers tell apart, by errors.Is. They are the same on every engine.
const (
	ErrBudget      = engine.ErrBudget      // the call does not fit into a budget, or the time is up
	ErrCanceled    = engine.ErrCanceled    // the run or the branch is canceled; also context.Canceled
	ErrTimeout     = engine.ErrTimeout     // the time limit of a call or a question is over; also context.DeadlineExceeded
	ErrNoAgent     = engine.ErrNoAgent     // no agent has that name, or the flow does not declare it
	ErrNoRun       = engine.ErrNoRun       // no run has that ID
	ErrNoFlow      = engine.ErrNoFlow      // the run's flow is not registered, or not in its version
	ErrNotServed   = engine.ErrNotServed   // the run's labels are for other engines; see Config.Fleet.Serves
	ErrExists      = engine.ErrExists      // a run of another flow, input, budget or labels has that ID
	ErrNoState     = engine.ErrNoState     // the flow exposes nothing
	ErrMalformed   = engine.ErrMalformed   // an answer does not fit its schema
	ErrAnswered    = engine.ErrAnswered    // the question has another answer already
	ErrNoQuestion  = engine.ErrNoQuestion  // the question was not asked yet, has expired, was withdrawn, or its run has ended
	ErrChanged     = engine.ErrChanged     // the question is not the one that was shown to who answers
	ErrNotAllowed  = engine.ErrNotAllowed  // the question wants another one to answer it
	ErrUnconfirmed = engine.ErrUnconfirmed // a command may or may not have arrived: look at the run, or give it again
	ErrDiverged    = engine.ErrDiverged    // flow or version does not match the log
	ErrStopped     = engine.ErrStopped     // the engine was closed; Resume continues the run
	ErrRunning     = engine.ErrRunning     // a process works on the run
	ErrFlow        = engine.ErrFlow        // the flow's code panicked, deadlocked or broke a rule
	ErrTooLarge    = engine.ErrTooLarge    // a value is larger than the engine or its store can record, or an answer than its limit
	ErrUnstorable  = engine.ErrUnstorable  // the store never takes a value, for another reason than its size
)

// Context is a flow's only way to the world. It is not a context.Context, on
// purpose: what takes one does I/O or blocks, and belongs into an agent. Each
// branch has its own; using it in another branch or in a goroutine stops the run
// with an error that says so (the race detector finds what runs while the branch does).
type Context struct {
	branch *sched.Branch
	use    sched.Options
	run    *runState
	mute   error // error that Await returns instead of asking; nil: it asks
}

// runState is what the Contexts of a run share.
type runState struct {
	in     *engine.Input // not changed
	flow   string
	agents []string // declared; nil: not
	state  func() (json.RawMessage, error)
}

// RunID is the run's ID.
func (c *Context) RunID() string { return c.run.in.Run }

// Call asks an agent. Its errors are *agent.Error; transient ones have been
// retried. The effect of a call is recorded once, and not made again at a resume.
// What a model thought aloud in <think>, <thinking> or <reasoning> at the beginning of
// its answer is in the record, and not in Response.Text.
func (c *Context) Call(name string, req agent.Request) (agent.Response, error) {
	if c.run.agents != nil {
		if _, ok := slices.BinarySearch(c.run.agents, name); !ok {
			return agent.Response{}, agent.ErrorOf(fmt.Errorf("%w: flow %q calls %q, which its Agents do not declare", ErrNoAgent, c.run.flow, name))
		}
	}
	if len(req.Input) > 0 && !json.Valid(req.Input) {
		return agent.Response{}, agent.ErrorOf(fmt.Errorf("%w: Request.Input to %q is not JSON", ErrMalformed, name))
	}
	op := c.branch.Op(engine.Call, name)
	*op.Request = req
	done := c.branch.Do(c.use, op)
	if done.Err != nil {
		return agent.Response{}, done.Err
	}
	resp := *done.Response
	if strings.Contains(resp.Text, "<") {
		resp.Text = answer.WithoutThinking(resp.Text)
	}
	return resp, nil
}

// Sleep waits by the run's time. It returns ErrCanceled or ErrBudget, else nil.
func (c *Context) Sleep(d time.Duration) error {
	if d <= 0 {
		return c.Err()
	}
	op := c.branch.Op(engine.Sleep, "")
	op.Until = c.Now().Add(d)
	if done := c.branch.Do(c.use, op); done.Err != nil {
		return done.Err
	}
	return nil
}

// Err is nil while effects of c are made; ErrCanceled after a cancel; ErrFlow after
// the flow broke a rule.
func (c *Context) Err() error {
	if err := c.branch.Check(); err != nil {
		return err
	}
	if err := c.branch.Err(); err != nil && !c.use.Shielded {
		return err
	}
	return nil
}

// IsOver tells whether err is there because the run is over for the flow: it is
// canceled, an enclosing budget refused a call, or the time of one is used up. An
// error of the same name that an agent returned is a failure of that agent. Loops
// that try again stop at it.
func IsOver(err error) bool { return errors.Is(err, engine.ErrOver) }

// IsBroken tells whether err is there because the flow broke a rule ([ErrFlow]). An error
// of the same name that an agent or a child returned is a failure of that one. Loops that
// try again stop at it.
func IsBroken(err error) bool {
	var crossed *agent.Error // from an agent or a child, unless it says that the flow broke the rule
	return errors.Is(err, engine.ErrRule) || errors.Is(err, ErrFlow) && (!errors.As(err, &crossed) || !errors.Is(crossed, ErrFlow))
}

// IsCanceled reports whether err is there because c is canceled. It is IsOver for
// cancels only.
func (c *Context) IsCanceled(err error) bool { return IsOver(err) && errors.Is(err, ErrCanceled) }

// Now is the run's time: when the last answer arrived. It is equal on replay.
func (c *Context) Now() time.Time {
	now, _ := c.branch.Now()
	return now
}

// Elapsed is how long the run has been worked on: time in which no process did,
// between a crash and the resume, does not count. Time limits and Budget.Wall use
// it. On Temporal it is the time since the start.
func (c *Context) Elapsed() time.Duration {
	_, worked := c.branch.Now()
	return worked
}

// Emit puts a record of the flow's own into the log: progress, audit. It is
// there once, over resumes too. data must have a JSON form, and kind must not be
// one of the engine's (see package runlog); anything else is ErrFlow and stops
// the run.
func (c *Context) Emit(kind string, data any) {
	if c.branch.Check() != nil {
		return
	}
	raw, err := engine.Encode(data)
	switch {
	case kind == "" || slices.Contains(reserved, kind):
		c.branch.Fault("Emit: the kind %q is empty or the engine's own", kind)
	case err != nil:
		c.branch.Fault("Emit(%q): the data has no JSON form: %v", kind, err)
	default:
		c.branch.Emit(kind, raw)
	}
}

var reserved = []string{
	runlog.Used, runlog.Refused, runlog.Lost, runlog.Stuck,
	runlog.Started, runlog.Resumed, runlog.Called, runlog.Slept, runlog.Asked, runlog.Withdrawn,
	runlog.Expired, runlog.Answered, runlog.Canceled, runlog.Changed, runlog.Ended,
}

// Expose lets hosts read state before the run has ended (Run.State). The function
// is called between steps of the flow, so it may read the flow's variables; it
// must not change them or use c, and it holds up the flow while it runs. The last
// Expose of a run counts; its state at the end is kept with the log.
func (c *Context) Expose(state func() any) {
	if c.branch.Check() != nil {
		return
	}
	c.run.state = func() (raw json.RawMessage, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = agent.ErrorOf(fmt.Errorf("%w: the function given to Expose panicked: %v", ErrFlow, v))
			}
		}()
		return engine.Encode(state())
	}
	c.branch.Expose(c.run.state)
}

// WithoutCancel returns c for cleaning up: its effects are made although the run
// is canceled or out of budget.
func (c *Context) WithoutCancel() *Context {
	sub := *c
	sub.use.Shielded = true
	return &sub
}

// WithoutQuestions returns c for work that cannot wait for people: Await returns err instead
// of asking, in branches of the work, too.
func (c *Context) WithoutQuestions(err error) *Context {
	sub := *c
	sub.mute = err
	return &sub
}

// Budget limits what a run or a part of it may use. A zero field is no limit, a
// negative one allows nothing.
//
// Under a limit on Cost a call first reserves what it may cost in every enclosing
// budget: its Limits.Estimate; else the largest cost of that agent so far in the
// run; else of any agent; else it has every enclosing budget with such a limit for
// itself. A call that does not fit beside the reservations of others waits, first
// come, first served. One that would not fit without them either is ErrBudget.
// Without an Estimate, only as many calls of an agent are under way at once as
// were answered before, at least one. The same holds under a limit on Tokens, where
// Limits.Tokens is the estimate. A call beyond a limit on Calls does not wait, but an agent
// that has made several calls of models in one call reserves as many, or Limits.Calls.
//
// What is left of each limit goes with a call to its agent: Limits.Cost, Calls and Tokens.
//
// A call without a known price is refused under a limit on Cost. Where the price shows
// only afterwards, the next call is refused. Split divides a Budget among branches.
//
// Its fields:
//   - Cost: money in nano-USD; 0: no limit
//   - Tokens: tokens of input and output together; 0: no limit
//   - Calls: calls of models, one for an agent that reports none; 0: no limit
//   - Wall: run time, waits for answers included, after which calls are canceled; 0: no limit
//   - AllowUnpriced: calls without a known price pass a limit on Cost, which then limits only known cost
type Budget = engine.Budget

// WithBudget returns c under one more limit, for the same branch. It is a cap,
// not a reservation: an enclosing budget that is used up refuses all the same.
func (c *Context) WithBudget(b Budget) *Context {
	if c.branch.Check() != nil {
		return c
	}
	sub := *c
	sub.use.Scope = c.branch.Scope(c.use.Scope, b)
	return &sub
}

// Spent is what calls under c's innermost budget have used so far.
func (c *Context) Spent() providers.Usage {
	if c.branch.Check() != nil {
		return providers.Usage{}
	}
	return c.use.Scope.Spent()
}

// Left is what c may still use, the least of all enclosing budgets. A zero field
// is no limit, -1 is used up. What calls under way have reserved counts as used.
func (c *Context) Left() Budget {
	if c.branch.Check() != nil {
		return Budget{}
	}
	return c.use.Scope.LeftAt(c.Elapsed())
}
