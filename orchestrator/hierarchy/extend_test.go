package hierarchy_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

func TestExtensions(t *testing.T) {
	t.Run("H89 thresholds from history", func(t *testing.T) {
		cfg := one(specialist("s", 60))
		cfg.Rules.Threshold = grading.Adaptive{Fixed: grading.DefaultFixed}
		in := request()
		in.History = map[string][]float64{"s": {90, 90, 90, 90, 90, 90, 90, 90, 90, 90}}
		p := theater{cfg: cfg, in: in, cast: cast{"s": {said("x", 64.9), said("y", 65)}, "head": {"z"}}}.play(t)
		assert.Equal(t, 65.0, p.report(t, "d").Specialists[0].Threshold) // towards 80, by at most 5
		assert.Len(t, p.asked["s"], 2)
	})
	t.Run("H90 recommendation beyond keywords", func(t *testing.T) {
		hats := hierarchy.Agent{ID: "hats", Specialization: "painting wonderful hats"}
		rated := hierarchy.Agent{ID: "rated", Specialization: "shoes", SuccessRate: new(99.0)}
		plain := hierarchy.Agent{ID: "plain", Specialization: "gloves"}
		gone := hierarchy.Agent{ID: "gone", Specialization: "painting wonderful hats", Inactive: true}
		cfg := one(plain, rated, hats, gone)
		cfg.Rules.Selector = routing.ByWords{}
		cfg.Departments[0].MinQuality = new(0.0)
		p := theater{
			cfg: cfg, in: hierarchy.Input{Prompt: brief("a painting of hats", 50)},
			cast: cast{"hats": {"x"}, "rated": {"y"}, "head": {"z"}},
		}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"hats", "rated"}, p.events(t, hierarchy.EventSpecialistsSelected)[0].Agents)
	})
	t.Run("H93 each specialist is a record when it completes", func(t *testing.T) {
		cfg := one(specialist("slow", 60), specialist("quick", 60))
		p := theater{cfg: cfg, in: request(), cast: cast{"slow": {delay(9, said("x", 90))}, "quick": {delay(1, said("y", 90))}, "head": {"z"}}}.play(t)
		events := p.events(t, hierarchy.EventSpecialistFinished)
		assert.Equal(t, []string{"quick", "slow"}, []string{events[0].Result.AgentID, events[1].Result.AgentID})
		assert.Equal(t, "y", hierarchy.Text(events[0].Result.Output))
		var times []int
		for _, rec := range p.log {
			if team.Kind(rec.Kind) == hierarchy.EventSpecialistFinished {
				times = append(times, int(rec.At.Sub(p.log[0].At).Seconds()))
			}
		}
		assert.Equal(t, []int{1, 9}, times)
	})
}

func TestCache(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	counted := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if req.Prompt == "fail" {
			return agent.Response{}, errBoom
		}
		return agent.Response{Text: req.Prompt + strconv.Itoa(calls), Data: []byte(`1`), Usage: providers.Usage{Calls: 1, Cost: 7}}, nil
	})
	a := hierarchy.Cached(counted, 2)
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
			one := hierarchy.Cached(counted, 9)
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
			require.ErrorIs(t, err, errBoom)
		}
		assert.Equal(t, before+3, calls)
	})
	t.Run("H94 what is used stays", func(t *testing.T) {
		one := hierarchy.Cached(counted, 2)
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
			one := hierarchy.Cached(slow, 2)
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
		sliced := hierarchy.Cached(agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
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

func TestState(t *testing.T) {
	th := workedExample()
	flow, err := hierarchy.New(th.cfg)
	require.NoError(t, err)
	var during, end hierarchy.State
	synctest.Test(t, func(t *testing.T) {
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			roster[name] = script(t, th.cast[name])
		}
		release := make(chan struct{})
		head := roster["character-head"]
		roster["character-head"] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			<-release
			return head.Call(ctx, req)
		})
		eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, err)
		run, err := flow.Start(t.Context(), eng, th.in, orchestrator.StartOptions{})
		require.NoError(t, err)
		for rec, err := range run.Events(t.Context(), 0) {
			require.NoError(t, err)
			if team.Kind(rec.Kind) == hierarchy.EventDepartmentReviewed {
				break
			}
		}
		require.NoError(t, run.State(t.Context(), &during))
		close(release)
		_, err = flow.Result(t.Context(), run)
		require.NoError(t, err)
		require.NoError(t, run.State(t.Context(), &end))
		require.NoError(t, eng.Close(t.Context()))
	})

	t.Run("H93 live viewers see where it is", func(t *testing.T) {
		assert.EqualValues(t, "dispatching", during.Phase)
		require.Len(t, during.Departments, 1)
		d := during.Departments[0]
		assert.EqualValues(t, "synthesizing", d.Phase)
		assert.Nil(t, d.QualityScore)
		require.Len(t, d.Specialists, 2)
		assert.EqualValues(t, "passed", d.Specialists[0].Phase)
		assert.Equal(t, 2, d.Specialists[0].Attempts)
		require.NotNil(t, d.Specialists[0].Score)
		assert.Equal(t, 72.0, *d.Specialists[0].Score)
	})
	t.Run("H93 and where it ended", func(t *testing.T) {
		assert.EqualValues(t, "completed", end.Phase)
		require.Len(t, end.Departments, 1)
		assert.Equal(t, hierarchy.DepartmentDone, end.Departments[0].Phase)
		assert.Equal(t, new(92), end.Departments[0].QualityScore)
	})
}
