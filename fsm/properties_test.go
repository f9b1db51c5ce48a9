package fsm_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/fsm"
)

var roles = []role{"", "ann", "bob", "cat"}

// randomDefinition draws rules over a few states and events until New accepts
// them: any-rules, self-transitions and roles included.
func randomDefinition(t *rapid.T) definition {
	states := []state{"a", "b", "c", "d", "e"}[:rapid.IntRange(2, 5).Draw(t, "states")]
	def := definition{Initial: "a", States: states, Terminal: rapid.SliceOfNDistinct(rapid.SampledFrom(states[1:]), 0, 2, rapid.ID).Draw(t, "terminal")}
	inner := slices.DeleteFunc(slices.Clone(states), func(s state) bool { return slices.Contains(def.Terminal, s) })
	for i, from := range states { // a chain makes all states reachable
		if i+1 < len(states) {
			if slices.Contains(def.Terminal, from) {
				from = "a"
			}
			def.Rules = append(def.Rules, rule{On: event("chain" + string(states[i+1])), From: []state{from}, To: states[i+1]})
		}
	}
	def.Rules = append(def.Rules, rule{On: "home", To: "a", From: inner}) // and none a dead end
	for range rapid.IntRange(0, 8).Draw(t, "rules") {
		more := rule{
			On:    rapid.SampledFrom([]event{"x", "y", "z"}).Draw(t, "event"),
			From:  rapid.SliceOfNDistinct(rapid.SampledFrom(inner), 0, 2, rapid.ID).Draw(t, "from"),
			To:    rapid.SampledFrom(states).Draw(t, "to"),
			Roles: rapid.SliceOfNDistinct(rapid.SampledFrom(roles[1:]), 0, 2, rapid.ID).Draw(t, "roles"),
		}
		wider := def
		wider.Rules = append(slices.Clone(def.Rules), more)
		if _, err := fsm.New(wider); err == nil {
			def = wider
		}
	}
	return def
}

// events returns every event of def, and one that it does not have.
func events(def definition) []event {
	all := []event{"zap"}
	for _, r := range def.Rules {
		all = append(all, r.On)
	}
	return all
}

func TestEveryHistoryRestoresToTheSameMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := randomDefinition(t)
		tab, err := fsm.New(def)
		require.NoError(t, err)
		machine := tab.Start(clock)
		for range rapid.IntRange(0, 20).Draw(t, "fires") {
			on := rapid.SampledFrom(events(def)).Draw(t, "event")
			_, _ = machine.Fire(on, rapid.SampledFrom(roles).Draw(t, "actor"), rapid.String().Draw(t, "note"))
		}

		text, err := json.Marshal(machine.History())
		require.NoError(t, err)
		var history []entry
		require.NoError(t, json.Unmarshal(text, &history))
		restored, err := tab.Restore(history, clock)
		require.NoError(t, err)
		require.Equal(t, machine.Current(), restored.Current())
		require.Equal(t, machine.History(), restored.History())
	})
}

func TestEveryFireDoesWhatTheTableSaysOrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := randomDefinition(t)
		tab, err := fsm.New(def)
		require.NoError(t, err)
		machine := tab.Start(clock)
		for range 20 {
			on := rapid.SampledFrom(events(def)).Draw(t, "event")
			actor := rapid.SampledFrom(roles).Draw(t, "actor")
			from, before := machine.Current(), machine.History()
			allowed := slices.ContainsFunc(tab.Allowed(from, actor), func(o option) bool { return o.Event == on })
			to, _ := tab.Next(from, on)

			got, err := machine.Fire(on, actor, "")
			if !allowed {
				require.ErrorIs(t, err, fsm.ErrTransition)
				require.Equal(t, from, machine.Current())
				require.Equal(t, before, machine.History())
				continue
			}
			require.NoError(t, err)
			require.Equal(t, entry{At: noon, From: from, Event: on, To: to, Actor: actor}, got)
			require.Equal(t, to, machine.Current())
			require.Equal(t, append(before, got), machine.History())
		}
	})
}
