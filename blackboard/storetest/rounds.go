package storetest

import (
	"fmt"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

// inboxRounds has letters for a key that was asked several times.
func inboxRounds(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	mustPut(t, in, at("r", "q", 10), at("r", "q", 0), at("r", "q", 9), at("r", "p", 1))
	wantUsed(t, in, "r", "q", 9)
	wantLetters(t, in, "r", at("r", "p", 1), at("r", "q", 0), at("r", "q", 9), at("r", "q", 10))
	mustTake(t, in, "r", "q", 9)
	wantLetters(t, in, "r", at("r", "p", 1), at("r", "q", 0), at("r", "q", 10))

	mustAppend(t, s, entry("many", 0))
	var many []runlog.Letter
	for i := range 70 { // more than a page of a store may have
		many = append(many, at("many", fmt.Sprint("q", i/10), i%10))
	}
	mustPut(t, in, many...)
	wantLetters(t, in, "many", many...)
}
