package director

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/routing"
)

func TestDefaults(t *testing.T) {
	team := Software()
	team.Agents = Agents{Director: "d", Strategist: "s"}
	cfg := team.withDefaults()
	_, err := New(team)
	require.NoError(t, err)
	t.Run("B109 BC28 the parameters", func(t *testing.T) {
		assert.Equal(t, "director", cfg.Name)
		assert.Equal(t, Retry{Attempts: 4, Conflicts: 3, Replans: 2, Stagnation: 3, Outages: 3}, cfg.Policy.Retry)
		assert.Equal(t, Bounds{
			Parallel: 3, Tasks: 200, Depth: 3, Pauses: 10, Added: 1000, TaskTime: 600 * time.Second, CallTime: 300 * time.Second, Reserve: 5,
			Watch: Watch{Calls: 15, Every: 60 * time.Second, Inactivity: 120 * time.Second},
		}, cfg.Bounds)
		assert.Equal(t, "ask", cfg.Policy.OnAbandoned)
		assert.Equal(t, "wait", cfg.Policy.OnSilence)
		for _, p := range cfg.Profiles {
			assert.Zero(t, p.Limit, p.ID)
			assert.Equal(t, p.ID, p.Agent)
		}
	})
	t.Run("B38 B109 a Preference without phases has those of Policy", func(t *testing.T) {
		assert.Equal(t, routing.Preference{Phases: cfg.Policy.Phases}, cfg.Rules.Scheduler)
		own := team
		own.Rules.Scheduler = routing.Preference{Phases: []string{"test", "build"}}
		assert.Equal(t, own.Rules.Scheduler, own.withDefaults().Rules.Scheduler)
	})
	t.Run("B109 inactivity follows the interval of the guardian", func(t *testing.T) {
		slow := team
		slow.Bounds.Watch.Every = 5 * time.Minute
		assert.Equal(t, 10*time.Minute, slow.withDefaults().Bounds.Watch.Inactivity)
	})
	t.Run("BC49 no switch is on by default", func(t *testing.T) {
		switches := 0
		var look func(v reflect.Value)
		look = func(v reflect.Value) {
			switch v.Kind() { //nolint:exhaustive // others hold no switch
			case reflect.Bool:
				switches++
				assert.False(t, v.Bool())
			case reflect.Struct:
				for _, field := range v.Fields() {
					look(field)
				}
			}
		}
		look(reflect.ValueOf(cfg))
		assert.Equal(t, 7, switches)
	})
	t.Run("BC49 None is none", func(t *testing.T) {
		none := team
		none.Policy.Retry = Retry{Attempts: 1, Conflicts: orchestrator.None, Replans: orchestrator.None, Stagnation: orchestrator.None, Outages: orchestrator.None}
		none.Bounds = Bounds{
			Depth: orchestrator.None, Pauses: orchestrator.None, Added: orchestrator.None, TaskTime: orchestrator.None, HumanTime: orchestrator.None, Reserve: orchestrator.None,
			Watch: Watch{Calls: orchestrator.None, Every: orchestrator.None, Inactivity: orchestrator.None},
		}
		got := none.withDefaults()
		assert.Equal(t, Retry{Attempts: 1}, got.Policy.Retry)
		assert.Equal(t, Bounds{Parallel: 3, Tasks: 200, CallTime: 300 * time.Second}, got.Bounds)
		_, err := New(none)
		require.NoError(t, err)
	})
}
