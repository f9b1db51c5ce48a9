package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

var deleterChecks = []check{
	{"Log", deleteLog},
	{"Several", deleteSeveral},
	{"NewRunOfTheID", deleteNewRun},
	{"UnknownRun", deleteUnknown},
	{"Letters", deleteLetters},
	{"Blobs", deleteBlobs},
	{"CanceledContext", deleteCanceled},
}

func mustDelete(t testing.TB, s runlog.Store, runs ...string) {
	t.Helper()
	if err := as[runlog.Deleter](t, s).Delete(t.Context(), runs...); err != nil {
		t.Fatalf("Delete(%q) = %v", runs, err)
	}
}

func deleteSeveral(t testing.TB, s runlog.Store) {
	mustAppend(t, s, fullStart)
	for _, run := range []string{"a", "b", "c"} {
		mustAppend(t, s, entries(run, 0, 3)...)
	}
	mustDelete(t, s)
	mustDelete(t, s, "r", "b", "unknown", "b", "a")
	wantRuns(t, s, everyRun, "c")
	wantRuns(t, s, runlog.Query{Label: "team"})
	for _, run := range []string{"r", "a", "b"} {
		wantLog(t, s, run)
	}
	wantLog(t, s, "c", entries("c", 0, 3)...)
	mustAppend(t, s, entry("r", 0), entry("b", 0))
	wantRuns(t, s, runlog.Query{Label: "team"})
	wantRuns(t, s, everyRun, "b", "c", "r")
}

func deleteLog(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entries("a", 0, 3)...)
	mustAppend(t, s, entries("a/b", 0, 2)...)
	mustAppend(t, s, entry("ended", 0), kinded("ended", 1, runlog.Ended, ""))
	mustDelete(t, s, "a")
	mustDelete(t, s, "ended")
	wantLog(t, s, "a")
	wantLog(t, s, "ended")
	wantLog(t, s, "a/b", entries("a/b", 0, 2)...)
	wantRuns(t, s, openRuns, "a/b")
	wantRuns(t, s, everyRun, "a/b")
	wantConflict(t, s, entry("a", 3))
}

func deleteNewRun(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("r", 0), kinded("r", 1, runlog.Ended, ""))
	mustDelete(t, s, "r")
	mustAppend(t, s, entry("r", 0), entry("r", 1))
	wantLog(t, s, "r", entries("r", 0, 2)...)
	wantRuns(t, s, openRuns, "r")
}

func deleteUnknown(t testing.TB, s runlog.Store) {
	mustDelete(t, s, "r")
	mustAppend(t, s, entry("r", 0))
	mustDelete(t, s, "")
	mustDelete(t, s, "%")
	wantLog(t, s, "r", entry("r", 0))
}

func deleteLetters(t testing.TB, s runlog.Store) {
	in, ok := runlog.As[runlog.Inbox](s)
	if !ok {
		return
	}
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	mustPut(t, in, letter("a", "q1"), letter("a", "q2"), letter("a", ""), letter("b", "q2"))
	mustTake(t, in, "a", "q1", 0)
	mustDelete(t, s, "a")
	wantLetters(t, in, "", letter("b", "q2"))
	mustAppend(t, s, entry("a", 0))
	wantLetters(t, in, "a")
	mustPut(t, in, letter("a", "q1"), letter("a", "q2"), letter("a", "")) // the addresses are of the old run
	wantUsed(t, in, "b", "q2", 0)
}

func deleteBlobs(t testing.TB, s runlog.Store) {
	b, ok := runlog.As[runlog.Blobs](s)
	if !ok {
		return
	}
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	hash := mustPutBlob(t, b, "a", []byte("x"))
	mustPutBlob(t, b, "b", []byte("x"))
	mustDelete(t, s, "a")
	wantNoBlob(t, b, "a", hash)
	wantBlob(t, b, "b", []byte("x"))
	mustAppend(t, s, entry("a", 0))
	wantNoBlob(t, b, "a", hash)
}

func deleteCanceled(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("r", 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := as[runlog.Deleter](t, s).Delete(ctx, "r"); !errors.Is(err, context.Canceled) {
		t.Errorf("Delete with a canceled context = %v, want context.Canceled", err)
	}
	wantLog(t, s, "r", entry("r", 0))
}
