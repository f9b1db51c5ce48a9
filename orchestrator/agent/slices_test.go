package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

var update = flag.Bool("update", false, "write the golden files")

// logged keeps what is logged.
type logged struct{ bytes.Buffer }

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// otherProcess is v as another process reads it.
func otherProcess[T any](t *testing.T, v T) T {
	t.Helper()
	var out T
	require.NoError(t, json.Unmarshal(agent.JSON(v), &out))
	return out
}

// A loop in three slices, each in a process of its own.
func TestSlicesTranscript(t *testing.T) {
	look := func(id, words string) providers.ToolCall {
		return providers.ToolCall{ID: id, Name: "search", Input: agent.JSON(query{Words: words}), Extra: json.RawMessage(`{"sign":"` + id + `"}`)}
	}
	m := fake.New(t,
		fake.Answer{Text: "I look in two places.", ToolCalls: []providers.ToolCall{look("c1", "moon"), look("c2", "tide")}},
		fake.Answer{ToolCalls: []providers.ToolCall{look("c3", "")}},
		fake.Answer{ToolCalls: []providers.ToolCall{look("c4", "spring tide")}},
		fake.Text("The moon makes the tides."),
	)
	search := tool(t, "search", func(_ context.Context, q query) (string, error) {
		if q.Words == "" {
			return "", fmt.Errorf("words is empty")
		}
		return "a page about the " + q.Words, nil
	})
	var b strings.Builder
	req := agent.Request{Prompt: "Why are there tides?", Limits: agent.Limits{ToolCalls: 2}}
	for n := 1; ; n++ {
		llm := agent.LLM{Model: m, Instructions: "Look things up.", Tools: []agent.Tool{search}} // of this process
		resp, err := llm.Call(t.Context(), otherProcess(t, req))
		require.NoError(t, err)
		resp = otherProcess(t, resp)
		fmt.Fprintf(&b, "slice %d: more %v, used %s\n", n, resp.More, agent.JSON(resp.Usage))
		fmt.Fprintf(&b, "text: %q\n", resp.Text)
		for _, said := range resp.Messages {
			fmt.Fprintf(&b, "  %s\n", agent.JSON(said))
		}
		if !resp.More {
			break
		}
		req = agent.Continue(req, resp)
	}
	requests := m.Requests()
	fmt.Fprintf(&b, "the model's last turn: %s\n", strings.Join(strings.Fields(fmt.Sprint(roles(requests[3].Messages))), " "))
	golden(t, "slices.txt", b.String())
	whole := requests[3].Messages
	assert.Equal(t, slices.Concat([]providers.Message{{Role: providers.System, Text: "Look things up."}}, req.History), whole, "nothing is lost or said twice")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run with -update if the change is meant")
}

func TestSliceEndsByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t,
			fake.Answer{ToolCalls: []providers.ToolCall{waitFor("a", 40*time.Second)}},
			fake.Answer{ToolCalls: []providers.ToolCall{waitFor("b", 40*time.Second), waitFor("c", 40*time.Second)}},
			fake.Answer{Text: "done", Latency: time.Hour},
		)
		llm := agent.LLM{Model: m, Tools: []agent.Tool{wait(t)}}
		req := agent.Request{Prompt: "go", Limits: agent.Limits{Slice: time.Minute}}
		begun := time.Now()
		resp, err := llm.Call(t.Context(), req)
		require.NoError(t, err)
		assert.True(t, resp.More)
		assert.Equal(t, time.Minute, time.Since(begun).Round(time.Second), "its tools are stopped")
		said := results(resp.Messages)
		require.Len(t, said, 3, "each call has a result")
		assert.Equal(t, "a: after 40s", said[0])
		for i, id := range []string{"b", "c"} {
			assert.Equal(t, id+": error: stopped, for the time of this part of the work is over; call it again if its result is still needed, in smaller steps if you can: context deadline exceeded", said[i+1])
		}

		resp, err = llm.Call(t.Context(), agent.Continue(req, resp))
		require.NoError(t, err)
		assert.Equal(t, "done", resp.Text)
		assert.False(t, resp.More, "an answer is one, however long it took")
	})
}

