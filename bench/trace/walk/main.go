// Command walk makes a flow call an agent twice and prints the functions that the second
// call entered. It prints some only when bench/trace has built it. With an argument, the
// name of a new file, it keeps its run in SQLite, else in memory.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/convene-go/convene/bench/trace/steps"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

func main() {
	if err := walk(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

func walk(args []string) (err error) {
	cfg := orchestrator.Config{Agents: agent.Roster{
		"greeter": agent.Func(func(_ context.Context, r agent.Request) (agent.Response, error) {
			return agent.Response{Text: "hi " + r.Prompt}, nil
		}),
	}}
	if len(args) > 0 {
		store, err := sqlite.Open(args[0])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		cfg.Store = store
	}
	ctx := context.Background()
	e, err := orchestrator.NewLocal(cfg)
	if err != nil {
		return err
	}
	entered, err := orchestrator.Flow[string, []string]{Name: "walk", Do: twice}.Run(ctx, e, "tea")
	for _, name := range entered {
		fmt.Println(name)
	}
	return errors.Join(err, e.Close(ctx))
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
