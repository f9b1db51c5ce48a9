package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

func (suite Suite) ownersChecks() []check {
	return []check{
		{"Beat", suite.ownerBeats},
		{"Leave", suite.ownerLeaves},
		{"SilentIsDead", suite.ownerSilent},
		{"BeatsProlong", suite.ownerProlongs},
		{"BeatAgain", suite.ownerBeatsAgain},
		{"Refused", ownerRefused},
		{"Orphans", suite.orphans},
		{"ManyOrphans", manyOrphans},
		{"NoLockWhileYielding", orphansNoLock},
		{"CanceledContext", ownersCanceled},
	}
}

// observer is the owners of s, and as another process sees them.
func (suite Suite) observers(t testing.TB, s runlog.Store) map[string]runlog.Owners {
	t.Helper()
	return map[string]runlog.Owners{
		"the store":   as[runlog.Owners](t, s),
		"another one": as[runlog.Owners](t, suite.Other(t, s)),
	}
}

func mustBeat(t testing.TB, o runlog.Owners, owner string, d time.Duration) {
	t.Helper()
	if err := o.Beat(t.Context(), owner, d); err != nil {
		t.Fatalf("Beat(%q, %v) = %v", owner, d, err)
	}
}

func mustLeave(t testing.TB, o runlog.Owners, owner string) {
	t.Helper()
	if err := o.Leave(t.Context(), owner); err != nil {
		t.Fatalf("Leave(%q) = %v", owner, err)
	}
}

func isAlive(t testing.TB, o runlog.Owners, owner string) bool {
	t.Helper()
	alive, err := o.Alive(t.Context(), owner)
	if err != nil {
		t.Fatalf("Alive(%q) = %v", owner, err)
	}
	return alive
}

func wantAlive(t testing.TB, o runlog.Owners, owner string) {
	t.Helper()
	if !isAlive(t, o, owner) {
		t.Errorf("Alive(%q) = false, want true", owner)
	}
}

func wantDead(t testing.TB, o runlog.Owners, owner string) {
	t.Helper()
	if isAlive(t, o, owner) {
		t.Errorf("Alive(%q) = true, want false", owner)
	}
}

func (suite Suite) ownerBeats(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	mustBeat(t, o, "ann", time.Hour)
	mustBeat(t, o, "../b/ü %", time.Hour)
	mustBeat(t, o, "ann", time.Hour)
	for _, seen := range suite.observers(t, s) {
		wantAlive(t, seen, "ann")
		wantAlive(t, seen, "../b/ü %")
		wantDead(t, seen, "an")
		wantDead(t, seen, "ANN")
		wantDead(t, seen, "")
	}
}

func (suite Suite) ownerLeaves(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	mustBeat(t, o, "ann", time.Hour)
	mustBeat(t, o, "bob", time.Hour)
	observers := suite.observers(t, s)
	for _, seen := range observers {
		wantAlive(t, seen, "ann")
	}
	mustLeave(t, o, "ann")
	mustLeave(t, o, "ann")
	mustLeave(t, o, "unknown")
	for _, seen := range observers {
		wantDead(t, seen, "ann")
		wantAlive(t, seen, "bob")
	}
	mustBeat(t, o, "ann", time.Hour)
	for _, seen := range observers {
		wantAlive(t, seen, "ann")
	}
}

// ownerSilent has an engine that is silent: it counts as dead after d, not before.
func (suite Suite) ownerSilent(t testing.TB, s runlog.Store) {
	for name, seen := range suite.observers(t, s) {
		began := time.Now()
		mustBeat(t, as[runlog.Owners](t, s), "ann", suite.Silence)
		mustBeat(t, as[runlog.Owners](t, s), "bob", time.Hour)
		for isAlive(t, seen, "ann") {
			if time.Since(began) > patience {
				t.Fatalf("as %s sees it, an engine is alive %v after a beat for %v", name, time.Since(began), suite.Silence)
			}
			<-time.After(suite.Silence / 10)
		}
		if died := time.Since(began); died < suite.Silence {
			t.Errorf("as %s sees it, an engine is dead %v after a beat for %v", name, died, suite.Silence)
		}
		wantAlive(t, seen, "bob")
	}
}

// ownerProlongs has an engine that beats in time, twice as long as it may be
// silent. A check that was itself too slow does not count.
func (suite Suite) ownerProlongs(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	observers := suite.observers(t, s)
	for range 8 {
		last := time.Now()
		mustBeat(t, o, "ann", suite.Silence)
		for name, seen := range observers {
			if !isAlive(t, seen, "ann") && time.Since(last) < suite.Silence {
				t.Errorf("as %s sees it, an engine that beats in time is dead", name)
			}
		}
		<-time.After(suite.Silence / 4)
	}
}

