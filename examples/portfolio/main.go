// Portfolio lets directors work on three small projects that share one budget, in two
// rounds: one project is killed because nothing has happened to it for a month, one
// because it spent its share with little result, and its money goes to the third. It
// runs with a real model, or with a rehearsal that needs none.
//
//	go run ./examples/portfolio
package main

import (
	"context"
	"errors"
	"flag"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
)

const program = "portfolio"

func main() { cli.Main(program, portfolios) }

// portfolios runs the program with args.
func portfolios(ctx context.Context, args []string, c cli.Console) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		c.Print("%s", usage())
		return nil
	}
	if err != nil {
		return err
	}
	flow, err := newFlow(o.rounds, o.price())
	if err != nil {
		return err
	}
	v := &view{}
	return cli.Perform(ctx, c, cli.Job[input, outcome]{
		Settings: &o.Settings, Request: o.request(), Family: cli.Family(program, o.Who(), o.request()),
		Flow: flow, Input: o.input,
		Limits:    orchestrator.Budget{Cost: o.Budget, Wall: o.Timeout, Calls: o.Calls},
		Rehearsal: rehearse(o.Pace), Cast: cast,
		Rules: rules,
		Lines: lines, Picture: v.picture,
		Outcome: func(out outcome) orchestrator.Outcome { return out.Outcome },
		Report: func(_ context.Context, _ *orchestrator.Run, out outcome) error {
			return o.report(c, out)
		},
		Lack: func(_ outcome, err error) error { return err },
	})
}
