package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/examples/internal/cli"
)

// options are a parsed command line.
type options struct {
	cli.Settings

	dir, cache, answer string
	json               cli.File
}

func newFlags(o *options) *flag.FlagSet {
	o.Program, o.DB = program, "todoboard.db"
	o.json.Flag = "-json"
	fs := o.Flags()
	fs.StringVar(&o.dir, "dir", "todoboard-repo", "the `folder` for the repository that is built: new or empty")
	fs.StringVar(&o.cache, "cache", "", "the `folder` for what the go command keeps; without it one for this program in the user's cache")
	fs.StringVar(&o.answer, "answer", "", "the answer to the first `question` to a person; what else is asked is asked at the prompt")
	fs.StringVar(&o.json.Path, "json", "", "write all that came of the run as JSON to this `file`")
	return fs
}

func usage() string {
	return cli.Help(newFlags(&options{}), "todoboard [flags]     (builds a Todo Board; see script/objective.txt)")
}

// parse reads a command line.
func parse(ctx context.Context, args []string) (options, error) {
	var o options
	words, err := cli.Parse(newFlags(&o), args)
	if err == nil && words != "" {
		err = fmt.Errorf("%q is no flag: what is built is fixed", cli.Clip(words, 40))
	}
	if err == nil {
		err = o.check(ctx)
	}
	return o, cli.Usage(program, err)
}

func (o *options) check(ctx context.Context) error {
	if err := o.Check(); err != nil {
		return err
	}
	if o.dir == "" {
		return errors.New("-dir is empty, want a folder")
	}
	var err error
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	if o.cache == "" {
		if o.cache, err = os.UserCacheDir(); err != nil {
			return fmt.Errorf("name a folder with -cache: %w", err)
		}
		o.cache = filepath.Join(o.cache, "convene-todoboard")
	}
	if err := o.CheckFiles(o.json); err != nil {
		return err
	}
	return o.checkDir(ctx)
}

// checkDir refuses a folder with files in it, unless a run of this program uses it.
func (o *options) checkDir(ctx context.Context) error {
	files, err := os.ReadDir(o.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	if before, err := o.known(ctx); err != nil || before && !o.Fresh {
		return err
	}
	return fmt.Errorf("-dir %s is not empty, and a run begins with an empty one: name another", o.dir)
}

// known says whether the database has a run for this folder.
func (o *options) known(ctx context.Context) (bool, error) {
	if _, err := os.Stat(o.DB); err != nil {
		return false, nil //nolint:nilerr // then there is none, or the run will say why not
	}
	log, err := sqlite.Open(o.DB)
	if err != nil {
		return false, fmt.Errorf("-db: %w", err)
	}
	before, err := cli.Read(ctx, log, o.family())
	return before.Records > 0, errors.Join(err, log.Close())
}
