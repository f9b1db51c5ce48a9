// Command killstorm kills processes that carry out runs on one SQLite file, or with
// -postgres on one server, at moments drawn from a seed, starts others in their place,
// and checks what a log promises:
//
//   - every run that was started ends, with the result that only its input decides
//   - a call that is on record is not made again
//   - a call that was running is made again, under the same key
//   - what calls cost, those that a kill cut off included, stays within budgets
//   - an answer that was accepted is the one that the flow got
//
// Kills come in storms of 15, each over a file of its own: with one or two
// processes at a time, with sync NORMAL or FULL. Storms overlap. The command prints
// its counts. At the first promise that does not hold it keeps the files, says how
// to repeat the storm, and exits with 1. The seed decides the flows and the times of
// the kills, not how far a process is at that time.
//
// With -postgres a storm has 50 faults over a throwaway server and three processes,
// each behind a proxy. Beside kills, processes are stopped and continued, the server
// crashes and starts again, connections are cut for a while, dropped, or slow; faults
// overlap. A process that was stopped or cut off may make calls of a run that another
// one has resumed meanwhile: none of them counts, and the command prints how many.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"
)

func main() {
	do := command
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		do = func() error { return work(os.Args[2]) }
	}
	if err := do(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "killstorm:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	kills, workers, parallel int
	seed                     uint64
	dir, sync                string
	poll, postgres           bool
}

func command() error {
	var o options
	flag.IntVar(&o.kills, "kills", 300, "how many processes to kill")
	flag.Uint64Var(&o.seed, "seed", 1, "of flows and kills; the seeds of the storms count up from it")
	flag.StringVar(&o.dir, "dir", "", "folder for the databases, made if missing; empty: a temporary one")
	flag.StringVar(&o.sync, "sync", "", "normal or full; empty: both in turn")
	flag.IntVar(&o.workers, "workers", 0, "processes at a time on one file, 1 or 2; 0: both in turn")
	flag.IntVar(&o.parallel, "parallel", 4, "storms at a time; with -postgres at most 2")
	flag.BoolVar(&o.postgres, "postgres", false, "on Postgres: -kills counts faults of all kinds; -sync and -workers have no meaning")
	flag.BoolVar(&o.poll, "poll", false, "processes call Resume again and again, for an engine that does not watch by itself")
	flag.Parse()
	if o.postgres {
		o.parallel = min(o.parallel, 2)
	}
	if flag.NArg() > 0 || o.kills < 1 || o.parallel < 1 || o.workers < 0 || o.workers > 2 || syncs[o.sync] == nil {
		flag.Usage()
		return errors.New("a flag is out of range")
	}
	temporary := o.dir == ""
	if temporary {
		dir, err := os.MkdirTemp("", "killstorm")
		if err != nil {
			return err
		}
		o.dir = dir
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	sum, err := o.storms(ctx)
	_, _ = fmt.Fprintf(os.Stdout, "%v; seed %d, %.0f s\n", sum, o.seed, time.Since(began).Seconds())
	if err == nil && temporary {
		err = os.RemoveAll(o.dir)
	}
	return err
}

// syncs are the settings that a value of -sync stands for.
var syncs = map[string][]string{"": {"normal", "full"}, "normal": {"normal"}, "full": {"full"}}

// perStorm is how many kills a storm has, the last one aside.
func (o options) perStorm() int {
	if o.postgres {
		return 50
	}
	return 15
}

// storms runs all of them, some at a time, and stops at the first error.
func (o options) storms(ctx context.Context) (counts, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu   sync.Mutex
		sum  counts
		wg   sync.WaitGroup
		free = make(chan struct{}, o.parallel)
	)
	for i := 0; i*o.perStorm() < o.kills; i++ {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if ctx.Err() != nil {
				return
			}
			s := o.storm(i)
			err := s.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			sum = sum.add(s.counts)
			if err != nil {
				cancel(fmt.Errorf("%w\nthe files are in %s; again: killstorm %s", err, s.dir, s))
			}
		})
	}
	wg.Wait()
	return sum, context.Cause(ctx)
}

// storm is the one of that number.
func (o options) storm(i int) *storm {
	s := &storm{
		strikes: min(o.perStorm(), o.kills-i*o.perStorm()), workers: o.workers,
		seed: o.seed + uint64(i), dir: filepath.Join(o.dir, fmt.Sprintf("storm-%d", o.seed+uint64(i))),
	}
	if s.workers == 0 {
		s.workers = 1 + i/2%2
	}
	if o.postgres {
		s.workers, s.fleet = fleetWorkers, &fleet{}
	}
	modes := syncs[o.sync]
	s.task = task{DB: filepath.Join(s.dir, "runs.db"), Notes: filepath.Join(s.dir, "notes"), Full: modes[i%len(modes)] == "full", Poll: o.poll}
	return s
}

// counts are what storms saw.
type counts struct {
	kills, runs, records int
	faults               faults        // faults other than kills
	late                 int           // calls of processes that had lost their runs
	calls                int           // calls that agents got
	twice                int           // calls that a kill cut off and another process made again
	unseen               int           // calls made again whose agent had answered
	answers              int           // answers that were accepted
	takeovers            int           // runs whose process was killed and that another one resumed
	slowest              time.Duration // longest time that processes were up before one of them took a run over
}

func (c counts) add(d counts) counts {
	return counts{
		c.kills + d.kills, c.runs + d.runs, c.records + d.records, c.faults.add(d.faults), c.late + d.late, c.calls + d.calls, c.twice + d.twice,
		c.unseen + d.unseen, c.answers + d.answers, c.takeovers + d.takeovers, max(c.slowest, d.slowest),
	}
}

func (c counts) String() string {
	s := fmt.Sprintf("%d kills, %d runs, %d records, %d calls, %d made again after a kill cut them off (%d had answered), %d answers, %d takeovers, the slowest after %v",
		c.kills, c.runs, c.records, c.calls, c.twice, c.unseen, c.answers, c.takeovers, c.slowest.Round(time.Millisecond))
	if c.faults.sum() > 0 {
		s += fmt.Sprintf("; %v, %d calls by processes that had lost their runs", c.faults, c.late)
	}
	return s
}
