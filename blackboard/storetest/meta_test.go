package storetest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// fault breaks a store in one way.
type fault struct {
	name    string
	check   string // the check that must see it, with its group
	breakIt func(d *double)
}

var faults = slices.Concat(appendFaults, readFaults, listFaults, ownersFaults, messengerFaults, inboxFaults, asksFaults, openFaults, blobsFaults, damageFaults)

// doubles checks doubles, which break what they are told to.
var doubles = Suite{
	Open:    func(*testing.T) runlog.Store { return newDouble().withDamage() },
	Damage:  damage,
	Silence: 20 * time.Millisecond,
}.withDefaults()

// recorder stands in for the T of a check that is to fail.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	messages []string
}

func (r *recorder) Helper() {}

func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func allGroups() (groups []group) {
	for _, f := range doubles.faces() {
		groups = append(groups, f.groups...)
	}
	return groups
}

// complaints runs one check of the suite and returns what it says.
func complaints(t *testing.T, name string, s runlog.Store) []string {
	t.Helper()
	r := &recorder{TB: t}
	for _, g := range allGroups() {
		for _, c := range g.checks {
			if g.name+"/"+c.name == name {
				var run sync.WaitGroup
				run.Go(func() { c.run(r, s) })
				run.Wait()
				return r.messages
			}
		}
	}
	require.Failf(t, "no such check", "%q", name)
	return nil
}

func TestSuiteFindsFaults(t *testing.T) {
	patience = 200 * time.Millisecond
	t.Cleanup(func() { patience = 10 * time.Second })
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			d := newDouble().withDamage()
			fault.breakIt(d)
			got := complaints(t, fault.check, d)
			assert.NotEmpty(t, got, "the check %s does not see the fault", fault.check)
			assert.Empty(t, complaints(t, fault.check, newDouble().withDamage()), "without the fault")
			if testing.Verbose() {
				t.Logf("%s: %q", fault.check, got)
			}
		})
	}
}

func TestSuiteAcceptsDouble(t *testing.T) {
	doubles.Run(t)
	Run(t, func(*testing.T) runlog.Store { return struct{ runlog.Store }{newDouble()} })
}

// TestEveryCheckSeesAFault keeps checks out that can never fail.
func TestEveryCheckSeesAFault(t *testing.T) {
	seen := make(map[string]bool)
	for _, fault := range faults {
		seen[fault.check] = true
	}
	for _, g := range allGroups() {
		for _, c := range g.checks {
			assert.True(t, seen[g.name+"/"+c.name], "no fault for the check %s/%s", g.name, c.name)
		}
	}
}
