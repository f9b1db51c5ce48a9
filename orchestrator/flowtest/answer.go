package flowtest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Hang returns an answer that never comes: the call waits until its context is done.
func Hang() any { return hang{} }

// Fail returns an answer of which the first n attempts fail with err; later ones get then.
// The engine makes another attempt only if err is marked so (agent.Transient).
func Fail(n int, err error, then any) any { return fail{n, err, then} }

// Delay returns an answer that comes after d, which is virtual time in a bubble. A call
// that is made again after a crash gets it when the first one would have.
func Delay(d time.Duration, then any) any { return delay{d, then} }

type (
	hang struct{}
	fail struct {
		n    int
		err  error
		then any
	}
	delay struct {
		d    time.Duration
		then any
	}
)

// give returns the response to an attempt that began at start, by a scripted answer.
func give(ctx context.Context, req agent.Request, attempt int, start time.Time, answer any) (agent.Response, error) {
	if err := ctx.Err(); err != nil {
		return agent.Response{}, err
	}
	switch a := answer.(type) {
	case string:
		return agent.Response{Text: a}, nil
	case error:
		return agent.Response{}, a
	case agent.Response:
		return a, nil
	case agent.Agent:
		return a.Call(ctx, req)
	case func(context.Context, agent.Request) (agent.Response, error):
		return a(ctx, req)
	case hang:
		<-ctx.Done()
		return agent.Response{}, ctx.Err()
	case fail:
		if attempt <= a.n {
			return agent.Response{}, a.err
		}
		return give(ctx, req, attempt, start, a.then)
	case delay:
		start = start.Add(a.d)
		if err := pass(ctx, time.Until(start)); err != nil {
			return agent.Response{}, err
		}
		return give(ctx, req, attempt, start, a.then)
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return agent.Response{}, fmt.Errorf("the scripted answer %s has no JSON form: %w", show(answer), err)
	}
	return agent.Response{Data: data}, nil
}

// pass waits for d, or returns the error of ctx once that is done.
func pass(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
