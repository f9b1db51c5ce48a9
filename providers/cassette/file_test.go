package cassette_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
)

func TestMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("an old one\n"), 0o644))
	require.NoError(t, os.Chmod(path, 0o644))
	rec, err := cassette.Record(path, cassette.Options{})
	require.NoError(t, err)
	require.NoError(t, rec.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	assert.Empty(t, read(t, path), "the old one is gone")
}

func TestFormat(t *testing.T) {
	script := fake.New(t, fake.Text("<hello>"), fake.Fail(providers.RateLimited, 7e9))
	path := taped(t, cassette.Options{}, script, func(m providers.Model) {
		for range 2 {
			_, _ = m.Generate(t.Context(), user("hi"))
		}
	})
	lines := strings.Split(strings.TrimSpace(read(t, path)), "\n")
	require.Len(t, lines, 2)
	sum := sha256.Sum256([]byte(`"writer" {"messages":[{"role":"user","text":"hi"}]}`))
	begin := fmt.Sprintf(`{"v":2,"key":"%x","model":"writer","req":{"messages":[{"role":"user","text":"hi"}]},`, sum)
	assert.Equal(t, begin+`"resp":{"text":"<hello>","stop":"end","usage":{"calls":1},"model":"fake:model"}}`, lines[0])
	assert.Equal(t, begin+`"err":{"kind":"rate-limited","model":"fake:model","status":429,"message":"scripted failure","retryAfter":"7s"}}`, lines[1])
}

// A process that dies leaves whole lines, and perhaps a part of one.
func TestCrashWhileRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	rec, err := cassette.Record(path, cassette.Options{})
	require.NoError(t, err)
	asks(t, "a", "b")(rec.Model("writer", fake.New(t, fake.Text("one"), fake.Text("two")))) // and it is not closed
	whole := read(t, path)
	for cut := strings.Index(whole, "\n") + 1; cut < len(whole); cut += 7 {
		require.NoError(t, os.WriteFile(path, []byte(whole[:cut]), 0o600))
		m := play(t, path, cassette.Options{})
		got, err := m.Generate(t.Context(), user("a"))
		require.NoError(t, err)
		assert.Equal(t, "one", got.Text)
		_, err = m.Generate(t.Context(), user("b"))
		require.ErrorIs(t, err, cassette.ErrMiss)
	}
	require.NoError(t, rec.Close())
}

func TestBadFiles(t *testing.T) {
	good := strings.TrimSpace(read(t, taped(t, cassette.Options{}, fake.New(t, fake.Text("x")), asks(t, "a"))))
	tests := []struct{ name, content, want string }{
		{"no JSON", good + "\nhello\n", "line 2: invalid character"},
		{"an empty line", "\n" + good + "\n", "line 1: "},
		{"another version", strings.Replace(good, `"v":2`, `"v":3`, 1) + "\n", "line 1: it is of version 3, want 1 to 2"},
		{"no answer", `{"v":1,"key":"k","model":"m","req":{}}` + "\n", "line 1: want either resp or err"},
		{"two answers", `{"v":1,"key":"k","resp":{},"err":{}}` + "\n", "line 1: want either resp or err"},
		{"no key", `{"v":1,"resp":{}}` + "\n", "line 1: it has no key"},
		{"a bad time", `{"v":1,"key":"k","err":{"kind":"transient","retryAfter":"7"}}` + "\n", "line 1: retryAfter: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(tt.content), 0o600))
			_, err := cassette.Play(path, cassette.Options{})
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "c.jsonl")
		})
	}
	_, err := cassette.Play(filepath.Join(t.TempDir(), "none"), cassette.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = cassette.Record(filepath.Join(t.TempDir(), "none", "c.jsonl"), cassette.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWriteFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	rec, err := cassette.Record(path, cassette.Options{})
	require.NoError(t, err)
	bad := fake.Answer{ToolCalls: []providers.ToolCall{{ID: "1", Name: "x", Input: json.RawMessage(`{no`)}}, Usage: providers.Usage{Calls: 1, Input: 9}}
	m := rec.Model("writer", fake.New(t, bad, fake.Text("good")))
	_, err = m.Generate(t.Context(), user("a"))
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.Permanent, e.Kind)
	assert.Equal(t, bad.Usage, e.Usage, "it was charged")
	assert.Contains(t, e.Message, "cannot be recorded")
	asks(t, "b")(m)
	require.ErrorContains(t, rec.Close(), `cassette: record: a call of model "writer": `)
	assert.Equal(t, 1, strings.Count(read(t, path), "\n"), "the others are recorded")

	_, err = m.Generate(t.Context(), providers.Request{Output: json.RawMessage(`{no`)})
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.Invalid, e.Kind)
	assert.Contains(t, e.Message, "no JSON form")
	_, err = play(t, path, cassette.Options{}).Generate(t.Context(), providers.Request{Output: json.RawMessage(`{no`)})
	require.ErrorContains(t, err, "no JSON form")
}
