package main

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

const (
	errBroken = agent.Code("killstorm/broken")
	errFlaky  = agent.Code("killstorm/flaky")
)

// usage is what a call of a plan uses.
var usage = providers.Usage{Calls: 1, Input: 7, Output: 3, Cost: 11}

func agentFor(k kind) string {
	if k == flaky {
		return "flaky"
	}
	return "writer"
}

// roster are the agents: each notes its call, takes some milliseconds, and notes its
// answer.
func (w *worker) roster() agent.Roster {
	return agent.Roster{
		"writer": w.noted(usage, func(agent.Info) error { return nil }),
		"flaky": w.noted(usage, func(i agent.Info) error {
			if i.Attempt == 1 {
				return agent.Transient(errFlaky, 0)
			}
			return nil
		}),
		"broken": w.noted(usage, func(agent.Info) error { return errBroken }),
		"payer":  w.noted(providers.Usage{Calls: 1, Cost: price}, func(agent.Info) error { return nil }),
	}
}

func (w *worker) noted(used providers.Usage, fails func(agent.Info) error) agent.Func {
	return func(ctx context.Context, req agent.Request) (agent.Response, error) {
		i := agent.InfoFrom(ctx)
		n := note{Kind: noteBegin, Gen: w.Gen, Run: i.Run, Key: i.Key, Attempt: i.Attempt, Cost: used.Cost, At: time.Now()}
		if err := w.notes.add(n); err != nil {
			return agent.Response{}, err
		}
		select {
		case <-time.After(takes(i.Key)):
		case <-ctx.Done():
			return agent.Response{}, ctx.Err()
		}
		if err := fails(i); err != nil {
			return agent.Response{}, err
		}
		n.Kind = noteEnd
		if err := w.notes.add(n); err != nil {
			return agent.Response{}, err
		}
		return agent.Response{Text: reply(req.Prompt), Usage: used}, nil
	}
}

// takes is how long the call of that key takes: up to 10 ms, some longer.
func takes(key string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	n := h.Sum32()
	d := time.Duration(n%10_000) * time.Microsecond
	if n%16 == 0 {
		d *= 8
	}
	return d
}
