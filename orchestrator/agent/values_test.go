package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
)

func TestValues(t *testing.T) {
	texts := map[string]string{"tenant": "acme", "token": "hush"}
	v := agent.NewValues(texts, "token", "another")
	texts["tenant"] = "changed"
	assert.Equal(t, "acme", v.Get("tenant"), "they are a copy")
	assert.Equal(t, "hush", v.Get("token"), "an agent reads a secret")
	assert.Empty(t, v.Get("another"))
	assert.Equal(t, []string{"tenant", "token"}, v.Names())
	assert.True(t, v.Secret("token"))
	assert.False(t, v.Secret("tenant"))
	assert.Equal(t, map[string]string{"tenant": "acme", "token": "[secret]"}, v.Shown())
	v.Shown()["tenant"] = "changed"
	assert.Equal(t, "acme", v.Get("tenant"), "Shown is a copy")
}

func TestNoValues(t *testing.T) {
	for _, v := range []agent.Values{{}, agent.NewValues(nil), agent.NewValues(map[string]string{}, "x")} {
		assert.Empty(t, v.Get("x"))
		assert.Nil(t, v.Names())
		assert.False(t, v.Secret("x"))
		assert.Equal(t, map[string]string{}, v.Shown())
		assert.Equal(t, "map[]", v.String())
	}
}

func TestInfoIsPrintedWithoutSecrets(t *testing.T) {
	i := agent.Info{
		Run: "r", Values: agent.NewValues(map[string]string{"tenant": "acme", "token": "hush"}, "token"),
		Labels: agent.NewValues(map[string]string{"card": "hush"}, "card"),
	}
	encoded, err := json.Marshal(i)
	require.NoError(t, err)
	texts := []string{string(encoded)}
	for _, h := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var logged bytes.Buffer
		log := slog.New(h(&logged))
		log.Info("call", "info", i)
		texts = append(texts, logged.String())
		logged.Reset()
		log.Info("call", "values", i.Values)
		texts = append(texts, logged.String())
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		texts = append(texts, fmt.Sprintf(verb, i), fmt.Sprintf(verb, i.Values), fmt.Sprintf(verb, &i))
	}
	for _, text := range texts {
		assert.NotContains(t, text, "hush")
		assert.Contains(t, text, "acme")
		assert.Contains(t, text, "[secret]")
	}
}

func TestRoot(t *testing.T) {
	for run, root := range map[string]string{"": "", "r": "r", "r/3": "r", "r/0.2:1/7": "r"} {
		assert.Equal(t, root, agent.Info{Run: run}.Root(), run)
	}
}
