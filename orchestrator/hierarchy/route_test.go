package hierarchy_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/routing"
)

func TestRoute(t *testing.T) {
	movie := hierarchy.Config{Departments: hierarchy.MovieDepartments()}
	ask := func(prompt string) hierarchy.Input { return hierarchy.Input{Prompt: prompt} }
	t.Run("HC50 HA22 the route without a run", func(t *testing.T) {
		route, err := hierarchy.Route(movie, ask("Create a dramatic opening scene with Aladdin stealing bread"))
		require.NoError(t, err)
		assert.Equal(t, "story", route.Primary)
		assert.Equal(t, []string{"character", "visual", "audio"}, route.Supporting)
		assert.Equal(t, routing.Sequential, route.Mode)
		assert.Equal(t, [][]string{{"story", "character", "audio"}, {"visual"}}, route.Waves)
		var relevances []float64
		for _, r := range route.Relevances {
			relevances = append(relevances, r.Relevance)
		}
		assert.Equal(t, []float64{.85, .65, .50, .35, .15, .10}, relevances)
	})
	t.Run("HC50 it is that of a run", func(t *testing.T) {
		for _, in := range []hierarchy.Input{ask("go"), {Prompt: "go", Only: []string{"b"}}, ask("hello")} {
			th := theater{cfg: heads("a", "b"), in: in, cast: cast{"a-head": {on{"", "x"}}, "b-head": {on{"", "y"}}}}
			route, err := hierarchy.Route(th.cfg, in)
			require.NoError(t, err)
			assert.Equal(t, th.play(t).out.Route, route)
		}
	})
	t.Run("HC50 a rule of the host is asked", func(t *testing.T) {
		cfg := heads("a", "b")
		cfg.Rules.Router = orchestrator.RouteBy(routing.RouterFunc(func(_ string, targets []routing.Target) (routing.Route, error) {
			assert.Equal(t, "a", targets[0].ID)
			return routing.Route{Primary: "b"}, nil
		}))
		route, err := hierarchy.Route(cfg, ask("go"))
		require.NoError(t, err)
		assert.Equal(t, "b", route.Primary)
	})
	t.Run("HC50 what has no route is an error", func(t *testing.T) {
		_, err := hierarchy.Route(hierarchy.Config{}, ask("go"))
		require.EqualError(t, err, "hierarchy: Departments is empty")
		_, err = hierarchy.Route(heads("a"), ask(" "))
		require.ErrorIs(t, err, hierarchy.ErrInput)
		_, err = hierarchy.Route(heads("a"), hierarchy.Input{Prompt: "go", Only: []string{"x"}})
		require.EqualError(t, err, `hierarchy: route: Only names "x", which is no department`)
		cfg := heads("a")
		cfg.Rules.Router = orchestrator.RouterFunc(func(*orchestrator.Context, string, []routing.Target) (routing.Route, error) {
			return routing.Route{}, errors.New("no idea")
		})
		_, err = hierarchy.Route(cfg, ask("go"))
		require.EqualError(t, err, "hierarchy: Rules.Router: no idea")
		cfg.Rules.Router = orchestrator.RouteBy(routing.RouterFunc(func(string, []routing.Target) (routing.Route, error) { return routing.Route{Primary: "x"}, nil }))
		_, err = hierarchy.Route(cfg, ask("go"))
		require.ErrorContains(t, err, `"x"`)
		cfg.Rules.Router = orchestrator.ByAgent{Name: "model"}
		_, err = hierarchy.Route(cfg, ask("go"))
		require.ErrorContains(t, err, "hierarchy: Rules.Router has no answer without a run: ")
	})
}
