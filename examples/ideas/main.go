// Ideas lets a team talk about a topic in rounds and choose the best idea by score: with
// a real model, or with a rehearsal that needs none. It can be killed and started again
// at any time, and continues where it was. The report is a page for a browser.
//
//	go run ./examples/ideas "How might a small library attract teenagers?" -preset full -o report.html
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
)

const program = "ideas"

func main() { cli.Main(program, ideas) }

// ideas runs the program with args.
func ideas(ctx context.Context, args []string, c cli.Console) error {
	o, err := parse(args, c.In)
	if errors.Is(err, flag.ErrHelp) {
		c.Print("%s", usage())
		return nil
	}
	if err != nil {
		return err
	}
	cfg := presets[o.preset](nil)
	flow, err := newFlow(cfg)
	if err != nil {
		return err
	}
	v := &view{}
	return cli.Perform(ctx, c, cli.Job[discussion.Input, discussion.Outcome]{
		Settings: &o.Settings, Request: o.topic, Family: o.family(),
		Flow: flow, Input: o.input(),
		Limits:    orchestrator.Budget{Cost: o.Budget, Wall: o.Timeout, Calls: o.Calls},
		Rehearsal: rehearse(o.Pace), Cast: cast,
		Rules: rules,
		Lines: lines, Picture: v.picture,
		Outcome: func(out discussion.Outcome) orchestrator.Outcome { return out.Outcome },
		Report: func(_ context.Context, _ *orchestrator.Run, out discussion.Outcome) error {
			return o.report(c, out)
		},
		Lack: shortfall,
	})
}

func newFlow(cfg discussion.Config) (orchestrator.Flow[discussion.Input, discussion.Outcome], error) {
	cfg.Name = program
	return discussion.New(cfg)
}

// shortfall is why the result is less than requested.
func shortfall(out discussion.Outcome, err error) error {
	if err == nil && out.FinalIdea == nil {
		return errors.New("no idea was chosen")
	}
	return err
}

// presets are the teams to choose from.
var presets = map[string]func(map[discussion.Role]string) discussion.Config{
	"standard": discussion.Standard,
	"extended": discussion.Extended,
	"full":     discussion.Full,
}

const presetNames = "standard, extended or full"

// family is the common name of runs of the same team about the same topic.
func (o *options) family() string { return cli.Family(program, o.Who(), o.preset, o.topic) }

// input is the topic; in a rehearsal the preamble says that it is one.
func (o *options) input() discussion.Input {
	in := discussion.Input{Topic: o.topic}
	if o.Model == nil {
		in.Preamble = []string{"This is a rehearsal: no model is asked. " + rules}
	}
	return in
}

// rules say what a rehearsal does.
var rules = fmt.Sprintf("What is said is from a script that was written by hand. The moderator marks by rules, 0 to 10 each: clarity: %d to %d words; "+
	"impact: the topic's words; innovation: what no other idea says; feasibility: it says what comes first, then, and finally; "+
	"completeness: who, when, with what, and how one sees that it works.", longEnough, tooLong)
