package providers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// How long a rate limited model is left alone.
const (
	DefaultCoolDown = 10 * time.Second // if the vendor does not say
	MaxCoolDown     = 5 * time.Minute  // whatever the vendor says
)

// Chain is a model made of models: the first one answers, the next one when the
// one before is rate limited, and so on.
//
// It moves on at [RateLimited] only: any other failure is returned at once, for
// a chain that moved on at every failure would hide broken models. A rate limited
// model cools down: until its RetryAfter has passed, at most [MaxCoolDown] and
// [DefaultCoolDown] if it did not say, it is skipped by all callers. When all are
// rate limited the error is RateLimited, with the time until the first of them
// may be asked again as RetryAfter.
//
// What failed models charged is added to the Usage of the answer or error.
// Response.Model says who answered. Text that a model passed to OnText before it
// was rate limited is not taken back: Response.Text holds the answer alone.
//
// A Chain neither waits nor retries. It is safe for concurrent use.
type Chain struct {
	links []*link
}

var (
	_ Model  = (*Chain)(nil)
	_ Priced = (*Chain)(nil)
)

// NewChain returns the chain of models, of which there is at least one. A chain
// may be a model of another one.
func NewChain(models ...Model) (*Chain, error) {
	if len(models) == 0 {
		return nil, errors.New("providers: chain is empty")
	}
	c := &Chain{}
	for i, m := range models {
		if m == nil {
			return nil, fmt.Errorf("providers: model %d of the chain is nil", i+1)
		}
		c.links = append(c.links, &link{model: m, limit: new(limit)})
	}
	return c, nil
}

// Priced says whether every model of the chain is.
func (c *Chain) Priced() bool {
	for _, l := range c.links {
		if p, ok := l.model.(Priced); !ok || !p.Priced() {
			return false
		}
	}
	return true
}

// Generate returns the answer of the first model that is not rate limited.
func (c *Chain) Generate(ctx context.Context, req Request) (Response, error) {
	var spent Usage
	for _, l := range c.links {
		if ctx.Err() != nil {
			return Response{}, canceled(ctx, spent)
		}
		if l.limit.left() > 0 {
			continue
		}
		resp, err := l.model.Generate(ctx, req)
		if err == nil {
			resp.Usage = spent.Add(resp.Usage)
			return resp, nil
		}
		var e *Error
		if !errors.As(err, &e) || e.Kind != RateLimited {
			return Response{}, addUsage(err, spent)
		}
		l.limit.hit(e)
		spent = spent.Add(e.Usage)
	}
	return Response{}, c.limited(spent)
}

// limited says that all links are rate limited, in the words of the one that is
// free first.
func (c *Chain) limited(spent Usage) *Error {
	var first *Error
	for _, l := range c.links {
		e := l.limit.said()
		if first == nil || e.RetryAfter < first.RetryAfter {
			first = e
		}
	}
	first.Usage = spent
	if n := len(c.links); n > 1 {
		first.Message = fmt.Sprintf("all %d models of the chain are; this one said: %s", n, first.Message)
	}
	return first
}

// link is one model of a chain.
type link struct {
	model Model
	limit *limit // shared by all links to the same service's model
}

// limit is the rate limit of one model. The zero limit is not reached.
type limit struct {
	mu    sync.Mutex
	until time.Time
	err   *Error // the last one
}

// hit starts a cool-down, or lengthens it.
func (l *limit) hit(e *Error) {
	wait := DefaultCoolDown
	if e.RetryAfter > 0 {
		wait = min(e.RetryAfter, MaxCoolDown)
	}
	until := time.Now().Add(wait)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = e
	if until.After(l.until) {
		l.until = until
	}
}

// left returns how long the cool-down still takes, 0 or less if it is over.
func (l *limit) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until)
}

// said returns a copy of the last error, with the time until the next call as
// RetryAfter: at least 1, for the cool-down may end just now.
func (l *limit) said() *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := *l.err
	e.Err = l.err
	e.RetryAfter = max(time.Until(l.until), 1)
	return &e
}

// addUsage returns err with u added to its usage.
func addUsage(err error, u Usage) error {
	if u == (Usage{}) {
		return err
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return withUsage(err, u.Add(e.Usage))
	}
	return &Error{Kind: kindOfOther(err), Message: err.Error(), Usage: u, Err: err}
}

// withUsage returns a copy of the *Error in err with u as its usage. It wraps err.
func withUsage(err error, u Usage) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Usage, c.Err = u, err
	return &c
}

// kindOfOther returns the kind of an error that is no *Error.
func kindOfOther(err error) Kind {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Canceled
	}
	return Permanent
}

func canceled(ctx context.Context, spent Usage) *Error {
	return &Error{Kind: Canceled, Message: ctx.Err().Error(), Usage: spent, Err: errors.Join(ctx.Err(), context.Cause(ctx))}
}
