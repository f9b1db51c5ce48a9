package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Chain is a model made of models: the first one answers, the next one if the one before
// is rate limited, and so on.
//
// It moves on at [RateLimited], and at the reasons in FallbackOn. Any other failure
// is returned at once, because moving on at every failure would hide broken models. If no
// model answers, the error is that of the last one that was called.
//
// A rate limited model cools down, for all callers: until its RetryAfter has passed, at
// most [MaxCoolDown], or [DefaultCoolDown] without one, plus up to a tenth by chance, so
// that processes do not return at the same moment. Then one call is the trial: it finds
// out whether the model answers again. Meanwhile other calls use the next model, and
// wait for the trial only if there is none. So a limited model is called once per
// cool-down, apart from the calls that were running when it became limited: a [Limit]
// bounds those. If all models are rate limited the error is RateLimited, with the time
// until the first of them may be called again as RetryAfter.
//
// What failed models charged is added to the Usage of the answer or error.
// Response.Model names the model that answered, Response.Before has the errors of those
// before it, cool-downs included, and Usage.Fallbacks counts such answers. Text that a
// model passed to OnText before it was rate limited is not withdrawn: Response.Text has
// only the answer.
//
// A Chain does not retry: see [Retry]. It is safe for concurrent use.
type Chain struct {
	// Total is how long one Generate may take over all models. Exceeding it is a
	// Transient error. 0 or less: no limit. Set it before the first call.
	Total time.Duration

	// FallbackOn are the reasons beside [RateLimited] at which the next model is called:
	// [Overloaded], [Unavailable], [Quota], [NotFound], [Unauthorized], and [Refused],
	// which includes an answer that a filter stopped. Set it before the first call.
	FallbackOn []Reason

	links []*link
}

var (
	_ Model  = (*Chain)(nil)
	_ Priced = (*Chain)(nil)
)

// NewChain returns the chain of models, at least one. A chain may be a model of another
// one.
func NewChain(models ...Model) (*Chain, error) {
	if len(models) == 0 {
		return nil, errors.New("providers: chain is empty")
	}
	c := &Chain{}
	for i, m := range models {
		if m == nil {
			return nil, fmt.Errorf("providers: model %d of the chain is nil", i+1)
		}
		c.links = append(c.links, &link{model: m, cool: new(coolDown)})
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
	return within(ctx, c.Total, func(ctx context.Context) (Response, error) { return c.walk(ctx, req) })
}

// walk calls the links in turn. If none answered and one is on trial by another call, it
// waits for that and starts again.
func (c *Chain) walk(ctx context.Context, req Request) (Response, error) {
	var spent Usage
	for round := 0; ; round++ {
		var trial <-chan struct{} // trial of another call that the first busy link is on
		var before []*Error       // why those so far did not answer
		var last error            // error of the last link that was called, unless it is rate limited
		for i, l := range c.links {
			pass, busy := l.enter(ctx)
			if pass == nil {
				if ctx.Err() != nil {
					return Response{}, canceled(ctx, spent)
				}
				trial = cmp.Or(trial, busy)
				before = append(before, l.cool.skipped())
				continue
			}
			resp, err := l.ask(nth(ctx, round*len(c.links)+i), req, pass)
			if err == nil && c.refused(i, resp) {
				err = &Error{Kind: Invalid, Reason: Refused, Model: resp.Model, Message: "the model refused", Usage: resp.Usage}
			}
			switch {
			case err == nil:
				return answered(resp, spent, before), nil
			case !c.movesOn(err):
				return Response{}, addUsage(err, spent)
			}
			if last = addUsage(err, spent); kindOf(err) == RateLimited {
				last = nil
			}
			spent = spent.Add(usageOf(err))
			before = append(before, briefly(err))
		}
		if last == nil && trial == nil {
			last = c.limited(spent)
		}
		if last != nil {
			return Response{}, last
		}
		select {
		case <-trial:
		case <-ctx.Done():
		}
	}
}

// answered returns the answer of a link, with the usage and errors of those before it.
func answered(resp Response, spent Usage, before []*Error) Response {
	resp.Usage = spent.Add(resp.Usage)
	if resp.Before = before; len(before) > 0 {
		resp.Usage.Fallbacks++
	}
	return resp
}

// movesOn says whether the next link is called after err.
func (c *Chain) movesOn(err error) bool {
	if kindOf(err) == RateLimited {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(c.FallbackOn, e.Reason)
}

// refused says whether the i-th link's answer is a refusal after which the next one is
// called.
func (c *Chain) refused(i int, resp Response) bool {
	return resp.Stop == StopFilter && i < len(c.links)-1 && slices.Contains(c.FallbackOn, Refused)
}

// briefly is err without its cause.
func briefly(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Kind: kindOf(err), Message: err.Error()}
	}
	short := *e
	short.Err = nil
	return &short
}

// limited is the error that all links are rate limited, with the message of the one that
// is free first.
func (c *Chain) limited(spent Usage) *Error {
	var first *Error
	for _, l := range c.links {
		e := l.cool.said()
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
