package research

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
	"github.com/convene-go/convene/providers"
)

// call is what an agent is asked, and what came of asking it so far. Planner,
// supervisor, strategist and merger are asked as workers without a category.
type call struct {
	Worker

	op      string // of the request; its template has that name
	step    string
	input   any
	output  string        // the schema of the answer; "": any text
	repairs int           // as in agent.Limits
	grace   time.Duration // it has at least that, although the time is up

	attempts int // that were begun
	used     providers.Usage
}

// call makes one of planner, supervisor, strategist or merger.
func (r *run) call(op, who, name, output string, input any) *call {
	w := Worker{ID: who, Agent: name, Timeout: r.Limits.Timeout, EstCost: r.Limits.Estimate}
	return &call{Worker: w, op: op, output: output, input: input}
}

// Why a run ends although it is not good enough.
const (
	budgetUsed    = "the budget is used up"
	timeUp        = "the time limit was reached"
	maxIterations = "max iterations reached"
)

// ask calls an agent once, with its repairs, and tells of it.
func ask[T any](r *run, c *orchestrator.Context, k *call, read func(agent.Response) (T, error)) (v T, err error) {
	within, limits := r.bounds(c, k)
	req := agent.Request{Op: k.op, Input: agent.JSON(k.input), Output: json.RawMessage(k.output), Limits: limits}
	if req.Prompt, err = r.prompts.Fill(k.op+".tmpl", promptData{k.ID, k.Category, k.Revises, r.state.Input, r.state.Iteration}); err != nil {
		return v, team.Fail("permanent", "%w", err)
	}
	k.attempts++
	e := Event{Agent: k.ID, Step: k.step, Attempt: k.attempts}
	c.Emit(EventAgentStarted, e)
	v, resp, err := orchestrator.AskWith(within, k.Agent, req, read)
	e.Usage = &resp.Usage
	if failed, ok := errors.AsType[*agent.Error](err); ok {
		resp.Usage = resp.Usage.Add(failed.Usage)
	}
	if k.used = k.used.Add(resp.Usage); k.Category == "" {
		r.dearest = max(r.dearest, resp.Usage.Cost)
	}
	r.state.Usage = c.Spent()
	if err == nil {
		c.Emit(EventAgentFinished, e)
		return v, nil
	}
	if orchestrator.IsOver(err) && !c.IsCanceled(err) && r.timeLeft(c) < 0 {
		over := *agent.ErrorOf(err)
		over.Message, err = timeUp, &over
	}
	e.Text = prompt.OneLine(err.Error())
	c.Emit(EventAgentFailed, e)
	return v, err
}

// bounds are those of a call: what is left of the time, unless its worker is critical,
// and what is reserved of the money. A critical worker is called as long as there is any.
func (r *run) bounds(c *orchestrator.Context, k *call) (*orchestrator.Context, agent.Limits) {
	limits := agent.Limits{Attempts: 1, Repairs: k.repairs, Timeout: k.Timeout, Estimate: k.EstCost}
	if k.Category == "" {
		limits.Estimate = cmp.Or(k.EstCost, r.dearest)
	}
	if k.Critical {
		if left := c.Left().Cost; left > 0 {
			limits.Estimate = min(k.EstCost, left)
		}
		return c, limits
	}
	left := r.timeLeft(c)
	if left == 0 {
		return c, limits
	}
	left = max(left, k.grace)
	if left <= limits.Timeout {
		limits.Timeout = 0 // the end of the time comes first
	}
	return c.WithBudget(orchestrator.Budget{Wall: left}), limits
}

// attempts is how often an agent is tried: when the time is up, once.
func (r *run) attempts(c *orchestrator.Context, k *call, worth func(err error) bool) team.Attempts {
	left := func() time.Duration { return r.timeLeft(c) }
	return team.Attempts{
		Most: r.Retry.Attempts, Base: r.Retry.Wait, Factor: r.Retry.Factor, Longest: r.Retry.Longest, Left: left,
		Retryable: func(err error) bool { return left() >= 0 && worth(err) },
		Waits: func(try int, wait time.Duration, failed error) {
			c.Emit(EventAgentDelayed, Event{Agent: k.ID, Step: k.step, Attempt: try, Wait: wait, Text: prompt.OneLine(failed.Error())})
		},
	}
}

// after says how many attempts there were.
func (k *call) after() string {
	if k.attempts == 1 {
		return "after 1 attempt"
	}
	return fmt.Sprintf("after %d attempts", k.attempts)
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

// shortage is what is short, as the codes of warnings and people call it.
func (r *run) shortage(c *orchestrator.Context) (code, text string) {
	if r.timeLeft(c) < 0 {
		return "time", timeUp
	}
	return "budget", budgetUsed
}

// breaks tells whether the run cannot go on at all: it is canceled, or its flow broke a
// rule.
func (r *run) breaks(c *orchestrator.Context, err error) bool {
	return c.IsCanceled(err) || errors.Is(err, orchestrator.ErrFlow)
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
