package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// wait is a tool that waits.
func wait(t testing.TB) agent.Tool {
	t.Helper()
	return tool(t, "wait", func(ctx context.Context, in struct{ For time.Duration }) (string, error) {
		select {
		case <-time.After(in.For):
			return "after " + in.For.String(), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

func waitFor(id string, d time.Duration) providers.ToolCall {
	return providers.ToolCall{ID: id, Name: "wait", Input: agent.JSON(map[string]time.Duration{"For": d})}
}

// results are the texts of the tool messages.
func results(msgs []providers.Message) []string {
	var texts []string
	for _, m := range msgs {
		if m.Role == providers.ToolRole {
			texts = append(texts, m.ToolID+": "+m.Text)
		}
	}
	return texts
}

func TestToolsOfATurnRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{waitFor("a", time.Hour), waitFor("b", time.Minute)}}, fake.Text("done"))
		begun := time.Now()
		resp, err := agent.LLM{Model: m, Tools: []agent.Tool{wait(t)}}.Call(t.Context(), agent.Request{Prompt: "go"})
		require.NoError(t, err)
		assert.Equal(t, time.Hour, time.Since(begun))
		assert.Equal(t, []string{"a: after 1h0m0s", "b: after 1m0s"}, results(resp.Messages), "in the order of the calls")
		assert.Equal(t, []providers.Role{"assistant", "tool", "tool"}, roles(resp.Messages))
	})
}

func roles(msgs []providers.Message) []providers.Role {
	var all []providers.Role
	for _, m := range msgs {
		all = append(all, m.Role)
	}
	return all
}

func TestCancelIsNoToolResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{waitFor("a", time.Hour), waitFor("b", time.Second)}, Usage: providers.Usage{Input: 5}})
		resp, err := agent.LLM{Model: m, Tools: []agent.Tool{wait(t)}}.Call(ctx, agent.Request{Prompt: "go", Limits: agent.Limits{ToolCalls: 1}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, m.Requests(), 1, "the model is not told")
		assert.Equal(t, providers.Usage{Calls: 1, Input: 5, ToolCalls: 2}, resp.Usage)
		assert.False(t, resp.More)
	})
	t.Run("before the tools are called", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := &model{answer: providers.Response{ToolCalls: []providers.ToolCall{waitFor("a", 0)}}}
		stopped := providers.ModelFunc(func(ctx context.Context, req providers.Request) (providers.Response, error) {
			cancel()
			return m.Generate(ctx, req)
		})
		never := agent.Tool{Tool: providers.Tool{Name: "wait"}, Call: func(context.Context, json.RawMessage) (string, error) {
			t.Error("called")
			return "", nil
		}}
		_, err := agent.LLM{Model: stopped, Tools: []agent.Tool{never}}.Call(ctx, agent.Request{Prompt: "go"})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// again is a model that asks for the same tool call in every turn, at 7 a turn.
func again(unpriced int64) providers.Model {
	return providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		return providers.Response{
			ToolCalls: []providers.ToolCall{waitFor("a", 0)},
			Usage:     providers.Usage{Calls: 1, Input: 2, Output: 1, Cost: 7 * providers.NanoUSD(1-unpriced), Unpriced: unpriced},
		}, nil
	})
}

