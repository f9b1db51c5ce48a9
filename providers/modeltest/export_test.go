package modeltest

import (
	"testing"
	"time"
)

// Checks returns the checks of the suite as group/name.
func Checks() map[string]func(testing.TB, Open) {
	all := map[string]func(testing.TB, Open){}
	for _, g := range groups {
		for _, c := range g.checks {
			all[g.name+"/"+c.name] = c.run
		}
	}
	return all
}

// Hurry shortens the suite's patience for t.
func Hurry(t *testing.T) {
	t.Helper()
	patience = 300 * time.Millisecond
	t.Cleanup(func() { patience = 10 * time.Second })
}
