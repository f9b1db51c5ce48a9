package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// deaf is a tool that waits and ignores its ctx.
func deaf(t testing.TB) agent.Tool {
	t.Helper()
	return tool(t, "deaf", func(_ context.Context, in struct{ For time.Duration }) (string, error) {
		<-time.After(in.For)
		return "after all", nil
	})
}

func deafFor(id string, d time.Duration) providers.ToolCall {
	c := waitFor(id, d)
	c.Name = "deaf"
	return c
}

const stopped = "error: stopped, for the time of this part of the work is over"

// asks is a turn that asks for tools after a while.
func asks(latency time.Duration, calls ...providers.ToolCall) fake.Answer {
	return fake.Answer{ToolCalls: calls, Latency: latency}
}

func TestSliceStopsItsTools(t *testing.T) {
	minute := agent.Limits{Slice: time.Minute, Grace: 5 * time.Second}
	tests := []struct {
		name  string
		turns []fake.Answer
		took  time.Duration
		said  []string // how results begin
	}{
		{
			"BX24 parallel tools, some done",
			[]fake.Answer{asks(0, waitFor("a", 10*time.Second), waitFor("b", time.Hour), waitFor("c", 59*time.Second))},
			time.Minute,
			[]string{"a: after 10s", "b: " + stopped, "c: after 59s"},
		},
		{
			"BX24 one ignores its ctx",
			[]fake.Answer{asks(0, deafFor("a", time.Hour), waitFor("b", time.Second))},
			65 * time.Second,
			[]string{"a: " + stopped, "b: after 1s"},
		},
		{
			"BX24 one takes a little longer to stop",
			[]fake.Answer{asks(0, deafFor("a", 64*time.Second), deafFor("b", 65*time.Second))},
			65 * time.Second,
			[]string{"a: after all", "b: after all"},
		},
		{
			"B81 one ends with the slice",
			[]fake.Answer{asks(20*time.Second, waitFor("a", 10*time.Second)), asks(0, waitFor("b", 30*time.Second), waitFor("c", 31*time.Second))},
			time.Minute,
			[]string{"a: after 10s", "b: after 30s", "c: " + stopped},
		},
		{
			"B81 a slow model does not keep the tools of its first turn from finishing",
			[]fake.Answer{asks(50*time.Second, waitFor("a", time.Minute), waitFor("b", time.Hour))},
			110 * time.Second,
			[]string{"a: after 1m0s", "b: " + stopped},
		},
		{
			"B81 nor those of a turn that comes too late",
			[]fake.Answer{asks(0, waitFor("a", time.Second)), asks(time.Minute, waitFor("b", 50*time.Second))},
			111 * time.Second,
			[]string{"a: after 1s", "b: after 50s"},
		},
		{
			"B81 an early turn does not prolong the slice",
			[]fake.Answer{asks(0, waitFor("a", 50*time.Second)), asks(time.Second, waitFor("b", 20*time.Second))},
			time.Minute,
			[]string{"a: after 50s", "b: " + stopped},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := fake.New(t, append(tt.turns, fake.Text("done"))...)
				llm := agent.LLM{Model: m, Tools: []agent.Tool{wait(t), deaf(t)}}
				req := agent.Request{Prompt: "go", Limits: minute}
				begun := time.Now()
				resp, err := llm.Call(t.Context(), req)
				require.NoError(t, err)
				assert.Equal(t, tt.took, time.Since(begun).Round(time.Millisecond))
				assert.True(t, resp.More)
				assert.Equal(t, int64(len(tt.said)), resp.Usage.ToolCalls)
				said := results(resp.Messages)
				require.Len(t, said, len(tt.said), "every call has a result, in order")
				for i, want := range tt.said {
					assert.Equal(t, want, said[i][:min(len(want), len(said[i]))])
				}
				before := otherProcess(t, resp)
				<-time.After(2 * time.Hour) // what was left behind returns
				assert.Equal(t, before, otherProcess(t, resp), "what comes later is dropped")

				req = agent.Continue(req, resp)
				resp, err = llm.Call(t.Context(), otherProcess(t, req))
				require.NoError(t, err)
				assert.Equal(t, "done", resp.Text, "the next slice goes on")
				asked := m.Requests()
				valid(t, asked[len(asked)-1].Messages)
			})
		})
	}
	t.Run("B89 the end of the call is no end of a slice", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			m := fake.New(t, asks(0, waitFor("a", time.Hour)))
			_, err := agent.LLM{Model: m, Tools: []agent.Tool{wait(t)}}.Call(ctx, agent.Request{Prompt: "go", Limits: minute})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, "during 1 tool calls: context deadline exceeded", err.Error())
		})
	})
	t.Run("BX24 watchers hear of each tool once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := &watcher{looks: true}
			ctx := agent.WithInfo(t.Context(), agent.Info{Watcher: w})
			m := fake.New(t, asks(0, deafFor("a", time.Hour), waitFor("b", time.Hour)))
			_, err := agent.LLM{Model: m, Tools: []agent.Tool{wait(t), deaf(t)}}.Call(ctx, agent.Request{Prompt: "go", Limits: minute})
			require.NoError(t, err)
			<-time.After(2 * time.Hour)
			var heard []string
			for _, p := range w.told {
				if p.Kind != agent.ProgressTool {
					continue
				}
				heard = append(heard, p.Tool.ID+" "+fmt.Sprint(p.Turn, " ", p.Elapsed.Round(time.Second), " ", strings.Contains(p.Err, "stopped")))
			}
			assert.Equal(t, []string{"b 1 1m0s true", "a 1 1m5s true"}, heard)
		})
	})
}

