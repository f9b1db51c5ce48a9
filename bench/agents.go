package main

import (
	"context"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// nop answers at once.
var nop = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{Text: "y"}, nil
})

// slow answers after some time.
func slow(d time.Duration) agent.Func {
	return func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		if err := pause(ctx, d); err != nil {
			return agent.Response{}, err
		}
		return agent.Response{Text: "y"}, nil
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// model is a model that answers after some time, or at once.
type model struct{ takes time.Duration }

// Generate implements providers.Model.
func (m model) Generate(ctx context.Context, _ providers.Request) (providers.Response, error) {
	if m.takes > 0 {
		if err := pause(ctx, m.takes); err != nil {
			return providers.Response{}, err
		}
	}
	return providers.Response{Text: "y", Stop: providers.StopEnd, Usage: providers.Usage{Calls: 1, Input: 10, Output: 1}}, nil
}

// llm is an agent with that model.
func llm(takes time.Duration) agent.Agent {
	return agent.LLM{Model: model{takes}, Instructions: "You answer."}
}

// kilobyte answers with 1 kB of text.
var kilobyte = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{Text: text}, nil
})

var text = string(make1kB())

func make1kB() []byte {
	b := make([]byte, 1000)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

// engineOf is an engine whose one agent is a.
func engineOf(a agent.Agent, s runlog.Store) (*orchestrator.Engine, error) {
	return orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s})
}

// work is what a run does: parallel branches, each with sequential calls; or the calls
// alone.
type work struct {
	Branches, Calls int
	Timeout         time.Duration // of each call
}

// working does it.
func working() orchestrator.Flow[work, int] {
	return orchestrator.Flow[work, int]{Name: "bench", Do: func(c *orchestrator.Context, in work) (int, error) {
		if in.Branches == 0 {
			return in.Calls, inTurn(c, in)
		}
		_, err := orchestrator.Values(orchestrator.Map(c, make([]struct{}, in.Branches), 0, func(c *orchestrator.Context, _ struct{}) (int, error) {
			return 0, inTurn(c, in)
		}))
		return in.Branches * in.Calls, err
	}}
}

func inTurn(c *orchestrator.Context, in work) error {
	for range in.Calls {
		if _, err := c.Call("a", agent.Request{Prompt: "x", Limits: agent.Limits{Timeout: in.Timeout}}); err != nil {
			return err
		}
	}
	return nil
}

// stuck reports when it is called, and answers when its call is canceled.
func stuck(arrived chan<- struct{}) agent.Func {
	return func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		arrived <- struct{}{}
		<-ctx.Done()
		return agent.Response{}, ctx.Err()
	}
}
