package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

var recordsChecks = []check{
	{"From", recordsFrom},
	{"UnknownRun", recordsUnknownRun},
	{"Many", recordsMany},
	{"Again", recordsAgain},
	{"CallerOwnsData", recordsCallerOwnsData},
	{"EarlyBreak", recordsEarlyBreak},
	{"NoLockWhileYielding", recordsNoLock},
	{"CanceledContext", recordsCanceled},
}

var lastChecks = []check{
	{"Last", lastRecord},
	{"NoRun", lastNoRun},
	{"CallerOwnsData", lastCallerOwnsData},
	{"CanceledContext", lastCanceled},
}

func wantLast(t testing.TB, s runlog.Store, want runlog.Record) {
	t.Helper()
	got, err := s.Last(t.Context(), want.Run)
	if err != nil {
		t.Fatalf("Last(%q) = %v", want.Run, err)
	}
	wantRecords(t, "Last", []runlog.Record{got}, []runlog.Record{want})
}

func lastRecord(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entries("a", 0, 12)...)
	mustAppend(t, s, entry("b", 0))
	mustAppend(t, s, entry("b", 1), entry("c", 0))
	wantLast(t, s, entry("a", 11))
	wantLast(t, s, entry("b", 1))
	wantLast(t, s, entry("c", 0))
	end := kinded("a", 12, runlog.Ended, "flow")
	mustAppend(t, s, end)
	wantLast(t, s, end)
}

func lastNoRun(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("r/1", 0))
	for _, run := range []string{"r", "", "r/2", "%"} {
		if _, err := s.Last(t.Context(), run); !errors.Is(err, runlog.ErrNoRun) {
			t.Errorf("Last(%q) = %v, want ErrNoRun", run, err)
		}
	}
}

func lastCallerOwnsData(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("r", 0))
	for range 2 {
		got, err := s.Last(t.Context(), "r")
		if err != nil {
			t.Fatalf("Last = %v", err)
		}
		clear(got.Data)
	}
	wantLast(t, s, entry("r", 0))
}

func lastCanceled(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("r", 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, run := range []string{"r", "unknown"} {
		if _, err := s.Last(ctx, run); !errors.Is(err, context.Canceled) {
			t.Errorf("Last(%q) with a canceled context = %v, want context.Canceled", run, err)
		}
	}
}

func recordsFrom(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entries("r", 0, 5)...)
	mustAppend(t, s, entries("other", 0, 9)...)
	for from := range int64(8) {
		want := entries("r", from, 5)
		wantRecords(t, fmt.Sprintf("Records(from %d)", from), all(t, s.Records(t.Context(), "r", from)), want)
	}
}

func recordsUnknownRun(t testing.TB, s runlog.Store) {
	wantLog(t, s, "r")
	mustAppend(t, s, entry("r/1", 0))
	wantLog(t, s, "r")
	wantLog(t, s, "")
}

func recordsMany(t testing.TB, s runlog.Store) {
	const n = 2500
	for from := int64(0); from < n; from += 500 {
		mustAppend(t, s, entries("r", from, from+500)...)
	}
	wantLog(t, s, "r", entries("r", 0, n)...)
	wantRecords(t, "Records(from 1024)", all(t, s.Records(t.Context(), "r", 1024)), entries("r", 1024, n))
}

// recordsAgain ranges twice over one sequence.
func recordsAgain(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entries("r", 0, 3)...)
	seq := s.Records(t.Context(), "r", 1)
	for range 2 {
		wantRecords(t, "Records(from 1)", all(t, seq), entries("r", 1, 3))
	}
}

func recordsCallerOwnsData(t testing.TB, s runlog.Store) {
	want := entries("r", 0, 3)
	mustAppend(t, s, want...)
	for r, err := range s.Records(t.Context(), "r", 0) {
		if err != nil {
			t.Fatalf("Records yielded the error %v", err)
		}
		clear(r.Data)
		_ = append(r.Data, "overwrites what is behind it"...)
	}
	wantLog(t, s, "r", want...)
	kept := all(t, s.Records(t.Context(), "r", 0))
	for _, r := range all(t, s.Records(t.Context(), "r", 0)) {
		clear(r.Data)
	}
	wantRecords(t, "Records, while other readers changed what they got,", kept, want)
}

func recordsEarlyBreak(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entries("r", 0, 5)...)
	for range 100 { // more than a pool of connections has
		leave(t, s.Records(t.Context(), "r", 0))
	}
	wantFree(t, s, "Records", entry("r", 5))
	wantLog(t, s, "r", entries("r", 0, 6)...)
}

func recordsNoLock(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entries("r", 0, 3)...)
	next := int64(3)
	for r, err := range s.Records(t.Context(), "r", 0) {
		if err != nil {
			t.Fatalf("Records yielded the error %v", err)
		}
		if r.Seq > 2 || !usable(t, s, "Records", entry("r", next)) {
			break
		}
		next++
	}
	wantLog(t, s, "r", entries("r", 0, next)...)
}

func recordsCanceled(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("r", 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, run := range []string{"r", "unknown"} {
		if err := firstError(t, s.Records(ctx, run, 0)); !errors.Is(err, context.Canceled) {
			t.Errorf("Records(%q) with a canceled context yielded the error %v, want context.Canceled", run, err)
		}
	}
}
