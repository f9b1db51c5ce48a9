package delivery

import (
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// call is a request to a role.
type call struct {
	role           Role
	op, tmpl       string
	target         string        // the ID of the plan or step; "goal"
	until          time.Duration // after which no try begins
	request, reply Message
	data           promptData
	input          any
	noFallback     bool
	id             string // of the message that asks
}

// answered is the result of a request.
type answered[T any] struct {
	value  T
	backup bool  // it is Hooks.Fallback's
	failed error // why there is no value: all calls failed; nil: there is one
}

// ask asks a role: one try and Retry.Calls further ones, and at most one repair of an
// answer. The error ends more than this request: errLate, errExpired, or the run.
func ask[T any](r *run, c *orchestrator.Context, q call) (answered[T], error) {
	var got answered[T]
	if err := r.late(c, q.until); err != nil {
		return got, err
	}
	q.data.Op = q.op
	words, err := r.prompts.Fill(q.tmpl, q.data)
	if err != nil {
		return got, err
	}
	r.state.CurrentRole = q.role
	q.id = r.send(c, Header{Message: q.request, From: conductor, To: q.role, Target: q.target}, nil)
	state := r.state.Agents[q.role]
	state.Status = "working"
	state.Requests++
	r.state.Agents[q.role] = state

	req, repaired := agent.Request{Op: q.op, Task: q.target, Prompt: words, Input: agent.JSON(q.input)}, false
	got.value, _, err = team.Try(c, r.tries(c, q.until, Event{Role: q.role, Target: q.target}), func(int) (T, error) {
		v, resp, err := once[T](r, c, q, req)
		if errors.Is(err, orchestrator.ErrMalformed) && !repaired {
			repaired = true
			again := agent.Continue(req, resp)
			again.Input = req.Input // for agents that read it; an LLM does not show it twice
			again.Prompt = "Your answer cannot be used: " + prompt.OneLine(err.Error()) +
				". Answer again, with one JSON value that fits what was asked for, and nothing else."
			v, _, err = once[T](r, c, q, again)
		}
		return v, err
	})
	return finish(r, c, q, got, err)
}

// once makes one call.
func once[T any](r *run, c *orchestrator.Context, q call, req agent.Request) (v T, resp agent.Response, err error) {
	if err := r.late(c, q.until); err != nil {
		return v, resp, err
	}
	req.Limits = agent.Limits{Attempts: 1, Repairs: off, Total: r.callTime(c)}
	v, resp, err = orchestrator.Ask[T](c, r.agent(q.role), req)
	state := r.state.Agents[q.role]
	state.Usage = state.Usage.Add(resp.Usage)
	if failed, ok := errors.AsType[*agent.Error](err); ok && resp.Usage.Calls == 0 {
		state.Usage = state.Usage.Add(failed.Usage)
	}
	r.state.Agents[q.role] = state
	return v, resp, err
}

// finish records the result of a request; a failed one gets the host's fallback.
func finish[T any](r *run, c *orchestrator.Context, q call, got answered[T], err error) (answered[T], error) {
	state := r.state.Agents[q.role]
	defer func() { r.state.Agents[q.role] = state }()
	state.Status = "idle"
	if err != nil {
		if err = r.cause(c, err); stops(err) {
			return got, err
		}
		state.Status, state.Failures = "failed", state.Failures+1
		why := prompt.OneLine(err.Error())
		c.Emit(EventAgentFailed, Event{Role: q.role, Target: q.target, Text: why})
		r.warn(c, "agent-failed", string(q.role), "%s: %s", q.target, why)
		backup, found, ferr := fallback[T](r, q, err)
		if ferr != nil || !found {
			if ferr != nil {
				r.warn(c, "fallback", string(q.role), "%s: %s", q.target, ferr.Error())
			}
			got.failed = err
			return got, nil
		}
		got.value, got.backup = backup, true
		r.warn(c, "fallback", string(q.role), "%s: the host answered", q.target)
	}
	payload := agent.JSON(got.value)
	state.LastOutput = text.Cut(string(payload), 4<<10)
	r.send(c, Header{Message: q.reply, From: q.role, To: conductor, Answers: q.id, Target: q.target}, payload)
	return got, nil
}

// fallback asks Hooks.Fallback for an answer.
func fallback[T any](r *run, q call, cause error) (v T, found bool, err error) {
	if r.Hooks.Fallback == nil || q.noFallback {
		return v, false, nil
	}
	data, err := team.Guard("Hooks.Fallback", func() ([]byte, error) {
		return r.Hooks.Fallback(Failure{Role: q.role, Op: q.op, Target: q.target, Err: cause})
	})
	if err != nil || data == nil {
		return v, false, err
	}
	shape, err := answer.For[T]()
	if err != nil {
		return v, false, err
	}
	fit, err := shape.Find(data, "")
	if err == nil {
		v, err = answer.Decode[T](fit)
	}
	if err != nil {
		return v, false, fmt.Errorf("Hooks.Fallback: %w", err)
	}
	return v, true, nil
}

// tries says how often a call is made, and when it is retried.
func (r *run) tries(c *orchestrator.Context, until time.Duration, e Event) team.Attempts {
	end := min(until, r.limit)
	return team.Attempts{
		Most: 1 + r.Retry.Calls, Base: r.Retry.Wait, Factor: r.Retry.Factor,
		Left: func() time.Duration {
			if end == endless {
				return 0
			}
			return max(end-c.Elapsed(), -1)
		},
		Retryable: func(err error) bool {
			return !stops(err) && c.Elapsed() < r.limit && team.Retryable(err)
		},
		Waits: func(try int, wait time.Duration, failed error) {
			e.Attempt, e.Left, e.Text = try, wait, prompt.OneLine(failed.Error())
			c.Emit(EventAgentRetried, e)
		},
	}
}

// late returns an error if no call may begin any more: errLate for this part of the run,
// errExpired for all of it.
func (r *run) late(c *orchestrator.Context, until time.Duration) error {
	switch now := c.Elapsed(); {
	case now >= r.limit:
		return errExpired
	case now >= until:
		return errLate
	}
	return nil
}

// callTime is how long a call may take.
func (r *run) callTime(c *orchestrator.Context) time.Duration {
	if r.limit == endless {
		return callCap
	}
	return callTime(r.limit, c.Elapsed(), r.grace)
}

// cause is why a call failed. A call that the end of the run's time cut is no failure of
// its agent: errExpired.
func (r *run) cause(c *orchestrator.Context, err error) error {
	if !team.Ends(err) && c.Elapsed() >= r.limit {
		return errExpired
	}
	return err
}

// stops reports whether err ends more than a request.
func stops(err error) bool {
	return errors.Is(err, errLate) || errors.Is(err, ErrTimeExpired) || errors.Is(err, errAborted) || team.Ends(err)
}

// timeLeft is the remaining time in words, for models.
func (r *run) timeLeft(c *orchestrator.Context) string {
	if r.limit == endless {
		return ""
	}
	return fmt.Sprintf("%.0f minutes are left", (r.limit - c.Elapsed()).Minutes())
}