func TestLimitsOfTheLoop(t *testing.T) {
	turns := func(n int64) providers.Usage {
		return providers.Usage{Calls: n, Input: 2 * n, Output: n, Cost: 7 * providers.NanoUSD(n)}
	}
	with := func(u providers.Usage, calls int64) providers.Usage {
		u.ToolCalls = calls
		return u
	}
	unpriced := providers.Usage{Calls: 1, ToolCalls: 1, Input: 2, Output: 1, Unpriced: 1}
	budget := agent.Code("budget")
	tests := []struct {
		name  string
		llm   agent.LLM
		limit agent.Limits
		want  error
		used  providers.Usage
	}{
		{"20 turns", agent.LLM{Model: again(0)}, agent.Limits{}, agent.ErrTurns, with(turns(20), 19)},
		{"3 turns", agent.LLM{Model: again(0), MaxTurns: 3}, agent.Limits{}, agent.ErrTurns, with(turns(3), 2)},
		{"one turn, no tool", agent.LLM{Model: again(0), MaxTurns: 1}, agent.Limits{}, agent.ErrTurns, turns(1)},
		{"a cost that is reached", agent.LLM{Model: known{again(0)}}, agent.Limits{Cost: 14}, budget, with(turns(2), 2)},
		{"N10 a cost that would be passed", agent.LLM{Model: known{again(0)}}, agent.Limits{Cost: 20}, budget, with(turns(2), 2)},
		{"a cost that is not known", agent.LLM{Model: known{again(1)}}, agent.Limits{Cost: 1000}, budget, unpriced},
		{"N10 one call", agent.LLM{Model: again(0)}, agent.Limits{Calls: 1}, budget, with(turns(1), 1)},
		{"N10 three calls", agent.LLM{Model: again(0)}, agent.Limits{Calls: 3}, budget, with(turns(3), 3)},
		{"N10 tokens that are reached", agent.LLM{Model: again(0)}, agent.Limits{Tokens: 9}, budget, with(turns(3), 3)},
		{"N10 tokens that would be passed", agent.LLM{Model: again(0)}, agent.Limits{Tokens: 11}, budget, with(turns(3), 3)},
		{"N10 fewer tokens than one turn uses", agent.LLM{Model: again(0)}, agent.Limits{Tokens: 1}, budget, with(turns(1), 1)},
		{"N10 the least of all", agent.LLM{Model: known{again(0)}}, agent.Limits{Cost: 100, Calls: 2, Tokens: 100}, budget, with(turns(2), 2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.llm.Tools = []agent.Tool{wait(t)}
			resp, err := tt.llm.Call(t.Context(), agent.Request{Prompt: "go", Limits: tt.limit})
			require.ErrorIs(t, err, tt.want)
			assert.Equal(t, tt.used, resp.Usage, "it is kept")
			if errors.Is(err, budget) && resp.Usage.Unpriced == 0 {
				assert.Len(t, resp.Messages, int(2*tt.used.Calls), "what was said is beside the error: a call and its result in each turn")
				assert.True(t, resp.More)
			}
			assert.False(t, agent.ErrorOf(err).Transient)
		})
	}
}

// known is a model that says that its price is known.
type known struct{ providers.Model }

func (known) Priced() bool { return true }

func TestToolCallsThatAreNotMade(t *testing.T) {
	never := agent.Tool{Tool: providers.Tool{Name: "wait"}, Call: func(context.Context, json.RawMessage) (string, error) {
		t.Error("called")
		return "", nil
	}}
	tests := []struct {
		name string
		stop providers.Stop
		want error
		says string
	}{
		{"cut off", providers.StopLength, agent.ErrCut, "turn 1 asks for 1 tool calls"},
		{"refused", providers.StopFilter, agent.ErrRefused, "I will not"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := fake.New(t, fake.Answer{Text: "I will not", ToolCalls: []providers.ToolCall{waitFor("a", 0)}, Stop: tt.stop, Usage: providers.Usage{Output: 9}})
			resp, err := agent.LLM{Model: m, Tools: []agent.Tool{never}}.Call(t.Context(), agent.Request{Prompt: "go"})
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.says)
			assert.Equal(t, providers.Usage{Calls: 1, Output: 9}, resp.Usage)
		})
	}
}

func TestModelSeesToolsAndSchema(t *testing.T) {
	m := fake.New(t, fake.Answer{Text: "{}", ToolCalls: []providers.ToolCall{waitFor("a", 0)}}, fake.JSON(map[string]int{"n": 1}))
	req := agent.Request{Prompt: "go", Output: json.RawMessage(`{"type":"object"}`), Limits: agent.Limits{MaxTokens: 9}}
	resp, err := agent.LLM{Model: m, Instructions: "Count.", Tools: []agent.Tool{wait(t)}}.Call(t.Context(), req)
	require.NoError(t, err)
	assert.JSONEq(t, `{"n":1}`, resp.Text, "of the final turn")
	for _, asked := range m.Requests() {
		require.Len(t, asked.Tools, 1)
		assert.Equal(t, "wait", asked.Tools[0].Name)
		assert.JSONEq(t, `{"type":"object"}`, string(asked.Output))
		assert.Equal(t, 9, asked.MaxTokens, "of each answer")
		assert.Nil(t, asked.OnText, "the run is not watched")
		assert.Equal(t, "Count.", asked.Messages[0].Text)
	}
}

// Vendors count calls from the same number in every turn, or give no IDs.
func TestToolCallsGetIDsOfTheirOwn(t *testing.T) {
	ids := make(chan string, 9)
	note := agent.Tool{Tool: providers.Tool{Name: "wait"}, Call: func(ctx context.Context, _ json.RawMessage) (string, error) {
		ids <- agent.InfoFrom(ctx).Key
		return "", nil
	}}
	same := providers.ToolCall{ID: "call_0", Name: "wait"}
	none := providers.ToolCall{Name: "wait"}
	m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{same}}, fake.Answer{ToolCalls: []providers.ToolCall{same}}, fake.Answer{ToolCalls: []providers.ToolCall{none, none}}, fake.Text("done"))
	ctx := agent.WithInfo(t.Context(), agent.Info{Key: "run/7"})
	resp, err := agent.LLM{Model: m, Tools: []agent.Tool{note}}.Call(ctx, agent.Request{Prompt: "go"})
	require.NoError(t, err)
	close(ids)
	var got []string
	for id := range ids {
		got = append(got, id)
	}
	slices.Sort(got)
	assert.Equal(t, []string{"run/7/call", "run/7/call-2", "run/7/call_0", "run/7/call_0-2"}, got, "the key of each")
	var calls []string
	for _, m := range resp.Messages {
		for _, c := range m.ToolCalls {
			calls = append(calls, c.ID)
		}
	}
	assert.Equal(t, []string{"call_0", "call_0-2", "call", "call-2"}, calls)
}

