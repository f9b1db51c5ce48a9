// Article lets a team research a topic and write about it with sources, plan by plan
// until it is good enough: with a real model, or with a rehearsal that needs none. It can
// be killed and started again at any time, and continues where it was.
//
//	go run ./examples/article -topic "AI in healthcare" -min-sources 10 -quality 0.85 -budget 5 -o article.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
)

const program = "article"

func main() { cli.Main(program, article) }

// article runs the program with args.
func article(ctx context.Context, args []string, c cli.Console) error {
	o, err := parse(args, c.In)
	if errors.Is(err, flag.ErrHelp) {
		c.Print("%s", usage())
		return nil
	}
	if err != nil {
		return err
	}
	flow, err := newFlow()
	if err != nil {
		return err
	}
	v := &view{budget: o.Budget}
	return cli.Perform(ctx, c, cli.Job[research.Input, research.Outcome]{
		Settings: &o.Settings, Request: o.brief.Topic, Family: o.family(),
		Flow: flow, Input: o.brief,
		Limits:    orchestrator.Budget{Calls: o.Calls}, // money and time are in the brief
		Rehearsal: rehearse(o.Pace), Cast: cast,
		Rules: "Sources and drafts are from a script that was written by hand. The supervisor marks by rules, from what is there: sources, their kinds, words, " +
			"sections, claims with a known source, sentences that are short and said once.",
		Lines: v.lines, Picture: v.picture,
		Outcome: func(out research.Outcome) orchestrator.Outcome { return out.Outcome },
		Report: func(_ context.Context, _ *orchestrator.Run, out research.Outcome) error {
			return errors.Join(o.report(c, out), o.writePage(c, out))
		},
		Lack: shortfall,
	})
}

func newFlow() (orchestrator.Flow[research.Input, research.Outcome], error) {
	return research.New(research.Config{Name: program, Workers: research.Catalogue()})
}

// shortfall is why a result is less than requested.
func shortfall(out research.Outcome, err error) error {
	if err != nil || out.Status == orchestrator.Completed {
		return err
	}
	if out.Score == nil {
		return errors.New("nothing was evaluated")
	}
	return fmt.Errorf("quality %.4g is below what was wanted, see the warnings", *out.Score)
}

// family is the common name of runs of the same team on the same brief.
func (o *options) family() string { return cli.Family(program, o.Who(), string(agent.JSON(o.brief))) }
