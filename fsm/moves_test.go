package fsm_test

import (
	"context"
	"errors"
	"testing"

	looplab "github.com/looplab/fsm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/fsm"
)

type moves = fsm.Moves[state, event, role]

func TestATableIsMoves(t *testing.T) {
	var m moves = newTable(t, taskRules())
	assert.Equal(t, state("new"), m.Initial())
	to, err := m.Check("new", "plan", "director")
	require.NoError(t, err)
	assert.Equal(t, state("planning"), to)
	assert.True(t, m.Terminal("done"))
	assert.False(t, m.Terminal("new"))
}

func TestVeto(t *testing.T) {
	errNight := errors.New("not at night")
	var asked []event
	m := fsm.Veto[state, event, role](newTable(t, taskRules()), func(from state, on event, by role) error {
		asked = append(asked, on)
		if from == "coding" && by == "night" {
			return errNight
		}
		return nil
	})
	assert.Equal(t, state("new"), m.Initial())
	assert.True(t, m.Terminal("done"))

	to, err := m.Check("coding", "retry", "day")
	require.NoError(t, err)
	assert.Equal(t, state("coding"), to)

	to, err = m.Check("coding", "retry", "night")
	require.ErrorIs(t, err, fsm.ErrTransition)
	require.ErrorIs(t, err, errNight)
	require.EqualError(t, err, `transition refused: event "retry" from "coding" is vetoed: not at night`)
	assert.Equal(t, state("coding"), to)

	_, err = m.Check("coding", "plan", "night")
	var refused *transitionError
	require.ErrorAs(t, err, &refused, "the table refuses")
	assert.Equal(t, []event{"retry", "retry"}, asked, "it is not asked about what the table refuses")
}

// A table, the machine of looplab/fsm that it becomes, and the table of that say the same.
func TestLooplabBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, err := fsm.New(randomDefinition(t))
		require.NoError(t, err)
		var events looplab.Events
		for _, from := range tab.States() {
			for _, o := range tab.Allowed(from) {
				events = append(events, looplab.EventDesc{Name: string(o.Event), Src: []string{string(from)}, Dst: string(o.To)})
			}
		}
		back, err := fsm.FromLooplab[state, event, role](tab.Initial(), events)
		require.NoError(t, err)
		require.ElementsMatch(t, tab.States(), back.States())
		require.Equal(t, tab.Initial(), back.Initial())
		for _, from := range tab.States() {
			require.Equal(t, tab.Terminal(from), back.Terminal(from))
			for _, o := range tab.Allowed(from) {
				to, ok := back.Next(from, o.Event)
				require.True(t, ok)
				require.Equal(t, o.To, to)

				machine := fsm.Looplab(tab, nil)
				require.Equal(t, string(tab.Initial()), machine.Current())
				machine.SetState(string(from))
				err := machine.Event(t.Context(), string(o.Event))
				require.True(t, err == nil || errors.As(err, new(looplab.NoTransitionError)))
				require.Equal(t, string(o.To), machine.Current())
			}
			require.Len(t, back.Allowed(from), len(tab.Allowed(from)))
		}
	})
}

func TestLooplabTakesCallbacks(t *testing.T) {
	var entered []string
	machine := fsm.Looplab(newTable(t, taskRules()), looplab.Callbacks{
		"enter_state": func(_ context.Context, e *looplab.Event) { entered = append(entered, e.Dst) },
	})
	require.NoError(t, machine.Event(t.Context(), "plan"))
	assert.Equal(t, []string{"planning"}, entered)
}

func TestFromLooplabNamesFaults(t *testing.T) {
	_, err := fsm.FromLooplab[state, event, role]("a", looplab.Events{
		{Name: "go", Src: []string{"a"}, Dst: "b"}, {Name: "go", Src: []string{"a"}, Dst: "c"}, {Name: "", Src: []string{"d"}, Dst: "a"},
	})
	require.ErrorContains(t, err, `state "a" has a rule for this event already`)
	require.ErrorContains(t, err, "event is empty")
	require.ErrorContains(t, err, `state "d" cannot be reached from "a"`)
}
