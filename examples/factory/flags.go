package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/team"
)

// options are a parsed command line.
type options struct {
	cli.Settings

	objective  string
	dir        string // of the project; after parse it is absolute
	cache      string // of builds; "": see newShop
	json, page cli.File
}

func newFlags(o *options) *flag.FlagSet {
	o.Program, o.DB, o.Timeout = program, "factory.db", time.Hour
	o.json.Flag, o.page.Flag = "-json", "-page"
	fs := o.Flags()
	fs.StringVar(&o.dir, "dir", "factory-out", "the `folder` in which the project is made; it is empty, or does not exist yet")
	fs.StringVar(&o.cache, "cache", "", "the `folder` in which Go keeps what it has built; code under test can spoil it, so that without it only the rehearsal uses that of this machine, and a model has one of its own")
	fs.StringVar(&o.page.Path, "page", "", "write how it came about, with the difference that each step made, as an HTML page to this `file`")
	fs.StringVar(&o.json.Path, "json", "", "write all that came of the run as JSON to this `file`")
	return fs
}

func usage() string {
	return cli.Help(newFlags(&options{}), `factory [flags] "objective"     (flags may follow the objective; "-" reads it from the standard input)`)
}

// parse reads a command line.
func parse(args []string, in io.Reader) (options, error) {
	var o options
	text, err := cli.Parse(newFlags(&o), args)
	if err == nil {
		o.objective, err = cli.Text(text, in, "objective", "say what shall be made")
	}
	if err == nil {
		err = o.Check()
	}
	if err == nil && o.Model == nil && o.objective != scripted {
		err = fmt.Errorf("the rehearsal has a script for one objective alone, %q: use -model for another one", scripted)
	}
	if err == nil {
		err = o.checkPaths()
	}
	return o, cli.Usage(program, err)
}

// checkPaths finds files and folders that cannot be used, before the work begins.
func (o *options) checkPaths() (err error) {
	if o.dir == "" {
		return errors.New("-dir is empty, want a folder")
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	switch info, err := os.Stat(o.dir); {
	case err == nil && !info.IsDir():
		return fmt.Errorf("-dir %s is a file, want a folder", o.dir)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("-dir: %w", err)
	}
	for _, f := range []cli.File{{Flag: "-db", Path: o.DB}, {Flag: "-cache", Path: o.cache}, o.json, o.page} {
		path, err := filepath.Abs(f.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Flag, err)
		}
		if rel, err := filepath.Rel(o.dir, path); f.Path != "" && err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%s %s is inside of -dir, where only the project may be", f.Flag, f.Path)
		}
	}
	return o.CheckFiles(o.json, o.page)
}

// makeDir makes the project's folder for a new run.
func (o *options) makeDir() error {
	if err := os.MkdirAll(o.dir, 0o750); err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	found, err := os.ReadDir(o.dir)
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	if len(found) > 0 {
		return cli.Usage(program, fmt.Errorf("-dir %s holds %s already: a new run wants an empty folder", o.dir, found[0].Name()))
	}
	return nil
}

// family is the common name of runs of the same team on the same objective in the same
// folder.
func (o *options) family() string {
	return cli.Family(program, o.Who(), o.objective, o.dir, o.Timeout.String())
}

// input is the input of the team.
func (o *options) input() delivery.Input {
	return delivery.Input{Goal: o.objective, Context: map[string]string{
		"language": "Go, with the standard library alone. go.mod says go 1.24; its module is example.com/ and the name of the package.",
		"project":  "The folder is empty at the start. The package is in its root, and go.mod too.",
		"tests":    "go test -json -count=1 ./... is run in the folder, without a network. Tests are short and do not sleep.",
	}}
}

func (o *options) newFlow() (orchestrator.Flow[delivery.Input, delivery.Outcome], error) {
	limit := o.Timeout
	if limit == 0 {
		limit = orchestrator.None
	}
	return delivery.New(delivery.Config{
		Name:   program,
		Agents: delivery.Agents{Planner: string(delivery.Planner), Coder: string(delivery.Coder), Tester: string(delivery.Tester), Supervisor: string(delivery.Supervisor), Workspace: workshop},
		Rules:  delivery.Rules{Retrier: delivery.Retries{Iteration: orchestrator.Attempts{Max: 3}}},
		Limits: team.Limits{Time: limit},
	})
}
