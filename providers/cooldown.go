package providers

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// How long a rate limited model is not called.
const (
	DefaultCoolDown = 10 * time.Second // if the vendor does not say
	MaxCoolDown     = 5 * time.Minute  // whatever the vendor says
)

// coolDown keeps callers away from one rate limited model. It is free, closed until a
// time, or then on trial: one call finds out whether the model is free again. The zero
// coolDown is free.
type coolDown struct {
	mu    sync.Mutex
	until time.Time     // zero: free
	trial chan struct{} // closed when the call on trial ends; nil: there is none
	err   *Error        // the last rate limit

	waiting map[*pass]context.CancelFunc // waits to cancel when it closes
}

// pass lets one call through. Its holder ends it.
type pass struct {
	of    *coolDown
	trial chan struct{} // not nil: this is the call on trial
}

// enter returns a pass, or nil: then busy is closed when the call on trial ends, or is nil
// if the model still cools down.
func (c *coolDown) enter() (p *pass, busy <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.until.IsZero():
		return &pass{of: c}, nil
	case time.Now().Before(c.until):
		return nil, nil
	case c.trial != nil:
		return nil, c.trial
	}
	c.trial = make(chan struct{})
	return &pass{of: c, trial: c.trial}, nil
}

// line returns a context for the holder of p to wait with before the call: it is canceled
// when c closes, except for the call on trial. The holder calls end.
func (c *coolDown) line(ctx context.Context, p *pass) (waits context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	if p.trial != nil {
		return ctx, cancel
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() {
		cancel()
		return ctx, cancel
	}
	if c.waiting == nil {
		c.waiting = map[*pass]context.CancelFunc{}
	}
	c.waiting[p] = cancel
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, p)
	}
}

// end reports the result of the call: err is nil or its error. A canceled trial has no
// result, and the next caller becomes the trial.
func (p *pass) end(err error) {
	c := p.of
	c.mu.Lock()
	defer c.mu.Unlock()
	switch limited := err != nil && kindOf(err) == RateLimited; {
	case limited:
		c.hit(err)
	case p.trial != nil && (err == nil || kindOf(err) != Canceled):
		c.until = time.Time{}
	}
	if p.trial != nil {
		close(p.trial)
		c.trial = nil
	}
}

// hit closes c, or extends its time.
func (c *coolDown) hit(err error) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Kind: RateLimited, Message: err.Error(), Err: err}
	}
	c.err = e
	wait := DefaultCoolDown
	if e.RetryAfter > 0 {
		wait = min(e.RetryAfter, MaxCoolDown)
	}
	wait += rand.N(jittered(wait) - wait + 1)
	if until := time.Now().Add(wait); until.After(c.until) {
		c.until = until
	}
	for _, tell := range c.waiting {
		tell()
	}
}

// jittered is the most that a cool-down of d can last.
func jittered(d time.Duration) time.Duration { return d + d/10 }

// said returns a copy of the last rate limit, with the time until the next call as
// RetryAfter: at least 1, because the cool-down may end just now. There must be one.
func (c *coolDown) said() *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := *c.err
	e.Err = c.err
	e.RetryAfter = max(time.Until(c.until), 1)
	return &e
}

// skipped is why a call skipped the model: its last rate limit, without the usage.
func (c *coolDown) skipped() *Error {
	e := c.said()
	e.Usage, e.Err = Usage{}, nil
	return e
}
