package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

const (
	flowPlans  = "plans"
	flowSpends = "spends"
)

// planned is the input of a run of a plan.
type planned struct {
	Seed  uint64 `json:"seed"`
	Depth int    `json:"depth"`
}

// depth is how many levels of children a run has.
const depth = 2

// made is the result of such a run.
type made struct {
	Text string            `json:"text"`
	By   map[string]string `json:"by"` // who answered, by question
}

// reception is an answer to a question.
type reception struct {
	Text string `json:"text"`
	By   string `json:"by"` // unique: tells which of several answers the flow got
}

// plans carries out the plan of a seed.
func plans() orchestrator.Flow[planned, made] {
	return orchestrator.Flow[planned, made]{Name: flowPlans, Do: func(c *orchestrator.Context, in planned) (made, error) {
		f := following{by: map[string]string{}, depth: in.Depth}
		text, err := f.follow(c, planOf(in.Seed, in.Depth), "")
		return made{text, f.by}, err
	}}
}

// following is one run of plans.
type following struct {
	by    map[string]string
	depth int
}

// follow carries out a part.
func (f *following) follow(c *orchestrator.Context, p part, text string) (string, error) {
	switch p.kind {
	case call, flaky:
		resp, err := c.Call(agentFor(p.kind), agent.Request{Prompt: p.prompt(text)})
		return resp.Text, err
	case broken:
		if _, err := c.Call("broken", agent.Request{Prompt: p.prompt(text)}); !errors.Is(err, errBroken) {
			return "", fmt.Errorf("a broken agent returned %w", err)
		}
		return text + " broken", nil
	case sequence:
		return f.inTurn(c, p.parts, text)
	case capped:
		return f.inTurn(c.WithBudget(orchestrator.Budget{Calls: 10_000, Wall: time.Hour}), p.parts, text)
	case branches:
		texts, err := orchestrator.Values(orchestrator.Map(c, p.parts, p.limit, func(c *orchestrator.Context, sub part) (string, error) {
			return f.follow(c, sub, text)
		}))
		return join(texts), err
	case race:
		return f.race(c, p, text)
	case question:
		got, err := orchestrator.Await[reception](c, orchestrator.Question{Key: p.id})
		f.by[p.id] = got.By
		return join([]string{text, got.Text}), err
	case child:
		share := orchestrator.Budget{Calls: int64(math.Pow10(f.depth + 1))} // children beside it get as much
		part, err := plans().Child(c.WithBudget(share), planned{p.seed, f.depth - 1})
		return join([]string{text, part.Text}), err
	case sleep:
		return text, c.Sleep(p.wait)
	case kinds:
	}
	return text, nil
}

func (f *following) inTurn(c *orchestrator.Context, parts []part, text string) (string, error) {
	var err error
	for _, p := range parts {
		if text, err = f.follow(c, p, text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// race asks an agent with the order in which branches finished: a resumed run that
// saw another order would make a different call.
func (f *following) race(c *orchestrator.Context, p part, text string) (string, error) {
	q := orchestrator.NewQueue[string](c)
	for _, sub := range p.parts {
		q.Go(sub.id, func(c *orchestrator.Context) (string, error) { return f.follow(c, sub, text) })
	}
	var order, texts []string
	for r, ok := q.Next(); ok; r, ok = q.Next() {
		if r.Err != nil {
			return "", r.Err
		}
		order, texts = append(order, r.Key), append(texts, r.Value)
	}
	_, err := c.Call("writer", agent.Request{Prompt: p.prompt(strings.Join(order, " "))})
	return join(texts), err
}

// purse is the input of a run that spends its budget.
type purse struct {
	Items     int  `json:"items"`
	Estimated bool `json:"estimated"` // calls say what they will cost
	Children  int  `json:"children"`  // each with an equal share of what is left
}

// price is what a call of the payer costs.
const price = 30 * providers.USD / 1000

// spending is the result of such a run.
type spending struct {
	Calls int64             `json:"calls"`
	Cost  providers.NanoUSD `json:"cost"`
}

// spends calls agents until its budget refuses.
func spends() orchestrator.Flow[purse, spending] {
	return orchestrator.Flow[purse, spending]{Name: flowSpends, Do: func(c *orchestrator.Context, in purse) (spending, error) {
		var sum spending
		share := c.Left().Split(max(in.Children, 1))
		results := orchestrator.Map(c, make([]struct{}, in.Children), 0, func(c *orchestrator.Context, _ struct{}) (spending, error) {
			return spends().Child(c.WithBudget(share), purse{Items: in.Items, Estimated: in.Estimated})
		})
		results = append(results, orchestrator.Map(c, make([]struct{}, in.Items), 3, func(c *orchestrator.Context, _ struct{}) (spending, error) {
			req := agent.Request{Prompt: "pay"}
			if in.Estimated {
				req.Limits.Estimate = price
			}
			resp, err := c.Call("payer", req)
			return spending{resp.Usage.Calls, resp.Usage.Cost}, err
		})...)
		for _, r := range results {
			if r.Err != nil && !errors.Is(r.Err, orchestrator.ErrBudget) {
				return sum, r.Err
			}
			sum.Calls += r.Value.Calls
			sum.Cost += r.Value.Cost
		}
		return sum, nil
	}}
}

// hello is a run without a call: what each process starts with, so that its log
// tells under which name the process owns runs.
func hello() orchestrator.Flow[int, int] {
	return orchestrator.Flow[int, int]{Name: "hello", Do: func(_ *orchestrator.Context, gen int) (int, error) { return gen, nil }}
}
