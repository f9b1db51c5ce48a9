package fake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

var _ fake.T = testing.TB(nil)

// recorder is a T that keeps what a test would be failed for.
type recorder struct {
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) end() {
	for _, f := range r.cleanups {
		f()
	}
}

func user(text string) providers.Request {
	return providers.Request{Messages: []providers.Message{{Role: providers.User, Text: text}}}
}

func TestAnswersInTurn(t *testing.T) {
	m := fake.New(t, fake.Text("one"), fake.JSON(map[string]int{"n": 2}))
	first, err := m.Generate(t.Context(), user("a"))
	require.NoError(t, err)
	want := providers.Response{Text: "one", Stop: providers.StopEnd, Usage: providers.Usage{Calls: 1}, Model: "fake:model"}
	assert.Equal(t, want, first)
	second, err := m.Generate(t.Context(), user("b"))
	require.NoError(t, err)
	assert.Equal(t, `{"n":2}`, second.Text)
	require.NoError(t, m.Check())
}

func TestAnswerFieldsAreKept(t *testing.T) {
	usage := providers.Usage{Calls: 1, Input: 7, Output: 3, Cost: 5}
	m := fake.New(t, fake.Answer{Text: "cut", Stop: providers.StopLength, Usage: usage, Model: "corp:x"})
	got, err := m.Generate(t.Context(), user("a"))
	require.NoError(t, err)
	assert.Equal(t, providers.Response{Text: "cut", Stop: providers.StopLength, Usage: usage, Model: "corp:x"}, got)
}

func TestToolCalls(t *testing.T) {
	m := fake.New(t, fake.Call("c1", "search", map[string]string{"q": "go"}))
	got, err := m.Generate(t.Context(), user("a"))
	require.NoError(t, err)
	assert.Equal(t, providers.StopTools, got.Stop)
	require.Len(t, got.ToolCalls, 1)
	assert.Equal(t, "c1", got.ToolCalls[0].ID)
	assert.JSONEq(t, `{"q":"go"}`, string(got.ToolCalls[0].Input))
}

func TestRulesDoNotDependOnOrder(t *testing.T) {
	m := fake.New(t, fake.Text("in turn"))
	m.When(fake.Rule{Role: providers.User, Text: "review", Times: 2, Answer: fake.Text("fine")})
	m.When(fake.Rule{Text: "code", Answer: fake.Text("func main")})
	m.When(fake.Rule{Match: func(r providers.Request) bool { return r.MaxTokens == 9 }, Answer: fake.Text("short")})

	var wg sync.WaitGroup
	asked := map[string]string{"review a": "fine", "code a": "func main", "review b": "fine", "code b": "func main", "else": "in turn"}
	for text, want := range asked {
		wg.Go(func() {
			got, err := m.Generate(t.Context(), user(text))
			assert.NoError(t, err)
			assert.Equal(t, want, got.Text, "answer to %q", text)
		})
	}
	wg.Wait()
	req := user("x")
	req.MaxTokens = 9
	got, err := m.Generate(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, "short", got.Text)
	assert.Len(t, m.Requests(), 6)
}

func TestRoleMustMatch(t *testing.T) {
	m := fake.New(t, fake.Text("other"))
	m.When(fake.Rule{Role: providers.ToolRole, Answer: fake.Text("after the tool")})
	got, err := m.Generate(t.Context(), user("a"))
	require.NoError(t, err)
	assert.Equal(t, "other", got.Text)
}

func TestUnexpectedCallFailsTheTest(t *testing.T) {
	r := &recorder{}
	m := fake.New(r, fake.Text("only"))
	m.When(fake.Rule{Text: "review", Times: 1, Answer: fake.Text("fine")})
	for _, text := range []string{"a", "review", "review again"} {
		_, err := m.Generate(t.Context(), user(text))
		if text == "review again" {
			var e *providers.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, providers.Invalid, e.Kind)
			continue
		}
		require.NoError(t, err)
	}
	want := `fake model: unexpected call 3: last message is user: "review again"` +
		"\n\tall 1 answers in turn are used" +
		"\n\trule with the text \"review\", used 1 times of 1"
	assert.Equal(t, []string{want}, r.failures)
	r.end()
	assert.Len(t, r.failures, 1, "reported once")
}

func TestUnusedAnswersFailTheTest(t *testing.T) {
	r := &recorder{}
	m := fake.New(r, fake.Text("one"), fake.Fail(providers.Transient, 0))
	m.When(fake.Rule{Text: "x", Times: 2, Answer: fake.Text("fine")})
	m.When(fake.Rule{Text: "y", Answer: fake.Text("any number of times")})
	_, err := m.Generate(t.Context(), user("a"))
	require.NoError(t, err)
	r.end()
	assert.Equal(t, []string{
		`fake model: 1 of 2 answers were never asked for; the next one is the error "fake:model: transient: scripted failure"`,
		`fake model: answers were never asked for: rule with the text "x", used 0 times of 2`,
	}, r.failures)
}

func TestCallAfterTheTestIsNotReported(t *testing.T) {
	r := &recorder{}
	m := fake.New(r)
	r.end()
	_, err := m.Generate(t.Context(), user("late"))
	require.Error(t, err)
	assert.Empty(t, r.failures)
}

func TestCheckWithoutT(t *testing.T) {
	m := fake.New(nil, fake.Text("one"), fake.Text("two"))
	m.When(fake.Rule{Text: "never", Times: 1})
	for range 3 {
		_, _ = m.Generate(t.Context(), user("a"))
	}
	err := m.Check()
	require.Error(t, err)
	assert.Contains(t, err.Error(), "unexpected call 3")
	assert.Contains(t, err.Error(), `"never", used 0 times of 1`)
}

