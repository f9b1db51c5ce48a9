package research

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// call is what an agent is asked for, and its progress. Planner, supervisor, strategist and
// merger are called as workers without a category.
type call struct {
	Worker

	op      string // operation of the request; its template has that name
	step    string
	input   any
	output  json.RawMessage // schema of the answer; nil: any text
	repairs int             // as in agent.Limits
	grace   time.Duration   // least time of the call, even when the time is up
	retrier orchestrator.Retrier
	task    func() *Task // task that shows the progress; nil: none does
	tries   int          // number of tries that were started
}

// call makes a call of planner, supervisor, strategist or merger.
func (r *run) call(op, who, name, output string, input any) *call {
	w := Worker{ID: who, Agent: name, Timeout: r.Bounds.Timeout, EstCost: r.state.Input.Limits.Estimate}
	return &call{Worker: w, op: op, output: json.RawMessage(output), input: input, task: func() *Task { return new(Task) }}
}

// Why a run ends below its quality.
const (
	budgetUsed    = "the budget is used up"
	timeUp        = "the time limit was reached"
	maxIterations = "max iterations reached"
)

// ask calls an agent, with its repairs and the tries that k.retrier wants.
func ask[T any](r *run, c *orchestrator.Context, k *call, read func(agent.Response) (T, error)) (T, error) {
	working := orchestrator.Working{Role: k.ID, ID: k.ID}
	if k.Category != "" {
		working.Role, working.Group = "worker", string(k.Category)
	}
	seat := team.Seat[T]{
		Who: k.ID, Agent: k.Agent, Prompt: k.op + ".tmpl", Read: read, Retrier: k.retrier, Working: working,
		Request: agent.Request{Op: k.op, Task: k.step, Input: agent.JSON(k.input), Output: k.output},
		On: team.Hooks{
			Before: func(c *orchestrator.Context, req *agent.Request) (within *orchestrator.Context, err error) {
				k.tries++
				k.task().Attempts = k.tries
				within, req.Limits = r.bounds(c, k)
				return within, nil
			},
			After: func(c *orchestrator.Context, used providers.Usage, err error) error { return r.called(c, k, used, err) },
			Wait:  func(wait time.Duration) time.Duration { return r.within(c, wait) },
			Event: func(e team.Event) team.Telling { return &Event{Event: e, Step: k.step} },
		},
	}
	return seat.Ask(c, r.Run, promptData{k.ID, k.Category, k.Revises, r.state.Input.brief(), r.state.Iteration})
}

// called keeps what a try used, and returns its error.
func (r *run) called(c *orchestrator.Context, k *call, used providers.Usage, err error) error {
	if k.Category == "" {
		r.dearest = max(r.dearest, used.Cost)
	}
	r.state.Usage = c.Spent()
	if team.Broke(c, err) && r.timeLeft(c) < 0 {
		over := *agent.ErrorOf(err)
		over.Message, err = timeUp, &over
	}
	t := k.task()
	if t.Usage = t.Usage.Add(used); err != nil {
		t.Error = prompt.OneLine(err.Error())
	}
	return err
}

// bounds are those of a call: the rest of the time, unless its worker is critical, and the
// reserved money. A critical worker is called while any money is left.
func (r *run) bounds(c *orchestrator.Context, k *call) (*orchestrator.Context, agent.Limits) {
	limits := agent.Limits{Attempts: 1, Repairs: k.repairs, Timeout: k.Timeout, Estimate: k.EstCost}
	switch left := c.Left().Cost; {
	case k.Category == "":
		limits.Estimate = cmp.Or(k.EstCost, r.dearest)
	case k.Critical && left > 0:
		limits.Estimate = min(k.EstCost, left)
	}
	left := r.timeLeft(c)
	if k.Critical || left == 0 {
		return c, limits
	}
	left = max(left, k.grace)
	if left <= limits.Timeout {
		limits.Timeout = 0 // the end of the time comes first
	}
	return c.WithBudget(orchestrator.Budget{Wall: left}), limits
}

// retrier returns the Retrier of the rules. It is not asked when the time is up, nor about
// errors for which final holds.
func (r *run) retrier(c *orchestrator.Context, final func(err error) bool) orchestrator.Retrier {
	return orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
		if r.timeLeft(c) < 0 || final(tries[len(tries)-1].Err) {
			return orchestrator.Again{}
		}
		return r.Rules.Retrier.Next(of, tries)
	})
}

// isMalformed reports whether an answer could not be used, although it was sent back.
func isMalformed(err error) bool { return errors.Is(err, orchestrator.ErrMalformed) }

// after is the number of attempts in words.
func (k *call) after() string {
	if k.tries <= 1 {
		return "after 1 attempt"
	}
	return fmt.Sprintf("after %d attempts", k.tries)
}