// ownerBeatsAgain has an engine that was stopped for a while: it counts as dead
// until it beats again.
func (suite Suite) ownerBeatsAgain(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	observers := suite.observers(t, s)
	mustBeat(t, o, "ann", 1)
	for name, seen := range observers {
		for began := time.Now(); isAlive(t, seen, "ann"); {
			if time.Since(began) > patience {
				t.Fatalf("as %s sees it, an engine is alive %v after a beat for 1 ns", name, time.Since(began))
			}
			<-time.After(suite.Silence / 10)
		}
	}
	mustBeat(t, o, "ann", time.Hour)
	for _, seen := range observers {
		wantAlive(t, seen, "ann")
	}
}

func ownerRefused(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	if o.Beat(t.Context(), "", time.Hour) == nil {
		t.Error("Beat without a name succeeded")
	}
	for _, d := range []time.Duration{0, -1} {
		if o.Beat(t.Context(), "ann", d) == nil {
			t.Errorf("Beat for %d ns succeeded", d)
		}
	}
	wantDead(t, o, "ann")
}

// ownedBy is the first record of a run of that owner.
func ownedBy(run string, minutes int, owner string) runlog.Record {
	return withData(started(run, minutes), fmt.Sprintf(`{"owner":%q}`, owner))
}

func wantOrphans(t testing.TB, o runlog.Owners, want ...string) {
	t.Helper()
	var got []string
	for _, l := range all(t, o.Orphans(t.Context())) {
		got = append(got, l.Run)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Orphans yielded %q, want %q", got, want)
	}
}

func (suite Suite) orphans(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	mustBeat(t, o, "ann", time.Hour)
	mustBeat(t, o, "bob", time.Hour)
	mustAppend(
		t, s, ownedBy("a1", 5, "ann"), ownedBy("a2", 1, "ann"), ownedBy("b1", 2, "bob"), ownedBy("b2", 0, "bob"),
		ownedBy("c", 3, "cora"), ownedBy("none", 3, ""), ownedBy("ended", 0, "cora"), kinded("ended", 1, runlog.Ended, ""),
	)
	observers := suite.observers(t, s)
	for _, seen := range observers {
		wantOrphans(t, seen, "c", "none")
	}
	mustLeave(t, o, "ann")
	for _, seen := range observers {
		wantOrphans(t, seen, "a2", "c", "none", "a1")
	}
	mustAppend(t, s, withData(kinded("a2", 1, runlog.Resumed, ""), `{"owner":"bob"}`))
	mustAppend(t, s, withData(kinded("b2", 1, runlog.Resumed, ""), `{"owner":"ann"}`))
	for _, seen := range observers {
		wantOrphans(t, seen, "b2", "c", "none", "a1")
	}
	first := all(t, o.Orphans(t.Context()))[0]
	if first.Owner != "ann" || first.Flow != "writer" || first.Next != 2 {
		t.Errorf("Orphans yielded %+v, want the whole listing", first)
	}
}

func manyOrphans(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	mustBeat(t, o, "engine-7", time.Hour)
	var recs []runlog.Record
	var want []string
	for i := range 1200 {
		run := fmt.Sprintf("run-%04d", i)
		recs = append(recs, ownedBy(run, i/7, fmt.Sprint("engine-", i%20)))
		if i%20 != 7 {
			want = append(want, run)
		}
	}
	mustAppend(t, s, recs...)
	wantOrphans(t, o, want...)
}

func orphansNoLock(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	mustAppend(t, s, entry("a", 0), entry("b", 0), entry("c", 0))
	next := int64(1)
	for l, err := range o.Orphans(t.Context()) {
		if err != nil {
			t.Fatalf("Orphans yielded the error %v", err)
		}
		if l.Run == "other" {
			continue
		}
		mustAppend(t, s, withData(kinded(l.Run, 1, runlog.Resumed, ""), `{"owner":"ann"}`))
		if !usable(t, s, "Orphans", entry("other", next-1)) {
			break
		}
		next++
	}
	if next != 4 {
		t.Errorf("Orphans yielded %d runs while they were resumed, want the 3 of the beginning", next-1)
	}
}

func ownersCanceled(t testing.TB, s runlog.Store) {
	o := as[runlog.Owners](t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Beat(ctx, "ann", time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Beat with a canceled context = %v, want context.Canceled", err)
	}
	wantDead(t, o, "ann")
	mustBeat(t, o, "ann", time.Hour)
	if err := o.Leave(ctx, "ann"); !errors.Is(err, context.Canceled) {
		t.Errorf("Leave with a canceled context = %v, want context.Canceled", err)
	}
	if _, err := o.Alive(ctx, "ann"); !errors.Is(err, context.Canceled) {
		t.Errorf("Alive with a canceled context = %v, want context.Canceled", err)
	}
	if err := firstError(t, o.Orphans(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("Orphans with a canceled context yielded the error %v, want context.Canceled", err)
	}
	wantAlive(t, o, "ann")
}
