// Fleet lets two worker processes make films on one Postgres database. One of them is
// killed while it works, and the other one continues its films.
//
//	go run ./examples/fleet
//	go run ./examples/fleet -dsn postgres://me@localhost/mine
//
// Without -dsn it starts a server of its own in a temporary folder, for which the
// programs of Postgres must be installed. The agents are scripts, so it needs no key.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/convene-go/convene/blackboard/postgres/pgtest"
)

// schema holds the tables of this example.
const schema = "convene_fleet"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if len(os.Args) == 5 && os.Args[1] == "worker" {
		err = work(ctx, os.Args[2], os.Args[3], os.Args[4], os.Stdin)
	} else {
		err = fleet(ctx, os.Args[1:], os.Stdout)
	}
	stop()
	os.Exit(code(err, os.Stderr))
}

// code writes err, if it is one, and returns the code with which the process ends.
func code(err error, out io.Writer) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		_, _ = fmt.Fprintln(out, "fleet:", err)
		return 2
	}
	_, _ = fmt.Fprintln(out, "fleet:", err)
	return 1
}

// errUsage says that the command line has a fault.
var errUsage = errors.New("fleet -h lists the flags")

// options are the flags.
type options struct {
	dsn   string
	films int
	pace  time.Duration
}

func parse(args []string, help io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.StringVar(&o.dsn, "dsn", "", "the Postgres database; empty: a throwaway server")
	flags.IntVar(&o.films, "films", 6, "how many films to make, 2 to 100")
	flags.DurationVar(&o.pace, "pace", 100*time.Millisecond, "how long a call of an agent takes")
	err := flags.Parse(args)
	if err == nil && (flags.NArg() > 0 || o.films < 2 || o.films > 100 || o.pace < 0) {
		err = errors.New("want -films from 2 to 100, -pace of 0 or more, and no arguments")
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		err = fmt.Errorf("%w (%w)", err, errUsage)
	}
	return o, err
}

// fleet makes the films and reports what happens.
func fleet(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	if o.dsn == "" {
		server, err := pgtest.Start(ctx)
		if err != nil {
			return fmt.Errorf("%w; or give a database with -dsn", err)
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		o.dsn = server.DSN()
		_, _ = fmt.Fprintln(out, "started a throwaway Postgres server")
	}
	ctx, cancel := context.WithCancel(ctx)
	var workers []*worker
	defer func() {
		cancel() // kills the workers
		for _, w := range workers {
			w.wait()
		}
	}()
	for _, name := range []string{"A", "B"} {
		w, err := hire(ctx, name, o)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	s, err := open(ctx, o.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	return s.direct(ctx, workers, o.films, out)
}
