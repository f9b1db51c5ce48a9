package research_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/research"
)

func TestPhases(t *testing.T) {
	all := research.Phases.States()
	proves(t, []string{"R1 R2 nine phases and their names", "R2 nine phases and their names"}, func(t *testing.T) {
		assert.Equal(t, []research.Phase{
			"initialized", "planning", "strategy", "executing", "evaluating", "re_planning", "merging", "completed", "failed",
		}, all)
	})
	legal := map[[2]research.Phase]bool{
		{research.Initialized, research.Planning}: true, {research.Planning, research.Strategy}: true, {research.Strategy, research.Executing}: true,
		{research.Executing, research.Evaluating}: true, {research.Evaluating, research.Merging}: true, {research.Evaluating, research.Completed}: true,
		{research.Evaluating, research.RePlanning}: true, {research.RePlanning, research.Planning}: true, {research.Merging, research.Completed}: true,
	}
	for _, p := range all[:7] {
		legal[[2]research.Phase{p, research.Failed}] = true
	}
	proves(t, []string{"RA1 R6 R7 R8 R9 R10 R11 R13 R14 R15 R16 R17 RC2 sixteen legal moves of 81", "R6 sixteen legal moves of 81", "R7 sixteen legal moves of 81", "R8 sixteen legal moves of 81", "R9 sixteen legal moves of 81", "R10 sixteen legal moves of 81", "R11 sixteen legal moves of 81", "R13 sixteen legal moves of 81", "R14 sixteen legal moves of 81", "R15 sixteen legal moves of 81", "R16 sixteen legal moves of 81", "R17 sixteen legal moves of 81"}, func(t *testing.T) {
		require.Len(t, legal, 16)
		refused := 0
		for _, from := range all {
			for _, to := range all {
				err := research.CheckMove(from, to)
				if legal[[2]research.Phase{from, to}] {
					require.NoError(t, err, "%s to %s", from, to)
					continue
				}
				refused++
				require.ErrorIs(t, err, research.ErrTransition, "%s to %s", from, to)
			}
		}
		assert.Equal(t, 65, refused)
	})
	for _, tt := range []struct {
		name     string
		from, to research.Phase
		want     []string
	}{
		{"RA2 R18", research.Initialized, research.Executing, []string{"PLANNING", "STRATEGY", "INITIALIZED", "EXECUTING"}},
		{"R18 PLANNING and STRATEGY come first", research.Initialized, research.Executing, []string{"PLANNING", "STRATEGY"}},
		{"R19 the only way back", research.Executing, research.Planning, []string{"EVALUATING", "RE_PLANNING"}},
		{"R20 evaluate first", research.Executing, research.Completed, []string{"evaluate"}},
		{"R4 nothing follows the end", research.Completed, research.Failed, []string{"ended"}},
		{"RA3 R19", research.Executing, research.Planning, []string{"EVALUATING", "RE_PLANNING"}},
		{"RA4 R20", research.Executing, research.Completed, []string{"evaluate"}},
		{"RA5 R4 terminal", research.Completed, research.Failed, []string{"ended"}},
		{"RA5 R4 terminal to itself", research.Failed, research.Failed, []string{"ended"}},
		{"RA5 R17 itself", research.Planning, research.Planning, []string{"no move"}},
		{"R22 both are named", research.Merging, research.Executing, []string{"MERGING", "EXECUTING", "COMPLETED"}},
		{"RC1 RE_PLANNING to COMPLETED", research.RePlanning, research.Completed, []string{"PLANNING"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := research.CheckMove(tt.from, tt.to)
			require.ErrorIs(t, err, research.ErrTransition)
			for _, part := range tt.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
	t.Run("RA6 R13 guards say what must be established", func(t *testing.T) {
		m := research.Phases.Start(nil)
		for _, move := range [][2]string{{"start", ""}, {"planned", "plan"}, {"optimized", "optimized"}, {"executed", "steps_done"}} {
			_, err := m.Fire(move[0], "StateManager", move[1])
			require.NoError(t, err)
		}
		_, err := m.Fire("force_direct", "StateManager", "")
		require.ErrorContains(t, err, "forced_and_output_ready")
		_, err = m.Fire("force_direct", "StateManager", "forced_and_output_ready")
		require.NoError(t, err)
		assert.Equal(t, research.Completed, m.Current())
	})
	t.Run("RA7 R22 a refusal changes nothing", func(t *testing.T) {
		m := research.Phases.Start(nil)
		_, err := m.Fire("executed", "StateManager", "steps_done")
		require.Error(t, err)
		_, err = m.Fire("start", "Planner", "")
		require.Error(t, err, "only the State Manager writes the phase")
		assert.Equal(t, research.Initialized, m.Current())
		assert.Empty(t, m.History())
	})
	proves(t, []string{"R3 R23 R24 what a move writes", "R23 what a move writes", "R24 what a move writes"}, func(t *testing.T) {
		p := scored(0.9).play(t)
		require.NoError(t, p.err)
		first := p.state.Phases[0]
		assert.Equal(t, research.Initialized, first.From)
		assert.Equal(t, research.Planning, first.To)
		a := p.state.Actions[1]
		assert.Equal(t, "StateManager", a.Agent)
		assert.Equal(t, "transition_phase", a.Action)
		assert.Equal(t, map[string]any{"from": "initialized", "to": "planning"}, a.Details)
		assert.Equal(t, first.At, a.At)
		assert.Len(t, p.events(t, "phase"), 6)
	})
}
