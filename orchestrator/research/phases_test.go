package research_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator/research"
)

type option = fsm.Option[research.Phase, research.Move, string]

// leading returns the moves that lead to a phase from anywhere.
func leading(to research.Phase) (moves []research.Move) {
	for _, from := range research.Phases.States() {
		for _, o := range research.Phases.Allowed(from) {
			if o.To == to && !slices.Contains(moves, o.Event) {
				moves = append(moves, o.Event)
			}
		}
	}
	return moves
}

func TestPhases(t *testing.T) {
	all := research.Phases.States()
	proves(t, []string{"R1 R2 nine phases and their names", "R2 nine phases and their names"}, func(t *testing.T) {
		assert.Equal(t, []research.Phase{
			"initialized", "planning", "strategy", "executing", "evaluating", "re_planning", "merging", "completed", "failed",
		}, all)
	})
	legal := map[[2]research.Phase]bool{
		{initialized, planning}: true, {planning, strategy}: true, {strategy, executing}: true,
		{executing, evaluating}: true, {evaluating, merging}: true, {evaluating, completed}: true,
		{evaluating, rePlanning}: true, {rePlanning, planning}: true, {merging, completed}: true,
	}
	for _, p := range []research.Phase{planning, strategy, executing} {
		legal[[2]research.Phase{p, merging}] = true // where an earlier iteration was graded
	}
	for _, p := range all[:7] {
		legal[[2]research.Phase{p, failed}] = true
	}
	proves(t, []string{
		"RA1 R17 RC2 RC41 nineteen legal moves of 81", "R6 the start", "R7 to STRATEGY", "R8 to EXECUTING", "R9 to EVALUATING", "R10 to RE_PLANNING",
		"R11 to MERGING", "R13 the short way to COMPLETED", "R14 back to PLANNING", "R15 to COMPLETED", "R16 to FAILED", "R17 all others are refused",
	}, func(t *testing.T) {
		require.Len(t, legal, 19)
		refused := 0
		for _, from := range all {
			for _, to := range all {
				if !legal[[2]research.Phase{from, to}] {
					refused++
				}
				for _, move := range leading(to) {
					_, err := research.Phases.Check(from, move, "")
					if slices.ContainsFunc(research.Phases.Allowed(from), func(o option) bool { return o.Event == move }) {
						require.True(t, legal[[2]research.Phase{from, to}], "%s to %s", from, to)
						require.NoError(t, err)
						continue
					}
					require.ErrorIs(t, err, fsm.ErrTransition, "%s to %s", from, to)
				}
			}
		}
		assert.Equal(t, 62, refused)
		for pair := range legal {
			assert.True(t, slices.ContainsFunc(research.Phases.Allowed(pair[0]), func(o option) bool { return o.To == pair[1] }), "%v", pair)
		}
	})
	for _, tt := range []struct {
		name     string
		from, to research.Phase
		want     []string
	}{
		{"RA2 R18", initialized, executing, []string{"PLANNING", "STRATEGY", "INITIALIZED", "EXECUTING"}},
		{"R18 PLANNING and STRATEGY come first", initialized, executing, []string{"PLANNING", "STRATEGY"}},
		{"R19 the only way back", executing, planning, []string{"EVALUATING", "RE_PLANNING"}},
		{"R20 evaluate first", executing, completed, []string{"evaluate"}},
		{"R4 nothing follows the end", completed, failed, []string{"terminal"}},
		{"RA3 R19", executing, planning, []string{"EVALUATING", "RE_PLANNING"}},
		{"RA4 R20", executing, completed, []string{"evaluate"}},
		{"RA5 R4 terminal", completed, failed, []string{"terminal"}},
		{"RA5 R4 terminal to itself", failed, failed, []string{"terminal"}},
		{"RA5 R17 itself", planning, planning, []string{"from PLANNING to PLANNING"}},
		{"R22 both are named", merging, executing, []string{"MERGING", "EXECUTING", "completed"}},
		{"RC1 RE_PLANNING to COMPLETED", rePlanning, completed, []string{"PLANNING"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, move := range leading(tt.to) {
				_, err := research.Phases.Check(tt.from, move, "")
				require.ErrorIs(t, err, fsm.ErrTransition)
				for _, part := range tt.want {
					require.ErrorContains(t, err, part)
				}
			}
		})
	}
	t.Run("RA6 RC51 no guard stands before the short way", func(t *testing.T) {
		m := research.Phases.Start(nil)
		for _, event := range []research.Move{"start", "planned", "optimized", "executed", "force_direct"} {
			_, err := m.Fire(event, "", "")
			require.NoError(t, err)
		}
		assert.Equal(t, completed, m.Current())
	})
	t.Run("RA7 R22 a refusal changes nothing", func(t *testing.T) {
		m := research.Phases.Start(nil)
		_, err := m.Fire("executed", "", "")
		require.Error(t, err)
		assert.Equal(t, initialized, m.Current())
		assert.Empty(t, m.History())
	})
	t.Run("R17 the page shows the machine", func(t *testing.T) {
		page, err := os.ReadFile("../../docs/research.md")
		require.NoError(t, err)
		assert.Contains(t, string(page), research.Phases.Mermaid(""))
	})
	proves(t, []string{"R3 R23 R24 what a move writes", "R23 what a move writes", "R24 what a move writes"}, func(t *testing.T) {
		p := scored(0.9).play(t)
		require.NoError(t, p.err)
		first := p.state.Phases[0]
		assert.Equal(t, initialized, first.From)
		assert.Equal(t, planning, first.To)
		a := p.state.Actions[1]
		assert.Equal(t, "StateManager", a.Agent)
		assert.Equal(t, "transition_phase", a.Action)
		assert.Equal(t, map[string]any{"from": "initialized", "to": "planning"}, a.Details)
		assert.Equal(t, first.At, a.At)
		assert.Len(t, p.events(t, research.EventPhaseChanged), 6)
	})
}
