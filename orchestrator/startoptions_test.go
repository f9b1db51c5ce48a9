package orchestrator_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
)

func TestValuesHaveLimits(t *testing.T) {
	many := map[string]string{}
	for i := range 33 {
		many[fmt.Sprint("n", i)] = "x"
	}
	long := strings.Repeat("v", 1024)
	tests := []struct {
		name string
		o    orchestrator.StartOptions
		err  string // "": it starts
	}{
		{"as long as they may be", orchestrator.StartOptions{Values: map[string]string{strings.Repeat("n", 64): long, "a.b/c:d-e_f": ""}}, ""},
		{"too many", orchestrator.StartOptions{Values: many}, "StartOptions.Values has 33 entries, want at most 32"},
		{"a text that is too long", orchestrator.StartOptions{Values: map[string]string{"ok": "x", "big": long + "v"}}, `StartOptions.Values["big"] has 1025 bytes: want at most 1024, of valid UTF-8`},
		{"a text of other bytes", orchestrator.StartOptions{Values: map[string]string{"raw": "\xff"}}, `StartOptions.Values["raw"] has 1 bytes: want at most 1024, of valid UTF-8`},
		{"no name", orchestrator.StartOptions{Values: map[string]string{"": "x"}}, `StartOptions.Values has the name "": want up to 64 letters, digits and "-_.:/"`},
		{"a long name", orchestrator.StartOptions{Values: map[string]string{strings.Repeat("n", 65): "x"}}, "StartOptions.Values has the name"},
		{"a name with a space", orchestrator.StartOptions{Values: map[string]string{"a b": "x"}}, `StartOptions.Values has the name "a b"`},
		{"a secret that is not there", orchestrator.StartOptions{Values: map[string]string{"a": "x"}, Secret: []string{"a", "b"}}, `StartOptions.Secret[1] is "b": want the name of a label or a value`},
		{"two faults", orchestrator.StartOptions{Values: map[string]string{"a b": "\xff"}}, `StartOptions.Values["a b"] has 1 bytes`},
	}
	f := orchestrator.Flow[int, int]{Name: "f", Do: func(*orchestrator.Context, int) (int, error) { return 0, nil }}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := orchestrator.NewLocal(orchestrator.Config{})
			require.NoError(t, err)
			_, err = f.Run(t.Context(), e, 0, tt.o)
			require.NoError(t, e.Close(t.Context()))
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, orchestrator.ErrMalformed)
			assert.ErrorContains(t, err, tt.err)
		})
	}
}

// The host's map and list stay as they are, whatever the run makes of them.
func TestSecretsLeaveTheOptionsAlone(t *testing.T) {
	o := orchestrator.StartOptions{Values: map[string]string{"a": "x"}, Labels: map[string]string{"a": "y"}, Secret: []string{"a"}}
	e, err := orchestrator.NewLocal(orchestrator.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close(t.Context())) }()
	f := orchestrator.Flow[int, int]{Name: "f", Do: func(*orchestrator.Context, int) (int, error) { return 0, nil }}
	_, err = f.Run(t.Context(), e, 0, o)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "x"}, o.Values)
	assert.Equal(t, map[string]string{"a": "y"}, o.Labels)
}

func TestStartOptionsArePrintedWithoutSecrets(t *testing.T) {
	o := orchestrator.StartOptions{
		ID: "r", Values: map[string]string{"token": "hush", "tenant": "acme"}, Labels: map[string]string{"card": "hush", "for": "ann"},
		Secret: []string{"token", "card"},
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("start", "options", o)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("start", "options", o)
	texts := []string{logged.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		texts = append(texts, fmt.Sprintf(verb, o), fmt.Sprintf(verb, &o), fmt.Sprintf(verb, []any{o}))
	}
	for _, text := range texts {
		assert.NotContains(t, text, "hush")
		assert.Contains(t, text, "acme")
		assert.Contains(t, text, "ann")
		assert.Contains(t, text, "[secret]")
	}
}