func TestTurnsHaveKeysOfTheirOwn(t *testing.T) {
	var keys []string
	m := providers.ModelFunc(func(ctx context.Context, req providers.Request) (providers.Response, error) {
		keys = append(keys, providers.KeyFrom(ctx))
		if len(keys)%2 == 1 {
			return again(0).Generate(ctx, req)
		}
		return providers.Response{Text: "done"}, nil
	})
	llm := agent.LLM{Model: m, Tools: []agent.Tool{wait(t)}}
	for attempt := range 2 {
		_, err := llm.Call(agent.WithInfo(t.Context(), agent.Info{Key: "run/7", Attempt: attempt + 1}), agent.Request{Prompt: "go"})
		require.NoError(t, err)
	}
	_, err := llm.Call(t.Context(), agent.Request{Prompt: "go"})
	require.NoError(t, err)
	assert.Equal(t, []string{"run/7/1.1", "run/7/1.2", "run/7/2.1", "run/7/2.2", "", ""}, keys)
}

// watcher keeps what it is told.
type watcher struct {
	looks bool
	mu    sync.Mutex
	told  []agent.Progress
}

func (w *watcher) Watching() bool { return w.looks }

func (w *watcher) Report(p agent.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, p)
}

func TestProgressOfTheLoop(t *testing.T) {
	used := providers.Usage{Calls: 1, Input: 2}
	a, none := waitFor("a", time.Second), providers.ToolCall{ID: "b", Name: "none", Input: json.RawMessage("{}")}
	m := func(t *testing.T) *fake.Model {
		t.Helper()
		return fake.New(t, fake.Answer{Text: "let me see", ToolCalls: []providers.ToolCall{a, none}, Usage: used, Latency: time.Minute}, fake.Text("done"))
	}
	t.Run("is shown to watchers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := &watcher{looks: true}
			ctx := agent.WithInfo(t.Context(), agent.Info{Agent: "ann", Branch: "2", Key: "run/2:1", Attempt: 1, Watcher: w})
			_, err := agent.LLM{Model: m(t), Tools: []agent.Tool{wait(t)}}.Call(ctx, agent.Request{Prompt: "go"})
			require.NoError(t, err)
			of := agent.Progress{Agent: "ann", Branch: "2", Key: "run/2:1", Attempt: 1}
			step := func(change func(p *agent.Progress)) agent.Progress {
				p := of
				change(&p)
				return p
			}
			text := func(turn int, text string) agent.Progress {
				return step(func(p *agent.Progress) { p.Kind, p.Turn, p.Text = agent.ProgressText, turn, text })
			}
			assert.Equal(t, []agent.Progress{
				text(1, "let "), text(1, "me "), text(1, "see"),
				step(func(p *agent.Progress) {
					p.Kind, p.Turn, p.Text, p.Model, p.Usage, p.Elapsed = agent.ProgressTurn, 1, "let me see", "fake:model", used, time.Minute
				}),
				step(func(p *agent.Progress) {
					p.Kind, p.Turn, p.Tool, p.Err = agent.ProgressTool, 1, &none, `there is no tool "none"; there are: wait`
					p.Usage = providers.Usage{ToolCalls: 1}
				}),
				step(func(p *agent.Progress) {
					p.Kind, p.Turn, p.Tool, p.Text = agent.ProgressTool, 1, &a, "after 1s"
					p.Usage, p.Elapsed = providers.Usage{ToolCalls: 1}, time.Second
				}),
				text(2, "done"),
				step(func(p *agent.Progress) {
					p.Kind, p.Turn, p.Text, p.Model, p.Usage = agent.ProgressTurn, 2, "done", "fake:model", providers.Usage{Calls: 1}
				}),
			}, w.told)
		})
	})
	t.Run("is told by tools, too", func(t *testing.T) {
		w := &watcher{looks: true}
		dig := tool(t, "dig", func(ctx context.Context, _ struct{}) (string, error) {
			agent.Report(ctx, agent.Progress{Kind: agent.ProgressStep, Text: "half way"})
			return "dug", nil
		})
		ctx := agent.WithInfo(t.Context(), agent.Info{Run: "run", Agent: "ann", Key: "run/7", Attempt: 2, Watcher: w})
		_, err := agent.LLM{Model: fake.New(t, fake.Call("c1", "dig", struct{}{}), fake.Text("done")), Tools: []agent.Tool{dig}}.Call(ctx, agent.Request{Prompt: "go"})
		require.NoError(t, err)
		assert.Contains(t, w.told, agent.Progress{Agent: "ann", Key: "run/7/c1", Attempt: 2, Kind: agent.ProgressStep, Text: "half way"})
	})
	t.Run("changes nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			call := func(looks bool) agent.Response {
				w := &watcher{looks: looks}
				ctx := agent.WithInfo(t.Context(), agent.Info{Watcher: w})
				resp, err := agent.LLM{Model: m(t), Tools: []agent.Tool{wait(t)}}.Call(ctx, agent.Request{Prompt: "go"})
				require.NoError(t, err)
				assert.Equal(t, looks, len(w.told) > 0)
				return resp
			}
			assert.Equal(t, call(false), call(true))
		})
	})
}

