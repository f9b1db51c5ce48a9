package delivery

import (
	"cmp"
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
	target         string        // ID of the plan or step; "goal"
	until          time.Duration // time after which no try begins
	request, reply string        // messages
	data           promptData
	input          any
	noFallback     bool
	agent          string // name of the agent; "": the role's
	isRepaired     bool   // an answer was sent back
	guidance       *guidance
}

// answered is the result of a request.
type answered[T any] struct {
	value  T
	backup bool  // it is Rules.Fallback's
	failed error // why there is no value: all calls failed; nil: there is one
}

// ask asks a role, again while the Retrier says so, and with at most one repair of an answer.
// The error fails or ends more than this request. Without an answer, the guidance is for the
// role's next request.
func ask[T any](r *run, c *orchestrator.Context, q call) (answered[T], error) {
	got, err := request[T](r, c, q)
	if q.guidance != nil && (err != nil || got.failed != nil) {
		r.guidance[q.role] = q.guidance
	}
	return got, err
}

// request is ask without what becomes of the guidance.
func request[T any](r *run, c *orchestrator.Context, q call) (got answered[T], err error) {
	if err := r.late(c, q.until); err != nil {
		return got, err
	}
	q.data.Op = q.op
	words, err := r.kernel.Prompts.Fill(q.tmpl, q.data)
	if err != nil {
		return got, err
	}
	r.state.CurrentRole = q.role
	asked := r.send(c, Header{Message: q.request, From: conductor, To: q.role, Target: q.target}, nil)
	state := r.state.Agents[q.role]
	state.Status = "working"
	state.Requests++

	req := agent.Request{Op: q.op, Task: q.target, Input: agent.JSON(q.input)}
	t := trying{cmp.Or(q.agent, r.agent(q.role)), q.until, Event{Event: team.Event{Who: string(q.role)}, Header: Header{Target: q.target}}}
	got.value, err = try(r, c, t, func(name, advice string) (T, error) {
		if req.Prompt = words; advice != "" {
			req.Prompt += "\n\n" + advice
		}
		return repaired[T](r, c, &q, name, req)
	})
	state.Status = "idle"
	if err != nil {
		if err = r.failed(c, q, err); stops(err) {
			return got, err
		}
		state.Status, got.failed = "failed", err
		if got.value, got.backup, err = fallback[T](r, c, q, err); !got.backup {
			return got, err
		}
		got.failed = nil
	}
	payload := agent.JSON(got.value)
	state.LastOutput = text.Cut(string(payload), 4<<10)
	r.send(c, Header{Message: q.reply, From: q.role, To: conductor, Answers: asked, Target: q.target}, payload)
	return got, nil
}

// repaired makes one call, and another one if its answer is malformed: once in a request.
func repaired[T any](r *run, c *orchestrator.Context, q *call, name string, req agent.Request) (T, error) {
	v, resp, err := once[T](r, c, *q, name, req)
	if q.isRepaired || !errors.Is(err, orchestrator.ErrMalformed) {
		return v, err
	}
	q.isRepaired = true
	again := agent.Continue(req, resp)
	again.Input = req.Input // agents that read it get it again; an LLM does not show it twice
	again.Prompt = "Your answer cannot be used: " + prompt.OneLine(err.Error()) +
		". Answer again, with one JSON value that fits what was asked for, and nothing else."
	v, _, err = once[T](r, c, *q, name, again)
	return v, err
}

// once makes one call.
func once[T any](r *run, c *orchestrator.Context, q call, name string, req agent.Request) (v T, resp agent.Response, err error) {
	if err := r.late(c, q.until); err != nil {
		return v, resp, err
	}
	req.Limits = agent.Limits{Attempts: 1, Repairs: off, Total: callTime(r.limit, c.Elapsed(), r.grace), Estimate: max(0, r.Limits.Estimate)}
	v, resp, err = orchestrator.Ask[T](c, name, req)
	r.kernel.WarnDropped(c, name, resp.Dropped)
	state, used := r.state.Agents[q.role], resp.Usage
	if failed, ok := errors.AsType[*agent.Error](err); ok && used.Calls == 0 {
		used = used.Add(failed.Usage)
	}
	state.Usage = state.Usage.Add(used)
	return v, resp, err
}

