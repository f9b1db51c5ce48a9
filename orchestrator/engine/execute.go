package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Retry is how transient errors of agents are retried: with exponential backoff
// and jitter. Zero fields are the defaults: 4 attempts, from 1 s, at most 60 s.
type Retry struct {
	Attempts     int
	Initial, Max time.Duration
}

func (r Retry) withDefaults() Retry {
	if r.Attempts == 0 {
		r.Attempts = 4
	}
	if r.Initial == 0 {
		r.Initial = time.Second
	}
	if r.Max == 0 {
		r.Max = time.Minute
	}
	return r
}

// Execute makes one call: attempts, timeouts, panics, Info, errors in the one form
// in which they cross. Every engine uses it where the agents are.
func Execute(ctx context.Context, roster agent.Roster, i agent.Info, req agent.Request, retry Retry) (agent.Response, *agent.Error) {
	a, ok := roster[i.Agent]
	if !ok {
		return agent.Response{}, agent.ErrorOf(fmt.Errorf("%w: %q", ErrNoAgent, i.Agent))
	}
	c := call{agent: a, info: i, req: req, begun: time.Now()}
	resp, err := c.try(ctx)
	if err != nil && err.Transient {
		resp, err = c.tryAgain(ctx, retry.withDefaults(), err)
	}
	c.usage.Calls = max(c.usage.Calls, 1)
	if err != nil {
		failed := normalizeError(err)
		failed.Usage = c.usage
		return agent.Response{}, failed
	}
	resp.Usage = c.usage
	resp.Elapsed = time.Since(c.begun)
	return resp, nil
}

// call is one call with all its attempts.
type call struct {
	agent agent.Agent
	info  agent.Info
	req   agent.Request
	begun time.Time
	usage providers.Usage // of all attempts
}

// tryAgain is everything after a first attempt that failed transiently.
func (c *call) tryAgain(ctx context.Context, retry Retry, failed *agent.Error) (resp agent.Response, err *agent.Error) {
	attempts := c.req.Limits.Attempts
	if attempts == 0 {
		attempts = retry.Attempts
	}
	wait := &patience{left: attempts - 1, BackOff: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(retry.Initial), backoff.WithMaxInterval(retry.Max), backoff.WithMultiplier(2), backoff.WithMaxElapsedTime(0))}
	if total := c.req.Limits.Total; total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, c.begun.Add(total))
		defer cancel()
	}
	err = failed
	first := true
	_ = backoff.Retry(func() error { // the error that counts is err: backoff's own would hide it
		if first {
			first = false
		} else if ctx.Err() == nil {
			resp, err = c.try(ctx)
		}
		if over := err == nil || !err.Transient || ctx.Err() != nil; over {
			return nil
		}
		wait.hint = err.RetryAfter
		return err
	}, backoff.WithContext(wait, ctx))
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = agent.ErrorOf(fmt.Errorf("%w after %d attempts in %v: %w", ErrTimeout, c.info.Attempt, c.req.Limits.Total, err))
		err.Transient = false
	}
	return resp, err
}

// patience is a backoff that waits at least as long as the vendor asked for.
type patience struct {
	backoff.BackOff
	left int           // attempts
	hint time.Duration // of the last error
}

func (p *patience) NextBackOff() time.Duration {
	if p.left <= 0 {
		return backoff.Stop
	}
	p.left--
	return max(p.BackOff.NextBackOff(), p.hint)
}

// try makes one attempt.
func (c *call) try(ctx context.Context) (agent.Response, *agent.Error) {
	limit := c.req.Limits.Timeout
	if total := c.req.Limits.Total; total > 0 {
		if left := total - time.Since(c.begun); limit == 0 || left < limit {
			limit = left
		}
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, ErrTimeout)
		defer cancel()
	}
	c.info.Attempt++
	resp, err := protect(agent.WithInfo(ctx, c.info), c.agent, c.req)
	if err == nil {
		resp, err = normalize(resp)
	}
	c.usage = c.usage.Add(resp.Usage)
	if err == nil {
		return resp, nil
	}
	if limit > 0 && errors.Is(context.Cause(ctx), ErrTimeout) {
		err = agent.Transient(fmt.Errorf("%w after %v: %w", ErrTimeout, limit, err), 0)
	}
	failed := agent.ErrorOf(err)
	c.usage = c.usage.Add(failed.Usage)
	return agent.Response{}, failed
}

// protect turns a panic of an agent into an error with its stack.
func protect(ctx context.Context, a agent.Agent, req agent.Request) (resp agent.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			resp = agent.Response{}
			err = &agent.Error{Message: fmt.Sprintf("agent panicked: %v", v), Codes: []agent.Code{"panic"}, Stack: string(debug.Stack())}
		}
	}()
	return a.Call(ctx, req)
}
