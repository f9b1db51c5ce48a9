package providers

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Retry calls Model again after failures that may pass: [Transient] and [RateLimited]
// errors. It is for models that are used without an engine. Engines retry agents: do not
// retry twice.
//
// Between attempts it waits, longer each time and with jitter, at least for the
// RetryAfter of the error. If a wait would be longer than the longest cool-down of a
// [Chain], or than the rest of Total or of the context's time, it returns the error of
// the last attempt at once. When the caller cancels during a wait, the error is Canceled,
// with the context's cause and the last failure's text.
//
// What failed attempts charged is added to the Usage of the answer or error. Text
// that a failed attempt passed to OnText is not withdrawn.
//
// It is safe for concurrent use if Model is.
type Retry struct {
	Model Model // model that is called; nil: every call fails

	// Attempts is how often Model is called at most. 0 or less: 4.
	Attempts int

	// Initial is the wait before the second attempt, give or take a half. It
	// doubles with each attempt. 0 or less: 1 s.
	Initial time.Duration

	// Max is what Initial grows to. 0 or less: 1 min.
	Max time.Duration

	// Total is how long all attempts and waits may take together. Exceeding it is a
	// Transient error. 0 or less: no limit.
	Total time.Duration
}

var (
	_ Model  = Retry{}
	_ Priced = Retry{}
)

// Priced says whether Model is.
func (r Retry) Priced() bool {
	p, ok := r.Model.(Priced)
	return ok && p.Priced()
}

// Generate calls Model until it answers, fails permanently, or Attempts or Total are used
// up.
func (r Retry) Generate(ctx context.Context, req Request) (Response, error) {
	if r.Model == nil {
		return Response{}, &Error{Kind: Invalid, Message: "Retry.Model is nil"}
	}
	return within(ctx, r.Total, func(ctx context.Context) (Response, error) { return r.attempts(ctx, req) })
}

func (r Retry) attempts(ctx context.Context, req Request) (resp Response, err error) {
	var before error // the error of the attempt before the last one
	var spent Usage  // usage of the attempts before the last one
	attempt := 0
	wait := r.waits(ctx)
	_ = backoff.Retry(func() error { // use err: backoff would return the context's error
		before, spent = err, spent.Add(usageOf(err))
		resp, err = r.Model.Generate(nth(ctx, attempt), req)
		attempt++
		if !mayPass(err) {
			return nil
		}
		wait.hint = retryAfter(err)
		return err
	}, backoff.WithContext(wait, ctx)) // outermost, so that it ends waits
	switch {
	case err == nil:
		resp.Usage = spent.Add(resp.Usage)
		return resp, nil
	case ctx.Err() != nil && mayPass(err):
		return Response{}, gaveUp(ctx, err, spent.Add(usageOf(err)))
	case ctx.Err() != nil && before != nil && kindOf(err) == Canceled:
		return Response{}, gaveUp(ctx, before, spent.Add(usageOf(err)))
	}
	return Response{}, addUsage(err, spent)
}

// mayPass says whether another attempt may succeed where this one failed.
func mayPass(err error) bool {
	return err != nil && (kindOf(err) == Transient || kindOf(err) == RateLimited)
}

// gaveUp is the error when ctx ended the attempts, with the last failure that ctx did not
// cause.
func gaveUp(ctx context.Context, last error, spent Usage) *Error {
	e := canceled(ctx, spent)
	e.Message += "; before that: " + last.Error()
	return e
}

func (r Retry) waits(ctx context.Context) *retryAfterBackoff {
	p := &retryAfterBackoff{left: orElse(r.Attempts, 4) - 1, BackOff: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(orElse(r.Initial, time.Second)),
		backoff.WithMaxInterval(orElse(r.Max, time.Minute)),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0),
	)}
	p.deadline, p.limited = ctx.Deadline()
	return p
}

// retryAfterBackoff waits at least as long as the vendor asked for, or not at all.
type retryAfterBackoff struct {
	backoff.BackOff
	left     int           // attempts
	hint     time.Duration // wait that the last error asked for; 0: none
	deadline time.Time
	limited  bool // there is a deadline
}

func (p *retryAfterBackoff) NextBackOff() time.Duration {
	wait := max(p.BackOff.NextBackOff(), p.hint)
	if p.left <= 0 || p.hint > jittered(MaxCoolDown) || p.limited && time.Until(p.deadline) <= wait {
		return backoff.Stop
	}
	p.left--
	return wait
}

// orElse returns n, or the default if n is 0 or less.
func orElse[N int | time.Duration](n, byDefault N) N {
	if n <= 0 {
		return byDefault
	}
	return n
}
