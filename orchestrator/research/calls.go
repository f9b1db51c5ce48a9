package research

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
	"github.com/convene-go/convene/providers"
)

// call says how an agent is asked.
type call struct {
	who      string // in events
	agent    string // in the roster
	step     string
	attempt  int
	limits   agent.Limits
	critical bool          // the end of the time does not cut it
	grace    time.Duration // it has at least that
}

// Why a run ends although it is not good enough.
const (
	budgetUsed    = "the budget is used up"
	timeUp        = "the time limit was reached"
	maxIterations = "max iterations reached"
)

// ask calls an agent once, with its repairs, and tells of it. It carries what is left of
// the time; what is left of the money is in the budget of c.
func ask[T any](r *run, c *orchestrator.Context, k call, req agent.Request, read func(agent.Response) (T, error)) (T, providers.Usage, error) {
	e := Event{Agent: k.who, Step: k.step, Attempt: k.attempt}
	c.Emit(EventAgentStarted, e)
	within := c
	if left := r.timeLeft(c); left != 0 && !k.critical {
		left = max(left, k.grace)
		if left <= k.limits.Timeout {
			k.limits.Timeout = 0 // the end of the time comes first
		}
		within = c.WithBudget(orchestrator.Budget{Wall: left})
	}
	req.Limits = k.limits
	v, resp, err := orchestrator.AskWith(within, k.agent, req, read)
	used := resp.Usage
	if failed, ok := errors.AsType[*agent.Error](err); ok {
		used = used.Add(failed.Usage)
	}
	if orchestrator.IsOver(err) && !c.IsCanceled(err) && r.timeLeft(c) < 0 {
		over := *agent.ErrorOf(err)
		over.Message, err = timeUp, &over
	}
	r.state.Usage = c.Spent()
	e.Usage = &used
	if err != nil {
		e.Text = prompt.OneLine(err.Error())
		c.Emit(EventAgentFailed, e)
		return v, used, err
	}
	c.Emit(EventAgentFinished, e)
	return v, used, nil
}

// meta is how planner, supervisor, strategist and merger are asked.
func (r *run) meta(who, name string, attempt int) call {
	return call{who: who, agent: name, attempt: attempt, limits: agent.Limits{
		Attempts: 1, Timeout: r.Limits.Timeout, Estimate: cmp.Or(r.Limits.Estimate, r.dearest),
	}}
}

// askMeta asks one of them.
func askMeta[T any](r *run, c *orchestrator.Context, k call, req agent.Request, read func(agent.Response) (T, error)) (T, error) {
	v, used, err := ask(r, c, k, req, read)
	r.dearest = max(r.dearest, used.Cost)
	return v, err
}

// attempts is how often an agent is tried: when the time is up, once.
func (r *run) attempts(c *orchestrator.Context, e Event, worth func(err error) bool) team.Attempts {
	left := func() time.Duration { return r.timeLeft(c) }
	return team.Attempts{
		Most: r.Retry.Attempts, Base: r.Retry.Wait, Factor: r.Retry.Factor, Longest: r.Retry.Longest, Left: left,
		Retryable: func(err error) bool { return left() >= 0 && worth(err) },
		Waits: func(try int, wait time.Duration, failed error) {
			e.Attempt, e.Wait, e.Text = try, wait, prompt.OneLine(failed.Error())
			c.Emit(EventAgentDelayed, e)
		},
	}
}

// after says how many attempts there were.
func after(attempts int) string {
	if attempts == 1 {
		return "after 1 attempt"
	}
	return fmt.Sprintf("after %d attempts", attempts)
}

// timeLeft is what is left of the time; 0: there is no limit, -1: it is up.
func (r *run) timeLeft(c *orchestrator.Context) time.Duration {
	left := c.Left().Wall
	if r.state.Input.MaxTime == 0 {
		return left
	}
	rest := r.state.Input.MaxTime - c.Elapsed()
	if rest < time.Millisecond || left < 0 {
		return -1
	}
	return min(rest, cmp.Or(left, rest))
}

// room is what a plan may take: what is left of money and time, less what evaluations
// have taken so far.
func (r *run) room(c *orchestrator.Context) Bounds {
	return Bounds{
		Cost: less(c.Left().Cost, max(r.overhead.Cost, r.Limits.Estimate)), Time: less(r.timeLeft(c), r.overhead.Wall),
		StepLimit: r.Limits.StepLimit,
	}
}

// less is what is left of a bound; 0: there is none, -1: nothing.
func less[N ~int64](bound, taken N) N {
	if bound == 0 || bound > taken {
		return max(bound-taken, 0)
	}
	return -1
}

// left tells people and models what is left of money and time.
func (r *run) left(c *orchestrator.Context) string {
	text := fmt.Sprintf("USD %s of %s", amount(max(c.Left().Cost, 0)), amount(r.state.Input.MaxBudget))
	if t := r.timeLeft(c); r.state.Input.MaxTime > 0 {
		text += fmt.Sprintf(" and %s of %s minutes", minutes(max(t, 0)), minutes(r.state.Input.MaxTime))
	} else if t != 0 {
		text += fmt.Sprintf(" and %s minutes", minutes(max(t, 0)))
	}
	return text + " are left"
}
