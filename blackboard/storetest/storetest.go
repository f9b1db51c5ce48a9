// Package storetest checks that a store keeps the promises of package runlog.
//
// A store's own tests call [Run]:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) runlog.Store { return mystore.Open(t.TempDir()) })
//	}
//
// There is one subtest for each face of a store: Store, Owners, Notifier, Messenger,
// Inbox, Questions, OpenQuestions, Blobs and Deleter. That of a face which the store lacks
// is skipped, and says what engines do without it. So an author can begin with [runlog.Store], and
// add a face at a time.
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
	name string                             // name of the subtest
	run  func(t testing.TB, s runlog.Store) // the check of an empty store
}

// face is what an interface promises.
type face struct {
	name    string                  // name of the interface
	has     func(runlog.Store) bool // true if a store has it
	without string                  // consequence for engines of a store that lacks it
	groups  []group                 // promises
}

// group is a part of what an interface promises.
type group struct {
	name   string // name of the subtest; that of the face: its checks need no subtest of their own
	checks []check
}

func (suite Suite) faces() []face {
	store := []group{
		{"Append", appendChecks},
		{"Records", recordsChecks},
		{"Last", lastChecks},
		{"List", listChecks},
		{"OpenAsks", openAsksChecks},
		{"Concurrency", suite.concurrencyChecks()},
	}
	if suite.Damage != nil {
		store = append(store, group{"Damage", suite.damageChecks()})
	}
	return []face{
		{"Store", is[runlog.Store], "", store},
		single("Owners", is[runlog.Owners], "engines do not know which of them are alive: only one process at a time may execute runs", suite.ownersChecks()),
		single("Notifier", is[runlog.Notifier], "engines learn at their next poll what other processes did", suite.notifierChecks()),
		single("Messenger", is[runlog.Messenger], "only the process that executes a run can show its state and its progress", suite.messengerChecks()),
		single("Inbox", is[runlog.Inbox], "only the process that executes a run can answer and cancel it", suite.inboxChecks()),
		single("Questions", is[runlog.Questions], "engines read the whole log to find the questions of a run", questionsChecks),
		single("OpenQuestions", is[runlog.OpenQuestions], "engines read the logs of all open runs to find the questions that wait", openIndexChecks),
		single("Blobs", is[runlog.Blobs], "large values are in the log itself, and requests cannot be recorded", blobsChecks),
		single("Deleter", is[runlog.Deleter], "runs cannot be deleted", deleterChecks),
	}
}

// single is a face whose checks are one group.
func single(name string, has func(runlog.Store) bool, without string, checks []check) face {
	return face{name, has, without, []group{{name, checks}}}
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
	for _, f := range suite.faces() {
		t.Run(f.name, func(t *testing.T) {
			if !f.has(suite.Open(t)) {
				t.Skipf("the store is no runlog.%s; without it, %s", f.name, f.without)
			}
			for _, g := range f.groups {
				if g.name == f.name {
					suite.check(t, g.checks)
				} else {
					t.Run(g.name, func(t *testing.T) { suite.check(t, g.checks) })
				}
			}
		})
	}
}

// check runs each check in a subtest, with a store of its own.
func (suite Suite) check(t *testing.T, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			suite.In(t, func(t *testing.T) { c.run(t, suite.Open(t)) })
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
	_, ok := runlog.As[T](s)
	return ok
}

// as returns s as the interface that its face has found.
func as[T any](t testing.TB, s runlog.Store) T {
	t.Helper()
	v, ok := runlog.As[T](s)
	if !ok {
		t.Fatalf("the store is not a %T", &v)
	}
	return v
}
