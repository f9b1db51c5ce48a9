package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var convene = library{
	name: "Convene",
	chain: func(n int, takes time.Duration) (once, error) {
		return conveneChain(n, conveneAgent(takes, text), nil)
	},
	models: func(n int, takes time.Duration) (once, error) {
		return conveneChain(n, agent.LLM{Model: conveneModel{takes}, Instructions: "You answer."}, nil)
	},
	fanOut: func(n int, takes time.Duration) (once, error) {
		return conveneRun(conveneAgent(takes, text), nil, n, func(c *orchestrator.Context, n int) (int, error) {
			vs, err := orchestrator.Values(orchestrator.Map(c, make([]struct{}, n), 0, func(c *orchestrator.Context, _ struct{}) (string, error) {
				r, err := c.Call("a", agent.Request{Prompt: "x"})
				return r.Text, err
			}))
			return len(vs), err
		})
	},
	loop:   conveneLoop,
	dag:    conveneDAG,
	memory: conveneMemory,
	sqlite: func(n int, dir string) (once, error) {
		store, err := sqlite.New(sqlite.Config{Path: filepath.Join(dir, "convene.db"), Sync: sqlite.Normal})
		if err != nil {
			return nil, err
		}
		return conveneChain(n, conveneAgent(0, kilobyte), store)
	},
}

func conveneAgent(takes time.Duration, says string) agent.Agent {
	return agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		return agent.Response{Text: says}, answer(ctx, takes)
	})
}

type conveneModel struct{ takes time.Duration }

func (m conveneModel) Generate(ctx context.Context, _ providers.Request) (providers.Response, error) {
	return providers.Response{Text: text, Stop: providers.StopEnd, Usage: providers.Usage{Calls: 1}}, answer(ctx, m.takes)
}

// conveneRun runs a flow once.
func conveneRun[In, Out any](a agent.Agent, s runlog.Store, in In, do func(*orchestrator.Context, In) (Out, error)) (once, error) {
	e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s})
	if err != nil {
		return nil, err
	}
	f := orchestrator.Flow[In, Out]{Name: "peers", Do: do}
	return func(ctx context.Context) error {
		_, err := f.Run(ctx, e, in)
		return err
	}, nil
}

func conveneChain(n int, a agent.Agent, s runlog.Store) (once, error) {
	return conveneRun(a, s, n, func(c *orchestrator.Context, n int) (int, error) {
		for range n {
			if _, err := c.Call("a", agent.Request{Prompt: "x"}); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
}

func conveneLoop(rounds int) (once, error) {
	return conveneRun(conveneAgent(0, text), nil, rounds, func(c *orchestrator.Context, rounds int) (int, error) {
		grades := 0
		best, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
			Attempts: rounds, Gate: 80,
			Try: func(c *orchestrator.Context, last orchestrator.Refined[string]) (string, error) {
				r, err := c.Call("a", agent.Request{Prompt: last.Feedback})
				return r.Text, err
			},
			Grade: func(c *orchestrator.Context, v string) (orchestrator.Verdict, error) {
				r, err := c.Call("a", agent.Request{Prompt: v})
				if grades++; grades == rounds {
					return orchestrator.Verdict{Score: 90}, err
				}
				return orchestrator.Verdict{Score: 50, Feedback: r.Text}, err
			},
		})
		return best.Tries, err
	})
}

func conveneDAG(needs [][]int) (once, error) {
	users := make([][]int, len(needs))
	for i, deps := range needs {
		for _, d := range deps {
			users[d] = append(users[d], i)
		}
	}
	return conveneRun(conveneAgent(0, text), nil, len(needs), func(c *orchestrator.Context, n int) (int, error) {
		missing := make([]int, n)
		var ready []int
		for i, deps := range needs {
			if missing[i] = len(deps); missing[i] == 0 {
				ready = append(ready, i)
			}
		}
		q := orchestrator.NewQueue[int](c)
		done := 0
		for ; done < n; done++ {
			for q.Len() < 8 && len(ready) > 0 {
				task := ready[0]
				ready = ready[1:]
				q.Go("", func(c *orchestrator.Context) (int, error) {
					_, err := c.Call("a", agent.Request{Prompt: "x"})
					return task, err
				})
			}
			r, ok := q.Next()
			if !ok || r.Err != nil {
				return done, r.Err
			}
			for _, user := range users[r.Value] {
				if missing[user]--; missing[user] == 0 {
					ready = append(ready, user)
				}
			}
		}
		return done, nil
	})
}

func conveneMemory(n int) variant {
	return variant{name: "Convene", build: func(times int) (func(context.Context) error, error) {
		do, err := conveneChain(n, conveneAgent(0, kilobyte), runlog.NewMemory())
		if err != nil {
			return nil, err
		}
		return repeat("Convene", do).build(times)
	}}
}
