package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// page is a tool that returns that many bytes.
func page(t testing.TB, bytes int) agent.Tool {
	t.Helper()
	return tool(t, "page", func(context.Context, struct{}) (string, error) { return strings.Repeat("p", bytes), nil })
}

func turnPage(n int) fake.Answer {
	return fake.Call(fmt.Sprint("p", n), "page", struct{}{})
}

// reader is a model that turns so many pages, by what it is shown, and then answers. It
// notes the sizes of its requests, and refuses those with more than window tokens.
type reader struct {
	pages, window int
	seen          []int64
	keys          []string
}

func (r *reader) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	size := providers.Tokens(req)
	r.seen, r.keys = append(r.seen, size), append(r.keys, providers.KeyFrom(ctx))
	if r.window > 0 && size > int64(r.window) {
		return providers.Response{}, &providers.Error{Kind: providers.Invalid, TooLong: true, Message: "prompt is too long"}
	}
	used := providers.Usage{Calls: 1, Input: size, Output: 1, Cost: 10}
	if strings.Contains(req.Messages[0].Text, "You write the notes") {
		return providers.Response{Text: "It reads pages.", Usage: used}, nil
	}
	n := 0
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			n = max(n, int(c.ID[1]-'a')+1)
		}
	}
	if n == r.pages {
		return providers.Response{Text: "read", Usage: used}, nil
	}
	return providers.Response{ToolCalls: []providers.ToolCall{{ID: "p" + string(rune('a'+n)), Name: "page"}}, Stop: providers.StopTools, Usage: used}, nil
}

func (*reader) Priced() bool { return true }

func (*reader) Estimate(providers.Request) (providers.NanoUSD, bool) { return 10, true }

func TestLoopFitsTheWindow(t *testing.T) {
	m := &reader{pages: 20}
	llm := agent.LLM{Model: m, Instructions: "Read.", Tools: []agent.Tool{page(t, 2000)}, MaxTurns: 30, Window: 8000, Compact: agent.Compact{Keep: 1}}
	req := agent.Request{Prompt: "Read the book."}
	resp, err := llm.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r"}), req)
	require.NoError(t, err)
	assert.Equal(t, "read", resp.Text)
	assert.LessOrEqual(t, slices.Max(m.seen), int64(6000), "a quarter is left for the answer")
	assert.Len(t, results(resp.Messages), 20, "all that was said is recorded")
	assert.NotContains(t, fmt.Sprint(resp.Messages), "dropped")
	require.NotEmpty(t, resp.Compactions)
	assert.EqualValues(t, len(resp.Compactions), resp.Usage.Compacted)
	first := resp.Compactions[0]
	assert.Equal(t, 7, first.Turn, "each page has 1,051 tokens: six are more than 6,000")
	assert.Equal(t, 12, first.At)
	assert.Less(t, first.After, first.Before/2)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(m.keys))), 21, "each request has a key of its own")
	assert.Less(t, len(agent.JSON(resp.Compactions)), 3000, "no text that stays is in them")

	req, resp = otherProcess(t, req), otherProcess(t, resp)
	next := agent.Continue(req, resp)
	assert.Equal(t, m.seen[20], providers.Tokens(providers.Request{Tools: []providers.Tool{llm.Tools[0].Tool}, Messages: append(msgs{{Text: "Read."}}, next.History[:len(next.History)-1]...)}),
		"the History is what the model was shown last")
	assert.Equal(t, assistant("read"), next.History[len(next.History)-1])
	assert.Len(t, agent.Said(req, resp), 42, "the prompt, 20 turns with their results, the answer")
}

// A window is filled by what the model counts, where that is less than the estimate.
func TestWindowByWhatTheModelCounts(t *testing.T) {
	turns := func(count int64) int {
		var answers []fake.Answer
		for n := range 12 {
			a := turnPage(n)
			a.Usage.Input = int64(n+1) * count
			answers = append(answers, a)
		}
		m := fake.New(nil, append(answers, fake.Text("done"))...)
		resp, err := agent.LLM{Model: m, Tools: []agent.Tool{page(t, 2000)}, Window: 8000, Compact: agent.Compact{}}.Call(t.Context(), agent.Request{Prompt: "go"})
		require.NoError(t, err)
		require.NotEmpty(t, resp.Compactions)
		return resp.Compactions[0].Turn
	}
	assert.Equal(t, 6, turns(1000), "5,000 tokens, and a page more")
	assert.Equal(t, 12, turns(500), "5,500 tokens, and a page more")
}

