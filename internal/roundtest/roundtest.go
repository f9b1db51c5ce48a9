// Package roundtest says how often a test repeats what it repeats: random cases, and sweeps by
// every fault. Tests alone use it.
//
// Everything is repeated by a plain run of the tests: not under -short, which has little
// time, and not under the race detector, which costs six times the time, keeps memory of
// every goroutine that ever was, and is there to find races, of which the thousandth case
// has those of the tenth.
package roundtest

import "testing"

// All tells whether this run repeats everything. It is to be called by tests, after their
// flags are parsed.
func All() bool {
	if testing.Short() {
		return false
	}
	return !raced
}

// Of returns all in a run that repeats everything, else few.
func Of(few, all int) int {
	if All() {
		return all
	}
	return few
}
