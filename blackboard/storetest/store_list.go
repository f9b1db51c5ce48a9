package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

var listChecks = []check{
	{"None", listNone},
	{"Started", listStarted},
	{"Resumed", listResumed},
	{"Stuck", listStuck},
	{"Ended", listEnded},
	{"ChangedAndNext", listChangedAndNext},
	{"OtherFirstRecord", listOtherFirst},
	{"OpenAndAll", listOpenAndAll},
	{"NewestFirst", listNewestFirst},
	{"Many", listMany},
	{"Fields", listFields},
	{"Label", listLabel},
	{"Text", listText},
	{"Before", listBefore},
	{"Together", listTogether},
	{"Limit", listLimit},
	{"After", listAfter},
	{"AfterUnknown", listAfterUnknown},
	{"CallerOwnsLabels", listCallerOwnsLabels},
	{"EarlyBreak", listEarlyBreak},
	{"NoLockWhileYielding", listNoLock},
	{"CanceledContext", listCanceled},
}

var (
	everyRun = runlog.Query{}
	openRuns = runlog.Query{Open: true}
)

// wantRuns compares the IDs of the runs, in order.
func wantRuns(t testing.TB, s runlog.Store, q runlog.Query, want ...string) {
	t.Helper()
	var got []string
	for _, l := range all(t, s.List(t.Context(), q)) {
		got = append(got, l.Run)
	}
	if !slices.Equal(got, want) {
		t.Errorf("List(%+v) yielded %q, want %q", q, got, want)
	}
}

// wantListing compares all of the listing of the only run.
func wantListing(t testing.TB, s runlog.Store, want runlog.Listing) {
	t.Helper()
	got := all(t, s.List(t.Context(), everyRun))
	if len(got) != 1 {
		t.Fatalf("List yielded %d runs, want 1", len(got))
	}
	if !reflect.DeepEqual(got[0], want) {
		t.Errorf("List yielded\n%+v, want\n%+v", got[0], want)
	}
}

// withData is r with that Data.
func withData(r runlog.Record, data string) runlog.Record {
	r.Data = []byte(data)
	return r
}

// started returns the first record of a run that began minutes after day.
func started(run string, minutes int) runlog.Record {
	r := entry(run, 0)
	r.At = day.Add(time.Duration(minutes) * time.Minute)
	return r
}

// fullStart has all that a listing takes from a Started record, and more.
var fullStart = withData(
	kinded("r", 0, runlog.Started, "film"),
	`{"version":3,"owner":"ann","parent":"p/1","labels":{"team":"a","empty":""},"in":{"owner":"x"},"status":"x","error":{"message":"x"}}`,
)

// afterStart is the listing after fullStart.
func afterStart() runlog.Listing {
	return runlog.Listing{
		Run: "r", Flow: "film", Version: 3, Owner: "ann", Parent: "p/1", Started: day, Changed: day, Next: 1,
		Labels: map[string]string{"team": "a", "empty": ""},
	}
}

func listNone(t testing.TB, s runlog.Store) {
	wantRuns(t, s, openRuns)
	wantRuns(t, s, everyRun)
}

func listStarted(t testing.TB, s runlog.Store) {
	mustAppend(t, s, fullStart)
	wantListing(t, s, afterStart())
	for _, data := range []string{`[1]`, `{"owner":7}`, `{"version":"1"}`, `{"labels":["a"]}`, `{"labels":{"a":1}}`} {
		if err := s.Append(t.Context(), []runlog.Record{withData(entry("bad", 0), data)}); err == nil {
			t.Errorf("Append of a Started record with the data %s succeeded, want an error", data)
		}
	}
	wantListing(t, s, afterStart())
}

func listResumed(t testing.TB, s runlog.Store) {
	mustAppend(t, s, fullStart)
	mustAppend(t, s, withData(kinded("r", 1, runlog.Stuck, ""), `{"error":{"message":"no"}}`))
	mustAppend(t, s, withData(kinded("r", 2, runlog.Resumed, ""), `{"owner":"bob","parent":"x","status":"x"}`))
	want := afterStart()
	want.Owner, want.Changed, want.Next = "bob", day.Add(2), 3
	wantListing(t, s, want)
}

func listStuck(t testing.TB, s runlog.Store) {
	mustAppend(t, s, fullStart, withData(kinded("r", 1, runlog.Stuck, "x"), `{"error":{"message":"no such field"},"owner":"x"}`))
	want := afterStart()
	want.Status, want.Err, want.Changed, want.Next = runlog.Stuck, "no such field", day.Add(1), 2
	wantListing(t, s, want)
}

