package research

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// call is a request to an agent, and its progress. Planner, supervisor, strategist and
// merger are called as workers without a category.
type call struct {
	Worker

	op      string // of the request; its template has that name
	step    string
	input   any
	output  json.RawMessage // the schema of the answer; nil: any text
	repairs int             // as in agent.Limits
	grace   time.Duration   // its least time, even when the time is up

	attempts int // started
	used     providers.Usage
}

// call makes a call of planner, supervisor, strategist or merger.
func (r *run) call(op, who, name, output string, input any) *call {
	w := Worker{ID: who, Agent: name, Timeout: r.Limits.Timeout, EstCost: r.Limits.Estimate}
	return &call{Worker: w, op: op, output: json.RawMessage(output), input: input}
}

// Why a run ends below its quality.
const (
	budgetUsed    = "the budget is used up"
	timeUp        = "the time limit was reached"
	maxIterations = "max iterations reached"
)

// ask calls an agent once, with its repairs, and emits events of it.
func ask[T any](r *run, c *orchestrator.Context, k *call, read func(agent.Response) (T, error)) (v T, err error) {
	k.attempts++
	within, limits := r.bounds(c, k)
	req := agent.Request{Op: k.op, Task: k.step, Input: agent.JSON(k.input), Output: k.output, Limits: limits}
	if req.Prompt, err = r.prompts.Fill(k.op+".tmpl", promptData{k.ID, k.Category, k.Revises, r.state.Input.brief(), r.state.Iteration}); err != nil {
		return v, team.Fail("permanent", "%w", err) // a retry would fail again
	}
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

// attempts says how often an agent is called: when the time is up, once.
func (r *run) attempts(c *orchestrator.Context, k *call, worth func(err error) bool) team.Attempts {
	return team.Attempts{
		Most: r.Retry.Attempts, Base: r.Retry.Wait, Factor: r.Retry.Factor, Longest: r.Retry.Longest,
		Left:      func() time.Duration { return r.timeLeft(c) },
		Retryable: func(err error) bool { return r.timeLeft(c) >= 0 && worth(err) },
		Waits: func(try int, wait time.Duration, failed error) {
			c.Emit(EventAgentDelayed, Event{Agent: k.ID, Step: k.step, Attempt: try, Wait: wait, Text: prompt.OneLine(failed.Error())})
		},
	}
}

// after is the number of attempts in words.
func (k *call) after() string {
	if k.attempts == 1 {
		return "after 1 attempt"
	}
	return fmt.Sprintf("after %d attempts", k.attempts)
}

// timeLeft is the rest of the time; 0: there is no limit, -1: it is up.
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

// shortage is the bound that is used up, as a code of warnings and in words.
func (r *run) shortage(c *orchestrator.Context) (code, text string) {
	if r.timeLeft(c) < 0 {
		return "time", timeUp
	}
	return "budget", budgetUsed
}

// breaks tells whether the run cannot continue at all: it is canceled, or its flow broke a
// rule.
func (r *run) breaks(c *orchestrator.Context, err error) bool {
	return c.IsCanceled(err) || orchestrator.IsBroken(err)
}

// room is what a plan may use: the rest of money and time, less what evaluations have used
// so far.
func (r *run) room(c *orchestrator.Context) Room {
	return Room{
		Cost: less(c.Left().Cost, max(r.overhead.Cost, r.Limits.Estimate)), Time: less(r.timeLeft(c), r.overhead.Wall),
		StepLimit: r.Limits.StepLimit,
	}
}

// less is the rest of a bound; 0: there is none, -1: nothing is left.
func less[N ~int64](bound, taken N) N {
	if bound == 0 || bound > taken {
		return max(bound-taken, 0)
	}
	return -1
}

// left is the rest of money and time in words, for people and models.
func (r *run) left(c *orchestrator.Context) string {
	text := fmt.Sprintf("USD %s of %s", amount(max(c.Left().Cost, 0)), amount(r.state.Input.MaxBudget))
	if t := r.timeLeft(c); r.state.Input.MaxTime > 0 {
		text += fmt.Sprintf(" and %s of %s minutes", minutes(max(t, 0)), minutes(r.state.Input.MaxTime))
	} else if t != 0 {
		text += fmt.Sprintf(" and %s minutes", minutes(max(t, 0)))
	}
	return text + " are left"
}

// The schemas of answers. Scores carry their scale.
const (
	share = `{"type":"number","minimum":0,"maximum":1}`
	texts = `{"type":"array","items":{"type":"string"}}`

	planWanted = `{"type":"object","required":["complexity","steps"],"properties":{"complexity":` + share + `,` +
		`"steps":{"type":"array","items":{"type":"object","required":["category","workers","mode"],"properties":{` +
		`"id":{"type":"string"},"name":{"type":"string"},"category":{"type":"string"},"workers":` + texts + `,` +
		`"mode":{"type":"string"},"depends_on":` + texts + `}}},"notes":` + texts + `,"drop":` + texts + `}}`

	dropWanted = `{"type":"object","required":["drop"],"properties":{"drop":` + texts + `}}`

	marksWanted = `{"type":"object","required":["article","source","factual","writing"],"properties":{"article":` + share + `,"source":` + share + `,` +
		`"factual":` + share + `,"writing":` + share + `,"completeness":` + share + `,"feedback":{"type":"string"},"issues":` + texts + `}}`

	findingsWanted = `{"type":"object","required":["sources"],"properties":{"sources":{"type":"array","items":{"type":"object","required":["title"],` +
		`"properties":{"title":{"type":"string"},"url":{"type":"string"},"kind":{"type":"string"},"relevance":` + share + `,"excerpt":{"type":"string"}}}},` +
		`"summary":{"type":"string"}}}`

	draftWanted = `{"type":"object","required":["content"],"properties":{"title":{"type":"string"},"content":{"type":"string"}}}`
)

// wanted are the schemas of workers' requests. All others may answer in any form.
var wanted = map[Category]json.RawMessage{Researching: json.RawMessage(findingsWanted), Writing: json.RawMessage(draftWanted)}

var planIn, dropIn, marksIn, findingsIn, draftIn = shape(planWanted), shape(dropWanted), shape(marksWanted), shape(findingsWanted), shape(draftWanted)

// shape is how an answer is read. A list may be null: agents in Go encode an empty one
// so.
func shape(schema string) *answer.Shape {
	return answer.MustFromSchema(strings.ReplaceAll(schema, `"type":"array"`, `"type":["array","null"]`))
}

// read finds a value of that shape in an answer.
func read[T any](shape *answer.Shape) func(resp agent.Response) (T, error) {
	return func(resp agent.Response) (v T, err error) {
		found, err := shape.Find(resp.Data, resp.Text)
		if err == nil {
			err = json.Unmarshal(found, &v)
		}
		return v, err
	}
}

var errNothing = errors.New("the answer is empty")

// payload is the result of a worker, in the form in which others get it: findings, a
// draft, or any JSON. Other text becomes {"text": …}, or the content of a draft.
func payload(w Worker) func(resp agent.Response) (json.RawMessage, error) {
	return func(resp agent.Response) (json.RawMessage, error) {
		text := strings.TrimSpace(resp.Text)
		if text == "" && resp.Data == nil {
			return nil, errNothing
		}
		if w.Category == Researching {
			f, err := read[Findings](findingsIn)(resp)
			f.Sources = append([]Source{}, f.Sources...)
			return agent.JSON(f), err
		}
		if w.Category == Writing || w.Revises {
			d, ok := draftOf(resp)
			if !ok && w.Category == Writing {
				d.Content = resp.Text
			}
			if strings.TrimSpace(d.Content) != "" {
				return agent.JSON(d), nil
			}
			if w.Category == Writing {
				return nil, errNothing
			}
		}
		switch {
		case resp.Data != nil:
			return resp.Data, nil
		case json.Valid([]byte(text)):
			return json.RawMessage(text), nil
		}
		return agent.JSON(map[string]string{"text": resp.Text}), nil
	}
}

// draftOf returns the draft in an answer, if it is one: JSON without prose around it,
// except a line that leads in. An example in a text is no draft.
func draftOf(resp agent.Response) (d Draft, ok bool) {
	found, err := json.RawMessage(nil), errNothing
	if resp.Data != nil {
		found, err = draftIn.Find(resp.Data, "")
	} else if lead, _, any := strings.Cut(resp.Text, "{"); any && !strings.Contains(strings.TrimSpace(fence.Replace(lead)), "\n") {
		found, err = draftIn.Alone(strings.TrimRight(resp.Text[len(lead):], "`~ \t\r\n"))
	}
	if err == nil {
		err = json.Unmarshal(found, &d)
	}
	return d, err == nil
}

// fence removes the marks of a block of code.
var fence = strings.NewReplacer("```json", "", "```JSON", "", "```", "", "~~~json", "", "~~~", "")
