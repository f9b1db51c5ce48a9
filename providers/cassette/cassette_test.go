package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
)

func user(text string) providers.Request {
	return providers.Request{Messages: []providers.Message{{Role: providers.User, Text: text}}}
}

// taped records what use does with the model, and returns the cassette's path.
func taped(t *testing.T, o cassette.Options, m providers.Model, use func(providers.Model)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.jsonl")
	rec, err := cassette.Record(path, o)
	require.NoError(t, err)
	use(rec.Model("writer", m))
	require.NoError(t, rec.Close())
	return path
}

// play returns the model that taped has recorded.
func play(t *testing.T, path string, o cassette.Options) providers.Model {
	t.Helper()
	p, err := cassette.Play(path, o)
	require.NoError(t, err)
	return p.Model("writer")
}

// asks asks a model for the answers to texts.
func asks(t *testing.T, texts ...string) func(providers.Model) {
	t.Helper()
	return func(m providers.Model) {
		for _, text := range texts {
			_, err := m.Generate(t.Context(), user(text))
			require.NoError(t, err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestPlaysWhatWasRecorded(t *testing.T) {
	req := providers.Request{
		Messages: []providers.Message{
			{Role: providers.System, Text: "be brief"},
			{Role: providers.User, Text: "<hi> & \"you\" 世界\n"},
			{Role: providers.Assistant, Text: "let me see", ToolCalls: []providers.ToolCall{{ID: "1", Name: "look", Input: json.RawMessage(`{"b":1,"a":2}`), Extra: json.RawMessage(`{"sig":"x"}`)}}},
			{Role: providers.ToolRole, ToolID: "1", Text: "seen"},
		},
		Tools:      []providers.Tool{{Name: "look", Description: "looks", Input: json.RawMessage(`{"type":"object"}`)}, {Name: "clock"}},
		ToolChoice: "required", Output: json.RawMessage(`{"type":"object"}`), MaxTokens: 9, Temperature: new(0.5),
	}
	answer := fake.Answer{
		Text: "done: <b>\"\x01\" 世界 1e400", Stop: providers.StopLength, Model: "corp:x",
		ToolCalls: []providers.ToolCall{{ID: "2", Name: "look", Input: json.RawMessage(`{"z":1.0,"a":[12345678901234567890]}`), Extra: json.RawMessage(`{"sig":"y"}`)}, {ID: "3", Name: "clock"}},
		Usage:     providers.Usage{Calls: 1, Input: 5, Output: 4, Reasoning: 1, CacheRead: 2, Cost: 7},
	}
	var live providers.Response
	path := taped(t, cassette.Options{}, fake.New(t, answer), func(m providers.Model) {
		var err error
		live, err = m.Generate(t.Context(), req)
		require.NoError(t, err)
	})
	want := providers.Response{Text: answer.Text, ToolCalls: answer.ToolCalls, Stop: answer.Stop, Usage: answer.Usage, Model: "corp:x"}
	assert.Equal(t, want, live)

	m := play(t, path, cassette.Options{})
	for range 2 { // the last one repeats
		got, err := m.Generate(t.Context(), req)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		got.ToolCalls[0].Input[0] = 'x' // the caller's own
	}
}

// Any other request is a miss.
func TestEveryFieldIsAskedFor(t *testing.T) {
	base := func() providers.Request {
		r := user("hi")
		r.Messages = append(r.Messages, providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "1", Name: "look", Input: json.RawMessage(`{"a":1}`)}}},
			providers.Message{Role: providers.ToolRole, ToolID: "1", Text: "seen"})
		r.Tools = []providers.Tool{{Name: "look", Description: "looks", Input: json.RawMessage(`{"type":"object"}`)}}
		r.Output, r.MaxTokens, r.Temperature = json.RawMessage(`{"type":"object"}`), 9, new(0.5)
		return r
	}
	path := taped(t, cassette.Options{}, fake.New(t, fake.Text("ok")), func(m providers.Model) {
		_, err := m.Generate(t.Context(), base())
		require.NoError(t, err)
	})
	tests := []struct {
		name   string
		change func(*providers.Request)
		same   bool
	}{
		{"nothing", func(*providers.Request) {}, true},
		{"streaming", func(r *providers.Request) { r.OnText = func(string) error { return nil } }, true},
		{"the order of members", func(r *providers.Request) { r.Output = json.RawMessage(` {  "type" : "object" } `) }, true},
		{"text", func(r *providers.Request) { r.Messages[0].Text = "ho" }, false},
		{"role", func(r *providers.Request) { r.Messages[0].Role = providers.System }, false},
		{"one message more", func(r *providers.Request) { r.Messages = append(r.Messages, r.Messages[0]) }, false},
		{"tool call's ID", func(r *providers.Request) { r.Messages[1].ToolCalls[0].ID = "2" }, false},
		{"tool call's name", func(r *providers.Request) { r.Messages[1].ToolCalls[0].Name = "x" }, false},
		{"tool call's input", func(r *providers.Request) { r.Messages[1].ToolCalls[0].Input = json.RawMessage(`{"a":2}`) }, false},
		{"tool call's extra", func(r *providers.Request) { r.Messages[1].ToolCalls[0].Extra = json.RawMessage(`1`) }, false},
		{"tool's result", func(r *providers.Request) { r.Messages[2].ToolID = "2" }, false},
		{"tools", func(r *providers.Request) { r.Tools = nil }, false},
		{"tool's name", func(r *providers.Request) { r.Tools[0].Name = "x" }, false},
		{"tool's description", func(r *providers.Request) { r.Tools[0].Description = "x" }, true},
		{"tool's schema", func(r *providers.Request) { r.Tools[0].Input = nil }, false},
		{"tool choice", func(r *providers.Request) { r.ToolChoice = "none" }, false},
		{"output", func(r *providers.Request) { r.Output = nil }, false},
		{"max tokens", func(r *providers.Request) { r.MaxTokens = 0 }, false},
		{"temperature", func(r *providers.Request) { r.Temperature = nil }, false},
		{"an image", func(r *providers.Request) {
			r.Messages[0].Parts = []providers.Part{{Kind: providers.ImagePart, Media: "image/png", Data: []byte("x")}}
		}, false},
		{"top p", func(r *providers.Request) { r.TopP = new(0.5) }, false},
		{"stop", func(r *providers.Request) { r.Stop = []string{"END"} }, false},
		{"seed", func(r *providers.Request) { r.Seed = new(int64(1)) }, false},
		{"effort", func(r *providers.Request) { r.Effort = providers.EffortLow }, false},
		{"extra", func(r *providers.Request) { r.Extra = json.RawMessage(`{"a":1}`) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := base()
			tt.change(&req)
			_, err := play(t, path, cassette.Options{}).Generate(t.Context(), req)
			if tt.same {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, cassette.ErrMiss)
		})
	}
	t.Run("another model", func(t *testing.T) {
		p, err := cassette.Play(path, cassette.Options{})
		require.NoError(t, err)
		_, err = p.Model("critic").Generate(t.Context(), base())
		require.ErrorIs(t, err, cassette.ErrMiss)
		require.ErrorContains(t, err, `it has only calls of the models ["writer"]`)
	})
}

func TestRepeatedCallsPlayInOrder(t *testing.T) {
	path := taped(t, cassette.Options{}, fake.New(t, fake.Text("one"), fake.Text("other"), fake.Text("two")), asks(t, "a", "b", "a"))
	m := play(t, path, cassette.Options{})
	for i, want := range []string{"one", "two", "two", "two"} {
		got, err := m.Generate(t.Context(), user("a"))
		require.NoError(t, err)
		assert.Equal(t, want, got.Text, "call %d", i)
	}
}

func TestErrorsArePlayed(t *testing.T) {
	full := &providers.Error{
		Kind: providers.RateLimited, Model: "corp:x", Status: 429, Message: "slow down", RetryAfter: 1500 * time.Millisecond,
		TooLong: true, Usage: providers.Usage{Calls: 1, Input: 3}, Err: errors.New("the cause stays here"),
	}
	script := fake.New(t, fake.Answer{Err: full}, fake.Answer{Err: errors.New("plain")}, fake.Text("ok"))
	path := taped(t, cassette.Options{}, script, func(m providers.Model) {
		for range 3 {
			_, _ = m.Generate(t.Context(), user("a"))
		}
	})
	assert.NotContains(t, read(t, path), "the cause")
	m := play(t, path, cassette.Options{})
	_, err := m.Generate(t.Context(), user("a"))
	want := *full
	want.Err = nil
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, want, *e)
	_, err = m.Generate(t.Context(), user("a"))
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.Permanent, e.Kind)
	assert.Contains(t, e.Message, "plain")
	got, err := m.Generate(t.Context(), user("a"))
	require.NoError(t, err)
	assert.Equal(t, "ok", got.Text)
}

func TestCallsGivenUpAreNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the first call is given up while the model hangs, however slow the machine is
		enough, closed := errors.New("enough"), errors.New("closed")
		ctx, cancel := context.WithCancel(t.Context())
		script := fake.New(t, fake.Hang(), fake.Text("a b c"), fake.Text("ok"))
		model := providers.ModelFunc(func(c context.Context, req providers.Request) (providers.Response, error) {
			if c == ctx { // a model with errors of its own
				cancel()
				return providers.Response{}, closed
			}
			return script.Generate(c, req)
		})
		path := taped(t, cassette.Options{}, model, func(m providers.Model) {
			soon, stop := context.WithTimeout(t.Context(), time.Millisecond)
			defer stop()
			_, err := m.Generate(soon, user("a"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			req := user("a")
			req.OnText = func(string) error { return enough }
			_, err = m.Generate(t.Context(), req)
			require.ErrorIs(t, err, enough)
			_, err = m.Generate(ctx, user("a"))
			require.ErrorIs(t, err, closed)
			asks(t, "a")(m)
		})
		assert.Equal(t, 1, strings.Count(read(t, path), "\n"))
		got, err := play(t, path, cassette.Options{}).Generate(t.Context(), user("a"))
		require.NoError(t, err)
		assert.Equal(t, "ok", got.Text)
	})
}

