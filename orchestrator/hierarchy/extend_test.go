package hierarchy_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
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

// endState is the state of a run that is over.
func endState(t *testing.T, th theater) (end hierarchy.State) {
	t.Helper()
	flow, err := hierarchy.New(th.cfg)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			roster[name] = script(t, th.cast[name])
		}
		eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, err)
		run, err := flow.Start(t.Context(), eng, th.in, orchestrator.StartOptions{})
		require.NoError(t, err)
		_, err = flow.Result(t.Context(), run)
		require.NoError(t, err)
		require.NoError(t, run.State(t.Context(), &end))
		require.NoError(t, eng.Close(t.Context()))
	})
	return end
}

func TestLastScore(t *testing.T) {
	t.Run("H93 a try without a score leaves that of the last one", func(t *testing.T) {
		cfg := one(specialist("s", 60), specialist("z", 60))
		end := endState(t, theater{cfg: cfg, in: request(), cast: cast{
			"s": {said("x", 20), errBoom, "", errBoom}, "z": {errBoom, errBoom, errBoom, errBoom}, "head": {"whole"},
		}})
		assert.Equal(t, []hierarchy.SpecialistState{
			{AgentID: "s", Phase: "failed", Attempts: 4, Score: new(20.0)}, {AgentID: "z", Phase: "failed", Attempts: 4},
		}, end.Departments[0].Specialists)
	})
	t.Run("H93 a later score replaces it", func(t *testing.T) {
		end := endState(t, theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("x", 50), said("y", 0), said("z", 90)}, "head": {"whole"}}})
		assert.Equal(t, []hierarchy.SpecialistState{{AgentID: "s", Phase: "passed", Attempts: 3, Score: new(90.0)}}, end.Departments[0].Specialists)
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
