// Todoboard lets a team build a web server with a board of todos, in a git repository, by
// tasks that are planned, built, tested, reviewed and merged: with a real model, or with
// a rehearsal that needs none. It can be killed and started again at any time, and
// continues where it was; the main branch is never broken.
//
//	go run ./examples/todoboard -dir /tmp/board -answer "My todos"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
)

const program = "todoboard"

func main() { cli.Main(program, todoboard) }

// todoboard runs the program with args.
func todoboard(ctx context.Context, args []string, c cli.Console) error {
	o, err := parse(ctx, args)
	if errors.Is(err, flag.ErrHelp) {
		c.Print("%s", usage())
		return nil
	}
	if err != nil {
		return err
	}
	flow, err := newFlow(o.Settings)
	if err != nil {
		return err
	}
	s, err := newShop(o.dir, o.cache)
	if err != nil {
		return err
	}
	return cli.Perform(ctx, c, cli.Job[director.Input, director.Outcome]{
		Settings: &o.Settings, Request: objective, Family: o.family(),
		Flow: flow, Input: director.Input{Objective: objective, Spec: spec()},
		Limits:    orchestrator.Budget{Wall: o.Timeout, Calls: o.Calls},
		Rehearsal: s.rehearse(o.Pace), Cast: func(m providers.Model) agent.Roster { return s.cast(m) },
		Rules: "What workers do and what the director decides is from a script that was written by hand, by task and attempt. The files, git, the tests and the merges are " +
			"real. The strategist passes what there is unless a test fails; the Guardian checks whether a worker builds a login.",
		Lines: lines, Picture: picture,
		Answer: o.answer, Reply: reply,
		Outcome: func(out director.Outcome) orchestrator.Outcome { return out.Outcome },
		Report: func(_ context.Context, _ *orchestrator.Run, out director.Outcome) error {
			return o.report(c, out)
		},
		Lack: shortfall,
	})
}

// reply converts a person's answer to a question of the run: one of its options, or words
// for the agent that asked.
func reply(q orchestrator.Question, said string) (any, error) {
	if option := strings.ToLower(said); slices.Contains(q.Options, option) {
		if option == director.ActionEdit {
			return nil, errors.New("edit takes criteria: say in words what is wanted")
		}
		return director.Answer{Action: option}, nil
	}
	for _, action := range []string{director.ActionRetry, director.ActionProvided} {
		if slices.Contains(q.Options, action) {
			return director.Answer{Action: action, Guidance: said}, nil
		}
	}
	return nil, fmt.Errorf("want one of %q", q.Options)
}

// shortfall is why a board is less than requested.
func shortfall(out director.Outcome, err error) error {
	if err == nil && out.Status != orchestrator.Completed {
		return fmt.Errorf("%d tasks were abandoned, see the board", out.Summary[blackboard.Abandoned])
	}
	return err
}

// family is the common name of runs of the same team in the same folder.
func (o *options) family() string { return cli.Family(program, o.Who(), o.dir) }