func listEnded(t testing.TB, s runlog.Store) {
	mustAppend(t, s, fullStart)
	mustAppend(t, s, withData(kinded("r", 1, runlog.Ended, "x"), `{"status":"failed","error":{"message":"cut"},"owner":"x"}`))
	want := afterStart()
	want.Status, want.Err, want.Ended, want.Changed, want.Next = "failed", "cut", true, day.Add(1), 2
	wantListing(t, s, want)
}

// listChangedAndNext has records of kinds that are not listed, whose Data looks as
// if they were.
func listChangedAndNext(t testing.TB, s runlog.Store) {
	mustAppend(t, s, fullStart)
	want := afterStart()
	for seq, kind := range []string{runlog.Called, runlog.Canceled, runlog.Asked, "my own"} {
		r := withData(kinded("r", int64(seq)+1, kind, "x"), `{"owner":"x","status":"x","error":{"message":"x"}}`)
		r.At = day.Add(-time.Hour) // a clock was set back
		mustAppend(t, s, r)
		want.Changed, want.Next = r.At, r.Seq+1
		wantListing(t, s, want)
	}
}

func listOtherFirst(t testing.TB, s runlog.Store) {
	mustAppend(t, s, kinded("r", 0, "my own", "x"))
	wantListing(t, s, runlog.Listing{Run: "r", Started: day, Changed: day, Next: 1})
}

func listOpenAndAll(t testing.TB, s runlog.Store) {
	mustAppend(t, s, started("a", 1), started("b", 2), started("c", 3))
	mustAppend(t, s, kinded("b", 1, runlog.Ended, ""))
	wantRuns(t, s, openRuns, "c", "a")
	wantRuns(t, s, everyRun, "c", "b", "a")
	mustAppend(t, s, kinded("d", 0, runlog.Ended, ""), kinded("c", 1, runlog.Ended, ""))
	wantRuns(t, s, openRuns, "a")
	wantRuns(t, s, everyRun, "c", "b", "a", "d")
}

func listNewestFirst(t testing.TB, s runlog.Store) {
	mustAppend(t, s, started("m", 5), started("z", 1), started("c", 3), started("b", 3), started("a", 9))
	late := entry("z", 1)
	late.At = day.Add(time.Hour) // the start counts
	nano := started("n", 5)
	nano.At = nano.At.Add(1)
	timeless := entry("0", 0)
	timeless.At = time.Time{}
	mustAppend(t, s, timeless, late, nano, started("d", 3))
	for _, q := range []runlog.Query{openRuns, everyRun} {
		wantRuns(t, s, q, "a", "n", "m", "b", "c", "d", "z", "0")
	}
}

func listMany(t testing.TB, s runlog.Store) {
	const n = 1200
	var recs []runlog.Record
	var every, open []string
	for i := range n {
		run := fmt.Sprintf("run-%04d", i)
		recs = append(recs, started(run, -i/7)) // seven runs of the same time
		every = append(every, run)
		if i%3 == 0 {
			recs = append(recs, kinded(run, 1, runlog.Ended, ""))
		} else {
			open = append(open, run)
		}
	}
	mustAppend(t, s, recs...)
	wantRuns(t, s, everyRun, every...)
	wantRuns(t, s, openRuns, open...)
	wantRuns(t, s, runlog.Query{Open: true, Limit: 700}, open[:700]...)
	wantRuns(t, s, runlog.Query{Open: true, Limit: 100, After: open[99]}, open[100:200]...)
}

func listCallerOwnsLabels(t testing.TB, s runlog.Store) {
	mustAppend(t, s, fullStart)
	for range 2 {
		for _, l := range all(t, s.List(t.Context(), everyRun)) {
			clear(l.Labels)
		}
	}
	wantListing(t, s, afterStart())
}

func listEarlyBreak(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	for range 100 {
		leave(t, s.List(t.Context(), openRuns))
	}
	wantFree(t, s, "List", entry("a", 1))
	wantRuns(t, s, openRuns, "a", "b")
}

func listNoLock(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("a", 0), entry("b", 0), entry("c", 0))
	next := int64(1)
	for _, err := range s.List(t.Context(), openRuns) {
		if err != nil {
			t.Fatalf("List yielded the error %v", err)
		}
		if !usable(t, s, "List", entry("a", next)) {
			break
		}
		next++
	}
	wantLog(t, s, "a", entries("a", 0, next)...)
}

func listCanceled(t testing.TB, s runlog.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, q := range []runlog.Query{openRuns, everyRun} {
		if err := firstError(t, s.List(ctx, q)); !errors.Is(err, context.Canceled) {
			t.Errorf("List(%+v) with a canceled context and no run yielded the error %v, want context.Canceled", q, err)
		}
	}
	mustAppend(t, s, entry("r", 0))
	if err := firstError(t, s.List(ctx, openRuns)); !errors.Is(err, context.Canceled) {
		t.Errorf("List with a canceled context yielded the error %v, want context.Canceled", err)
	}
}
