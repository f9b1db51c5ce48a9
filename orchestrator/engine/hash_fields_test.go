package engine_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// The hash of a request changes with each of its fields, wherever one text stands.
func TestRequestHashTellsFieldsApart(t *testing.T) {
	zero := 0.0
	raw := json.RawMessage(`"x"`)
	whole := agent.Request{
		Op: "x", Task: "x", Prompt: "x", Input: raw, Output: raw, Temperature: &zero, Parts: []providers.Part{{Text: "x"}},
		History: []providers.Message{{Text: "x"}}, Params: providers.Params{Seed: new(int64)}, Limits: agent.Limits{Attempts: 1}, Folded: 1,
	}
	empty := engine.RequestHash("a", &agent.Request{})
	seen := map[string]string{empty: "nothing", engine.RequestHash("x", &agent.Request{}): "another agent"}
	require.Len(t, seen, 2)
	for i := range reflect.TypeFor[agent.Request]().NumField() {
		var req agent.Request
		name, value := reflect.TypeFor[agent.Request]().Field(i).Name, reflect.ValueOf(whole).Field(i)
		require.False(t, value.IsZero(), "set the new field %s in this test", name)
		reflect.ValueOf(&req).Elem().Field(i).Set(value)
		hash := engine.RequestHash("a", &req)
		if name == "Limits" || name == "Task" {
			assert.Equal(t, empty, hash, "%s may change between a run and its resumption", name)
			continue
		}
		assert.NotContains(t, seen, hash, "%s has the hash of %s", name, seen[hash])
		seen[hash] = name
	}
}
