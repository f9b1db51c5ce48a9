package cassette_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
)

func TestMiss(t *testing.T) {
	script := fake.New(t)
	script.When(fake.Rule{Answer: fake.Text("ok")})
	path := taped(t, cassette.Options{}, script, func(m providers.Model) {
		asks(t, "write about the sea", "write about the moon", "sum up", "grade it", "write about the sea")(m)
	})
	p, err := cassette.Play(path, cassette.Options{})
	require.NoError(t, err)
	m := p.Model("writer")
	asks(t, "sum up")(m)
	require.NoError(t, p.Check())

	req := user("write about the seal")
	_, err = m.Generate(t.Context(), req)
	require.ErrorIs(t, err, cassette.ErrMiss)
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.Invalid, e.Kind, "it is not retried")
	assert.Regexp(t, `^.*c\.jsonl has no call of model "writer" with the key [0-9a-f]{12}, whose last message is user: "write about the seal"; `+
		`the nearest recorded ones are `+
		`line 1 \(messages\[0\]\.text was "write about the sea", is "write about the seal"\), `+
		`line 2 \(messages\[0\]\.text was "write about the moon", is "write about the seal"\), line `, e.Message)
	assert.Equal(t, 3, strings.Count(e.Message, "line "))

	req.MaxTokens = 5
	_, err = m.Generate(t.Context(), req)
	require.ErrorContains(t, err, `(maxTokens was not there, is 5)`)
	_, err = m.Generate(t.Context(), providers.Request{})
	require.ErrorContains(t, err, "without messages")
	require.ErrorContains(t, err, "(messages was [{")

	err = p.Check()
	require.ErrorIs(t, err, cassette.ErrMiss)
	assert.Equal(t, 3, strings.Count(err.Error(), "has no call"))
}

func TestMissShowsWhereLongTextsDiffer(t *testing.T) {
	long := strings.Repeat("The same words. ", 100)
	path := taped(t, cassette.Options{}, fake.New(t, fake.Text("x")), asks(t, long+"In winter."+long))
	_, err := play(t, path, cassette.Options{}).Generate(t.Context(), user(long+"In summer."+long))
	require.ErrorContains(t, err, `was "... The same words. In winter.The same`)
	require.ErrorContains(t, err, `is "... The same words. In summer.The same`)
	assert.Less(t, len(err.Error()), 1500)
}

func TestMissHoldsNoSecret(t *testing.T) {
	o := cassette.Options{Secrets: []string{ownSecret}}
	path := taped(t, o, fake.New(t, fake.Text("x")), asks(t, "a "+ownSecret))
	p, err := cassette.Play(path, o)
	require.NoError(t, err)
	_, err = p.Model("writer").Generate(t.Context(), user("b "+ownSecret+" "+vendorKey))
	require.ErrorIs(t, err, cassette.ErrMiss)
	assert.NotContains(t, err.Error(), ownSecret)
	assert.NotContains(t, err.Error(), vendorKey)
}

func TestMissOfAnEmptyCassette(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	rec, err := cassette.Record(path, cassette.Options{})
	require.NoError(t, err)
	require.NoError(t, rec.Close())
	_, err = play(t, path, cassette.Options{}).Generate(t.Context(), user("a"))
	require.ErrorContains(t, err, "it has no calls at all")
}
