package cassette_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/openai"
)

func TestRecordIfMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "team.jsonl")
	run := func(mode cassette.Mode, open func(providers.Spec) (providers.Model, error)) error {
		tape, err := cassette.Open(path, mode, cassette.Options{})
		require.NoError(t, err)
		assert.Equal(t, open != nil, tape.Recording())
		m, err := tape.Opener(open)(providers.Spec{Provider: "p", Model: "m"})
		require.NoError(t, err)
		resp, err := m.Generate(t.Context(), user("hi"))
		if err == nil {
			assert.Equal(t, "hello", resp.Text)
		}
		return tape.Close()
	}
	open := func(providers.Spec) (providers.Model, error) { return fake.New(t, fake.Text("hello")), nil }
	require.NoError(t, run(cassette.RecordIfMissing, open))
	require.NoError(t, run(cassette.RecordIfMissing, nil), "it is there: no model is opened")
	require.NoError(t, run(cassette.PlayOnly, nil))
	require.NoError(t, run(cassette.RecordAnew, open))

	tape, err := cassette.Open(path, cassette.PlayOnly, cassette.Options{})
	require.NoError(t, err)
	_, err = tape.Model("p:m", nil).Generate(t.Context(), user("something else"))
	require.ErrorIs(t, err, cassette.ErrMiss)
	require.ErrorIs(t, tape.Close(), cassette.ErrMiss)

	_, err = cassette.Open(path, "sometimes", cassette.Options{})
	require.ErrorContains(t, err, `mode is "sometimes"`)
	_, err = cassette.Open(filepath.Join(path, "no"), cassette.PlayOnly, cassette.Options{})
	require.Error(t, err)
}

// echo is a gateway that says the key back, which has no vendor's form.
type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	said := `{"choices":[{"message":{"content":"you are ` + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + `"},"finish_reason":"stop"}]}`
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(said))}, nil
}

// The keys of the opener are taken out without being named, through what is around a
// model too.
func TestKeysOfTheOpener(t *testing.T) {
	const key = "plainword-of-the-gateway"
	path := filepath.Join(t.TempDir(), "team.jsonl")
	rec, err := cassette.Record(path, cassette.Options{})
	require.NoError(t, err)
	m, err := openai.Opener{Keys: providers.Keys{"corp": key}, Transport: echo{}}.Open(providers.Spec{Provider: "corp", Model: "m", BaseURL: "https://h"})
	require.NoError(t, err)
	chain, err := providers.NewChain(m)
	require.NoError(t, err)
	for name, m := range map[string]providers.Model{"bare": m, "around": providers.Retry{Model: chain}} {
		resp, err := rec.Model(name, m).Generate(t.Context(), user("who am I?"))
		require.NoError(t, err)
		assert.Equal(t, "you are [redacted]", resp.Text)
	}
	require.NoError(t, rec.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.NotContains(t, string(data), key)
}
