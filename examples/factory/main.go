// Factory lets a team plan, code, test and verify a small program until it is what was
// requested: with a real model, or with a rehearsal that needs none. The code is real
// in both cases: it is written into a folder, and its tests are run there. It can be
// killed and started again at any time, and continues where it was.
//
//	go run ./examples/factory "a Go package that parses and formats ISO 8601 durations, with tests" -page factory.html
package main

import (
	"context"
	"errors"
	"flag"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/providers"
)

const program = "factory"

func main() { cli.Main(program, factory) }

// factory runs the program with args.
func factory(ctx context.Context, args []string, c cli.Console) (err error) {
	o, err := parse(args, c.In)
	if errors.Is(err, flag.ErrHelp) {
		c.Print("%s", usage())
		return nil
	}
	if err != nil {
		return err
	}
	flow, err := o.newFlow()
	if err != nil {
		return err
	}
	shop, err := o.newShop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Close()) }()
	with := func(roster agent.Roster) agent.Roster {
		roster[workshop] = shop
		return roster
	}
	return cli.Perform(ctx, c, cli.Job[delivery.Input, delivery.Outcome]{
		Settings: &o.Settings, Request: o.objective, Family: o.family(),
		Flow: flow, Input: o.input(),
		Limits:    orchestrator.Budget{Cost: o.Budget, Calls: o.Calls}, // time is the team's
		Rehearsal: with(rehearse(o.Pace)), Cast: func(m providers.Model) agent.Roster { return with(cast(m)) },
		Rules: "Plans, code and reviews are from a script that was written by hand, in files by agent, task and attempt. " +
			"What becomes of the code is real: it is built and tested in a folder, and what fails has failed.",
		Prepare: o.makeDir,
		Lines:   lines, Picture: new(view).picture,
		Outcome: func(out delivery.Outcome) orchestrator.Outcome { return out.Outcome },
		Report: func(_ context.Context, _ *orchestrator.Run, out delivery.Outcome) error {
			return errors.Join(o.report(c, out), o.writePage(c, out))
		},
		Lack: shortfall,
	})
}

// shortfall is why a result is less than requested.
func shortfall(out delivery.Outcome, err error) error {
	if err != nil || out.Status == orchestrator.Completed {
		return err
	}
	return errors.New("the goal is reached, but not all of it was verified, see the warnings")
}
