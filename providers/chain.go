package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Chain is a model made of models: the first one answers, the next one when the
// one before is rate limited, and so on.
//
// It moves on at [RateLimited], and at the reasons in FallbackOn. Any other failure
// is returned at once, for a chain that moved on at every failure would hide broken
// models. When no model answers, the error is that of the last one that was asked.
//
// A rate limited model cools down, for all callers: until its RetryAfter has
// passed, at most [MaxCoolDown] and [DefaultCoolDown] if it did not say, plus up
// to a tenth by chance, so that processes do not come back at the same moment.
// Then one call tries whether it answers again. Meanwhile the others go on to the
// next model, and wait for that call only if there is no other. So a limited model
// is asked once per cool-down, beside the calls that were under way when the first
// of them found out: a [Limit] bounds those. When all models are rate limited the
// error is RateLimited, with the time until the first of them may be asked again as
// RetryAfter.
//
// What failed models charged is added to the Usage of the answer or error.
// Response.Model says who answered, Response.Before why those before did not, be it
// that they cool down, and Usage.Fallbacks counts such answers. Text that a model passed to OnText before it
// was rate limited is not taken back: Response.Text holds the answer alone.
//
// A Chain does not retry: see [Retry]. It is safe for concurrent use.
type Chain struct {
	// Total is how long one Generate may take over all models. Running out of it
	// is a Transient error. 0 or less: no limit. Set it before the first call.
	Total time.Duration

	// FallbackOn are the reasons beside [RateLimited] at which the next model is
	// asked: [Overloaded], [Unavailable], [Quota], [NotFound], [Unauthorized], and
	// [Refused], which also stands for an answer that was stopped by a filter. Set it
	// before the first call.
	FallbackOn []Reason

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

// walk asks the links in turn, and starts over when somebody else has tried out
// one that nobody could answer for.
func (c *Chain) walk(ctx context.Context, req Request) (Response, error) {
	var spent Usage
	for round := 0; ; round++ {
		var trial <-chan struct{} // of the first link that is being tried out
		var before []*Error       // why those so far did not answer
		var last error            // of the last one that was asked, unless it is rate limited
		for i, l := range c.links {
			pass, busy := l.enter(ctx)
			if pass == nil {
				if ctx.Err() != nil {
					return Response{}, canceled(ctx, spent)
				}
				if trial == nil {
					trial = busy
				}
				before = append(before, l.cool.skipped())
				continue
			}
			resp, err := l.ask(nth(ctx, round*len(c.links)+i), req, pass)
			if err == nil && c.refused(i, resp) {
				err = &Error{Kind: Invalid, Reason: Refused, Model: resp.Model, Message: "the model refused", Usage: resp.Usage}
			}
			if err == nil {
				resp.Usage = spent.Add(resp.Usage)
				if resp.Before = before; len(before) > 0 {
					resp.Usage.Fallbacks++
				}
				return resp, nil
			}
			if !c.movesOn(err) {
				return Response{}, addUsage(err, spent)
			}
			if last = addUsage(err, spent); kindOf(err) == RateLimited {
				last = nil
			}
			spent = spent.Add(usageOf(err))
			before = append(before, briefly(err))
		}
		switch {
		case last != nil:
			return Response{}, last
		case trial == nil:
			return Response{}, c.limited(spent)
		}
		select {
		case <-trial:
		case <-ctx.Done():
		}
	}
}

// movesOn says whether the next link is asked after err.
func (c *Chain) movesOn(err error) bool {
	if kindOf(err) == RateLimited {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(c.FallbackOn, e.Reason)
}

// refused says whether the i-th link's answer is a refusal after which the next one
// is asked.
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

// limited says that all links are rate limited, in the words of the one that is
// free first.
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
