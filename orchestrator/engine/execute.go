package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Retry says how transient errors of agents are retried: with exponential backoff and
// jitter. Zero fields are the defaults.
type Retry struct {
	Attempts int           // attempts of one call, the first included; 0: 4
	Initial  time.Duration // wait before the second attempt, which then grows; 0: 1 s
	Max      time.Duration // longest wait between two attempts; 0: 60 s
	Factor   float64       // ratio of each further wait to the one before; 0: 2
}

// DefaultGrace is how long an agent may take to return after its call was canceled or is
// overdue, if Limits.Grace is 0.
const DefaultGrace = time.Second

// Task is one call with all its attempts. Every engine executes its calls by a Task, in
// the process that has the agents. A Task is used once, and must not be copied.
type Task struct {
	Info     agent.Info     // identity of the call; Execute sets Attempt
	Request  *agent.Request // request to the agent; not changed
	Reserved Amount         // Op.Reserved of the call: it limits further attempts

	// Rest makes the wait before a further attempt: it calls wait. An engine whose calls
	// hold places gives the call's place to others meanwhile, and returns when the call has
	// a place again, or ctx is over. nil: wait is called.
	Rest func(ctx context.Context, wait func())

	Response agent.Response // result of Execute; zero beside Err
	Err      *agent.Error   // result of Execute; nil: Response counts
	Failed   *Attempts      // result of Execute: attempts that failed; nil: none
	Ended    time.Time      // result of Execute: the time at which the call was over

	agent    agent.Agent
	begun    time.Time
	again    time.Time // start of the last attempt, if it is not the first one; else zero
	attempts int
	usage    providers.Usage // sum over all attempts, as the agent reported it
	counted  Amount          // usage of the attempts that most is of
	most     Amount          // most that one attempt has used, each figure by itself
	due      atomic.Int64    // time limit of the attempt under way, in ns after begun; 0: no limit

	canceled atomic.Bool
	under    atomic.Pointer[callContext] // context that Cancel ends; nil: Execute has not begun
	first    callContext                 // context of the first attempt

	mu         sync.Mutex
	place      place     // where the agent is
	canceledAt time.Time // time of the first Cancel; zero: the call is not canceled
}

// Cancel ends the contexts of the call and prevents further attempts. It reports whether
// the agent's Grace begins now: this is the first Cancel, and the agent has not returned.
// It is safe for concurrent use.
func (t *Task) Cancel() (first bool) {
	t.mu.Lock()
	if first = t.canceledAt.IsZero(); first {
		t.canceledAt = time.Now()
	}
	away := t.place == underway
	t.mu.Unlock()
	t.canceled.Store(true)
	if under := t.under.Load(); under != nil { // else who sets it finds canceled
		under.end()
	}
	return first && away
}

// Due returns when the attempt under way has to be over; zero: it has no limit. It is safe
// for concurrent use.
func (t *Task) Due() time.Time {
	if at := t.due.Load(); at != 0 {
		return t.begun.Add(time.Duration(at)) // begun has a reading of the monotonic clock
	}
	return time.Time{}
}

// Reported returns the usage that the agent reported. In Response and Err, an agent that
// reports no call counts as one.
func (t *Task) Reported() providers.Usage { return t.usage }

// Grace returns how long the agent may take to return once its call is canceled or
// overdue.
func (t *Task) Grace() time.Duration {
	if g := t.Request.Limits.Grace; g > 0 {
		return g
	}
	return DefaultGrace
}

// Execute makes the call: it makes attempts with their timeouts, and turns panics into
// errors. It sets Response, Err and Ended, in the form in which a log keeps them. They are
// set, too, when the agent ends the goroutine (runtime.Goexit, FailNow of a test): a
// deferred function of the caller finds them.
func (t *Task) Execute(ctx context.Context, roster agent.Roster, retry Retry) {
	t.begun = time.Now()
	defer t.finish()
	t.Info.Attempt = 1
	t.first.parent, t.first.info = ctx, &t.Info
	t.agent = roster[t.Info.Agent]
	t.under.Store(&t.first)
	switch {
	case t.agent == nil:
		t.Err = agent.ErrorOf(NoAgent(t.Info.Agent, roster))
	case t.canceled.Load():
		t.Err = agent.ErrorOf(fmt.Errorf("%w before the call began", context.Canceled))
	default:
		t.try(&t.first)
		if t.Err != nil && t.Err.Transient {
			t.tryAgain(ctx, retry)
		}
	}
}

// finish sets Ended and the usage, and puts Err in the form in which a log keeps it.
func (t *Task) finish() {
	t.Ended = time.Now()
	used := t.usage
	if t.attempts > 0 && used.Calls == 0 {
		used.Calls = 1
	}
	if t.Err != nil {
		t.Err = normalizeError(t.Err)
		t.Err.Usage = used
		t.Response = agent.Response{}
		return
	}
	t.Response.Usage = used
	t.Response.Elapsed = t.Ended.Sub(t.begun)
}

// try makes one attempt, with c as its context.
func (t *Task) try(c *callContext) {
	limit := t.Request.Limits.Timeout
	if total := t.Request.Limits.Total; total > 0 {
		if left := total - time.Since(t.begun); limit == 0 || left < limit {
			limit = left
		}
	}
	if limit != 0 {
		c.until = time.Now().Add(limit)
		t.due.Store(int64(c.until.Sub(t.begun)))
	}
	t.attempts++
	t.Response, t.Err = agent.Response{}, errExited
	defer t.tried(c, limit)
	req := *t.Request
	if t.attempts > 1 {
		req.Limits = t.left()
	}
	response, err := t.agent.Call(c, req)
	t.Response, t.Err = response, nil
	if err != nil {
		t.Err = agent.ErrorOf(err)
	}
}

