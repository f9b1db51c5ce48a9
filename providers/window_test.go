package providers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func windowed(tokens int) providers.Model {
	return providers.Metered{Model: fake.New(nil), Spec: providers.Spec{Provider: "p", Model: "m", Window: tokens}}
}

func TestWindow(t *testing.T) {
	chain := func(of ...providers.Model) providers.Model {
		c, err := providers.NewChain(of...)
		require.NoError(t, err)
		return c
	}
	for _, tt := range []struct {
		name  string
		model providers.Model
		want  int
	}{
		{"a model that does not say", fake.New(nil), 0},
		{"its Spec says", windowed(200_000), 200_000},
		{"the Spec of one inside says", providers.Metered{Model: windowed(8_000)}, 8_000},
		{"the smallest of a chain, of those that say", chain(windowed(200_000), fake.New(nil), windowed(128_000)), 128_000},
		{"a chain that does not say", chain(fake.New(nil)), 0},
		{"retried", providers.Retry{Model: windowed(32_000)}, 32_000},
		{"retried without a model", providers.Retry{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, providers.Window(tt.model)) })
	}
}

func TestWindowOfASpec(t *testing.T) {
	var s providers.Spec
	require.NoError(t, json.Unmarshal([]byte(`{"provider": "ollama", "model": "llama3:8b", "window": 8192}`), &s))
	assert.Equal(t, 8192, s.Window)
	require.NoError(t, s.Validate())
	s.Window = -1
	assert.EqualError(t, s.Validate(), "window is -1, want 0 or more")
}

// The sums stand beside: two bytes of text a token, 16 for a message.
func TestTokens(t *testing.T) {
	req := providers.Request{Messages: []providers.Message{
		{Role: providers.User, Text: strings.Repeat("x", 1000)},                                                         // 500 + 16
		{Role: providers.ToolRole, Text: strings.Repeat("y", 60), Parts: []providers.Part{{Kind: providers.ImagePart}}}, // 30 + 16 + 5,000
	}}
	assert.EqualValues(t, 5562, providers.Tokens(req))
	assert.Zero(t, providers.Tokens(providers.Request{}))
}
