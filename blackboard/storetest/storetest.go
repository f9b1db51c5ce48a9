// Package storetest checks that a store keeps the promises of package runlog.
//
// A store's own tests call [Run]:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) runlog.Store { return mystore.Open(t.TempDir()) })
//	}
//
// [Suite] has hooks for what Run leaves out. Run the tests with the race detector
// too: some faults show only there.
//
// Package storetest/doubles has stores that fail, for tests of engines.
package storetest

import (
	"cmp"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// patience is how long a call that ought to return at once may take. It only ends
// checks that fail.
var patience = 10 * time.Second

// Suite checks stores. Only Open is required.
type Suite struct {
	// Open returns an empty store, used by one check only. It closes what it opened
	// with t.Cleanup.
	Open func(t *testing.T) runlog.Store

	// Other opens what s holds once more, as another process would, and closes it
	// with t.Cleanup. Nil: the checks use s itself.
	Other func(t testing.TB, s runlog.Store) runlog.Store

	// Damage changes a stored byte of Data of the record seq of run, or with seq -1 of
	// each of the run's blobs, behind the back of s. Nil: damage is not checked.
	Damage func(t testing.TB, s runlog.Store, run string, seq int64)

	// Silence is how long engines are silent in checks that wait for their death.
	// Zero: 100 ms. Checks of stores that use the clock of the process take no time
	// with In: synctest.Test.
	Silence time.Duration

	// In runs a check. Nil: check(t).
	In func(t *testing.T, check func(t *testing.T))
}

// check is one promise.
type check struct {
	name string
	run  func(t testing.TB, s runlog.Store)
}

// group is what an interface promises. Stores that lack the interface skip it.
type group struct {
	name   string
	has    func(runlog.Store) bool
	checks []check
}

func (suite Suite) groups() []group {
	return []group{
		{"Append", is[runlog.Store], appendChecks},
		{"Records", is[runlog.Store], recordsChecks},
		{"Last", is[runlog.Store], lastChecks},
		{"List", is[runlog.Store], listChecks},
		{"Concurrency", is[runlog.Store], suite.concurrencyChecks()},
		{"Owners", is[runlog.Owners], suite.ownersChecks()},
		{"Notifier", is[runlog.Notifier], suite.notifierChecks()},
		{"Messenger", is[runlog.Messenger], suite.messengerChecks()},
		{"Inbox", is[runlog.Inbox], inboxChecks},
		{"Questions", is[runlog.Questions], asksChecks},
		{"Blobs", is[runlog.Blobs], blobsChecks},
		{"Deleter", is[runlog.Deleter], deleterChecks},
		{"Damage", func(runlog.Store) bool { return suite.Damage != nil }, suite.damageChecks()},
	}
}

// Run checks the stores that open returns, each empty and used by one subtest
// only; open closes what it opened with t.Cleanup. The promises of [runlog.Store]
// are always checked, those of the optional interfaces if the store implements them.
func Run(t *testing.T, open func(t *testing.T) runlog.Store) {
	Suite{Open: open}.Run(t)
}

// Run is like the function [Run].
func (suite Suite) Run(t *testing.T) {
	suite = suite.withDefaults()
	for _, g := range suite.groups() {
		t.Run(g.name, func(t *testing.T) {
			if !g.has(suite.Open(t)) {
				t.Skipf("not a promise of this store")
			}
			for _, c := range g.checks {
				t.Run(c.name, func(t *testing.T) {
					suite.In(t, func(t *testing.T) { c.run(t, suite.Open(t)) })
				})
			}
		})
	}
}

func (suite Suite) withDefaults() Suite {
	if suite.In == nil {
		suite.In = func(t *testing.T, check func(t *testing.T)) { check(t) }
	}
	if suite.Other == nil {
		suite.Other = func(_ testing.TB, s runlog.Store) runlog.Store { return s }
	}
	suite.Silence = cmp.Or(suite.Silence, 100*time.Millisecond)
	return suite
}

func is[T any](s runlog.Store) bool {
	_, ok := s.(T)
	return ok
}

// as returns s as the interface that its group has found.
func as[T any](t testing.TB, s runlog.Store) T {
	t.Helper()
	v, ok := s.(T)
	if !ok {
		t.Fatalf("the store is not a %T", &v)
	}
	return v
}
