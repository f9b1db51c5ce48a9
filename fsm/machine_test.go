package fsm_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/fsm"
)

func TestFireMovesAndRecords(t *testing.T) {
	machine := newTable(t, taskRules()).Start(clock)
	assert.Equal(t, state("new"), machine.Current())
	assert.Empty(t, machine.History())

	got, err := machine.Fire("plan", "director", "let us begin")
	require.NoError(t, err)
	want := entry{At: noon, From: "new", Event: "plan", To: "planning", Actor: "director", Note: "let us begin"}
	assert.Equal(t, want, got)
	assert.Equal(t, state("planning"), machine.Current())
	assert.Equal(t, []entry{want}, machine.History())
}

func TestASelfTransitionIsRecordedAndNoError(t *testing.T) {
	machine := inCoding(t)
	before := len(machine.History())
	for range 3 {
		_, err := machine.Fire("retry", "worker", "")
		require.NoError(t, err)
	}
	assert.Equal(t, state("coding"), machine.Current())
	assert.Len(t, machine.History(), before+3)
}

func TestARefusedEventChangesNothing(t *testing.T) {
	machine := inCoding(t)
	before := machine.History()
	for _, fire := range []struct {
		on    event
		actor role
	}{{"plan", "director"}, {"finish", "guardian"}, {"zap", "worker"}, {"", ""}} {
		got, err := machine.Fire(fire.on, fire.actor, "")
		assert.ErrorIs(t, err, fsm.ErrTransition)
		assert.Zero(t, got)
	}
	assert.Equal(t, state("coding"), machine.Current())
	assert.Equal(t, before, machine.History())
}

func TestTheHistoryBelongsToTheCaller(t *testing.T) {
	machine := inCoding(t)
	machine.History()[0].Note = "changed"
	assert.NotEqual(t, "changed", machine.History()[0].Note)
}

func TestAGuardSeesTheEntryThatItWouldAllow(t *testing.T) {
	var seen entry
	machine := guarded(t, func(e entry) error { seen = e; return nil })
	got, err := machine.Fire("go", "ann", "why not")
	require.NoError(t, err)
	assert.Equal(t, got, seen)
	assert.Equal(t, entry{At: noon, From: "a", Event: "go", To: "b", Actor: "ann", Note: "why not"}, seen)
}

func TestAGuardIsNotAskedAboutWhatTheTableRefuses(t *testing.T) {
	machine := guarded(t, func(entry) error { panic("asked") })
	_, err := machine.Fire("back", "ann", "")
	var refused *transitionError
	require.ErrorAs(t, err, &refused)
	assert.NoError(t, refused.Err)
}

func TestAPanickingGuardRefusesAndTheMachineStaysUsable(t *testing.T) {
	fail := true
	machine := guarded(t, func(entry) error {
		if fail {
			panic("broken")
		}
		return nil
	})
	_, err := machine.Fire("go", "ann", "")
	require.ErrorIs(t, err, fsm.ErrTransition)
	assert.ErrorContains(t, err, `event "go" from "a" is refused: guard "g" panicked: broken`)
	assert.Equal(t, state("a"), machine.Current())
	assert.Empty(t, machine.History())

	fail = false
	_, err = machine.Fire("go", "ann", "")
	require.NoError(t, err)
	assert.Equal(t, state("b"), machine.Current())
}

func TestAGuardThatEndsItsGoroutineDoesNotBlockTheMachine(t *testing.T) {
	end := true
	machine := guarded(t, func(entry) error {
		if end {
			runtime.Goexit()
		}
		return nil
	})
	var caller sync.WaitGroup
	caller.Go(func() { _, _ = machine.Fire("go", "ann", "") })
	caller.Wait()
	assert.Equal(t, state("a"), machine.Current())

	end = false
	_, err := machine.Fire("go", "ann", "")
	require.NoError(t, err)
}