// failed records that a request failed, unless the error that it returns ends more.
func (r *run) failed(c *orchestrator.Context, q call, err error) error {
	if err = r.cause(c, err); stops(err) {
		return err
	}
	r.state.Agents[q.role].Failures++
	why := prompt.OneLine(err.Error())
	r.emit(c, team.AgentFailed.Of(r.kernel.Team), Event{Event: team.Event{Who: string(q.role), Text: why}, Header: Header{Target: q.target}})
	r.warn(c, "agent-failed", string(q.role), "%s: %s", q.target, why)
	return err
}

// fallback asks Rules.Fallback for an answer, which must be one that the role could give.
func fallback[T any](r *run, c *orchestrator.Context, q call, cause error) (v T, found bool, err error) {
	if r.Rules.Fallback == nil || q.noFallback {
		return v, false, nil
	}
	v, err = team.Rule(r.kernel, c, q.target, "Rules.Fallback", func() (v T, err error) {
		data, err := r.Rules.Fallback(Failure{Role: q.role, Op: q.op, Target: q.target, Err: cause})
		if err != nil || data == nil {
			return v, err
		}
		shape, err := answer.For[T]()
		if err != nil {
			return v, err
		}
		found = true
		return answer.Read[T](shape, data, "")
	})
	if err != nil || !found {
		return v, false, r.part(err)
	}
	r.warn(c, "fallback", string(q.role), "%s: the host answered", q.target)
	return v, true, nil
}

// trying is a call that may be tried again.
type trying struct {
	agent string
	until time.Duration // time after which no wait lasts
	event Event         // record of a further try, with Who and Target
}

// try makes a call, again while the Retrier says so. do gets the name of the agent, and the
// Retrier's advice for it. The error is that of the last call, or ends more.
func try[T any](r *run, c *orchestrator.Context, t trying, do func(name, advice string) (T, error)) (v T, err error) {
	of := orchestrator.Working{Role: roleCall, ID: cmp.Or(t.event.Who, "workspace"), Group: t.event.Target}
	var tries []orchestrator.Try
	for name, advice := t.agent, ""; ; {
		if v, err = do(name, advice); err == nil || stops(err) || c.Elapsed() >= r.limit {
			return v, err
		}
		tries = append(tries, orchestrator.Try{Agent: name, Err: err})
		next, broken := team.Again(r.kernel, c, r.Rules.Retrier, of, tries)
		if broken != nil || !next.Retry {
			return v, cmp.Or(r.part(broken), err)
		}
		e := t.event
		e.Try, e.Wait, e.Text = len(tries)+1, r.wait(c, next, t.until), prompt.OneLine(err.Error())
		r.emit(c, team.AgentRetried.Of(r.kernel.Team), e)
		if cut := c.Sleep(e.Wait); cut != nil {
			return v, cut
		}
		name, advice = cmp.Or(next.Agent, t.agent), next.Feedback
	}
}

// again asks the Retrier whether work is tried again, after tries that were not good enough. It
// waits as long as the Retrier says, but not beyond until.
func (r *run) again(
	c *orchestrator.Context, of orchestrator.Working, tries []orchestrator.Try, until time.Duration,
) (orchestrator.Again, error) {
	next, err := team.Again(r.kernel, c, r.Rules.Retrier, of, tries)
	if err != nil || !next.Retry {
		return next, r.part(err)
	}
	return next, c.Sleep(r.wait(c, next, until))
}

// told is what a further try is told in the place of why those before were not good enough.
func told(next orchestrator.Again) []string {
	if next.Feedback == "" {
		return nil
	}
	return []string{next.Feedback}
}

// wait is how long to wait before another try: not beyond until, and not beyond the run.
func (r *run) wait(c *orchestrator.Context, next orchestrator.Again, until time.Duration) time.Duration {
	return max(0, min(next.After, min(until, r.limit)-c.Elapsed()))
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
	return lossOf(err) != "" || errors.Is(err, ErrTimeExpired) || errors.Is(err, errAborted) || team.Ends(err)
}

// timeLeft is the remaining time in words, for models.
func (r *run) timeLeft(c *orchestrator.Context) string {
	if r.limit == endless {
		return ""
	}
	return fmt.Sprintf("%.0f minutes are left", (r.limit - c.Elapsed()).Minutes())
}