// errExited marks an attempt whose agent panicked or ended its goroutine.
var errExited = &agent.Error{Codes: []agent.Code{"panic"}}

// tried sets the result and the usage of an attempt, which has just ended. A panic and the
// end of the goroutine become errors.
func (t *Task) tried(c *callContext, limit time.Duration) {
	v := recover()
	if t.Err == errExited {
		what := "ended its goroutine, by runtime.Goexit or FailNow of a test"
		if v != nil {
			what = fmt.Sprintf("panicked: %v", v)
		}
		t.Err = &agent.Error{Message: fmt.Sprintf("agent %q %s", t.Info.Agent, what), Codes: []agent.Code{"panic"}, Stack: string(debug.Stack())}
	}
	if t.Err == nil {
		if err := normalize(&t.Response); err != nil {
			t.Err = agent.ErrorOf(err)
		}
	}
	if t.Response.Usage != (providers.Usage{}) {
		t.usage = t.usage.Add(t.Response.Usage)
	}
	if t.Err != nil {
		usage := t.Err.Usage
		if limit != 0 && c.overdue() {
			t.Err = agent.ErrorOf(agent.Transient(fmt.Errorf("%w after %v: %w", ErrTimeout, limit, t.Err), 0))
		}
		if usage.Negative() {
			usage = providers.Usage{}
		}
		t.usage = t.usage.Add(usage)
		t.failed(t.Response.Usage.Add(usage))
	}
	t.due.Store(0)
	c.end()
}

// tryAgain makes the attempts after a first one that failed transiently.
func (t *Task) tryAgain(ctx context.Context, retry Retry) {
	limits := t.Request.Limits
	base := &callContext{parent: ctx, info: &t.Info}
	if limits.Total > 0 {
		base.until = t.begun.Add(limits.Total)
	}
	defer base.end()
	t.under.Store(base)
	if t.canceled.Load() {
		return
	}
	most := cmp.Or(limits.Attempts, retry.Attempts, 4)
	wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(cmp.Or(retry.Initial, time.Second)),
		backoff.WithMaxInterval(cmp.Or(retry.Max, time.Minute)), backoff.WithMultiplier(cmp.Or(retry.Factor, 2)), backoff.WithMaxElapsedTime(0))
	for t.Err != nil && t.Err.Transient && t.attempts < most && t.affordable() && !base.over() {
		t.rest(base, max(wait.NextBackOff(), t.Err.RetryAfter)) // at least as long as the vendor asked for
		if !base.over() {
			info := t.Info // contexts of earlier attempts keep theirs
			info.Attempt = t.attempts + 1
			t.again = time.Now()
			t.try(&callContext{parent: base, info: &info})
		}
	}
	if t.Err != nil && base.overdue() {
		t.Err = agent.ErrorOf(fmt.Errorf("%w in attempt %d, after %v: %w", ErrTimeout, t.attempts, limits.Total, t.Err))
		t.Err.Transient = false
	}
}

// rest waits for d, or until ctx is over.
func (t *Task) rest(ctx context.Context, d time.Duration) {
	wait := func() {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	if t.Rest == nil {
		wait()
		return
	}
	t.Rest(ctx, wait)
}

// affordable reports whether one more attempt fits into what the call may use, if it uses
// as much as the largest so far. Attempts that used nothing are free. It is called once
// after each attempt.
func (t *Task) affordable() bool {
	used := Amount{max(t.usage.Cost, 0), max(t.usage.Input+t.usage.Output, 0), max(t.usage.Calls, 0)}
	t.most.Cost = max(t.most.Cost, used.Cost-t.counted.Cost)
	t.most.Tokens = max(t.most.Tokens, used.Tokens-t.counted.Tokens)
	t.most.Calls = max(t.most.Calls, used.Calls-t.counted.Calls)
	t.counted = used
	if r := t.Reserved; used.Cost > 0 && r.Cost > 0 || used.Tokens > 0 && r.Tokens > 0 || used.Calls > 0 && r.Calls > 0 {
		return false // the reservation was for one
	}
	l := &t.Request.Limits
	return fits(l.Cost, used.Cost, t.most.Cost) && fits(l.Tokens, used.Tokens, t.most.Tokens) && fits(l.Calls, used.Calls, t.most.Calls)
}

// fits reports whether as much as more fits into limit beside used. A limit of 0 is none,
// and nothing always fits.
func fits[N ~int64](limit, used, more N) bool {
	return limit <= 0 || more == 0 || more <= limit-used
}

// left returns the limits of the next attempt: what those before it have used is gone. An
// attempt that affordable admits has something left.
func (t *Task) left() agent.Limits {
	l := t.Request.Limits
	if l.Cost > 0 {
		l.Cost = max(l.Cost-t.counted.Cost, 1)
	}
	if l.Tokens > 0 {
		l.Tokens = max(l.Tokens-t.counted.Tokens, 1)
	}
	if l.Calls > 0 {
		l.Calls = max(l.Calls-t.counted.Calls, 1)
	}
	return l
}
