package fake_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// asked returns what a call with a key gets: its text or its error.
func asked(t *testing.T, m *fake.Model, key, text string) string {
	t.Helper()
	resp, err := m.Generate(providers.WithKey(t.Context(), key), user(text))
	if err != nil {
		return err.Error()
	}
	return resp.Text
}

func TestCallMadeAgain(t *testing.T) {
	m := fake.New(t, fake.Text("one"), fake.Fail(providers.Transient, 0), fake.Text("two"), fake.Text("three"), fake.Text("four"))
	m.When(fake.Rule{Text: "review", Times: 1, Answer: fake.Text("fine")})
	const failed = "fake:model: transient: scripted failure"
	for _, tt := range []struct{ key, text, want string }{
		{"k1", "a", "one"},
		{"k1", "a", "one"},
		{"k2", "a", failed},
		{"k2", "a", failed},
		{"k3", "a", "two"},
		{"k3", "b", "three"}, // another request is another call
		{"k4", "review", "fine"},
		{"k4", "review", "fine"},
		{"k1", "a", "one"},
		{"", "a", "four"},
	} {
		assert.Equal(t, tt.want, asked(t, m, tt.key, tt.text), "%+v", tt)
	}
	assert.Len(t, m.Requests(), 6, "without those that were made again")
	require.NoError(t, m.Check())
}

func TestEveryFieldTellsRequestsApart(t *testing.T) {
	changes := []func(*providers.Request){
		func(*providers.Request) {},
		func(r *providers.Request) { r.Messages[0].Role = providers.System },
		func(r *providers.Request) { r.Tools = []providers.Tool{{Name: "x"}} },
		func(r *providers.Request) { r.ToolChoice = "none" },
		func(r *providers.Request) { r.Output = []byte(`{}`) },
		func(r *providers.Request) { r.MaxTokens = 1 },
		func(r *providers.Request) { r.Temperature = new(0.0) },
		func(r *providers.Request) { r.Temperature = new(0.5) },
	}
	m := fake.New(t)
	m.When(fake.Rule{Times: len(changes), Answer: fake.Text("ok")})
	ctx := providers.WithKey(t.Context(), "k")
	for range 2 {
		for _, change := range changes {
			req := user("a")
			change(&req)
			_, err := m.Generate(ctx, req)
			require.NoError(t, err)
		}
	}
	assert.Len(t, m.Requests(), len(changes))
}

// The process died during a call: the repeated call returns when the first would have.
func TestLatencyOfACallMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t, fake.Answer{Text: "late", Latency: time.Minute})
		start := time.Now()
		ctx := providers.WithKey(t.Context(), "k")
		first, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		_, err := m.Generate(first, user("a"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		got, err := m.Generate(ctx, user("a"))
		require.NoError(t, err)
		assert.Equal(t, "late", got.Text)
		assert.Equal(t, time.Minute, time.Since(start))
		_, err = m.Generate(ctx, user("a"))
		require.NoError(t, err)
		assert.Equal(t, time.Minute, time.Since(start), "at once")
	})
}

func TestDoneContextOfACallMadeAgain(t *testing.T) {
	m := fake.New(t, fake.Text("one"))
	ctx, cancel := context.WithCancel(providers.WithKey(t.Context(), "k"))
	cancel()
	_, err := m.Generate(ctx, user("a"))
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "one", asked(t, m, "k", "a"))
	_, err = m.Generate(ctx, user("a"))
	require.ErrorIs(t, err, context.Canceled)
}

// What From returned is kept as it was.
func TestFromOfACallMadeAgain(t *testing.T) {
	calls := make([]providers.ToolCall, 1)
	m := fake.New(t)
	m.When(fake.Rule{Times: 2, Answer: fake.Answer{From: func(r providers.Request) (fake.Answer, error) {
		calls[0] = providers.ToolCall{ID: r.Messages[0].Text}
		return fake.Answer{ToolCalls: calls}, nil
	}}})
	for _, key := range []string{"a", "b", "a"} {
		got, err := m.Generate(providers.WithKey(t.Context(), key), user(key))
		require.NoError(t, err)
		assert.Equal(t, key, got.ToolCalls[0].ID)
	}
}