// valid wants a conversation that vendors take: behind each assistant's turn stand the
// results of all its calls, and nothing else in between.
func valid(t *testing.T, said msgs) {
	t.Helper()
	for i, m := range said {
		var got []string
		for _, r := range said[i+1:] {
			if r.Role != providers.ToolRole {
				break
			}
			got = append(got, r.ToolID)
		}
		if m.Role != providers.Assistant {
			continue
		}
		var want []string
		for _, c := range m.ToolCalls {
			want = append(want, c.ID)
		}
		assert.Equal(t, want, got)
	}
}

func TestNudge(t *testing.T) {
	a, b := waitFor("a", 0), waitFor("b", 0)
	asks := providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{a, b}}
	gotA := providers.Message{Role: providers.ToolRole, ToolID: "a", Text: "after 0s"}
	gotB := providers.Message{Role: providers.ToolRole, ToolID: "b", Text: "after 0s"}
	nudge := providers.Message{Role: providers.System, Text: "Does this serve the task?"}
	const missing = `agent: the History has no result of the tool call "b" (wait)`
	const nothing = "agent: the request has neither Prompt nor Input, nor a History that ends in results of tools or, behind what was said, in a system message"
	for _, tt := range []struct {
		name    string
		history msgs
		wrong   string
	}{
		{"B89 behind results", msgs{user("go"), asks, gotA, gotB, nudge}, ""},
		{"B89 in any order of the results, and twice", msgs{user("go"), asks, gotB, gotA, nudge, nudge}, ""},
		{"B89 behind an answer", msgs{user("go"), assistant("done"), nudge}, ""},
		{"B89 behind the prompt", msgs{user("go"), nudge}, ""},
		{"BC44 behind calls without results", msgs{user("go"), asks, nudge}, nothing},
		{"BC44 behind some of the results", msgs{user("go"), asks, gotA, nudge}, missing},
		{"BC44 some of the results alone", msgs{user("go"), asks, gotA}, missing},
		{"BC44 an answer alone", msgs{user("go"), assistant("done")}, nothing},
		{"BC44 alone", msgs{nudge}, nothing},
		{"BC44 nothing", nil, nothing},
		{"BC44 results from nowhere", msgs{gotA}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &model{answer: providers.Response{Text: "done"}}
			resp, err := agent.LLM{Model: m, Instructions: "Work.", Tools: []agent.Tool{wait(t)}}.Call(t.Context(), otherProcess(t, agent.Request{History: tt.history}))
			if tt.wrong != "" {
				require.EqualError(t, err, tt.wrong)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, slices.Concat(msgs{{Role: providers.System, Text: "Work."}}, tt.history), m.asked.Messages, "in its place")
			assert.Equal(t, append(slices.Clone(tt.history), assistant("done")), agent.Continue(agent.Request{History: tt.history}, resp).History)
		})
	}
	t.Run("BC58 a nudge begins no new count of turns", func(t *testing.T) {
		llm := agent.LLM{Model: again(0), Tools: []agent.Tool{wait(t)}, MaxTurns: 2}
		req := agent.Request{Prompt: "go", Limits: agent.Limits{ToolCalls: 1}}
		resp, err := llm.Call(t.Context(), req)
		require.NoError(t, err)
		req = agent.Continue(req, resp)
		req.History = append(req.History, nudge)
		_, err = llm.Call(t.Context(), req)
		require.ErrorIs(t, err, agent.ErrTurns)
	})
}

// worker asks for one call after another, so many, and each takes so long.
func worker(use agent.Tool, calls int, each time.Duration) agent.LLM {
	return agent.LLM{MaxTurns: 500, Tools: []agent.Tool{use}, Model: providers.ModelFunc(func(_ context.Context, req providers.Request) (providers.Response, error) {
		done := len(results(req.Messages))
		if done == calls {
			return providers.Response{Text: "done"}, nil
		}
		c := waitFor(fmt.Sprint("c", done), each)
		c.Name = use.Name
		return providers.Response{ToolCalls: []providers.ToolCall{c}}, nil
	})}
}