func TestGoingOn(t *testing.T) {
	a, b := waitFor("a", 0), waitFor("b", 0)
	user := providers.Message{Role: providers.User, Text: "go"}
	asks := providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{a, b}}
	gotA := providers.Message{Role: providers.ToolRole, ToolID: "a", Text: "after 0s"}
	gotB := providers.Message{Role: providers.ToolRole, ToolID: "b", Text: "after 0s"}
	done := providers.Message{Role: providers.Assistant, Text: "done"}
	hurry := providers.Message{Role: providers.User, Text: "hurry"}
	tests := []struct {
		name  string
		req   agent.Request
		shown msgs // to the model
	}{
		{"from results", agent.Request{History: msgs{user, asks, gotA, gotB}}, msgs{user, asks, gotA, gotB}},
		{"with a word in between", agent.Request{History: msgs{user, asks, gotA, gotB}, Prompt: "hurry"}, msgs{user, asks, gotA, gotB, hurry}},
		{"old calls stay as they are", agent.Request{History: msgs{user, asks, hurry, done}, Prompt: "hurry"}, msgs{user, asks, hurry, done, hurry}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := fake.New(t, fake.Text("done"))
			resp, err := agent.LLM{Model: m, Tools: []agent.Tool{wait(t)}}.Call(t.Context(), otherProcess(t, tt.req))
			require.NoError(t, err)
			assert.Empty(t, resp.Messages)
			assert.False(t, resp.More)
			assert.Equal(t, tt.shown, m.Requests()[0].Messages)
			assert.Equal(t, append(slices.Clone(tt.shown), done), agent.Continue(tt.req, resp).History, "all that was said, in its order")
		})
	}
	t.Run("not from calls without results", func(t *testing.T) {
		_, err := agent.LLM{Model: fake.New(t), Tools: []agent.Tool{wait(t)}}.Call(t.Context(), agent.Request{History: msgs{user, asks}})
		assert.ErrorContains(t, err, "nor a History that ends in results of tools")
	})
}

// The limit on turns is for a prompt, however it is sliced.
func TestSlicesShareTheLimitOnTurns(t *testing.T) {
	llm := agent.LLM{Model: again(0), Tools: []agent.Tool{wait(t)}, MaxTurns: 3}
	req := agent.Request{Prompt: "go", Limits: agent.Limits{ToolCalls: 1}}
	for range 2 {
		resp, err := llm.Call(t.Context(), req)
		require.NoError(t, err)
		require.True(t, resp.More)
		req = agent.Continue(req, resp)
	}
	resp, err := llm.Call(t.Context(), req)
	require.ErrorIs(t, err, agent.ErrTurns)
	assert.Equal(t, int64(1), resp.Usage.Calls)

	llm.MaxTurns = 2
	resp, err = llm.Call(t.Context(), req)
	require.ErrorIs(t, err, agent.ErrTurns)
	assert.Equal(t, providers.Usage{}, resp.Usage, "the model is not asked")

	req.Prompt = "three more"
	resp, err = llm.Call(t.Context(), req)
	require.NoError(t, err)
	assert.True(t, resp.More, "a new prompt begins anew")
}

func TestSliceEndsBeforeATurnThatFails(t *testing.T) {
	asks := fake.Answer{ToolCalls: []providers.ToolCall{waitFor("a", 0)}, Usage: providers.Usage{Calls: 1, Input: 4}}
	fails := func(kind providers.Kind) fake.Answer {
		return fake.Answer{Err: &providers.Error{Kind: kind, Usage: providers.Usage{Calls: 1, Input: 6}}}
	}
	sliced := agent.Request{Prompt: "go", Limits: agent.Limits{ToolCalls: 9}}
	call := func(t *testing.T, req agent.Request, answers ...fake.Answer) (agent.Response, error) {
		t.Helper()
		return agent.LLM{Model: fake.New(t, answers...), Tools: []agent.Tool{wait(t)}}.Call(t.Context(), req)
	}
	t.Run("N15 transiently, and the model is not told", func(t *testing.T) {
		resp, err := call(t, sliced, asks, fails(providers.RateLimited))
		require.NoError(t, err)
		assert.True(t, resp.More)
		assert.Equal(t, []providers.Role{"assistant", "tool"}, roles(resp.Messages))
		assert.Equal(t, providers.Usage{Calls: 2, ToolCalls: 1, Input: 10}, resp.Usage, "the failure was charged")

		_, err = call(t, agent.Continue(sliced, resp), fails(providers.RateLimited))
		assert.ErrorIs(t, err, providers.RateLimited, "the turn alone fails")
	})
	t.Run("not for good", func(t *testing.T) {
		_, err := call(t, sliced, asks, fails(providers.Invalid))
		assert.ErrorIs(t, err, providers.Invalid)
	})
	t.Run("not the first turn", func(t *testing.T) {
		_, err := call(t, sliced, fails(providers.Transient))
		assert.ErrorIs(t, err, providers.Transient)
	})
	t.Run("not without slices", func(t *testing.T) {
		_, err := call(t, agent.Request{Prompt: "go"}, asks, fails(providers.Transient))
		assert.ErrorIs(t, err, providers.Transient)
	})
}
