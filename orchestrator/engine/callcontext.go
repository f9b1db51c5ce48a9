package engine

import (
	"context"
	"sync"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// callContext is the context of an attempt: context.WithDeadline and agent.WithInfo in one
// value. A context of package context is made only when an agent calls Done: most calls
// need neither its channel nor its timer.
type callContext struct {
	parent context.Context //nolint:containedctx // it is a context
	until  time.Time       // deadline; zero: none but that of parent
	info   *agent.Info

	mu     sync.Mutex
	err    error              // result of Err; nil: not known to be over
	std    context.Context    //nolint:containedctx // it is a context; nil: Done was not called
	cancel context.CancelFunc // cancels std
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	if !c.until.IsZero() && (!ok || c.until.Before(at)) {
		return c.until, true
	}
	return at, ok
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std == nil {
		if c.until.IsZero() {
			c.std, c.cancel = context.WithCancel(c.parent)
		} else {
			c.std, c.cancel = context.WithDeadline(c.parent, c.until)
		}
		if c.err != nil {
			c.cancel()
		}
	}
	return c.std.Done()
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
	case c.std != nil:
		c.err = c.std.Err()
	case c.parent.Err() != nil:
		c.err = c.parent.Err()
	case !c.until.IsZero() && !time.Now().Before(c.until):
		c.err = context.DeadlineExceeded
	}
	return c.err
}

// end cancels the context.
func (c *callContext) end() {
	c.mu.Lock()
	if c.err == nil && c.std == nil {
		c.err = context.Canceled
	}
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// overdue reports whether the deadline has ended c, or would have by now.
func (c *callContext) overdue() bool {
	err := c.Err()
	return !c.until.IsZero() && (err == context.DeadlineExceeded || err == nil && !time.Now().Before(c.until)) //nolint:errorlint // it is exactly that one
}

// over reports whether c has ended, or has to end now: its timer may come a moment late.
func (c *callContext) over() bool { return c.Err() != nil || c.overdue() }

// Value implements context.Context. Package context finds std by it, so that contexts
// derived from c need no goroutine.
func (c *callContext) Value(key any) any {
	if v, ok := agent.InfoValue(key, c.info); ok {
		return v
	}
	c.mu.Lock()
	from := c.std
	c.mu.Unlock()
	if from == nil {
		from = c.parent
	}
	return from.Value(key)
}
