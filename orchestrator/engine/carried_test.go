package engine_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/orchestrator/engine"
)

func TestHide(t *testing.T) {
	labels, values := map[string]string{"a": "x", "b": "y"}, map[string]string{"a": "v", "c": "w"}
	in := engine.Input{Labels: labels, Values: values}
	in.Hide([]string{"a", "missing"})
	assert.Equal(t, map[string]string{"a": "[secret]", "b": "y"}, in.Labels)
	assert.Equal(t, map[string]string{"c": "w"}, in.Values)
	assert.Equal(t, engine.Secret{Labels: map[string]string{"a": "x"}, Values: map[string]string{"a": "v"}}, in.Secret)
	assert.Equal(t, map[string]string{"a": "x", "b": "y"}, labels, "the host's map stays")
	assert.Equal(t, map[string]string{"a": "v", "c": "w"}, values, "the host's map stays")

	got, shown := in.Carried()
	assert.Equal(t, []string{"v", "w", "x", "y"}, []string{got.Get("a"), got.Get("c"), shown.Get("a"), shown.Get("b")})
	assert.Equal(t, []bool{true, false, true, false}, []bool{got.Secret("a"), got.Secret("c"), shown.Secret("a"), shown.Secret("b")})

	var child, grandchild engine.Input
	child.Carry(&in)
	grandchild.Carry(&child)
	assert.Equal(t, in, grandchild)
}

func TestSecretIsNotPrinted(t *testing.T) {
	in := engine.Input{Secret: engine.Secret{Labels: map[string]string{"a": "hush"}, Values: map[string]string{"b": "hush"}}}
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("", "secret", in.Secret, "input", in)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("", "secret", in.Secret)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		fmt.Fprintf(&out, verb, in.Secret)
		fmt.Fprintf(&out, verb, in)
	}
	assert.NotContains(t, out.String(), "hush")
	assert.Contains(t, out.String(), "[secret]")
}
