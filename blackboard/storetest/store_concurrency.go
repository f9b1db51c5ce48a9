package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

func (suite Suite) concurrencyChecks() []check {
	return []check{
		{"OneWins", suite.oneWins},
		{"OtherIsFenced", suite.otherIsFenced},
		{"DifferentRuns", differentRuns},
		{"ConflictIsAlone", conflictIsAlone},
		{"ReadWhileAppending", readWhileAppending},
	}
}

// together calls f(0) to f(n-1) at once and returns their results.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	calls.Wait()
	return errs
}

// oneWins lets many, in two processes, append the same record number, with names to
// tell them apart.
func (suite Suite) oneWins(t testing.TB, s runlog.Store) {
	ctx := t.Context()
	both := []runlog.Store{s, suite.Other(t, s)}
	for seq := range int64(20) {
		winner := -1
		for i, err := range together(8, func(i int) error {
			r := entry("r", seq)
			r.Name = fmt.Sprint(i)
			return both[i%2].Append(ctx, []runlog.Record{r})
		}) {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("record %d was appended by both %d and %d", seq, winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, runlog.ErrConflict):
				t.Fatalf("Append in a race = %v, want nil or ErrConflict", err)
			}
		}
		got := all(t, s.Records(ctx, "r", seq))
		if len(got) != 1 || got[0].Name != fmt.Sprint(winner) {
			t.Fatalf("record %d: %d of 8 won, the log has %+v", seq, winner, got)
		}
	}
}

// otherIsFenced appends in turn in two processes: neither may rely on what it remembers
// of a log.
func (suite Suite) otherIsFenced(t testing.TB, s runlog.Store) {
	other := suite.Other(t, s)
	mustAppend(t, s, entry("r", 0))
	mustAppend(t, other, entry("r", 1))
	wantConflict(t, s, entry("r", 1))
	mustAppend(t, s, entry("r", 2))
	wantLog(t, other, "r", entries("r", 0, 3)...)
	d, ok := runlog.As[runlog.Deleter](other)
	if !ok {
		return
	}
	if err := d.Delete(t.Context(), "r"); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	wantConflict(t, s, entry("r", 3))
	mustAppend(t, s, entry("r", 0))
	wantConflict(t, other, entry("r", 0))
}

func differentRuns(t testing.TB, s runlog.Store) {
	ctx := t.Context()
	const runs, steps = 16, 10
	for _, err := range together(runs, func(i int) error {
		run := fmt.Sprint("run ", i)
		for seq := int64(0); seq < steps; seq += 2 {
			if err := errors.Join(
				s.Append(ctx, entries(run, seq, seq+1)),
				s.Append(ctx, entries(run, seq+1, seq+2)),
			); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			t.Fatalf("Append of a run of its own, beside others = %v", err)
		}
	}
	for i := range runs {
		run := fmt.Sprint("run ", i)
		wantLog(t, s, run, entries(run, 0, steps)...)
	}
}

// conflictIsAlone has concurrent appends, some of which are conflicts.
func conflictIsAlone(t testing.TB, s runlog.Store) {
	ctx := t.Context()
	mustAppend(t, s, entry("old", 0))
	for i, err := range together(32, func(i int) error {
		run := fmt.Sprint("run ", i)
		if i%2 == 0 {
			return s.Append(ctx, entries(run, 0, 3))
		}
		return s.Append(ctx, append(entries(run, 0, 3), entry("old", 0)))
	}) {
		if conflict := errors.Is(err, runlog.ErrConflict); conflict != (i%2 == 1) || err != nil && !conflict {
			t.Errorf("Append %d of a race = %v; odd ones are conflicts, even ones are not", i, err)
		}
		run := fmt.Sprint("run ", i)
		want := entries(run, 0, 3)
		if i%2 == 1 {
			want = nil
		}
		wantLog(t, s, run, want...)
	}
}

// readWhileAppending reads a log that grows: what is read has no gap.
func readWhileAppending(t testing.TB, s runlog.Store) {
	ctx := t.Context()
	const n = 100
	var complete atomic.Bool
	for i, err := range together(4, func(i int) error {
		if i > 0 {
			return readGrowing(ctx, s, &complete)
		}
		defer complete.Store(true)
		for seq := range int64(n) {
			if err := s.Append(ctx, entries("r", seq, seq+1)); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("goroutine %d (0 appends, the others read): %v", i, err)
		}
	}
	wantLog(t, s, "r", entries("r", 0, n)...)
}

// readGrowing reads until the log is complete, and once more. It sleeps in between: a
// store may wait to write, and in a bubble of synctest no time passes while a goroutine
// runs.
func readGrowing(ctx context.Context, s runlog.Store, complete *atomic.Bool) error {
	for last := false; !last; <-time.After(time.Microsecond) {
		last = complete.Load()
		if err := readOnce(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func readOnce(ctx context.Context, s runlog.Store) error {
	var next int64
	for r, err := range s.Records(ctx, "r", 0) {
		if err != nil {
			return err
		}
		if diff := difference(r, entry("r", next)); diff != "" {
			return fmt.Errorf("record %d: %s", next, diff)
		}
		next++
	}
	for l, err := range s.List(ctx, openRuns) {
		if err != nil {
			return err
		}
		if l.Next < next {
			return fmt.Errorf("List says that record %d is the next after %d were read", l.Next, next)
		}
	}
	return nil
}
