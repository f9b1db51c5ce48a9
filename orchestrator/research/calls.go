package research

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	repairs int             // number of answers that are sent back, at most
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

// usualTries is the number of tries of workers and the planner that the documents allow.
const usualTries = 3

// Why a run ends below its quality.
const (
	budgetUsed    = "the budget is used up"
	timeUp        = "the time limit was reached"
	maxIterations = "max iterations reached"
)

// ask calls an agent, with its repairs and the tries that k.retrier wants.
func ask[T any](r *run, c *orchestrator.Context, k *call, read reader[T]) (T, error) {
	var dropped []string
	earlier, working := k.tries, orchestrator.Working{Role: k.ID, ID: k.ID, Max: usualTries}
	if k.Category != "" {
		working.Role, working.Group = "worker", string(k.Category)
	}
	seat := team.Seat[T]{
		Who: k.ID, Agent: k.Agent, Prompt: k.op + ".tmpl", Retrier: k.retrier, Working: working,
		Request: agent.Request{Op: k.op, Task: k.step, Input: agent.JSON(k.input), Output: k.output},
		Read: func(resp agent.Response) (T, error) {
			dropped = nil
			return read(resp, &dropped)
		},
		On: team.Hooks{
			Before: func(c *orchestrator.Context, req *agent.Request) (within *orchestrator.Context, err error) {
				k.tries++
				k.task().Attempts = k.tries
				within, req.Limits = r.bounds(c, k)
				return within, nil
			},
			After: func(c *orchestrator.Context, used providers.Usage, err error) error { return r.called(c, k, used, err) },
			Wait: func(wait time.Duration) time.Duration { // no longer than the rest of the time
				if left := r.timeLeft(c); left != 0 {
					wait = min(wait, max(left, 0))
				}
				return wait
			},
			Event: func(e team.Event) team.Telling {
				e.Try += earlier
				return &Event{Event: e, Step: k.step}
			},
		},
	}
	v, err := seat.Ask(c, r.Run, promptData{k.ID, k.Category, k.Revises, r.state.Input.brief(), r.state.Iteration})
	if err == nil {
		r.WarnDropped(c, k.Agent, dropped)
	}
	return v, err
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
	within, left := orchestrator.Budget{Cost: r.spare(c, k), AllowUnpriced: c.Left().AllowUnpriced}, r.timeLeft(c)
	if k.Critical || left == 0 && within.Cost == 0 {
		return c, limits
	}
	if left != 0 {
		within.Wall = max(left, k.grace)
		if within.Wall <= limits.Timeout {
			limits.Timeout = 0 // the end of the time comes first
		}
	}
	return c.WithBudget(within), limits
}