func TestACancelledContextFiresNothingAndTheMachineStaysUsable(t *testing.T) {
	machine := guarded(t, func(entry) error { return nil })
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)

	_, err := machine.FireContext(ctx, "go", "ann", "")
	require.ErrorIs(t, err, cause)
	assert.NotErrorIs(t, err, fsm.ErrTransition)
	assert.Equal(t, state("a"), machine.Current())
	assert.Empty(t, machine.History())

	_, err = machine.FireContext(t.Context(), "go", "ann", "")
	require.NoError(t, err)
	assert.Equal(t, state("b"), machine.Current())
}

func TestAContextCancelledByTheGuardDoesNotStopTheTransition(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	machine := guarded(t, func(entry) error { cancel(); return nil })
	_, err := machine.FireContext(ctx, "go", "ann", "")
	require.NoError(t, err)
	assert.Equal(t, state("b"), machine.Current())

	_, err = machine.Fire("back", "ann", "")
	require.NoError(t, err)
	assert.Equal(t, state("a"), machine.Current())
}

func TestOfManyConcurrentCallersExactlyOneWins(t *testing.T) {
	asked := 0 // not synchronised: the machine asks its guards one at a time
	machine := guarded(t, func(entry) error {
		asked++
		runtime.Gosched() // invites the others in between check and move
		return nil
	})
	var won, refused atomic.Int64
	var callers sync.WaitGroup
	start := make(chan struct{})
	for range 64 {
		callers.Go(func() {
			<-start
			_, err := machine.Fire("go", "ann", "")
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, fsm.ErrTransition):
				refused.Add(1)
			}
			_, _ = machine.Current(), machine.History()
		})
	}
	close(start)
	callers.Wait()
	assert.EqualValues(t, 1, won.Load())
	assert.EqualValues(t, 63, refused.Load())
	assert.Equal(t, 1, asked)
	assert.Equal(t, state("b"), machine.Current())
	assert.Len(t, machine.History(), 1)
}

func TestTheHistoryMayBeReadWhileOthersFire(t *testing.T) {
	machine := inCoding(t)
	before := len(machine.History())
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 50 {
				_, err := machine.Fire("retry", "worker", "")
				assert.NoError(t, err)
				history := machine.History()
				assert.Equal(t, event("retry"), history[len(history)-1].Event)
			}
		})
	}
	callers.Wait()
	assert.Len(t, machine.History(), before+8*50)
}

func TestMachinesOfOneTableAreIndependent(t *testing.T) {
	tab := newTable(t, taskRules())
	one, other := tab.Start(clock), tab.Start(clock)
	_, err := one.Fire("fail", "", "")
	require.NoError(t, err)
	assert.Equal(t, state("new"), other.Current())
}

func TestTimesAreThoseOfTheClockInUTC(t *testing.T) {
	local := time.Now().In(time.FixedZone("east", 3600)) // has a monotonic reading too
	machine := newTable(t, taskRules()).Start(func() time.Time { return local })
	got, err := machine.Fire("fail", "", "")
	require.NoError(t, err)
	assert.True(t, got.At.Equal(local))
	assert.Equal(t, local.Round(0).UTC(), got.At)
}

func TestWithoutAClockEntriesHaveNoTime(t *testing.T) {
	got, err := newTable(t, taskRules()).Start(nil).Fire("fail", "", "")
	require.NoError(t, err)
	assert.True(t, got.At.IsZero())
}

func inCoding(t *testing.T) *fsm.Machine[state, event, role] {
	t.Helper()
	machine := newTable(t, taskRules()).Start(clock)
	for _, fire := range []struct {
		on    event
		actor role
	}{{"plan", "director"}, {"submit", "worker"}, {"approve", "guardian"}} {
		_, err := machine.Fire(fire.on, fire.actor, "as planned")
		require.NoError(t, err)
	}
	return machine
}

// guarded returns a machine whose way from a to b is guarded by g.
func guarded(t *testing.T, g guard) *fsm.Machine[state, event, role] {
	t.Helper()
	return newTable(t, definition{
		Initial: "a",
		States:  []state{"a", "b"},
		Rules: []rule{
			{On: "go", From: []state{"a"}, To: "b", Guard: "g"},
			{On: "back", From: []state{"b"}, To: "a"},
		},
		Guards: map[string]guard{"g": g},
	}).Start(clock)
}
