package main

import (
	"context"
	"fmt"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

// steps is W5: calls whose answers of 1 kB are on record, in memory and in SQLite.
// The limit there is a bare INSERT of the same rows at the same sync setting.
func steps(t *table) error {
	for _, n := range []int{10, 100} {
		e, err := engineOf(kilobyte, runlog.NewMemory())
		if err != nil {
			return err
		}
		p, err := alone(t.pairs, n*(1000/n), runs(e, working(), work{Calls: n}, 1000/n))
		if err != nil {
			return err
		}
		t.within(fmt.Sprintf("W5 a recorded step, in memory, run of %d", n), p, 4*time.Microsecond)
		if err := e.Close(context.Background()); err != nil {
			return err
		}
	}
	normal, err := insertsPer(t, "NORMAL", sqlite.Normal)
	if err != nil {
		return err
	}
	full, err := insertsPer(t, "FULL", sqlite.Full)
	if err != nil {
		return err
	}
	return together(t, full-normal)
}

// insertsPer measures steps at a sync setting, and returns what a bare INSERT takes.
func insertsPer(t *table, name string, sync sqlite.Sync) (time.Duration, error) {
	d, err := openDurable(sync, kilobyte)
	if err != nil {
		return 0, err
	}
	b, err := openBare(d.dir, name)
	if err != nil {
		return 0, err
	}
	var p pair
	const all = 1000
	for _, n := range []int{10, 100} {
		p, err = compare(t.pairs, all, runs(d.eng, working(), work{Calls: n}, all/n), b.insert(all))
		if err != nil {
			return 0, err
		}
		t.ratio(fmt.Sprintf("W5 a recorded step, SQLite %s, run of %d: bare INSERT", name, n), p, 1.3)
	}
	if err := b.close(); err != nil {
		return 0, err
	}
	return p.limit, d.close()
}

// together is how many calls of 256 branches are on record in the time of one of a
// single branch, where a wait for the disk costs enough.
func together(t *table, fsync time.Duration) error {
	d, err := openDurable(sqlite.Full, kilobyte)
	if err != nil {
		return err
	}
	const branches, calls, lone = 256, 20, 500
	p, err := compare(t.pairs, 1,
		runs(d.eng, working(), work{Calls: lone}, 1), runs(d.eng, working(), work{Branches: branches, Calls: calls}, 1))
	if err != nil {
		return err
	}
	what, got := "W5 recorded calls/s of 256 branches, SQLite FULL: of one", p.ratio*branches*calls/lone
	if fsync < 100*time.Microsecond {
		t.shown(what, fmt.Sprintf("%.1f x (no target: an fsync costs %s here)", got, short(fsync)))
	} else {
		t.atLeast(what, got, 10, " x")
	}
	return d.close()
}
