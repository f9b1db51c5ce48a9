package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/providers"
)

const (
	day   = 24 * time.Hour
	month = 30 * day

	mostIdle = 100 * 365 // days: a hundred years
)

// options are a parsed command line.
type options struct {
	cli.Settings

	rounds int
	json   cli.File
	input  input
}

//go:embed projects.json
var scripted []byte

func newFlags(o *options) *flag.FlagSet {
	o.Program, o.DB, o.Budget = program, "portfolio.db", 3*providers.USD
	o.json.Flag = "-json"
	fs := o.Flags()
	fs.IntVar(&o.rounds, "rounds", 2, "how often each project is worked on")
	fs.StringVar(&o.json.Path, "json", "", "write the outcome as JSON to this `file`")
	return fs
}

func usage() string {
	return cli.Help(newFlags(&options{}), `portfolio [flags] [projects.json]

Without a file, three projects of a rehearsal. A file, for a -model, is a JSON list of
{"id", "stage", "score", "idleDays", "objective"}; stages are IDEA, RESEARCHING,
VALIDATING, BUILDING, LAUNCHING and OPERATING, scores are 0 to 1.`)
}

// parse reads a command line.
func parse(args []string) (options, error) {
	var o options
	file, err := cli.Parse(newFlags(&o), args)
	if err == nil {
		err = o.check(file)
	}
	return o, cli.Usage(program, err)
}

func (o *options) check(file string) error {
	if err := o.Check(); err != nil {
		return err
	}
	if o.rounds < 1 {
		return fmt.Errorf("-rounds is %d, want 1 or more", o.rounds)
	}
	data := scripted
	if file != "" {
		if o.Model == nil {
			return fmt.Errorf("the rehearsal has a script for its own three projects alone: those of %s need a -model", file)
		}
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	var err error
	if o.input, err = readProjects(data, time.Now()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return o.CheckFiles(o.json)
}

// entry is a project in a file.
type entry struct {
	ID        string          `json:"id"`
	Stage     portfolio.Stage `json:"stage"`
	Score     *float64        `json:"score"`
	IdleDays  int             `json:"idleDays"`
	Objective string          `json:"objective"`
}

func readProjects(data []byte, now time.Time) (in input, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var entries []entry
	err = dec.Decode(&entries)
	if err == nil && dec.More() {
		err = errors.New("there is more after it")
	}
	if err != nil {
		return in, fmt.Errorf("want a JSON list of projects: %w", err)
	}
	for i, e := range entries {
		if e.IdleDays < 0 || e.IdleDays > mostIdle {
			return in, fmt.Errorf("[%d].idleDays is %d, want 0 to %d", i, e.IdleDays, mostIdle)
		}
		if strings.TrimSpace(e.Objective) == "" {
			return in, fmt.Errorf("[%d].objective is empty", i)
		}
		in.Projects = append(in.Projects, portfolio.Entry[director.Input]{
			Project: portfolio.Project{ID: e.ID, Stage: e.Stage, Score: e.Score, LastProgress: now.Add(-time.Duration(e.IdleDays) * day)},
			Input:   director.Input{Objective: e.Objective},
		})
	}
	return in, nil
}

// request is the projects in words.
func (o *options) request() string {
	var ids []string
	for _, p := range o.input.Projects {
		ids = append(ids, p.ID)
	}
	return fmt.Sprintf("%s in %d rounds", strings.Join(ids, ", "), o.rounds)
}

// price is the cost of a call: known only in a rehearsal.
func (o *options) price() func(string) providers.NanoUSD {
	if o.Model == nil {
		return price
	}
	return func(string) providers.NanoUSD { return 0 }
}