// What JSON cannot carry is taken out at once, not only when it is played.
func TestInvalidUTF8(t *testing.T) {
	var live providers.Response
	path := taped(t, cassette.Options{}, fake.New(t, fake.Text("a\xffb")), func(m providers.Model) {
		var err error
		live, err = m.Generate(t.Context(), user("\xfe"))
		require.NoError(t, err)
	})
	played, err := play(t, path, cassette.Options{}).Generate(t.Context(), user("\xfe"))
	require.NoError(t, err)
	assert.Equal(t, "a\uFFFDb", live.Text)
	assert.Equal(t, live, played)
}

func TestStreamingPlaysTheText(t *testing.T) {
	var live, played []string
	ask := func(to *[]string) providers.Request {
		req := user("a")
		req.OnText = func(chunk string) error {
			*to = append(*to, chunk)
			return nil
		}
		return req
	}
	path := taped(t, cassette.Options{}, fake.New(t, fake.Text("one two")), func(m providers.Model) {
		_, err := m.Generate(t.Context(), ask(&live))
		require.NoError(t, err)
	})
	assert.Equal(t, []string{"one ", "two"}, live)
	m := play(t, path, cassette.Options{})
	_, err := m.Generate(t.Context(), ask(&played))
	require.NoError(t, err)
	assert.Equal(t, []string{"one two"}, played)
}

func TestMadeAgain(t *testing.T) {
	first, second := providers.WithKey(t.Context(), "run/0:1#1"), providers.WithKey(t.Context(), "run/0:2#1")
	script := fake.New(t)
	script.When(fake.Rule{Answers: []fake.Answer{fake.Fail(providers.Transient, 0), fake.Text("two")}})
	model := providers.ModelFunc(func(ctx context.Context, req providers.Request) (providers.Response, error) {
		return script.Generate(context.WithoutCancel(providers.WithKey(ctx, "")), req) // it does not know of keys
	})
	check := func(m providers.Model) {
		for range 2 {
			_, err := m.Generate(first, user("a"))
			require.ErrorContains(t, err, "scripted failure")
		}
		for range 2 {
			got, err := m.Generate(second, user("a"))
			require.NoError(t, err)
			assert.Equal(t, "two", got.Text)
		}
		_, err := m.Generate(first, user("a"))
		require.Error(t, err, "the first call again")
	}
	path := taped(t, cassette.Options{}, model, check)
	assert.Equal(t, 2, strings.Count(read(t, path), "\n"), "recorded once")
	check(play(t, path, cassette.Options{}))
}

