// Film lets a studio of departments work on a request: with a real model, or with a
// rehearsal that needs none. It can be killed at any time: started again, it continues
// where it was.
//
//	go run ./examples/film "Create a dramatic opening scene with Aladdin stealing bread"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/providers"
)

const (
	program = "film"
	master  = "master" // the agent that makes one result of all departments'
)

func main() { cli.Main(program, film) }

// film runs the program with args.
func film(ctx context.Context, args []string, c cli.Console) error {
	o, err := parse(args, c.In)
	if errors.Is(err, flag.ErrHelp) {
		c.Print("%s", usage())
		return nil
	}
	if err != nil {
		return err
	}
	departments := hierarchy.MovieDepartments()
	flow, err := newFlow(departments)
	if err != nil {
		return err
	}
	return cli.Perform(ctx, c, cli.Job[hierarchy.Input, hierarchy.Outcome]{
		Settings: &o.Settings, Request: o.request, Family: o.family(),
		Flow: flow, Input: hierarchy.Input{Prompt: o.request},
		Limits:    orchestrator.Budget{Cost: o.Budget, Wall: o.Timeout, Calls: o.Calls},
		Rehearsal: rehearse(departments, o.Pace),
		Rules:     "Texts are from a script that was written by hand. Marks follow from rules: " + rules + ".",
		Cast:      func(m providers.Model) agent.Roster { return cast(m, departments) },
		Lines:     lines, Picture: picture,
		Outcome: func(out hierarchy.Outcome) orchestrator.Outcome { return out.Outcome },
		Report: func(_ context.Context, _ *orchestrator.Run, out hierarchy.Outcome) error {
			return o.report(c, out)
		},
		Lack: shortfall,
	})
}

func newFlow(departments []hierarchy.Department) (orchestrator.Flow[hierarchy.Input, hierarchy.Outcome], error) {
	return hierarchy.New(hierarchy.Config{
		Name: program, Departments: departments, Master: hierarchy.Master{Agent: master}, Rules: hierarchy.Rules{Steps: hierarchy.Steps{Brief: brief}},
	})
}

// shortfall is why the result is less than requested: the error, or the last warning of a
// partial result.
func shortfall(out hierarchy.Outcome, err error) error {
	if err == nil && out.Status == orchestrator.Completed {
		return nil
	}
	if n := len(out.Warnings); n > 0 && err == nil {
		err = errors.New(out.Warnings[n-1].Message)
	}
	return err
}

// cast lets one model play every agent of the studio.
func cast(m providers.Model, departments []hierarchy.Department) agent.Roster {
	play := func(format string, args ...any) agent.Agent {
		return agent.LLM{Model: m, Instructions: fmt.Sprintf(format, args...) + " Answer in at most 150 words of plain text, unless JSON is asked for."}
	}
	roster := agent.Roster{master: play("You direct a film studio.")}
	for _, d := range departments {
		roster[d.Head] = play("You lead the %s of a film studio, whose crafts are: %s.", d.Name, crafts(d))
		for _, a := range d.Agents {
			roster[a.ID] = play("You are the %s in the %s of a film studio. Your craft is %s.", a.Name, d.Name, a.Specialization)
		}
	}
	return roster
}

// options are a parsed command line.
type options struct {
	cli.Settings

	request string
	json    cli.File
	page    cli.File
}

func newFlags(o *options) *flag.FlagSet {
	o.Program, o.DB, o.json.Flag = program, "film.db", "-o"
	o.page.Flag = "-page"
	fs := o.Flags()
	fs.StringVar(&o.json.Path, "o", "", "write the outcome as JSON to this `file`, too")
	fs.StringVar(&o.page.Path, "page", "", "write what was made, and how, as an HTML page to this `file`")
	return fs
}

func usage() string {
	return cli.Help(newFlags(&options{}), `film [flags] "request"     (flags may follow the request; "-" reads it from the standard input)`)
}

// parse reads a command line.
func parse(args []string, in io.Reader) (options, error) {
	var o options
	text, err := cli.Parse(newFlags(&o), args)
	if err == nil {
		o.request, err = cli.Text(text, in, "request", "say what the studio shall make")
	}
	if err == nil {
		err = o.Check()
	}
	if err == nil && o.Model == nil && o.request != scripted {
		err = fmt.Errorf("the rehearsal has a script for one request alone, %q: another one needs a -model", scripted)
	}
	if err == nil {
		err = o.CheckFiles(o.json, o.page)
	}
	return o, cli.Usage(program, err)
}

// family is the common name of runs of the same cast on the same request.
func (o *options) family() string { return cli.Family(program, o.Who(), o.request) }
