package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// callContext is the context of an attempt: context.WithDeadline and agent.WithInfo
// in one value. Its channel, its timer and its tie to the parent are made when an
// agent asks for Done: most calls cost none of them. Contexts that package context
// derives from it need no goroutine ([callContext.AfterFunc]).
type callContext struct {
	parent context.Context //nolint:containedctx // it is a context
	until  time.Time       // zero: no deadline
	info   *agent.Info

	mu     sync.Mutex
	err    error
	done   chan struct{}
	timer  *time.Timer
	unlink func() bool // from the parent
	then   []*func()   // to be called at the end
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
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		} else {
			c.arm()
		}
	}
	return c.done
}

// arm makes the deadline and the parent end c. c.mu is held.
func (c *callContext) arm() {
	if c.timer == nil && !c.until.IsZero() {
		c.timer = time.AfterFunc(time.Until(c.until), func() { c.end(context.DeadlineExceeded) })
	}
	if c.unlink == nil && c.parent.Done() != nil {
		c.unlink = context.AfterFunc(c.parent, func() { c.end(c.parent.Err()) })
	}
}

// end ends the context with err; the first one counts.
func (c *callContext) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	unlink, then := c.unlink, c.then
	c.then = nil
	c.mu.Unlock()
	if unlink != nil {
		unlink()
	}
	for _, f := range then {
		apart(*f)
	}
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	switch {
	case err != nil:
		return err
	case c.parent.Err() != nil:
		c.end(c.parent.Err())
	case !c.until.IsZero() && !time.Now().Before(c.until):
		c.end(context.DeadlineExceeded)
	default:
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// overdue reports whether the deadline is what ended c, or would have by now.
func (c *callContext) overdue() bool {
	return c.Err() == context.DeadlineExceeded && !c.until.IsZero() //nolint:errorlint // it is exactly that one
}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	if v, ok := agent.InfoValue(key, c.info); ok {
		return v
	}
	return c.parent.Value(key)
}

// AfterFunc lets package context derive from c without a goroutine.
func (c *callContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		apart(f)
		return func() bool { return false }
	}
	c.arm()
	at := &f
	c.then = append(c.then, at)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.then, at)
		if i >= 0 {
			c.then = slices.Delete(c.then, i, i+1)
		}
		return i >= 0
	}
}

// apart calls f on a goroutine of its own, as package context does.
func apart(f func()) { new(sync.WaitGroup).Go(f) }
