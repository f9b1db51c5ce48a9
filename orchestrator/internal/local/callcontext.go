package local

import (
	"context"
	"sync"
)

// callContext is the context of one call: context.WithCancelCause with less work
// for calls that nobody cancels and agents that don't look. Its parent, the context
// of the run, has no deadline and no values.
type callContext struct {
	context.Context //nolint:containedctx // the run's

	mu   sync.Mutex
	err  error
	done chan struct{}
	stop func() bool // of waiting for the run's end
}

// end ends the context with err, or, with nil, its use: nothing is under way any
// more that could see it.
func (c *callContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if err == nil {
		err = context.Canceled
	}
	c.err = err
	if c.stop != nil {
		c.stop()
	}
	if c.done != nil {
		close(c.done)
	}
}

// Done implements context.Context. Who looks is told of the run's end, too.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		} else {
			c.watch()
		}
	}
	return c.done
}

// watch makes the end of the run end the call.
func (c *callContext) watch() {
	if c.stop == nil {
		c.stop = context.AfterFunc(c.Context, func() { c.end(c.Context.Err()) })
	}
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return c.Context.Err()
}