func TestTooLongIsMadeShorterOnce(t *testing.T) {
	llm := agent.LLM{Tools: []agent.Tool{page(t, 2000)}, MaxTurns: 30, Compact: agent.Compact{Keep: 1}}
	t.Run("and asked again", func(t *testing.T) {
		m := &reader{pages: 9, window: 4000}
		llm.Model = m
		resp, err := llm.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r"}), agent.Request{Prompt: "go"})
		require.NoError(t, err)
		assert.Equal(t, "read", resp.Text)
		assert.EqualValues(t, len(resp.Compactions), resp.Usage.Compacted)
		assert.EqualValues(t, 10, resp.Usage.Calls, "what was refused costs nothing")
		assert.Len(t, m.seen, 10+len(resp.Compactions))
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(m.keys))), len(m.seen), "each with a key of its own")
	})
	t.Run("and refused again", func(t *testing.T) {
		m := &reader{pages: 9, window: 50}
		llm.Model = m
		_, err := llm.Call(t.Context(), agent.Request{Prompt: "go " + strings.Repeat("x", 1000)})
		assert.EqualError(t, err, "invalid: prompt is too long", "there is nothing to leave out")
		assert.Len(t, m.seen, 1)
	})
	t.Run("a Compactor that fails", func(t *testing.T) {
		llm.Model, llm.Compact = &reader{pages: 9, window: 4000}, agent.CompactFunc(func(context.Context, *agent.Talk) ([]providers.Message, error) {
			return nil, agent.Code("acme/no")
		})
		_, err := llm.Call(t.Context(), agent.Request{Prompt: "go"})
		require.ErrorIs(t, err, agent.Code("acme/no"))
		require.ErrorIs(t, err, providers.Invalid)
	})
	t.Run("without a Compactor", func(t *testing.T) {
		m := &reader{pages: 9, window: 4000}
		llm.Model, llm.Compact = m, nil
		resp, err := llm.Call(t.Context(), agent.Request{Prompt: "go"})
		require.EqualError(t, err, "invalid: prompt is too long")
		assert.Empty(t, resp.Compactions)
		assert.Len(t, m.seen, 5, "four pages do not fit")
	})
}

// The sums: the turns and the notes cost 10 each, and the next turn is reserved as one.
func TestNotesKeepToTheLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		limits agent.Limits
		notes  bool
	}{
		"no limits":                         {agent.Limits{}, true},
		"all of it":                         {agent.Limits{Cost: 200, Calls: 20}, true},
		"money for seven turns and notes":   {agent.Limits{Cost: 80}, true},
		"money for seven turns, no notes":   {agent.Limits{Cost: 75}, false},
		"calls for seven turns and notes":   {agent.Limits{Calls: 8}, true},
		"calls for seven turns, no notes":   {agent.Limits{Calls: 7}, false},
		"tokens for seven turns, no notes":  {agent.Limits{Tokens: 26_000}, false},
		"tokens for seven turns, and notes": {agent.Limits{Tokens: 60_000}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &reader{pages: 7}
			chat := msgs{user("hello " + strings.Repeat("x", 500)), assistant("yes? " + strings.Repeat("y", 500))}
			llm := agent.LLM{Model: m, Tools: []agent.Tool{page(t, 2000)}, Window: 8000, Compact: agent.Compact{Model: m, Keep: 5}}
			resp, err := llm.Call(t.Context(), agent.Request{History: chat, Prompt: "go", Limits: tt.limits})
			var notes int
			for _, c := range resp.Compactions {
				if c.Usage.Calls > 0 {
					assert.EqualValues(t, 10, c.Usage.Cost)
					notes++
				}
			}
			if !tt.notes {
				assert.Zero(t, notes)
				assert.Positive(t, resp.Usage.Compacted, "it was made shorter without")
				assert.ErrorIs(t, err, agent.Code("budget"), "of a later turn")
				return
			}
			assert.Positive(t, int64(resp.Usage.Cost))
			assert.LessOrEqual(t, resp.Usage.Cost, max(tt.limits.Cost, 200))
			if err == nil {
				assert.Positive(t, notes)
				assert.EqualValues(t, 8+notes, resp.Usage.Calls, "notes are calls of the call")
			}
		})
	}
}

