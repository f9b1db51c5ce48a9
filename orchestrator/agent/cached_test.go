package agent_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func TestCache(t *testing.T) {
	errBusy := errors.New("busy")
	var mu sync.Mutex
	calls := 0
	counted := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if req.Prompt == "fail" {
			return agent.Response{}, errBusy
		}
		return agent.Response{Text: req.Prompt + strconv.Itoa(calls), Data: []byte(`1`), Usage: providers.Usage{Calls: 1, Cost: 7}}, nil
	})
	a := agent.Cached(counted, 2)
	ask := func(t *testing.T, req agent.Request) agent.Response {
		t.Helper()
		resp, err := a.Call(t.Context(), req)
		require.NoError(t, err)
		return resp
	}
	t.Run("H94 the same request costs once", func(t *testing.T) {
		first := ask(t, agent.Request{Prompt: "a"})
		first.Data[0] = '9' // the caller's own
		again := ask(t, agent.Request{Prompt: "a", Limits: agent.Limits{Total: 1}})
		assert.Equal(t, "a1", again.Text)
		assert.Equal(t, "1", string(again.Data))
		assert.Equal(t, providers.Usage{}, again.Usage)
		assert.Equal(t, 1, calls)
		assert.Equal(t, "a2", ask(t, agent.Request{Prompt: "a", Temperature: new(0.1)}).Text)
		assert.Equal(t, "a2", ask(t, agent.Request{Prompt: "a", Temperature: new(0.1)}).Text)
		for i, limits := range []agent.Limits{{MaxTokens: 9}, {ToolCalls: 9}} { // another answer is asked for
			one := agent.Cached(counted, 9)
			_, err := one.Call(t.Context(), agent.Request{Prompt: "b"})
			require.NoError(t, err)
			resp, err := one.Call(t.Context(), agent.Request{Prompt: "b", Limits: limits})
			require.NoError(t, err)
			assert.Equal(t, "b"+strconv.Itoa(4+2*i), resp.Text)
		}
	})
	t.Run("H94 bounded, and errors are not kept", func(t *testing.T) {
		ask(t, agent.Request{Prompt: "b"})
		ask(t, agent.Request{Prompt: "c"})
		before := calls
		ask(t, agent.Request{Prompt: "a"})
		assert.Equal(t, before+1, calls, "a was pushed out")
		for range 2 {
			_, err := a.Call(t.Context(), agent.Request{Prompt: "fail"})
			require.ErrorIs(t, err, errBusy)
		}
		assert.Equal(t, before+3, calls)
	})
	t.Run("H94 what is used stays", func(t *testing.T) {
		one := agent.Cached(counted, 2)
		texts := map[string]string{}
		for _, prompt := range []string{"a", "b", "a", "c", "a"} { // c pushes b out
			resp, err := one.Call(t.Context(), agent.Request{Prompt: prompt})
			require.NoError(t, err)
			if texts[prompt] != "" {
				assert.Equal(t, texts[prompt], resp.Text)
			}
			texts[prompt] = resp.Text
		}
	})
	t.Run("H94 equal requests at the same time are kept once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls, begun := 0, make(chan struct{})
			slow := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
				if calls++; req.Prompt == "a" {
					<-begun
				}
				return agent.Response{Text: req.Prompt}, nil
			})
			one := agent.Cached(slow, 2)
			ask := func(prompt string) { _, _ = one.Call(t.Context(), agent.Request{Prompt: prompt}) }
			ask("b")
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() { ask("a") })
				synctest.Wait()
			}
			close(begun)
			wg.Wait()
			ask("b")
			assert.Equal(t, 3, calls, "b has kept its place")
		})
	})
	t.Run("H94 a slice of an answer is not kept", func(t *testing.T) {
		slices := 0
		sliced := agent.Cached(agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			slices++
			return agent.Response{Text: "some", More: true}, nil
		}), 9)
		for range 2 {
			_, err := sliced.Call(t.Context(), agent.Request{Prompt: "a"})
			require.NoError(t, err)
		}
		assert.Equal(t, 2, slices)
	})
	t.Run("H94 safe for concurrent use", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { _, _ = a.Call(t.Context(), agent.Request{Prompt: strconv.Itoa(i % 5)}) })
		}
		wg.Wait()
	})
}
