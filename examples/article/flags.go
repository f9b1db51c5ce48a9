package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

// options are a parsed command line.
type options struct {
	cli.Settings

	brief      research.Input
	text, json cli.File
	page       cli.File

	topic, prefer string
	quality       float64
}

func newFlags(o *options) *flag.FlagSet {
	o.Program, o.DB, o.Budget = program, "article.db", 5*providers.USD
	o.text.Flag, o.json.Flag, o.page.Flag = "-o", "-json", "-page"
	fs := o.Flags()
	fs.StringVar(&o.topic, "topic", "", "what the article is about, at most 500 characters; it may also stand without the flag")
	fs.IntVar(&o.brief.MinSources, "min-sources", 10, "how many sources there must be, 1 to 50")
	fs.Float64Var(&o.quality, "quality", 0.80, "what the article must score, 0 to 1")
	fs.IntVar(&o.brief.Length, "length", 1000, "how many words it shall have, 500 to 10000")
	fs.StringVar(&o.brief.ContentType, "type", "article", "article, blog_post, research_report, tutorial, documentation or summary")
	fs.StringVar(&o.brief.Tone, "tone", "professional", "professional, casual, academic, technical or conversational")
	fs.StringVar(&o.brief.Depth, "depth", "standard", "light, standard or deep")
	fs.StringVar(&o.prefer, "prefer", "", "preferred `kinds` of sources, such as academic, with commas between them")
	fs.StringVar(&o.text.Path, "o", "", "write the article as Markdown to this `file`")
	fs.StringVar(&o.page.Path, "page", "", "write the article, and how it came about, as an HTML page to this `file`")
	fs.StringVar(&o.json.Path, "json", "", "write all that came of the run as JSON to this `file`")
	return fs
}

func usage() string {
	return cli.Help(newFlags(&options{}), `article [flags] -topic "topic"     (the topic "-" is read from the standard input; -budget is 0.50 to 50, -timeout 1m to 2h)`)
}

// parse reads a command line.
func parse(args []string, in io.Reader) (options, error) {
	var o options
	text, err := cli.Parse(newFlags(&o), args)
	if err == nil && o.topic != "" && text != "" {
		err = fmt.Errorf("the topic is given twice: as -topic, and as %q", cli.Clip(text, 40))
	}
	if err == nil {
		o.brief.Topic, err = cli.Text(o.topic+text, in, "topic", "say with -topic what to write about")
	}
	if err == nil {
		err = o.check()
	}
	return o, cli.Usage(program, err)
}

func (o *options) check() error {
	if o.brief.MinSources == 0 || o.brief.Length == 0 { // the brief would take its defaults
		return errors.New("-min-sources and -length must not be 0")
	}
	if err := o.checkSettings(); err != nil {
		return err
	}
	for kind := range strings.SplitSeq(o.prefer, ",") {
		if kind = strings.TrimSpace(kind); kind != "" {
			o.brief.PreferredSources = append(o.brief.PreferredSources, kind)
		}
	}
	o.brief.MinQuality, o.brief.Limits.Cost, o.brief.Limits.Time = &o.quality, o.Budget, o.Timeout
	if err := o.brief.Validate(); err != nil {
		return fmt.Errorf("the brief: %w", err)
	}
	return o.CheckFiles(o.text, o.json, o.page)
}

func (o *options) checkSettings() error {
	if err := o.Check(); err != nil {
		return err
	}
	if o.Model == nil && o.brief.Topic != scripted {
		return fmt.Errorf("the rehearsal has a script for one topic alone, %q: another one needs a -model", scripted)
	}
	if o.Budget == 0 {
		return errors.New("-budget is 0, want 0.50 to 50 USD")
	}
	return nil
}