func TestPanicsOfToolsAreLogged(t *testing.T) {
	var log logged
	boom := tool(t, "boom", func(context.Context, struct{}) (string, error) { panic("oops") })
	m := fake.New(t, fake.Call("a", "boom", struct{}{}), fake.Text("done"))
	ctx := agent.WithInfo(t.Context(), agent.Info{Log: log.logger()})
	_, err := agent.LLM{Model: m, Tools: []agent.Tool{boom}}.Call(ctx, agent.Request{Prompt: "go"})
	require.NoError(t, err)
	assert.Contains(t, log.String(), "a tool panicked")
	assert.Contains(t, log.String(), "TestPanicsOfToolsAreLogged", "with its stack")
}

func TestModelErrorsEndTheCall(t *testing.T) {
	oops := errors.New("oops")
	m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{waitFor("a", 0)}, Usage: providers.Usage{Input: 4}},
		fake.Answer{Err: &providers.Error{Kind: providers.Transient, Usage: providers.Usage{Calls: 1, Input: 6}, Err: oops}})
	resp, err := agent.LLM{Model: m, Tools: []agent.Tool{wait(t)}}.Call(t.Context(), agent.Request{Prompt: "go"})
	require.ErrorIs(t, err, providers.Transient)
	assert.Equal(t, providers.Usage{Calls: 1, ToolCalls: 1, Input: 4}, resp.Usage, "of the turns before")
	assert.Equal(t, providers.Usage{Calls: 1, Input: 6}, agent.ErrorOf(err).Usage, "the error has its own")
	assert.Empty(t, resp.Messages)
}

// The record of a call says which model of a chain answered, and why not the first.
func TestFallbacksAreSaid(t *testing.T) {
	full := &providers.Error{Kind: providers.RateLimited, Model: "a:large", Status: 429, Message: "slow down"}
	spare := fake.New(t, fake.Call("c1", "wait", struct{ For time.Duration }{}), fake.Text("done"))
	chain, err := providers.NewChain(fake.New(t, fake.Answer{Err: full}), spare)
	require.NoError(t, err)
	resp, err := agent.LLM{Model: chain, Tools: []agent.Tool{wait(t)}}.Call(t.Context(), agent.Request{Prompt: "go"})
	require.NoError(t, err)
	assert.Equal(t, "done", resp.Text)
	before := []string{"a:large: rate-limited (HTTP 429): slow down"} // in the second turn it cools down
	assert.Equal(t, []agent.Fallback{{Turn: 1, Model: "fake:model", Before: before}, {Turn: 2, Model: "fake:model", Before: before}}, resp.Fallbacks)
	assert.Equal(t, int64(2), resp.Usage.Fallbacks)

	resp, err = agent.LLM{Model: fake.New(t, fake.Text("done"))}.Call(t.Context(), agent.Request{Prompt: "go"})
	require.NoError(t, err)
	assert.Empty(t, resp.Fallbacks)
}

// The refusal of a turn tells money as people read it.
func TestMoneyInRefusals(t *testing.T) {
	price := &providers.Price{Input: providers.Dollars(1), Output: providers.Dollars(1)}
	m := providers.Metered{Spec: providers.Spec{Provider: "p", Model: "m", Price: price}, Model: fake.New(t, fake.Answer{
		ToolCalls: []providers.ToolCall{waitFor("a", 0)}, Usage: providers.Usage{Input: 30_000, Output: 20_000},
	})}
	_, err := agent.LLM{Model: m, Tools: []agent.Tool{wait(t)}}.Call(t.Context(), agent.Request{Prompt: "go", Limits: agent.Limits{Cost: providers.Dollars(0.04)}})
	require.ErrorIs(t, err, agent.Code("budget"))
	assert.ErrorContains(t, err, "turn 2 does not start: those before it have cost 0.05 of 0.04 USD")
}
