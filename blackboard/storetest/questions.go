package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

var questionsChecks = []check{
	{"Kinds", asksKinds},
	{"Key", asksKey},
	{"Many", asksMany},
	{"None", asksNone},
	{"NoLockWhileYielding", asksNoLock},
	{"CanceledContext", asksCanceled},
}

// wantAsks reads by the index of the store, if it has one, and by the whole log.
func wantAsks(t testing.TB, s runlog.Store, run, key string, want ...runlog.Record) {
	t.Helper()
	got := all(t, as[runlog.Questions](t, s).Asks(t.Context(), run, key))
	wantRecords(t, fmt.Sprintf("Asks(%q, %q)", run, key), got, want)
	scanned := all(t, runlog.Asks(t.Context(), struct{ runlog.Store }{s}, run, key))
	wantRecords(t, fmt.Sprintf("the scan for (%q, %q)", run, key), scanned, want)
}

// questions are records of two questions of a run and others.
func questions(run string) []runlog.Record {
	return []runlog.Record{
		entry(run, 0),
		kinded(run, 1, runlog.Asked, "q"),
		kinded(run, 2, runlog.Called, "q"),
		kinded(run, 3, runlog.Asked, "p"),
		kinded(run, 4, runlog.Withdrawn, "p"),
		kinded(run, 5, runlog.Expired, "q"),
		kinded(run, 6, runlog.Canceled, "q"),
		kinded(run, 7, runlog.Answered, "r"),
		kinded(run, 8, runlog.Asked, "q"),
	}
}

func asksKinds(t testing.TB, s runlog.Store) {
	a, b := questions("a"), questions("b")
	mustAppend(t, s, a...)
	mustAppend(t, s, b...)
	wantAsks(t, s, "a", "", a[1], a[3], a[4], a[5], a[7], a[8])
	wantAsks(t, s, "b", "", b[1], b[3], b[4], b[5], b[7], b[8])
}

func asksKey(t testing.TB, s runlog.Store) {
	a := questions("a")
	mustAppend(t, s, a...)
	mustAppend(t, s, questions("b")...)
	wantAsks(t, s, "a", "q", a[1], a[5], a[8])
	wantAsks(t, s, "a", "p", a[3], a[4])
	wantAsks(t, s, "a", "r", a[7])
	end := kinded("a", 9, runlog.Ended, "q")
	mustAppend(t, s, end)
	wantAsks(t, s, "a", "q", a[1], a[5], a[8])
}

func asksMany(t testing.TB, s runlog.Store) {
	recs := []runlog.Record{entry("r", 0)}
	var want, ofKey []runlog.Record
	for seq := int64(1); seq < 2000; seq++ {
		rec := entry("r", seq)
		if seq%2 == 0 {
			rec = kinded("r", seq, runlog.Asked, fmt.Sprint("q", seq%3))
			want = append(want, rec)
			if seq%3 == 1 {
				ofKey = append(ofKey, rec)
			}
		}
		recs = append(recs, rec)
	}
	mustAppend(t, s, recs...)
	wantAsks(t, s, "r", "", want...)
	wantAsks(t, s, "r", "q1", ofKey...)
}

func asksNone(t testing.TB, s runlog.Store) {
	wantAsks(t, s, "r", "")
	mustAppend(t, s, entries("r", 0, 3)...)
	mustAppend(t, s, questions("r/1")...)
	wantAsks(t, s, "r", "")
	wantAsks(t, s, "r", "q")
	wantAsks(t, s, "", "")
}

func asksNoLock(t testing.TB, s runlog.Store) {
	mustAppend(t, s, questions("r")...)
	next := int64(9)
	for rec, err := range as[runlog.Questions](t, s).Asks(t.Context(), "r", "") {
		if err != nil {
			t.Fatalf("Asks yielded the error %v", err)
		}
		clear(rec.Data)
		if !usable(t, s, "Asks", entry("r", next)) {
			break
		}
		next++
	}
	wantAsks(t, s, "r", "p", questions("r")[3:5]...) // the caller owns Data
}

func asksCanceled(t testing.TB, s runlog.Store) {
	mustAppend(t, s, questions("r")...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, key := range []string{"", "q", "unknown"} {
		if err := firstError(t, as[runlog.Questions](t, s).Asks(ctx, "r", key)); !errors.Is(err, context.Canceled) {
			t.Errorf("Asks(%q) with a canceled context yielded the error %v, want context.Canceled", key, err)
		}
	}
}