func TestLLMRefusesWhatACompactorBreaks(t *testing.T) {
	history := slices.Concat(msgs{user("go")}, reads(1, 3000), reads(2, 3000))
	for name, tt := range map[string]struct {
		now  msgs
		want string
	}{
		"no prompt":         {history[1:], "the last message of the user's is missing"},
		"another prompt":    {append(msgs{user("stop")}, history[1:]...), "the last message of the user's is missing"},
		"a call only":       {history[:len(history)-1], `the tool call "t2-0" and its result are not together`},
		"a result only":     {slices.Delete(slices.Clone(history), 1, 2), `the tool call "t1-0" and its result are not together`},
		"nothing to go on":  {history[:1], "a model cannot go on from its end"},
		"nothing":           {nil, "the last message of the user's is missing"},
		"another order":     {slices.Concat(history[:1], history[3:5], history[2:3]), "are not together"},
		"results that wait": {slices.Concat(history[:2], history[:1], history[2:]), `the tool call "t1-0" and its result are not together`},
	} {
		t.Run(name, func(t *testing.T) {
			c := agent.CompactFunc(func(context.Context, *agent.Talk) ([]providers.Message, error) { return tt.now, nil })
			_, err := agent.LLM{Model: &model{}, Window: 1000, Compact: c}.Call(t.Context(), agent.Request{History: history})
			require.ErrorIs(t, err, agent.ErrCompact)
			assert.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("its own error", func(t *testing.T) {
		c := agent.CompactFunc(func(ctx context.Context, talk *agent.Talk) ([]providers.Message, error) {
			_, err := talk.Ask(ctx, providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
				return providers.Response{}, &providers.Error{Kind: providers.Transient, Usage: providers.Usage{Calls: 1, Cost: 5}}
			}), providers.Request{Messages: history})
			return nil, err
		})
		resp, err := agent.LLM{Model: &model{}, Window: 1000, Compact: c}.Call(t.Context(), agent.Request{History: history})
		require.Error(t, err)
		e := agent.ErrorOf(err)
		assert.True(t, e.Transient, "it is tried again")
		assert.EqualValues(t, 5, resp.Usage.Add(e.Usage).Cost, "counted once")
	})
}

// MaxTurns counts the turns that the conversation does not show any more.
func TestTurnsThatWereFolded(t *testing.T) {
	m := &reader{pages: 99}
	llm := agent.LLM{Model: m, Tools: []agent.Tool{page(t, 2000)}, MaxTurns: 14, Window: 4000, Compact: agent.Compact{Model: m, Keep: 1}}
	req := agent.Request{Prompt: "go", Limits: agent.Limits{ToolCalls: 2}}
	turns, folded := 0, 0
	for {
		resp, err := llm.Call(t.Context(), otherProcess(t, req))
		turns += len(results(resp.Messages))
		if errors.Is(err, agent.ErrTurns) {
			break
		}
		require.NoError(t, err)
		require.True(t, resp.More)
		require.Less(t, turns, 20)
		req = agent.Continue(req, otherProcess(t, resp))
		folded = max(folded, req.Folded)
	}
	assert.Equal(t, 12, turns, "the thirteenth and fourteenth turn are in the last slice")
	assert.Positive(t, folded)
	req.Prompt = "go on"
	resp, err := llm.Call(t.Context(), req)
	require.NoError(t, err, "another prompt counts anew")
	assert.Less(t, agent.Continue(req, resp).Folded, folded)
}

// A run in slices that is killed behind every record shows the model the same.
func TestCompactionsAreReplayed(t *testing.T) {
	read := orchestrator.Flow[string, string]{
		Name: "read", Agents: []string{"clerk"},
		Do: func(c *orchestrator.Context, what string) (string, error) {
			req := agent.Request{Prompt: what, Limits: agent.Limits{ToolCalls: 3}}
			resp, err := c.Call("clerk", req)
			used := resp.Usage
			for err == nil && resp.More {
				c.Emit("slice", len(resp.Messages))
				req = agent.Continue(req, resp)
				resp, err = c.Call("clerk", req)
				used = used.Add(resp.Usage)
			}
			return fmt.Sprintf("%s: %d times shorter, %d messages, %d calls", resp.Text, used.Compacted, len(agent.Continue(req, resp).History), used.Calls), err
		},
	}
	k := flowtest.New(read, "Read the book.", func(tb testing.TB) agent.Roster {
		tb.Helper()
		m := &reader{pages: 15}
		return agent.Roster{"clerk": agent.LLM{Model: m, Tools: []agent.Tool{page(tb, 1500)}, Window: 6000, Compact: agent.Compact{Model: m, Keep: 2}}}
	})
	out, _, err := k.Run(t)
	require.NoError(t, err)
	assert.Regexp(t, `^read: [2-9] times shorter, `, out)
	k.Sweep(t)
}