func TestRecordingConcurrently(t *testing.T) {
	script := fake.New(t)
	script.When(fake.Rule{Answer: fake.Answer{From: func(r providers.Request) (fake.Answer, error) {
		return fake.Text("answer to " + r.Messages[0].Text + strings.Repeat(".", 10_000)), nil
	}}})
	texts := strings.Split("abcdefghijklmnop", "")
	all := func(m providers.Model) {
		var calls sync.WaitGroup
		for _, text := range texts {
			calls.Go(func() {
				for range 4 {
					got, err := m.Generate(t.Context(), user(text))
					assert.NoError(t, err)
					assert.Contains(t, got.Text, "answer to "+text)
				}
			})
		}
		calls.Wait()
	}
	path := taped(t, cassette.Options{}, script, all)
	assert.Equal(t, 4*len(texts), strings.Count(read(t, path), "\n"))
	all(play(t, path, cassette.Options{}))
}

func TestNewRoles(t *testing.T) {
	price := &providers.Price{Input: 1_000_000, Output: 2_000_000}
	config := providers.RoleConfig{"writer": {{Provider: "corp", Model: "x", Price: price, MaxTokens: 7}}, "critic": {{Provider: "corp", Model: "y"}}}
	path := filepath.Join(t.TempDir(), "c.jsonl")
	run := func(open func(providers.Spec) (providers.Model, error)) []providers.Response {
		roles, err := providers.NewRoles(config, open)
		require.NoError(t, err)
		var out []providers.Response
		for _, role := range []string{"writer", "critic"} {
			m, err := roles.Model(role)
			require.NoError(t, err)
			resp, err := m.Generate(t.Context(), user("a"))
			require.NoError(t, err)
			out = append(out, resp)
		}
		return out
	}
	rec, err := cassette.Record(path, cassette.Options{})
	require.NoError(t, err)
	live := run(rec.Open(func(s providers.Spec) (providers.Model, error) {
		return fake.New(t, fake.Answer{Text: "I am " + s.Model, Usage: providers.Usage{Input: 1000, Output: 500}}), nil
	}))
	require.NoError(t, rec.Close())
	player, err := cassette.Play(path, cassette.Options{})
	require.NoError(t, err)
	assert.Equal(t, live, run(player.Open))
	assert.Equal(t, providers.NanoUSD(1000+1000), live[0].Usage.Cost, "1000 tokens of 1, 500 of 2 nano-USD")
	require.NoError(t, player.Check())

	refused := errors.New("no such model")
	_, err = rec.Open(func(providers.Spec) (providers.Model, error) { return nil, refused })(providers.Spec{})
	require.ErrorIs(t, err, refused)
}

func TestPriced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	rec, err := cassette.Record(path, cassette.Options{})
	require.NoError(t, err)
	for _, tt := range []struct {
		model        providers.Model
		known, value bool
	}{
		{fake.New(t), false, false},
		{providers.Metered{Model: fake.New(t)}, true, false},
		{providers.Metered{Model: fake.New(t), Spec: providers.Spec{Price: &providers.Price{}}}, true, true},
	} {
		p, known := rec.Model("x", tt.model).(providers.Priced)
		require.Equal(t, tt.known, known)
		if known {
			assert.Equal(t, tt.value, p.Priced())
		}
	}
	require.NoError(t, rec.Close())
	p, ok := play(t, path, cassette.Options{}).(providers.Priced)
	require.True(t, ok)
	assert.True(t, p.Priced(), "playing is free of charge")
}
