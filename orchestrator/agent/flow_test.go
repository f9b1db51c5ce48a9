package agent_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// errand has the clerk work in slices of at least two tool calls, and tells of
// each.
var errand = orchestrator.Flow[string, string]{
	Name: "errand", Agents: []string{"clerk"},
	Do: func(c *orchestrator.Context, what string) (string, error) {
		req := agent.Request{Prompt: what, Limits: agent.Limits{ToolCalls: 2}}
		resp, err := c.Call("clerk", req)
		for err == nil && resp.More {
			c.Emit("slice", len(resp.Messages))
			req = agent.Continue(req, resp)
			resp, err = c.Call("clerk", req)
		}
		return resp.Text, err
	},
}

// office is a clerk who stamps five papers, one or two in a turn, and what became
// of the stamping: how often for each key.
type office struct {
	mu      sync.Mutex
	stamped map[string]int
	stop    func(ctx context.Context, key string) error // before a paper is stamped; nil: nothing
}

func (o *office) clerk(t testing.TB) agent.Agent {
	stamp, err := agent.NewTool("stamp", "stamps a paper", func(ctx context.Context, in struct{ Paper int }) (string, error) {
		key := agent.InfoFrom(ctx).Key
		if o.stop != nil {
			if err := o.stop(ctx, key); err != nil {
				return "", err
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.stamped == nil {
			o.stamped = map[string]int{}
		}
		o.stamped[key]++
		return fmt.Sprintf("paper %d is stamped", in.Paper), ctx.Err()
	})
	require.NoError(t, err)
	return agent.LLM{Model: providers.ModelFunc(papers), Tools: []agent.Tool{stamp}}
}

// papers asks for the papers that are not stamped yet. It answers by what was said
// alone, so the same when it is asked again.
func papers(_ context.Context, req providers.Request) (providers.Response, error) {
	done := len(results(req.Messages))
	used := providers.Usage{Calls: 1, Input: int64(len(req.Messages)), Output: 1}
	var calls []providers.ToolCall
	for i := range min(1+done%2, 5-done) {
		calls = append(calls, providers.ToolCall{ID: fmt.Sprint("p", done+i), Name: "stamp", Input: agent.JSON(map[string]int{"Paper": done + i})})
	}
	if calls == nil {
		return providers.Response{Text: "all stamped", Usage: used}, nil
	}
	return providers.Response{ToolCalls: calls, Stop: providers.StopTools, Usage: used}, nil
}

func TestFlowOverSlices(t *testing.T) {
	var o office
	k := flowtest.New(errand, "stamp them", func(tb testing.TB) agent.Roster {
		tb.Helper()
		return agent.Roster{"clerk": o.clerk(tb)}
	})
	out, log, err := k.Run(t)
	require.NoError(t, err)
	assert.Equal(t, "all stamped", out)
	assert.Equal(t, []string{"started", "called", "slice", "called", "slice", "called", "ended"}, kinds(log))
	assert.Equal(t, map[string]int{"case/0/p0": 1, "case/0/p1": 1, "case/0/p2": 1, "case/1/p3": 1, "case/1/p4": 1}, o.stamped,
		"of the run, the call and the tool call")
}

func kinds(log []runlog.Record) []string {
	var all []string
	for _, rec := range log {
		all = append(all, rec.Kind)
	}
	return all
}

// Killed behind every record, the flow comes to the same end, and what is on
// record is not done again.
func TestFlowOverSlicesIsKilled(t *testing.T) {
	k := flowtest.New(errand, "stamp them", func(tb testing.TB) agent.Roster {
		tb.Helper()
		o := &office{}
		tb.Cleanup(func() {
			keys := slices.Sorted(maps.Keys(o.stamped))
			assert.Equal(tb, []string{"case/0/p0", "case/0/p1", "case/0/p2", "case/1/p3", "case/1/p4"}, keys, "no tool call has two keys")
			repeated := map[string]bool{}
			for key, n := range o.stamped {
				assert.LessOrEqual(tb, n, 3, "%s: once, and again for each of at most two kills", key)
				if n > 1 {
					repeated[key[:len("case/0")]] = true
				}
			}
			assert.LessOrEqual(tb, len(repeated), 1, "only the slice that was not on record is made again")
		})
		return agent.Roster{"clerk": o.clerk(tb)}
	})
	k.Sweep(t)
}

func TestFlowOverSlicesIsDeterministic(t *testing.T) {
	flowtest.New(errand, "stamp them", func(tb testing.TB) agent.Roster {
		tb.Helper()
		return agent.Roster{"clerk": new(office).clerk(tb)}
	}).Determinism(t)
}

// Killed in the middle of the second slice, the first is not made again.
func TestFlowGoesOnWithTheNextSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := runlog.NewMemory()
		reached := make(chan struct{})
		dying := &office{stop: func(ctx context.Context, key string) error {
			if key != "x/1/p4" {
				return nil
			}
			close(reached)
			<-ctx.Done() // the process ends
			return ctx.Err()
		}}
		first := open(t, store, dying.clerk(t))
		_, err := errand.Start(t.Context(), first, "stamp them", orchestrator.StartOptions{ID: "x"})
		require.NoError(t, err)
		<-reached
		synctest.Wait()
		require.NoError(t, first.Close(t.Context()))
		assert.Equal(t, map[string]int{"x/0/p0": 1, "x/0/p1": 1, "x/0/p2": 1, "x/1/p3": 1}, dying.stamped)

		alive := &office{}
		second := open(t, store, alive.clerk(t))
		run, err := errand.Start(t.Context(), second, "stamp them", orchestrator.StartOptions{ID: "x"})
		require.NoError(t, err)
		out, err := errand.Result(t.Context(), run)
		require.NoError(t, err)
		assert.Equal(t, "all stamped", out)
		assert.Equal(t, map[string]int{"x/1/p3": 1, "x/1/p4": 1}, alive.stamped, "with the same keys")
		require.NoError(t, second.Close(t.Context()))
	})
}

func open(t *testing.T, store runlog.Store, clerk agent.Agent) *orchestrator.Engine {
	t.Helper()
	eng, err := orchestrator.NewLocal(orchestrator.Config{
		Agents: agent.Roster{"clerk": clerk}, Flows: []orchestrator.AnyFlow{errand}, Store: store,
	})
	require.NoError(t, err)
	return eng
}

func TestFlowSeesCodesOfTheLoop(t *testing.T) {
	endless := agent.LLM{Model: again(0), Tools: []agent.Tool{wait(t)}, MaxTurns: 2}
	flow := orchestrator.Flow[string, string]{Name: "endless", Do: func(c *orchestrator.Context, what string) (string, error) {
		_, err := c.Call("clerk", agent.Request{Prompt: what})
		if !errors.Is(err, agent.ErrTurns) {
			return "", err
		}
		return fmt.Sprint(c.Spent()), nil
	}}
	k := flowtest.New(flow, "go", func(tb testing.TB) agent.Roster {
		tb.Helper()
		return agent.Roster{"clerk": endless}
	})
	out, _, err := k.Run(t)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(providers.Usage{Calls: 2, ToolCalls: 1, Input: 4, Output: 2, Cost: 14}), out)
}
