package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/convene-go/convene/examples/internal/cli"
)

// options are a parsed command line.
type options struct {
	cli.Settings

	topic, preset string
	page, json    cli.File
}

func newFlags(o *options) *flag.FlagSet {
	o.Program, o.DB = program, "ideas.db"
	o.page.Flag, o.json.Flag = "-o", "-json"
	fs := o.Flags()
	fs.StringVar(&o.preset, "preset", "standard", "the `team`: "+presetNames)
	fs.StringVar(&o.page.Path, "o", "", "write the report as an HTML page to this `file`")
	fs.StringVar(&o.json.Path, "json", "", "write the outcome as JSON to this `file`")
	return fs
}

func usage() string {
	return cli.Help(newFlags(&options{}), `ideas [flags] "topic"     (flags may follow the topic; "-" reads it from the standard input)`)
}

// parse reads a command line.
func parse(args []string, in io.Reader) (options, error) {
	var o options
	text, err := cli.Parse(newFlags(&o), args)
	if err == nil {
		o.topic, err = cli.Text(text, in, "topic", "say what the team shall talk about")
	}
	if err == nil {
		err = o.check()
	}
	return o, cli.Usage(program, err)
}

func (o *options) check() error {
	if presets[o.preset] == nil {
		return fmt.Errorf("-preset is %q, want %s", o.preset, presetNames)
	}
	if err := o.Check(); err != nil {
		return err
	}
	if o.Model == nil && o.topic != scripted {
		return fmt.Errorf("the rehearsal has a script for one topic alone, %q: another one needs a -model", scripted)
	}
	return o.CheckFiles(o.page, o.json)
}
