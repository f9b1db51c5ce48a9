package orchestrator_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/routing"
)

// desks are the targets of these tests.
func desks() []routing.Target {
	return []routing.Target{
		{ID: "words", Priority: 1, Base: 10, Keywords: map[string]int{"poem": 60}, About: "writes anything"},
		{ID: "sums", Priority: 2, Base: 10, Keywords: map[string]int{"tax": 60, "add": 30}},
		{ID: "songs", Priority: 3, Barred: true},
	}
}

// routed is the route of a request about a poem.
func routed(t *testing.T, router orchestrator.Router, answers ...any) (routing.Route, *flowtest.Script, error) {
	t.Helper()
	var script *flowtest.Script
	f := orchestrator.Flow[string, routing.Route]{Name: "route", Agents: []string{"clerk"}, Do: func(c *orchestrator.Context, request string) (routing.Route, error) {
		return router.Route(c, request, desks())
	}}
	c := flowtest.New(f, "a poem about tax", func(t testing.TB) agent.Roster {
		script = flowtest.NewScript(t, answers...)
		return agent.Roster{"clerk": script}
	})
	route, _, err := c.Run(t)
	if !t.Failed() {
		c.Sweep(t)
		c.Determinism(t)
	}
	return route, script, err
}

func TestByKeywords(t *testing.T) {
	want, err := routing.DefaultKeywords.Route("a poem about tax", desks())
	require.NoError(t, err)
	for name, router := range map[string]orchestrator.Router{
		"ByKeywords": orchestrator.ByKeywords(routing.DefaultKeywords),
		"RouteBy":    orchestrator.RouteBy(routing.DefaultKeywords),
		"RouterFunc": orchestrator.RouterFunc(func(_ *orchestrator.Context, request string, targets []routing.Target) (routing.Route, error) {
			return routing.DefaultKeywords.Route(request, targets)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := router.Route(nil, "a poem about tax", desks())
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	require.EqualError(t, orchestrator.ByKeywords{Cut: 2}.Validate(), "Cut is 2, want 0 to 1")
}

func TestByAgent(t *testing.T) {
	router := orchestrator.ByAgent{Name: "clerk", Cut: 0.3}
	require.NoError(t, router.Validate())
	require.EqualError(t, orchestrator.ByAgent{}.Validate(), "Name is empty, want the name of an agent")
	require.Error(t, orchestrator.ByAgent{Name: "clerk", Cut: math.NaN()}.Validate())
	assert.Equal(t, []string{"clerk"}, orchestrator.Declarer(router).Agents())

	t.Run("a model routes", func(t *testing.T) {
		route, clerk, err := routed(t, router, `{"relevances": [{"id": "sums", "relevance": 0.9, "reason": "tax"}, {"id": "songs", "relevance": 1}, {"id": "words", "relevance": 0.4}]}`)
		require.NoError(t, err)
		require.NoError(t, route.Check(desks()))
		assert.Equal(t, "sums", route.Primary)
		assert.Equal(t, []string{"words"}, route.Supporting)
		assert.Equal(t, []routing.Relevance{
			{ID: "sums", Relevance: 0.9, Priority: 2, Reason: "tax"}, {ID: "words", Relevance: 0.4, Priority: 1}, {ID: "songs", Relevance: 1, Priority: 3},
		}, route.Relevances)
		assert.Equal(t, "Say how much this request concerns each of the teams below, from 0 (not at all) to 1 (entirely).\n\n"+
			"Request:\na poem about tax\n\nTeams:\n- words: writes anything (words: poem)\n- sums (words: add, tax)\n- songs\n\n"+
			`Answer with JSON: {"relevances": [{"id": "…", "relevance": 0.5, "reason": "…"}]}`, clerk.Requests()[0].Prompt)
	})
	t.Run("what it does not mention concerns the request by 0", func(t *testing.T) {
		route, _, err := routed(t, router, `{"relevances": [{"id": "sums", "relevance": 0.2}]}`)
		require.NoError(t, err)
		assert.Equal(t, "sums", route.Primary)
		assert.Empty(t, route.Supporting)
		assert.False(t, route.LowConfidence)
	})
	t.Run("it mentions nothing: by priority", func(t *testing.T) {
		route, _, err := routed(t, router, `{"relevances": []}`)
		require.NoError(t, err)
		assert.Equal(t, "words", route.Primary)
		assert.True(t, route.LowConfidence)
	})
	t.Run("an unknown ID is sent back once", func(t *testing.T) {
		route, clerk, err := routed(t, router, `{"relevances": [{"id": "sumz", "relevance": 1}]}`, `{"relevances": [{"id": "sums", "relevance": 1}]}`)
		require.NoError(t, err)
		assert.Equal(t, "sums", route.Primary)
		assert.Contains(t, clerk.Requests()[1].Prompt, `id "sumz" is none of ["songs" "sums" "words"]`)
	})
	t.Run("twice, and out of range, is malformed", func(t *testing.T) {
		twice := `{"relevances": [{"id": "sums", "relevance": 1}, {"id": "sums", "relevance": 0}]}`
		_, _, err := routed(t, router, twice, `{"relevances": [{"id": "sums", "relevance": 7}]}`)
		require.ErrorIs(t, err, orchestrator.ErrMalformed)
	})
	t.Run("the agent fails", func(t *testing.T) {
		_, _, err := routed(t, router, agent.ErrRefused)
		require.ErrorIs(t, err, agent.ErrRefused)
	})
}

func TestAttempts(t *testing.T) {
	oops := errors.New("oops")
	slow := agent.Transient(oops, time.Minute)
	times := func(n int, err error) []orchestrator.Try {
		tries := make([]orchestrator.Try, n)
		tries[n-1].Err = err
		return tries
	}
	again := func(after time.Duration) orchestrator.Again { return orchestrator.Again{Retry: true, After: after} }
	no := orchestrator.Again{}
	tests := []struct {
		name     string
		attempts orchestrator.Attempts
		max      int // of Working
		tries    []orchestrator.Try
		want     orchestrator.Again
	}{
		{"N21 Max counts the first try", orchestrator.Attempts{Max: 3}, 0, times(2, oops), again(0)},
		{"N21 and no more", orchestrator.Attempts{Max: 3}, 0, times(3, oops), no},
		{"N21 1 is no retry", orchestrator.Attempts{Max: 1}, 9, times(1, oops), no},
		{"0 is what the configuration allows", orchestrator.Attempts{}, 3, times(2, oops), again(0)},
		{"and no more", orchestrator.Attempts{}, 3, times(3, oops), no},
		{"neither says: no retry", orchestrator.Attempts{}, 0, times(1, oops), no},
		{"never more than 100 tries", orchestrator.Attempts{Max: math.MaxInt}, 0, times(99, oops), again(0)},
		{"never more than 100 tries, indeed", orchestrator.Attempts{}, math.MaxInt, times(100, oops), no},
		{"the first wait", orchestrator.Attempts{Max: 9, Wait: time.Second, Factor: 3}, 0, times(1, oops), again(time.Second)},
		{"it grows", orchestrator.Attempts{Max: 9, Wait: time.Second, Factor: 3}, 0, times(3, oops), again(9 * time.Second)},
		{"to the longest", orchestrator.Attempts{Max: 9, Wait: time.Second, Factor: 3, Longest: 5 * time.Second}, 0, times(3, oops), again(5 * time.Second)},
		{"no factor: it stays", orchestrator.Attempts{Max: 9, Wait: time.Second}, 0, times(5, oops), again(time.Second)},
		{"as long as the error asks for", orchestrator.Attempts{Max: 9, Wait: time.Second}, 0, times(1, slow), again(time.Minute)},
		{"also without a wait of its own", orchestrator.Attempts{Max: 9}, 0, times(1, slow), again(time.Minute)},
		{"but not longer than the longest", orchestrator.Attempts{Max: 9, Longest: 2 * time.Second}, 0, times(1, slow), again(2 * time.Second)},
		{"but not sooner than its own wait", orchestrator.Attempts{Max: 9, Wait: time.Hour}, 0, times(1, slow), again(time.Hour)},
		{"an earlier error does not count", orchestrator.Attempts{Max: 9}, 0, []orchestrator.Try{{Err: slow}, {Score: new(3.0)}}, again(0)},
		{"all errors are tried again", orchestrator.Attempts{Max: 9}, 0, times(1, agent.ErrRefused), again(0)},
		{"Final: a final one is not", orchestrator.Attempts{Max: 9, Final: true}, 0, times(1, agent.ErrRefused), no},
		{"Final: others are", orchestrator.Attempts{Max: 9, Final: true}, 0, times(1, oops), again(0)},
		{"Final: so is poor work", orchestrator.Attempts{Max: 9, Final: true}, 0, times(1, nil), again(0)},
		{"Fresh", orchestrator.Attempts{Max: 9, Fresh: true}, 0, times(1, oops), orchestrator.Again{Retry: true, Fresh: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var retrier orchestrator.Retrier = tt.attempts
			assert.Equal(t, tt.want, retrier.Next(orchestrator.Working{Max: tt.max}, tt.tries))
		})
	}
	t.Run("Validate", func(t *testing.T) {
		require.NoError(t, orchestrator.Attempts{Max: 100, Wait: 1, Factor: 1000, Longest: 1}.Validate())
		err := orchestrator.Attempts{Max: orchestrator.None, Wait: -1, Factor: math.NaN(), Longest: -1}.Validate()
		require.EqualError(t, err, "Max is -1, want 0 to 100\nWait is -1ns, want 0 or more\nFactor is NaN, want 0 to 1000\nLongest is -1ns, want 0 or more")
	})
	t.Run("a function", func(t *testing.T) {
		var r orchestrator.Retrier = orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
			return orchestrator.Again{Agent: of.ID, After: time.Duration(len(tries))}
		})
		assert.Equal(t, orchestrator.Again{Agent: "a", After: 2}, r.Next(orchestrator.Working{ID: "a"}, times(2, nil)))
	})
}

func TestRetryable(t *testing.T) {
	for err, want := range map[error]bool{
		errors.New("oops"): true, agent.Code("acme/odd"): true, orchestrator.ErrTimeout: true, orchestrator.ErrMalformed: true,
		agent.ErrRefused: false, orchestrator.ErrNoAgent: false, orchestrator.ErrBudget: false, orchestrator.ErrFlow: false,
		agent.Code("permanent"): false, agent.Code("invalid"): false,
	} {
		assert.Equal(t, want, orchestrator.Retryable(err), "%v", err)
		assert.Equal(t, want, orchestrator.Retryable(agent.ErrorOf(err)), "%v from an agent", err)
	}
}

// An engine follows the numbers of an Attempts, and refuses the rest.
func TestEngineRetries(t *testing.T) {
	for want, a := range map[string]orchestrator.Attempts{
		"Config.Retry: Fresh and Final are for the tries of teams": {Final: true},
		"Config.Retry: it is {Max:0 Wait:-1ns":                     {Wait: -1},
		"Config.Retry: Factor is 0.5, want 1 to 1000":              {Factor: 0.5},
		"Config.Retry: Factor is NaN":                              {Factor: math.NaN()},
	} {
		_, err := orchestrator.NewLocal(orchestrator.Config{Retry: a})
		require.ErrorContains(t, err, want)
	}
	flowtest.Bubble(t, func(t *testing.T) {
		busy := agent.Transient(errors.New("busy"), 0)
		calls := 0
		worker := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			if calls++; calls < 4 {
				return agent.Response{}, busy
			}
			return agent.Response{Text: "done"}, nil
		})
		eng := local(t, orchestrator.Config{Agents: agent.Roster{"a": worker}, Retry: orchestrator.Attempts{Wait: time.Minute, Factor: 10, Longest: 5 * time.Minute}})
		f := flow("call", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "x") })
		began := time.Now()
		got, err := f.Run(t.Context(), eng, none{})
		require.NoError(t, err)
		assert.Equal(t, "done", got)
		assert.InDelta(t, 11*time.Minute, time.Since(began), float64(6*time.Minute), "1, 5 and 5 minutes, with jitter")
	})
}
