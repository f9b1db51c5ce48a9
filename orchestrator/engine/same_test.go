package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/engine"
)

func TestSame(t *testing.T) {
	child := func(budget engine.Budget, labels map[string]string) engine.Input {
		return engine.Input{Data: json.RawMessage(`1`), Parent: "p", Budget: budget, Labels: labels}
	}
	have := engine.Input{
		Data: json.RawMessage(`1`), Budget: engine.Budget{Calls: 1}, Labels: map[string]string{"a": "b"}, ContinuedFrom: "r0",
	}
	with := func(change func(in *engine.Input)) engine.Input {
		in := have
		change(&in)
		return in
	}
	secret := func(label, value string) engine.Input {
		in := engine.Input{Data: json.RawMessage(`1`), Labels: map[string]string{"l": label}, Values: map[string]string{"v": value}}
		in.Hide([]string{"l", "v"})
		return in
	}
	tests := []struct {
		name       string
		flow       string
		have, want engine.Input
		err        string // "": it is the same run
	}{
		{"equal", "f", have, have, ""},
		{"no labels are equal to empty ones", "f", engine.Input{}, engine.Input{Labels: map[string]string{}}, ""},
		{"the rest does not count", "f", have, with(func(in *engine.Input) { in.Run, in.Depth, in.Figures = "x", 3, engine.Figures{"a": {}} }), ""},
		{"flow", "g", have, engine.Input{}, `exists: run "r" is of flow "f", not "g"`},
		{"input", "f", have, with(func(in *engine.Input) { in.Data, in.Budget = json.RawMessage(`2`), engine.Budget{} }), `exists: run "r" of flow "f" was started with another input`},
		{"input, byte for byte", "f", have, with(func(in *engine.Input) { in.Data = json.RawMessage(` 1`) }), `exists: run "r" of flow "f" was started with another input`},
		{"parent", "f", have, with(func(in *engine.Input) { in.Parent, in.Budget = "p", engine.Budget{} }), `exists: run "r" of flow "f" was started with another parent`},
		{"budget", "f", have, with(func(in *engine.Input) { in.Budget.Wall, in.Labels = 1, nil }), `exists: run "r" of flow "f" was started with another StartOptions.Budget`},
		{"budget of a run that says how deep it is", "f", with(func(in *engine.Input) { in.Depth = 1 }), with(func(in *engine.Input) { in.Budget.Calls = 2 }), `exists: run "r" of flow "f" was started with another StartOptions.Budget`},
		{"two budgets of nothing", "f", with(func(in *engine.Input) { in.Budget.Cost = -1 }), with(func(in *engine.Input) { in.Budget.Cost = -2 }), `exists: run "r" of flow "f" was started with another StartOptions.Budget`},
		{"another label of one name", "f", have, with(func(in *engine.Input) { in.Labels = map[string]string{"a": "c"} }), `exists: run "r" of flow "f" was started with another StartOptions.Labels`},
		{"labels", "f", have, with(func(in *engine.Input) { in.Labels, in.ContinuedFrom = nil, "" }), `exists: run "r" of flow "f" was started with another StartOptions.Labels`},
		{"another value", "f", have, with(func(in *engine.Input) { in.Values = map[string]string{"t": "x"} }), `exists: run "r" of flow "f" was started with another StartOptions.Values`},
		{"another secret value", "f", secret("a", "b"), secret("a", "c"), `exists: run "r" of flow "f" was started with another StartOptions.Values`},
		{"another secret label", "f", secret("a", "b"), secret("c", "b"), `exists: run "r" of flow "f" was started with another StartOptions.Labels`},
		{"a value that is secret now", "f", with(func(in *engine.Input) { in.Values = map[string]string{"t": "x"} }), with(func(in *engine.Input) { in.Secret.Values = map[string]string{"t": "x"} }), `exists: run "r" of flow "f" was started with another StartOptions.Secret`},
		{"a label that is secret now", "f", have, with(func(in *engine.Input) { in.Hide([]string{"a"}) }), `exists: run "r" of flow "f" was started with another StartOptions.Secret`},
		{"equal secrets", "f", secret("a", "b"), secret("a", "b"), ""},
		{"continued from", "f", have, with(func(in *engine.Input) { in.ContinuedFrom = "r1" }), `exists: run "r" of flow "f" was started with another StartOptions.ContinuedFrom`},
		{"a child with another share", "f", child(engine.Budget{Calls: 1}, nil), child(engine.Budget{Calls: 2}, map[string]string{"a": "b"}), ""},
		{"a child's input", "f", child(engine.Budget{}, nil), engine.Input{Data: json.RawMessage(`2`), Parent: "p"}, `exists: run "r" of flow "f" was started with another input`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := engine.Same("r", "f", &tt.have, tt.flow, &tt.want)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, engine.ErrExists)
			assert.EqualError(t, err, tt.err)
		})
	}
}
