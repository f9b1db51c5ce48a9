// Package storetest checks that a store keeps the promises of package blackboard.
//
// A store's own tests call [Run]:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) blackboard.Store { return mystore.Open(t.TempDir()) })
//	}
//
// Run it with the race detector too: some faults show only there.
package storetest

import (
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard"
)

// patience is how long a call that ought to return at once may take. It only ends
// checks that fail.
var patience = 10 * time.Second

// check is one promise.
type check struct {
	name string
	run  func(t testing.TB, s blackboard.Store)
}

// group is what an interface promises. Stores that lack the interface skip it.
type group struct {
	name   string
	has    func(blackboard.Store) bool
	checks []check
}

var groups = []group{
	{"Append", is[blackboard.Store], appendChecks},
	{"Records", is[blackboard.Store], recordsChecks},
	{"Runs", is[blackboard.Store], runsChecks},
	{"Concurrency", is[blackboard.Store], concurrencyChecks},
	{"Leaser", is[blackboard.Leaser], leaserChecks},
	{"Inbox", is[blackboard.Inbox], inboxChecks},
	{"Blobs", is[blackboard.Blobs], blobsChecks},
	{"Deleter", is[blackboard.Deleter], deleterChecks},
}

// Run checks the stores that open returns, each empty and used by one subtest
// only; open closes what it opened with t.Cleanup. The promises of [blackboard.Store]
// are always checked, those of [blackboard.Leaser], [blackboard.Inbox],
// [blackboard.Blobs] and [blackboard.Deleter] if the store implements them.
func Run(t *testing.T, open func(t *testing.T) blackboard.Store) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			if !g.has(open(t)) {
				t.Skipf("the store is not a blackboard.%s", g.name)
			}
			for _, c := range g.checks {
				t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
			}
		})
	}
}

func is[T any](s blackboard.Store) bool {
	_, ok := s.(T)
	return ok
}

// as returns s as the interface that its group has found.
func as[T any](t testing.TB, s blackboard.Store) T {
	t.Helper()
	v, ok := s.(T)
	if !ok {
		t.Fatalf("the store is not a %T", &v)
	}
	return v
}
