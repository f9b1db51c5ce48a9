package fsm_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	looplab "github.com/looplab/fsm"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/fsm"
)

func TestLookupAndLooplabAgreeOnEveryStateAndEvent(t *testing.T) {
	defs := map[string]definition{
		"task": taskRules(), "department": departmentRules(), "short": shortRules(), "wordy": wordyRules(),
	}
	for name, def := range defs {
		t.Run(name, func(t *testing.T) { requireAgreement(t, def) })
	}
}

func TestLookupAndLooplabAgreeOnRandomTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { requireAgreement(t, randomDefinition(t)) })
}

// requireAgreement asks the table and a fresh looplab machine about every state
// and event of def.
func requireAgreement(t interface {
	require.TestingT
	Context() context.Context
}, def definition,
) {
	tab, err := fsm.New(def)
	require.NoError(t, err)
	for _, from := range def.States {
		for _, on := range events(def) {
			want, wantOK := looplabAfter(t.Context(), def, from, on)
			got, ok := tab.Next(from, on)
			require.Equal(t, wantOK, ok, "event %q from %q", on, from)
			require.Equal(t, want, got, "event %q from %q", on, from)
		}
	}
}

// looplabAfter returns the state of a fresh looplab machine that was in the state
// from and got the event, and whether it accepted that. Its transitions are
// worked out from def without the package under test.
func looplabAfter(ctx context.Context, def definition, from state, on event) (state, bool) {
	var transitions []looplab.EventDesc
	for _, r := range def.Rules {
		for _, s := range def.States {
			covered := slices.Contains(r.From, s)
			if len(r.From) == 0 {
				covered = s != r.To && !slices.Contains(def.Terminal, s)
			}
			if covered {
				transitions = append(transitions, looplab.EventDesc{Name: string(r.On), Src: []string{string(s)}, Dst: string(r.To)})
			}
		}
	}
	machine := looplab.NewFSM(string(from), transitions, nil)
	err := machine.Event(ctx, string(on))
	return state(machine.Current()), err == nil || errors.As(err, new(looplab.NoTransitionError))
}
