package cassette_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
)

const (
	vendorKey = "sk-ant-0123456789abcdef"
	ownSecret = "hunter2-of-ann"
)

// leaky is a request with secrets in every place that a text can be.
func leaky() providers.Request {
	all := vendorKey + " and " + ownSecret
	data := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return b
	}
	return providers.Request{
		Messages: []providers.Message{
			{Role: providers.System, Text: all},
			{Role: providers.User, Text: `{"note":"` + all + `"}`},
			{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: ownSecret, Name: "x", Input: data([]any{map[string]any{ownSecret: all}}), Extra: data(all)}}},
			{Role: providers.ToolRole, ToolID: ownSecret, Text: all},
		},
		Tools:  []providers.Tool{{Name: "x", Description: all, Input: data(map[string]any{"description": all})}},
		Output: data(map[string]any{"description": all}),
	}
}

func TestNoSecretIsWritten(t *testing.T) {
	o := cassette.Options{Secrets: []string{ownSecret, "4929123412341234"}}
	script := fake.New(t,
		fake.Answer{
			Text: "you said " + vendorKey, Model: "corp:" + ownSecret,
			ToolCalls: []providers.ToolCall{{ID: "1", Name: "x", Input: json.RawMessage(`{"password":"pa55word","card":4929123412341234,"deep":[{"apiKey":"zzz"}],"token":"end"}`), Extra: json.RawMessage(`"` + vendorKey + `"`)}},
		},
		fake.Answer{Err: &providers.Error{Kind: providers.Permanent, Model: "corp:" + ownSecret, Message: "bad key " + vendorKey, Err: errors.New(vendorKey)}})
	var live providers.Response
	path := taped(t, o, script, func(m providers.Model) {
		var err error
		live, err = m.Generate(t.Context(), leaky())
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), leaky())
		require.EqualError(t, err, "corp:[redacted]: permanent: bad key [redacted]")
		require.NoError(t, errors.Unwrap(err), "the cause might hold one")
	})
	for _, secret := range []string{vendorKey, ownSecret, "4929123412341234", "pa55word", "zzz"} {
		assert.NotContains(t, read(t, path), secret)
	}
	assert.Equal(t, "you said [redacted]", live.Text, "the caller gets what will be played")
	assert.JSONEq(t, `{"password":"[redacted]","card":"[redacted]","deep":[{"apiKey":"[redacted]"}],"token":"end"}`, string(live.ToolCalls[0].Input))
	played, err := play(t, path, o).Generate(t.Context(), leaky())
	require.NoError(t, err)
	assert.Equal(t, live, played)
}

func TestSecretInAName(t *testing.T) {
	o := cassette.Options{Secrets: []string{ownSecret}}
	path := filepath.Join(t.TempDir(), "c.jsonl")
	rec, err := cassette.Record(path, o)
	require.NoError(t, err)
	asks(t, "a")(rec.Model("gateway of "+ownSecret, fake.New(t, fake.Text("x"))))
	require.NoError(t, rec.Close())
	assert.Contains(t, read(t, path), `"model":"gateway of [redacted]"`)
	p, err := cassette.Play(path, o)
	require.NoError(t, err)
	asks(t, "a")(p.Model("gateway of " + ownSecret))
}

// The sum that a call is found by is no text that may hold a secret.
func TestSecretInAKey(t *testing.T) {
	sum := sha256.Sum256([]byte(`"writer" {"messages":[{"role":"user","text":"a"}]}`))
	o := cassette.Options{Secrets: []string{hex.EncodeToString(sum[:4])}}
	asks(t, "a")(play(t, taped(t, o, fake.New(t, fake.Text("x")), asks(t, "a")), o))
}

// Another developer has another key, and no secrets to tell of.
func TestOtherSecretsMatch(t *testing.T) {
	ask := func(key string) string { return "my key is " + key + ", ok?" }
	path := taped(t, cassette.Options{Secrets: []string{"anns-own-one"}}, fake.New(t, fake.Text("ok")), asks(t, ask("anns-own-one")))
	for _, tt := range []struct {
		secrets []string
		key     string
	}{{[]string{"bobs"}, "bobs"}, {nil, vendorKey}, {nil, "[redacted]"}} {
		_, err := play(t, path, cassette.Options{Secrets: tt.secrets}).Generate(t.Context(), user(ask(tt.key)))
		require.NoError(t, err, tt.key)
	}
}