func TestFailures(t *testing.T) {
	plain := errors.New("plain")
	m := fake.New(t, fake.Fail(providers.RateLimited, time.Minute), fake.Answer{Err: plain})
	_, err := m.Generate(t.Context(), user("a"))
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.RateLimited, e.Kind)
	assert.Equal(t, time.Minute, e.RetryAfter)
	assert.Equal(t, 429, e.Status)

	_, err = m.Generate(t.Context(), user("a"))
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, plain)
	assert.Equal(t, providers.Permanent, e.Kind)
}

func TestHangEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t, fake.Hang())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		_, err := m.Generate(ctx, user("a"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var e *providers.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, providers.Canceled, e.Kind)
		assert.Equal(t, time.Hour, time.Since(start))
	})
}

func TestLatencyIsVirtual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := fake.Answer{Text: "late", Latency: time.Minute}
		m := fake.New(t, slow, slow)
		start := time.Now()
		_, err := m.Generate(t.Context(), user("a"))
		require.NoError(t, err)
		assert.Equal(t, time.Minute, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = m.Generate(ctx, user("b"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute+time.Second, time.Since(start))
	})
}

func TestDoneContextUsesNoAnswer(t *testing.T) {
	r := &recorder{}
	m := fake.New(r, fake.Text("one"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Generate(ctx, user("a"))
	require.ErrorIs(t, err, context.Canceled)
	r.end()
	assert.Len(t, r.failures, 1, "the answer is still unused")
}

func TestStreaming(t *testing.T) {
	stop := errors.New("enough")
	tests := []struct {
		name   string
		answer fake.Answer
		until  int // chunks until OnText fails; 0: never
		want   []string
		err    error
	}{
		{name: "by words", answer: fake.Text("one two three"), want: []string{"one ", "two ", "three"}},
		{name: "given chunks", answer: fake.Answer{Chunks: []string{"o", "ne"}}, want: []string{"o", "ne"}},
		{name: "ended by OnText", answer: fake.Text("one two three"), until: 2, want: []string{"one ", "two "}, err: stop},
		{name: "empty", answer: fake.Text("")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			req := user("a")
			req.OnText = func(chunk string) error {
				got = append(got, chunk)
				if len(got) == tt.until {
					return stop
				}
				return nil
			}
			resp, err := fake.New(t, tt.answer).Generate(t.Context(), req)
			require.ErrorIs(t, err, tt.err)
			assert.Equal(t, tt.want, got)
			if tt.err == nil {
				assert.Equal(t, strings.Join(got, ""), resp.Text)
			}
		})
	}
}

func TestRequestsAreCopies(t *testing.T) {
	m := fake.New(t, fake.Text("one"))
	req := providers.Request{
		Messages: []providers.Message{{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "c", Input: []byte(`{}`)}}}},
		Tools:    []providers.Tool{{Name: "t", Input: []byte(`{}`)}},
		Output:   []byte(`{}`), Temperature: new(1.0),
	}
	_, err := m.Generate(t.Context(), req)
	require.NoError(t, err)
	req.Messages[0].ToolCalls[0].Input[0] = 'x'
	req.Tools[0].Input[0] = 'x'
	req.Output[0] = 'x'
	*req.Temperature = 2
	for range 2 { // what Requests returns is the caller's too
		got := m.Requests()[0]
		assert.Equal(t, `{}`, string(got.Messages[0].ToolCalls[0].Input))
		assert.Equal(t, `{}`, string(got.Tools[0].Input))
		assert.Equal(t, `{}`, string(got.Output))
		assert.InDelta(t, 1.0, *got.Temperature, 0)
		got.Output[0] = 'y'
		got.Messages[0].ToolCalls[0].Input[0] = 'y'
	}
}

func TestResponsesAreCopies(t *testing.T) {
	m := fake.New(t)
	m.When(fake.Rule{Answer: fake.Call("c", "tool", 1)})
	for range 2 {
		got, err := m.Generate(t.Context(), user("a"))
		require.NoError(t, err)
		assert.Equal(t, "1", string(got.ToolCalls[0].Input))
		got.ToolCalls[0].Input[0] = '2'
	}
}

func TestRuleWithAnswersInTurn(t *testing.T) {
	r := &recorder{}
	m := fake.New(r)
	answers := []fake.Answer{fake.Text("no"), fake.Call("1", "grade", "yes"), fake.Text("unused")}
	m.When(fake.Rule{System: "the critic", Times: 9, Answer: fake.Text("not this"), Answers: answers})
	m.When(fake.Rule{System: "the writer", Answer: fake.Text("draft")})
	answers[0] = fake.Text("changed")
	answers[1].ToolCalls[0].Name = "changed"
	ask := func(system, text string) string {
		req := user(text)
		req.Messages = append([]providers.Message{{Role: providers.System, Text: "You are " + system + "."}}, req.Messages...)
		got, err := m.Generate(t.Context(), req)
		require.NoError(t, err)
		for _, c := range got.ToolCalls {
			got.Text += c.Name
		}
		return got.Text
	}
	assert.Equal(t, "no", ask("the critic", "a"))
	assert.Equal(t, "draft", ask("the writer", "the critic says no"))
	assert.Equal(t, "grade", ask("the critic", "b"))
	r.end()
	assert.Equal(t, []string{`fake model: answers were never asked for: rule under the instructions "the critic", used 2 times of 3`}, r.failures)
}
