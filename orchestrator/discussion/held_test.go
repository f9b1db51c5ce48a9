package discussion_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// What these hold is easily lost without another test noticing it.
func TestHeld(t *testing.T) {
	t.Parallel()
	t.Run("DC15 N2 a validated 0 keeps its score beside an assumed one", func(t *testing.T) {
		d := judged(2, scores(0))
		d.cfg.Policy.AssumeScore = new(7.0)
		p := d.play(t)
		require.NoError(t, p.err)
		zero, assumed := p.out.Discussion.Ideas[0], p.out.Discussion.Ideas[1]
		assert.Equal(t, []any{0.0, true, false}, []any{zero.Score, zero.Validated, zero.Assumed})
		assert.Equal(t, []any{7.0, false, true}, []any{assumed.Score, assumed.Validated, assumed.Assumed})
	})
	t.Run("DC19 a choice that ties with the best is overruled, too", func(t *testing.T) {
		d := judged(2, scores(8, 8))
		d.cast[discussion.TeamLeader] = []any{"go", "so far", "idea-2"}
		p := d.play(t)
		assert.Equal(t, "Alpha", titleOf(p.out.FinalIdea))
		told := p.events(t, discussion.EventSelectionOverruled)
		require.Len(t, told, 1)
		assert.Equal(t, "idea-2", told[0].Idea.ID)
	})
	t.Run("DC3 an idea that was asked for belongs to the last round", func(t *testing.T) {
		cfg := shallow(discussion.Extended(nil))
		cfg.Policy.Attempts, cfg.Policy.MinIdeas = 2, 3
		p := debate{cfg: cfg, cast: cast{discussion.Ideation: {ideas("Alpha"), ideas("Beta"), ideas("Gamma")}, discussion.Moderator: {scores(7, 8, 9)}}}.play(t)
		require.NoError(t, p.err)
		var rounds []int
		for _, idea := range p.out.Discussion.Ideas {
			rounds = append(rounds, idea.Round)
		}
		assert.Equal(t, []int{1, 2, 2}, rounds)
	})
	t.Run("DC3 D45 ideas are asked for after an ideation that failed", func(t *testing.T) {
		p := debate{cfg: discussion.Standard(nil), cast: cast{discussion.Ideation: {errBoom, ideas("Alpha", "Beta", "Gamma")}, discussion.Moderator: {scores(7, 8, 9)}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{leader, ideation, ideation, leader, moderator, leader, creator}, p.roles())
		assert.Equal(t, "Gamma", titleOf(p.out.FinalIdea))
	})
	t.Run("DX10 the preamble is left out like other messages", func(t *testing.T) {
		d := discussion.Discussion{Topic: topic, Messages: []discussion.Message{
			{From: discussion.System, To: "team", Type: "preamble", Content: strings.Repeat("long ", 100)},
			{From: discussion.TeamLeader, To: "team", Type: "kickoff", Content: "go"},
		}}
		text, elided := discussion.BuildContext(d, 300)
		assert.Equal(t, 1, elided)
		assert.NotContains(t, text, "long")
		assert.Contains(t, text, "kickoff")
	})
	t.Run("DX10 fewer messages that are left out are told, too", func(t *testing.T) {
		cfg := shallow(without(discussion.Extended(nil), discussion.Critic))
		cfg.Bounds.ContextBytes = 2500
		p := debate{cfg: cfg, cast: cast{discussion.TeamLeader: {"go", strings.Repeat("long ", 800), "short", "idea-1"}}}.play(t)
		require.NoError(t, p.err)
		var counts []int
		for _, e := range p.events(t, discussion.EventContextElided) {
			counts = append(counts, e.Count)
		}
		assert.Equal(t, []int{2, 3, 4, 3}, counts, "the long synthesis is kept while it is the last one")
	})
	t.Run("D6 DX11 the host's report has its phase without a ui_creator", func(t *testing.T) {
		cfg := without(discussion.Standard(nil), discussion.UICreator)
		cfg.Rules.Report = discussion.Page
		p := debate{cfg: cfg}.play(t)
		require.NoError(t, p.err)
		var phases []discussion.Phase
		for _, e := range p.events(t, discussion.EventPhaseStarted) {
			phases = append(phases, e.Phase)
		}
		assert.Equal(t, []discussion.Phase{"kickoff", "exploring", "validating", "selecting", "visualizing", "completed"}, phases)
	})
}

func TestOwnErrors(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]error{"budget": orchestrator.ErrBudget, "cancel": orchestrator.ErrCanceled, "flow": orchestrator.ErrFlow} {
		t.Run("DC10 an agent's own error is not the run's: "+name, func(t *testing.T) {
			p := debate{cfg: discussion.Standard(nil), cast: cast{discussion.TeamLeader: {agent.ErrorOf(own)}}}.play(t)
			require.ErrorIs(t, p.err, discussion.ErrKickoff)
			require.NotErrorIs(t, p.err, own)
			assert.Equal(t, orchestrator.Failed, p.out.Status)
		})
	}
}