// When the slices of a worker end whose guardian looks every 15 calls or 60 s: where
// checks fall due, of a worker whose last answer comes by itself.
func TestSlicesOfAGuardian(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls int
		each  time.Duration
		use   func(testing.TB) agent.Tool
		want  string
	}{
		{"BA61", 40, 3 * time.Second, wait, "15 (45 s), 30 (90 s)"},
		{"BA62", 40, 5 * time.Second, wait, "12 (60 s), 24 (120 s), 36 (180 s)"},
		{"BA63", 10, 25 * time.Second, deaf, "3 (75 s), 6 (150 s), 9 (225 s)"},
		{"BA64 BC58 with the last call of 45 it is looked at once more", 45, 4 * time.Second, wait, "15 (60 s), 30 (120 s), 45 (180 s)"},
		{"BA65", 46, 4 * time.Second, wait, "15 (60 s), 30 (120 s), 45 (180 s)"},
		{"BA66 BC58 14 calls are none to look at", 14, time.Second, wait, ""},
	} {
		t.Run(tt.name+" B81 BC17", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const most, long = 15, time.Minute
				llm := worker(tt.use(t), tt.calls, tt.each)
				req := agent.Request{Prompt: "go"}
				var checks []string
				all, calls, since, begun := 0, 0, time.Duration(0), time.Now()
				for {
					req.Limits = agent.Limits{ToolCalls: most - calls, Slice: long - since, Grace: 30 * time.Second}
					at := time.Now()
					resp, err := llm.Call(t.Context(), req)
					require.NoError(t, err)
					if !resp.More {
						break
					}
					all, calls, since = all+int(resp.Usage.ToolCalls), calls+int(resp.Usage.ToolCalls), since+time.Since(at)
					req = agent.Continue(req, resp)
					if calls >= most || since >= long {
						checks = append(checks, fmt.Sprintf("%d (%.0f s)", all, time.Since(begun).Seconds()))
						req.History = append(req.History, providers.Message{Role: providers.System, Text: "go on"})
						calls, since = 0, 0
					}
				}
				assert.Equal(t, tt.want, strings.Join(checks, ", "))
			})
		})
	}
}

// guarded has the clerk work in slices of time, and nudges it behind each that was cut.
var guarded = orchestrator.Flow[string, string]{
	Name: "guarded", Agents: []string{"clerk"},
	Do: func(c *orchestrator.Context, what string) (string, error) {
		req := agent.Request{Prompt: what, Limits: agent.Limits{Slice: time.Minute}}
		resp, err := c.Call("clerk", req)
		for err == nil && resp.More {
			c.Emit("slice", resp.Elapsed.Round(time.Second).String())
			req = agent.Continue(req, resp)
			req.History = append(req.History, providers.Message{Role: providers.System, Text: "Take smaller steps."})
			resp, err = c.Call("clerk", req)
		}
		return resp.Text, err
	},
}

// stubborn asks for an hour until it is nudged twice, then for a second.
func stubborn(_ context.Context, req providers.Request) (providers.Response, error) {
	nudges, done := 0, 0
	for _, m := range req.Messages {
		if m.Role == providers.System {
			nudges++
		}
	}
	for _, said := range results(req.Messages) {
		if strings.HasSuffix(said, ": after 1s") {
			done++
		}
	}
	switch id := fmt.Sprint("c", len(results(req.Messages))); {
	case done > 0:
		return providers.Response{Text: fmt.Sprint("done after ", nudges, " nudges")}, nil
	case nudges < 2:
		return providers.Response{ToolCalls: []providers.ToolCall{waitFor(id, time.Second/2), waitFor(id+"x", time.Hour)}}, nil
	default:
		return providers.Response{ToolCalls: []providers.ToolCall{waitFor(id, time.Second)}}, nil
	}
}

// A worker that is cut and nudged comes to the same end wherever it is killed.
func TestNudgedWorkerIsKilled(t *testing.T) {
	k := flowtest.New(guarded, "go", func(tb testing.TB) agent.Roster {
		tb.Helper()
		return agent.Roster{"clerk": agent.LLM{Model: providers.ModelFunc(stubborn), Tools: []agent.Tool{wait(tb)}}}
	})
	out, log, err := k.Run(t)
	require.NoError(t, err)
	assert.Equal(t, "done after 2 nudges", out)
	assert.Equal(t, []string{"started", "called", "slice", "called", "slice", "called", "ended"}, kinds(log))
	k.Sweep(t)
	k.Determinism(t)
}
