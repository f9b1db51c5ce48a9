package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard"
)

var runsChecks = []check{
	{"None", runsNone},
	{"OpenAndAll", runsOpenAndAll},
	{"FirstAndLast", runsFirstAndLast},
	{"NewestFirst", runsNewestFirst},
	{"Many", runsMany},
	{"AfterEnded", runsAfterEnded},
	{"CallerOwnsData", runsCallerOwnsData},
	{"EarlyBreak", runsEarlyBreak},
	{"NoLockWhileYielding", runsNoLock},
	{"CanceledContext", runsCanceled},
}

// wantRuns compares the IDs of the runs, in order.
func wantRuns(t testing.TB, s blackboard.Store, open bool, want ...string) {
	t.Helper()
	var got []string
	for _, ends := range all(t, s.Runs(t.Context(), open)) {
		if ends[0].Run != ends[1].Run {
			t.Errorf("Runs(%v) yielded records of %q and %q as one run", open, ends[0].Run, ends[1].Run)
		}
		got = append(got, ends[0].Run)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Runs(%v) yielded %q, want %q", open, got, want)
	}
}

// started returns the first record of a run that began minutes after day.
func started(run string, minutes int) blackboard.Record {
	r := entry(run, 0)
	r.At = day.Add(time.Duration(minutes) * time.Minute)
	return r
}

func runsNone(t testing.TB, s blackboard.Store) {
	wantRuns(t, s, true)
	wantRuns(t, s, false)
}

func runsOpenAndAll(t testing.TB, s blackboard.Store) {
	mustAppend(t, s, started("a", 1), started("b", 2), started("c", 3))
	mustAppend(t, s, kinded("b", 1, blackboard.Ended, ""))
	wantRuns(t, s, true, "c", "a")
	wantRuns(t, s, false, "c", "b", "a")
	mustAppend(t, s, kinded("d", 0, blackboard.Ended, ""), kinded("c", 1, blackboard.Ended, ""))
	wantRuns(t, s, true, "a")
	wantRuns(t, s, false, "c", "b", "a", "d")
}

func runsFirstAndLast(t testing.TB, s blackboard.Store) {
	mustAppend(t, s, started("one", 2))
	mustAppend(t, s, entries("many", 0, 12)...)
	ended := kinded("many", 12, blackboard.Ended, "flow")
	mustAppend(t, s, ended)
	got := all(t, s.Runs(t.Context(), false))
	if len(got) != 2 {
		t.Fatalf("Runs yielded %d runs, want 2", len(got))
	}
	one := started("one", 2)
	wantRecords(t, "the run of one record in Runs", got[0][:], []blackboard.Record{one, one})
	wantRecords(t, "the run of 13 records in Runs", got[1][:], []blackboard.Record{entry("many", 0), ended})
}

func runsNewestFirst(t testing.TB, s blackboard.Store) {
	mustAppend(t, s, started("m", 5), started("z", 1), started("c", 3), started("b", 3), started("a", 9))
	late := entry("z", 1)
	late.At = day.Add(time.Hour) // the start counts
	nano := started("n", 5)
	nano.At = nano.At.Add(1)
	mustAppend(t, s, late, nano, started("d", 3))
	for _, open := range []bool{true, false} {
		wantRuns(t, s, open, "a", "n", "m", "b", "c", "d", "z")
	}
}

func runsMany(t testing.TB, s blackboard.Store) {
	const n = 1200
	var recs []blackboard.Record
	var everyRun, openRuns []string
	for i := range n {
		run := fmt.Sprintf("run-%04d", i)
		recs = append(recs, started(run, -i/7)) // seven runs of the same time
		everyRun = append(everyRun, run)
		if i%3 == 0 {
			recs = append(recs, kinded(run, 1, blackboard.Ended, ""))
		} else {
			openRuns = append(openRuns, run)
		}
	}
	mustAppend(t, s, recs...)
	wantRuns(t, s, false, everyRun...)
	wantRuns(t, s, true, openRuns...)
}

// runsAfterEnded has a record after Ended: the last record counts.
func runsAfterEnded(t testing.TB, s blackboard.Store) {
	mustAppend(t, s, entry("r", 0), kinded("r", 1, blackboard.Ended, ""))
	mustAppend(t, s, kinded("r", 2, blackboard.Resumed, ""))
	wantRuns(t, s, true, "r")
	mustAppend(t, s, kinded("r", 3, blackboard.Ended, ""))
	wantRuns(t, s, true)
}

func runsCallerOwnsData(t testing.TB, s blackboard.Store) {
	mustAppend(t, s, entry("one", 0))
	mustAppend(t, s, entries("two", 0, 2)...)
	for range 2 {
		for ends, err := range s.Runs(t.Context(), false) {
			if err != nil {
				t.Fatalf("Runs yielded the error %v", err)
			}
			want := entry(ends[0].Run, 0)
			clear(ends[1].Data)
			if diff := difference(ends[0], want); diff != "" {
				t.Errorf("Runs: first record of %q after a change of the last one's Data: %s", want.Run, diff)
			}
			clear(ends[0].Data)
		}
	}
	wantLog(t, s, "one", entry("one", 0))
	wantLog(t, s, "two", entries("two", 0, 2)...)
}

func runsEarlyBreak(t testing.TB, s blackboard.Store) {
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	for range 100 {
		leave(t, s.Runs(t.Context(), true))
	}
	wantFree(t, s, "Runs", entry("a", 1))
	wantRuns(t, s, true, "a", "b")
}

func runsNoLock(t testing.TB, s blackboard.Store) {
	mustAppend(t, s, entry("a", 0), entry("b", 0), entry("c", 0))
	next := int64(1)
	for _, err := range s.Runs(t.Context(), true) {
		if err != nil {
			t.Fatalf("Runs yielded the error %v", err)
		}
		if !usable(t, s, "Runs", entry("a", next)) {
			break
		}
		next++
	}
	wantLog(t, s, "a", entries("a", 0, next)...)
}

func runsCanceled(t testing.TB, s blackboard.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, open := range []bool{true, false} {
		if err := firstError(t, s.Runs(ctx, open)); !errors.Is(err, context.Canceled) {
			t.Errorf("Runs(%v) with a canceled context and no run yielded the error %v, want context.Canceled", open, err)
		}
	}
	mustAppend(t, s, entry("r", 0))
	if err := firstError(t, s.Runs(ctx, true)); !errors.Is(err, context.Canceled) {
		t.Errorf("Runs with a canceled context yielded the error %v, want context.Canceled", err)
	}
}