// spare is the money for a call of an optional worker, repairs included: it leaves a call of
// the supervisor. 0: any.
func (r *run) spare(c *orchestrator.Context, k *call) providers.NanoUSD {
	left := c.Left().Cost
	if k.Category == "" || left <= 0 {
		return 0
	}
	if left -= max(r.dearest, r.state.Input.Limits.Estimate); left <= 0 {
		return orchestrator.None
	}
	return left
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

// own returns err without the codes that the run's own end has, unless it is that: an agent
// may have a budget of its own.
func own(err error) error {
	if team.Ends(err) {
		return err
	}
	e := *agent.ErrorOf(err)
	e.Codes = slices.DeleteFunc(slices.Clone(e.Codes), func(code agent.Code) bool {
		return slices.Contains([]agent.Code{orchestrator.ErrBudget, orchestrator.ErrCanceled, orchestrator.ErrFlow, "stuck"}, code)
	})
	return &e
}

// after is the number of attempts in words.
func (k *call) after() string {
	if k.tries <= 1 {
		return "after 1 attempt"
	}
	return fmt.Sprintf("after %d attempts", k.tries)
}

// timeLeft is the rest of the time; 0: there is no limit, -1: it is up.
func (r *run) timeLeft(c *orchestrator.Context) time.Duration {
	left := c.Left().Wall
	if r.state.Input.Limits.Time <= 0 {
		return left
	}
	rest := r.state.Input.Limits.Time - c.Elapsed()
	if rest < time.Millisecond || left < 0 {
		return -1
	}
	return min(rest, cmp.Or(left, rest))
}

// shortage is the bound that is used up, as a code of warnings and in words.
func (r *run) shortage(c *orchestrator.Context) (code, text string) {
	if r.timeLeft(c) < 0 {
		return "time", timeUp
	}
	return "budget", budgetUsed
}

// breaks reports whether the run cannot continue at all: it is canceled, or its flow broke a
// rule of the engine.
func (r *run) breaks(c *orchestrator.Context, err error) bool {
	return c.IsCanceled(err) || orchestrator.IsBroken(err)
}

// room is what a plan may use: the rest of money and time, less what evaluations have used
// so far.
func (r *run) room(c *orchestrator.Context) Room {
	return Room{
		Cost: team.Rest(c.Left().Cost, max(r.overhead.Cost, r.state.Input.Limits.Estimate)), Time: team.Rest(r.timeLeft(c), r.overhead.Wall),
		StepLimit: r.Bounds.StepLimit,
	}
}

// left is the rest of money and time in words, for people and models.
func (r *run) left(c *orchestrator.Context) string {
	limits, t := r.state.Input.Limits, r.timeLeft(c)
	var parts []string
	if limits.Cost > 0 {
		parts = append(parts, fmt.Sprintf("USD %s of %s", amount(max(c.Left().Cost, 0)), amount(limits.Cost)))
	}
	switch {
	case limits.Time > 0:
		parts = append(parts, fmt.Sprintf("%s of %s minutes", minutes(max(t, 0)), minutes(limits.Time)))
	case t != 0:
		parts = append(parts, minutes(max(t, 0))+" minutes")
	}
	if parts == nil {
		return "money and time are not limited"
	}
	return strings.Join(parts, " and ") + " are left"
}

// short reports whether no further iteration is possible: no critical writer fits the rest
// of money and time. Then it is a warning.
func (r *run) short(c *orchestrator.Context) bool {
	room, code, message := r.room(c), "budget", r.left(c)+": too little for another plan"
	affordable := func(w Worker) bool { return w.writes() && !exceeds(w.EstCost, room.Cost) }
	quick := func(w Worker) bool { return w.writes() && !exceeds(w.EstTime, room.Time) }
	because := budgetUsed
	switch {
	case c.Left().Calls < 0:
		message = "no calls are left"
	case !slices.ContainsFunc(r.Workers, affordable):
	case !slices.ContainsFunc(r.Workers, quick):
		code, because = "time", timeUp
	default:
		return false
	}
	r.because = because
	r.warn(c, code, "", "%s", message)
	return true
}

// amount is money in USD with cents.
func amount(n providers.NanoUSD) string { return fmt.Sprintf("%.2f", dollars(n)) }

func dollars(n providers.NanoUSD) float64 { return float64(n) / float64(providers.USD) }

// minutes is a duration in minutes, with a tenth if it is not whole.
func minutes(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Minutes()), ".0")
}

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// promptData is the data of the templates. The work that agents see is the JSON of
// Request.Input, never part of a prompt.
type promptData struct {
	Worker    string
	Category  Category
	Revises   bool
	Brief     Brief
	Iteration int
}

// samples returns values for each template.
func samples() map[string][]any {
	var all []any
	for _, category := range categories {
		for i, revises := range []bool{false, true} {
			all = append(all, promptData{"w", category, revises, Input{}.withDefaults(team.Limits{}).brief(), i + 1})
		}
	}
	return map[string][]any{"plan.tmpl": all, "strategy.tmpl": all, "work.tmpl": all, "evaluate.tmpl": all, "merge.tmpl": all}
}
