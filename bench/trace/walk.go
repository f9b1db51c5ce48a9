package main

import (
	"context"
	"errors"

	"github.com/convene-go/convene/bench/trace/steps"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// walk has a flow call an agent twice and returns the functions that the second call
// entered, of those with a note. It keeps the run in a new SQLite file; "": in memory.
func walk(ctx context.Context, file string) (entered []string, err error) {
	cfg := orchestrator.Config{Agents: agent.Roster{
		"greeter": agent.Func(func(_ context.Context, r agent.Request) (agent.Response, error) {
			return agent.Response{Text: "hi " + r.Prompt}, nil
		}),
	}}
	if file != "" {
		store, err := sqlite.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		cfg.Store = store
	}
	e, err := orchestrator.NewLocal(cfg)
	if err != nil {
		return nil, err
	}
	entered, err = orchestrator.Flow[string, []string]{Name: "walk", Do: twice}.Run(ctx, e, "tea")
	return entered, errors.Join(err, e.Close(ctx))
}

// twice returns the functions that the second of two calls entered.
func twice(c *orchestrator.Context, prompt string) ([]string, error) {
	if _, err := c.Call("greeter", agent.Request{Prompt: prompt}); err != nil {
		return nil, err
	}
	steps.Start()
	_, err := c.Call("greeter", agent.Request{Prompt: prompt})
	return steps.Stop(), err
}
