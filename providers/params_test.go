package providers_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func TestCheckParams(t *testing.T) {
	good := providers.Params{TopP: new(1.0), Stop: []string{"END"}, Seed: new(int64(-1)), Effort: providers.EffortMax, Extra: json.RawMessage(`{}`)}
	require.NoError(t, providers.CheckParams(good))
	require.NoError(t, providers.CheckParams(providers.Params{}))
	tests := map[string]providers.Params{
		"topP is 0":                {TopP: new(0.0)},
		"topP is NaN":              {TopP: new(math.NaN())},
		"empty text":               {Stop: []string{""}},
		"17 texts":                 {Stop: make([]string, 17)},
		`effort is "hard"`:         {Effort: "hard"},
		"extra is not a JSON obje": {Extra: json.RawMessage(`[]`)},
	}
	for want, p := range tests {
		require.ErrorContains(t, providers.CheckParams(p), want)
		require.ErrorContains(t, providers.Spec{Provider: "p", Model: "m", Params: p}.Validate(), want)
	}
}

// A request's own settings come before those of its model's Spec.
func TestMeteredParams(t *testing.T) {
	var spec providers.Spec
	require.NoError(t, json.Unmarshal([]byte(`{"provider":"p","model":"m","topP":0.5,"seed":3,"effort":"low","stop":["A"],"extra":{"a":{"x":1},"b":2}}`), &spec))
	m := fake.New(t, fake.Answer{Text: "a"}, fake.Answer{Text: "b"})
	metered := providers.Metered{Model: m, Spec: spec}
	hi := []providers.Message{{Role: providers.User, Text: "hi"}}
	_, err := metered.Generate(t.Context(), providers.Request{Messages: hi})
	require.NoError(t, err)
	_, err = metered.Generate(t.Context(), providers.Request{Messages: hi, Params: providers.Params{
		TopP: new(0.9), Effort: providers.EffortHigh, Extra: json.RawMessage(`{"a":{"y":2},"b":null}`),
	}})
	require.NoError(t, err)
	first, second := m.Requests()[0].Params, m.Requests()[1].Params
	assert.InDelta(t, 0.5, *first.TopP, 0)
	assert.Equal(t, providers.EffortLow, first.Effort)
	assert.JSONEq(t, `{"a":{"x":1},"b":2}`, string(first.Extra))
	assert.InDelta(t, 0.9, *second.TopP, 0)
	assert.Equal(t, int64(3), *second.Seed)
	assert.Equal(t, []string{"A"}, second.Stop)
	assert.Equal(t, providers.EffortHigh, second.Effort)
	assert.JSONEq(t, `{"a":{"x":1,"y":2},"b":null}`, string(second.Extra))
}

func TestCheckParts(t *testing.T) {
	part := func(role providers.Role, p ...providers.Part) []providers.Message {
		return []providers.Message{{Role: role, Parts: p}}
	}
	png := providers.Part{Kind: providers.ImagePart, Media: "image/png", Data: []byte("x")}
	require.NoError(t, providers.CheckParts(part(providers.User, png, providers.Part{Kind: providers.DocumentPart, URL: "https://h/a.pdf"})))
	require.ErrorContains(t, providers.CheckParts(part(providers.Assistant, png)), `a message of role "assistant" has no parts`)
	clone := providers.CloneParts([]providers.Part{png})
	clone[0].Data[0] = 'y'
	assert.Equal(t, "x", string(png.Data))
}

func TestKeysAreNotPrinted(t *testing.T) {
	k := providers.Keys{"openai": "the-secret-key", "anthropic": "another-secret"}
	assert.Equal(t, "keys of anthropic, openai", k.String())
	data, err := json.Marshal(map[string]any{"keys": k})
	require.NoError(t, err)
	assert.NotContains(t, string(data), "secret")
	assert.False(t, strings.Contains(k.GoString(), "secret"))
}
