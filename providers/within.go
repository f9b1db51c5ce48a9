package providers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// nth returns ctx for the n-th model call, from 0, that a call leads to: each has its own
// key.
func nth(ctx context.Context, n int) context.Context {
	key := KeyFrom(ctx)
	if n == 0 || key == "" {
		return ctx
	}
	return WithKey(ctx, key+"~"+strconv.Itoa(n))
}

// errTotal is why a call that took too long ends.
var errTotal = errors.New("the time for all attempts is over")

// within calls ask with a time limit; 0 or less is none. If that limit, and not the
// caller, ended the call, the error is Transient.
func within(ctx context.Context, total time.Duration, ask func(context.Context) (Response, error)) (Response, error) {
	if total <= 0 {
		return ask(ctx)
	}
	inner, cancel := context.WithTimeoutCause(ctx, total, errTotal)
	defer cancel()
	resp, err := ask(inner)
	if err == nil || ctx.Err() != nil || kindOf(err) != Canceled || !errors.Is(context.Cause(inner), errTotal) {
		return resp, err
	}
	return Response{}, &Error{
		Kind: Transient, Message: fmt.Sprintf("no answer within %v: %v", total, err), Usage: usageOf(err),
		Err: context.DeadlineExceeded, // not err, which is Canceled
	}
}
