// Package crew makes the calls of an engine's agents: it gives them their places, their
// attempts and their time to return, and says what came of each.
//
// The idea: a call goes in, and its [Client] is told once what came of it. The crew knows
// no runs and no records. The goroutine that begins a call executes it, and goes on with
// what the client wants done next.
//
// Invariants:
//   - At most Config.Parallel calls have a place. Parties take turns, and calls of one
//     party wait first in, first out. A call has no place while it waits between two
//     attempts. One whose agent waits for a run lends its place to a call of that run.
//   - A client is told exactly once that a call is over: Done, when the agent has
//     returned in time, or Left, when it was left behind. After Left comes Late, if the
//     agent returns at last.
//   - A canceled call that waits for a place reaches no agent, but is begun all the same,
//     so that its client is told in the same way.
//   - An agent that was left behind holds no place, and Close does not wait for it.
//
// # Files
//
//   - crew.go: calls, agents that are left behind
//   - places.go: who has a place, and who gets the next one
//   - feed.go: what agents report while they work, and who reads it
package crew

import (
	"context"
	"sync"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

// Config is what a Crew needs.
type Config struct {
	Agents   agent.Roster // agents that calls name
	Retry    engine.Retry // retries of calls that fail
	Parallel int          // calls at once; 0: no limit
	Pool     *jobs.Pool   // goroutines that go on where an agent ended one
}

// Client is who wants a call: it is told what came of it, on the goroutine of the call.
type Client interface {
	// Begin tells that the call has its place. False: its agent is not to be called.
	Begin() bool

	// Done tells that the call is over. called is false if its agent was not called.
	Done(called bool) jobs.Job

	// Left tells that the agent was left behind, with the error of the call.
	Left(err *agent.Error) jobs.Job

	// Late tells that an agent that was left behind has returned: Task.Reported is what
	// it says that it used.
	Late() jobs.Job
}

// Call is one call of an agent. Client, Party, Info, Request and Reserved are set before it
// is started. It is used once and must not be copied.
type Call struct {
	engine.Task
	Client Client // who wants the call
	Party  *Party // those with whom the call shares places
	crew   *Crew
	seat
	within inside // context of the call, where it has a place

	mu    sync.Mutex  // orders what Task.Overdue and Task.Returned say
	timer *time.Timer // goes off when the agent may be overdue; nil: nothing limits the call yet
}

// Party is whose calls are treated as one where calls wait for places: a run with its
// children. Parties take turns, so that one with few calls does not wait behind one with
// many. Within a party calls come first in, first out. The zero value is a party of its
// own. It must not be copied.
type Party struct{ party }

// Join has p take turns together with the party whose agent ctx is of, if it is of one. It
// is called before p has calls.
func (p *Party) Join(ctx context.Context) { p.join(ctx) }

// Crew makes calls. It is safe for concurrent use.
type Crew struct {
	cfg    Config
	places places

	mu       sync.Mutex
	left     map[*Call]bool // calls whose agents were left behind and have not returned
	returned sync.Cond      // signals that left shrinks
}

// New returns a Crew. It starts nothing.
func New(c Config) *Crew {
	w := &Crew{cfg: c, left: map[*Call]bool{}}
	w.returned.L = &w.mu
	w.places.limit, w.places.pool = c.Parallel, c.Pool
	return w
}

// Start begins a call, from its limits of time on. It returns true if the call has a
// place: then the caller has c.Work called. Otherwise the crew does so later.
func (w *Crew) Start(c *Call) bool {
	c.crew = w
	if limits := &c.Request.Limits; limits.Timeout > 0 || limits.Total > 0 {
		c.mu.Lock()
		c.arm(c.Patience())
		c.mu.Unlock()
	}
	if w.cfg.Parallel == 0 {
		return true
	}
	c.of, c.party, c.job = &w.places, &c.Party.party, c
	c.Rest, c.within = c.rest, inside{context.Background(), &c.seat}
	w.places.mu.Lock()
	defer w.places.mu.Unlock()
	return w.places.take(&c.seat)
}

// Lend has the call whose agent ctx is of lend its place to party, which its agent waits
// for, until stop is called. A call of party that uses the place then keeps it until it is
// over. Nothing is lent without such a call, or if the call is one of another crew.
func (w *Crew) Lend(ctx context.Context, party *Party) (stop func()) {
	return w.places.lendTo(ctx, &party.party)
}

// Work implements jobs.Job: it makes the call.
func (c *Call) Work() jobs.Job {
	if !c.Client.Begin() {
		return c.over(false)
	}
	ended := true
	defer func() {
		if ended { // the agent ended this goroutine: another one continues
			c.crew.cfg.Pool.Do(c.over(true))
		}
	}()
	ctx := context.Background()
	if c.within.seat != nil {
		ctx = &c.within
	}
	c.Execute(ctx, c.crew.cfg.Agents, c.crew.cfg.Retry)
	ended = false
	return c.over(true)
}

// over gives the place of the call to the next one, and tells the client.
func (c *Call) over(called bool) jobs.Job {
	c.mu.Lock()
	late := c.Returned()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	if c.crew.cfg.Parallel > 0 {
		c.free()
	}
	if late {
		c.crew.welcome(c)
		return c.Client.Late()
	}
	return c.Client.Done(called)
}

// Cancel ends the contexts of calls. Agents that do not return within their Grace are
// left behind. Calls that wait for a place leave the line first, as others may give
// their places back at once.
func (w *Crew) Cancel(calls ...*Call) {
	waiting := w.withdraw(calls)
	for _, c := range calls {
		if c.Cancel() {
			c.mu.Lock()
			if c.Underway() { // else it has returned meanwhile, and its timer is stopped
				c.arm(c.Grace())
			}
			c.mu.Unlock()
		}
	}
	for _, c := range waiting {
		w.cfg.Pool.Do(c)
	}
}

// arm has the agent be looked after in d. c.mu is held.
func (c *Call) arm(d time.Duration) {
	if c.timer == nil {
		c.timer = time.AfterFunc(d, func() { c.crew.cfg.Pool.Do(overdue{c}) })
		return
	}
	c.timer.Reset(d)
}

// overdue is the job to leave an agent behind if its time to return is over.
type overdue struct{ c *Call }

// Work implements jobs.Job.
func (o overdue) Work() jobs.Job {
	c := o.c
	c.mu.Lock()
	err, again := c.Overdue()
	if again > 0 {
		c.arm(again)
	}
	if err != nil {
		c.crew.abandon(c) // before its return can be observed
	}
	c.mu.Unlock()
	if err == nil {
		return nil
	}
	return c.Client.Left(err)
}

// withdraw takes those calls that wait for their first place out of the line, and returns
// them. A call that waits for its place again wakes up by its context.
func (w *Crew) withdraw(calls []*Call) (waiting []*Call) {
	if w.cfg.Parallel == 0 {
		return nil
	}
	w.places.mu.Lock()
	defer w.places.mu.Unlock()
	for _, c := range calls {
		if w.places.leave(&c.seat) && c.granted == nil {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// abandon stops waiting for the goroutine that is inside the agent of c; welcome counts
// it again when the agent has returned.
func (w *Crew) abandon(c *Call) {
	if w.cfg.Parallel > 0 {
		c.free()
	}
	w.mu.Lock()
	w.left[c] = true
	w.mu.Unlock()
	w.cfg.Pool.Uncount()
}

func (w *Crew) welcome(c *Call) {
	w.cfg.Pool.Count()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.left, c)
	w.returned.Broadcast()
}

// Linger waits until every agent that was left behind has returned, for
// engine.DefaultGrace at most, and names the others.
func (w *Crew) Linger(ctx context.Context) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, engine.DefaultGrace)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.returned.Broadcast()
	})()
	for len(w.left) > 0 && ctx.Err() == nil {
		w.returned.Wait()
	}
	for c := range w.left {
		names = append(names, c.Info.Agent)
	}
	return names
}