// What looks like a secret by its member's name must not break an answer in JSON.
func TestJSONStaysJSON(t *testing.T) {
	for _, text := range []string{
		`{"key":"implement-the-parser","primaryKey":"user-account-number"}`,
		` [ {"apiKey" : "where the key comes from"} ] `,
		`{"password":{"type":"string"},"secret":""}`,
		"risk-assessment of the task-management",
		"Here [1] it is: {never mind}\n```json\n{\"key\":\"implement-the-parser\"}\n```\nand [\"more\"]",
	} {
		got, err := play(t, taped(t, cassette.Options{}, fake.New(t, fake.Text(text)), asks(t, "a")), cassette.Options{}).Generate(t.Context(), user("a"))
		require.NoError(t, err)
		assert.Equal(t, text, got.Text)
	}
	got, err := play(t, taped(t, cassette.Options{}, fake.New(t, fake.Text(`{"b":"`+vendorKey+`","a":1.0}`)), asks(t, "a")), cassette.Options{}).Generate(t.Context(), user("a"))
	require.NoError(t, err)
	assert.Equal(t, `{"a":1.0,"b":"[redacted]"}`, got.Text)

	mixed := "with " + vendorKey + " {it} is [{\"apiKey\":\"zzz\"}] or {\"b\":\"" + vendorKey + "\"} " + vendorKey
	got, err = play(t, taped(t, cassette.Options{}, fake.New(t, fake.Text(mixed)), asks(t, "a")), cassette.Options{}).Generate(t.Context(), user("a"))
	require.NoError(t, err)
	assert.Equal(t, `with [redacted] {it} is [{"apiKey":"[redacted]"}] or {"b":"[redacted]"} [redacted]`, got.Text)

	hostile := strings.Repeat("[", 1<<14) + vendorKey
	got, err = play(t, taped(t, cassette.Options{}, fake.New(t, fake.Text(hostile)), asks(t, "a")), cassette.Options{}).Generate(t.Context(), user("a"))
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("[", 1<<14)+"[redacted]", got.Text)
}

func TestUnredacted(t *testing.T) {
	o := cassette.Options{Unredacted: true, Secrets: []string{ownSecret}}
	input := json.RawMessage(`{"password":"pa55word"}`)
	path := taped(t, o, fake.New(t, fake.Answer{Text: vendorKey, ToolCalls: []providers.ToolCall{{ID: "1", Name: "x", Input: input}}}), asks(t, ownSecret))
	assert.Contains(t, read(t, path), ownSecret)
	got, err := play(t, path, o).Generate(t.Context(), user(ownSecret))
	require.NoError(t, err)
	assert.Equal(t, vendorKey, got.Text)
	assert.Equal(t, input, got.ToolCalls[0].Input)
}

func TestRedactFunction(t *testing.T) {
	o := cassette.Options{Redact: func(text string) string { return strings.ReplaceAll(text, "Ann Other", "[name]") }}
	path := taped(t, o, fake.New(t, fake.Text("Hello, Ann Other")), asks(t, "I am Ann Other"))
	assert.NotContains(t, read(t, path), "Ann")
	got, err := play(t, path, o).Generate(t.Context(), user("I am Ann Other"))
	require.NoError(t, err)
	assert.Equal(t, "Hello, [name]", got.Text)
}

func TestNormalize(t *testing.T) {
	dates := regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	o := cassette.Options{Normalize: func(text string) string { return dates.ReplaceAllString(text, "DATE") }}
	path := taped(t, o, fake.New(t, fake.Text("it is 2026-01-02")), asks(t, "today is 2026-01-02"))
	got, err := play(t, path, o).Generate(t.Context(), user("today is 2031-12-24"))
	require.NoError(t, err)
	assert.Equal(t, "it is 2026-01-02", got.Text, "answers stay as they are")
	_, err = play(t, path, cassette.Options{}).Generate(t.Context(), user("today is 2026-01-02"))
	require.ErrorIs(t, err, cassette.ErrMiss)
}

// A secret that is still there after all is not written.
func TestRecordingFailsAtASecret(t *testing.T) {
	for name, tt := range map[string]struct {
		o   cassette.Options
		req providers.Request
	}{
		"Normalize brings one": {cassette.Options{Normalize: func(string) string { return vendorKey }}, user("a")},
		"a tool's name":        {cassette.Options{Secrets: []string{ownSecret}}, providers.Request{Tools: []providers.Tool{{Name: ownSecret}}}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.jsonl")
			rec, err := cassette.Record(path, tt.o)
			require.NoError(t, err)
			_, err = rec.Model("writer", fake.New(t, fake.Text("x"))).Generate(t.Context(), tt.req)
			require.ErrorContains(t, err, "the call cannot be recorded: it still holds a secret")
			assert.NotContains(t, err.Error(), ownSecret)
			assert.Empty(t, read(t, path))
			require.ErrorContains(t, rec.Close(), "still holds a secret")
		})
	}
}
