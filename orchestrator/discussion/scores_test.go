package discussion_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// judged is a Standard discussion of ideas A, B, C, … with the moderator's answers.
func judged(n int, answers ...any) debate {
	titles := []string{"Alpha", "Beta", "Gamma", "Delta"}[:n]
	cfg := discussion.Standard(nil)
	cfg.Policy.Attempts, cfg.Policy.MinIdeas = 1, 0
	return debate{cfg: cfg, cast: cast{discussion.Ideation: {ideas(titles...)}, discussion.Moderator: answers}}
}

func marks(feasibility, innovation, impact, clarity, completeness float64) map[string]any {
	return map[string]any{"feasibility": feasibility, "innovation": innovation, "impact": impact, "clarity": clarity, "completeness": completeness}
}

func evaluations(list ...map[string]any) string {
	return string(agent.JSON(map[string]any{"evaluations": list}))
}

func titleOf(i *discussion.Idea) string {
	if i == nil {
		return ""
	}
	return i.Title
}

func TestScores(t *testing.T) {
	t.Run("D22 D24 what the moderator is asked for", func(t *testing.T) {
		p := judged(3, scores(7, 7, 7)).play(t)
		text := p.prompts(discussion.Moderator)[0]
		for _, word := range []string{"feasibility", "innovation", "impact", "clarity", "completeness", "0", "10", "every idea"} {
			assert.Contains(t, text, word)
		}
		assert.Len(t, p.prompts(discussion.Moderator), 1)
	})
	proves(t, []string{"D25 D26 D27 DC28 an evaluation marks its idea", "D26 an evaluation marks its idea", "D27 an evaluation marks its idea"}, func(t *testing.T) {
		p := judged(2, evaluations(map[string]any{
			"idea_id": "idea-2", "score": 8.5, "pros": []string{"cheap"}, "cons": []string{"loud"}, "feedback": "do it",
		})).play(t)
		require.NoError(t, p.err)
		i := p.out.Discussion.Ideas[1]
		assert.True(t, i.Validated)
		assert.InDelta(t, 8.5, i.Score, 0)
		assert.Equal(t, []string{"cheap"}, i.Pros)
		assert.Equal(t, []string{"loud"}, i.Cons)
		assert.Equal(t, "do it", i.Feedback)
		assert.False(t, p.out.Discussion.Ideas[0].Validated)
		assert.Contains(t, p.types(), "validation")
		assert.Len(t, p.events(t, discussion.EventIdeaScored), 1)
	})
	for _, tt := range []struct {
		name   string
		marks  map[string]any
		want   float64
		scored bool
	}{
		{"DA20 DC12 mean of the criteria", map[string]any{"criteria": marks(8, 7, 9, 8, 6)}, 7.6, true},
		{"DA21 DC12 an explicit score wins", map[string]any{"criteria": marks(8, 7, 9, 8, 6), "score": 8.1}, 8.1, true},
		{"DA22 DC12 four criteria are none", map[string]any{"criteria": map[string]any{"feasibility": 8, "innovation": 7, "impact": 9, "clarity": 8}}, 0, false},
		{"DA46 DC12 rounded before it is compared", map[string]any{"criteria": marks(7.9, 8.5, 3.0, 8.7, 1.9)}, 6.0, true},
		{"DC12 a score is rounded, too", map[string]any{"criteria": marks(1, 1, 1, 1, 1), "score": 5.9999999}, 6.0, true},
		{"DC12 criteria beside the score", marks(8, 7, 9, 8, 6), 7.6, true},
		{"DC12 an invalid score falls back to the criteria", map[string]any{"criteria": marks(8, 7, 9, 8, 6), "score": 85}, 7.6, true},
		{"DX7 a criterion out of range", map[string]any{"criteria": marks(8, 7, 9, 8, 11)}, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.marks["idea_id"] = "idea-1"
			p := judged(2, evaluations(tt.marks, map[string]any{"idea_id": "idea-2", "score": 0.5})).play(t)
			require.NoError(t, p.err)
			i := p.out.Discussion.Ideas[0]
			assert.Equal(t, tt.scored, i.Validated)
			if tt.scored {
				assert.InDelta(t, tt.want, i.Score, 0)
				assert.True(t, i.Eligible)
				assert.NotNil(t, i.Criteria)
				assert.False(t, p.out.BelowThreshold)
			}
		})
	}
	t.Run("DA21 criteria are kept", func(t *testing.T) {
		p := judged(1, evaluations(map[string]any{"idea_id": "idea-1", "criteria": marks(8, 7, 9, 8, 6), "score": 8.1})).play(t)
		assert.Equal(t, map[string]float64{
			"feasibility": 8, "innovation": 7, "impact": 9, "clarity": 8, "completeness": 6,
		}, p.out.FinalIdea.Criteria)
	})
	t.Run("DA23 DX7 invalid scores", func(t *testing.T) {
		p := judged(4, scores(85, -1, "NaN", "8.5")).play(t)
		require.NoError(t, p.err)
		for i, idea := range p.out.Discussion.Ideas {
			assert.Equal(t, i == 3, idea.Validated, idea.Title)
		}
		assert.Equal(t, "Delta", titleOf(p.out.FinalIdea))
		assert.InDelta(t, 8.5, *p.out.Score, 0)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Len(t, p.prompts(discussion.Moderator), 2, "one call more")
		assert.Contains(t, p.prompts(discussion.Moderator)[1], "These ideas have no marks yet: idea-1, idea-2, idea-3. Assess each of them, and no other.")
	})
	t.Run("DA24 DC11 N2 nothing usable, twice, and twice again", func(t *testing.T) {
		d := judged(2, scores(85, 90), "I cannot judge.")
		d.cast[discussion.TeamLeader] = []any{"go", "so far", "Beta it is."}
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.prompts(discussion.Moderator), 4)
		assert.Contains(t, p.prompts(discussion.Moderator)[2], "Assess every idea", "afresh")
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.Equal(t, discussion.ByLeader, p.out.SelectedBy)
		assert.Contains(t, p.types(), "validation", "its answer is kept")
		assert.Equal(t, []string{"discussion/ungraded", "discussion/fallback"}, p.warned())
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"idea-2"}, p.out.Unverified)
		assert.Nil(t, p.out.Score)
		assert.Contains(t, p.events(t, discussion.EventPhaseFinished)[2].Moves, "validating -unusable-> selecting")
	})
	t.Run("N2 a grade that comes when it is asked for once more", func(t *testing.T) {
		p := judged(2, errBoom, scores(7, 8)).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.prompts(discussion.Moderator), 2)
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Empty(t, p.warned())
	})
	t.Run("DA26 DC20 by title in another case, and by an unknown id", func(t *testing.T) {
		p := judged(2, evaluations(
			map[string]any{"title": " BETA ", "score": 7}, map[string]any{"idea_id": "idea-7", "score": 9},
		)).play(t)
		require.NoError(t, p.err)
		assert.True(t, p.out.Discussion.Ideas[1].Validated)
		assert.False(t, p.out.Discussion.Ideas[0].Validated)
		assert.Equal(t, []string{"discussion/unknown-idea", "discussion/ungraded"}, p.warned())
		assert.Equal(t, "idea-1", p.out.Warnings[1].Who)
	})
	t.Run("DC20 of equal titles the latest, of two evaluations the last", func(t *testing.T) {
		d := judged(1, evaluations(map[string]any{"title": "A", "score": 7}, map[string]any{"idea_id": "idea-2", "score": 6.5}))
		d.cast[discussion.Ideation] = []any{`[{"title":"A","description":"one"},{"title":"A","description":"two"}]`}
		p := d.play(t)
		assert.False(t, p.out.Discussion.Ideas[0].Validated)
		assert.InDelta(t, 6.5, p.out.Discussion.Ideas[1].Score, 0)
	})
	t.Run("DA27 N2 the moderator fails, twice: ideas and messages stay, and none has passed", func(t *testing.T) {
		d := judged(3, errBoom)
		d.cast[discussion.TeamLeader] = []any{"go", "so far", "Beta it is."}
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.prompts(discussion.Moderator), 2)
		assert.Len(t, p.out.Discussion.Ideas, 3)
		assert.Equal(t, []string{"kickoff", "ideation", "synthesis", "selection", "visualization"}, p.types())
		assert.Equal(t, orchestrator.Warning{Code: "discussion/ungraded", Who: moderator, Message: "boom"}, p.out.Warnings[0])
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"idea-2"}, p.out.Unverified)
	})
}

func TestSelection(t *testing.T) {
	leading := func(d debate, choice any) debate {
		d.cast[discussion.TeamLeader] = []any{"go", "so far", choice}
		return d
	}
	proves(t, []string{"DA15 DC13 D30 a tie goes to the first", "D30 a tie goes to the first"}, func(t *testing.T) {
		p := judged(3, scores(7.2, 8.5, 8.5)).play(t)
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.Equal(t, "idea-2", p.out.Discussion.FinalIdeaID)
		assert.Equal(t, discussion.ByScore, p.out.SelectedBy)
		assert.InDelta(t, 8.5, *p.out.Score, 0)
	})
	t.Run("DA47 DC12 DC13 a tie of means", func(t *testing.T) {
		p := judged(2, evaluations(
			map[string]any{"idea_id": "idea-1", "criteria": marks(8.6, 8.2, 8.9, 1.0, 0.1)},
			map[string]any{"idea_id": "idea-2", "criteria": marks(1.0, 8.2, 8.9, 0.1, 8.6)},
		)).play(t)
		assert.Equal(t, "Alpha", titleOf(p.out.FinalIdea))
	})
	t.Run("DA16 DC19 D30 the leader is overruled", func(t *testing.T) {
		p := leading(judged(2, scores(7.2, 8.5)), "I choose Alpha, for its charm.").play(t)
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.Equal(t, "Alpha", titleOf(p.out.LeaderChoice))
		require.Len(t, p.events(t, discussion.EventSelectionOverruled), 1)
		assert.Equal(t, "Alpha", p.events(t, discussion.EventSelectionOverruled)[0].Idea.Title)
	})
	t.Run("D29 the leader gets transcript and evaluation", func(t *testing.T) {
		p := judged(2, scores(7.2, 8.5)).play(t)
		asked := p.prompts(discussion.TeamLeader)
		text := asked[len(asked)-1]
		for _, part := range []string{"The team leader has spoken.", "8.5/10", "Choose one idea", "justify"} {
			assert.Contains(t, text, part)
		}
		assert.Contains(t, p.types(), "selection")
	})
	proves(t, []string{"DA17 DC2 D44 below the threshold", "D44 below the threshold"}, func(t *testing.T) {
		p := judged(1, scores(5.9)).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Alpha", titleOf(p.out.FinalIdea))
		assert.True(t, p.out.BelowThreshold)
		assert.Empty(t, p.out.Shortlist)
		assert.Equal(t, []string{"discussion/below-threshold"}, p.warned())
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"idea-1"}, p.out.Unverified)
	})
	t.Run("DC2 RequireThreshold", func(t *testing.T) {
		d := judged(1, scores(5.9))
		d.cfg.Policy.RequireThreshold = true
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Nil(t, p.out.FinalIdea)
		assert.True(t, p.out.BelowThreshold)
		assert.Equal(t, discussion.ByNone, p.out.SelectedBy)
		d = judged(1, scores(6.0))
		d.cfg.Policy.RequireThreshold = true
		assert.Equal(t, "Alpha", titleOf(d.play(t).out.FinalIdea))
	})
	t.Run("DA18 DC2 shortlist", func(t *testing.T) {
		p := judged(3, scores(6.0, 5.99, 9)).play(t)
		var titles []string
		for _, i := range p.out.Shortlist {
			titles = append(titles, i.Title)
		}
		assert.Equal(t, []string{"Gamma", "Alpha"}, titles)
	})
	for _, tt := range []struct {
		name  string
		cfg   discussion.Config
		score float64
		want  bool
	}{
		{"DA19 D44 Extended 7.0", discussion.Extended(nil), 7.0, true},
		{"DA19 D44 Extended 6.99", discussion.Extended(nil), 6.99, false},
		{"DA19 D44 Full 7.5", discussion.Full(nil), 7.5, true},
		{"DA19 D44 Full 7.49", discussion.Full(nil), 7.49, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := debate{cfg: tt.cfg, cast: cast{discussion.Moderator: {scores(tt.score)}}}.play(t)
			assert.Equal(t, tt.want, p.out.Discussion.Ideas[0].Eligible)
			assert.Equal(t, !tt.want, p.out.BelowThreshold)
		})
	}
	t.Run("DA25 DC15 a score of 0 can win", func(t *testing.T) {
		p := judged(1, scores(0)).play(t)
		assert.Equal(t, "Alpha", titleOf(p.out.FinalIdea))
		assert.Equal(t, discussion.ByScore, p.out.SelectedBy)
	})
	t.Run("DC16 an idea without a score cannot win", func(t *testing.T) {
		p := leading(judged(2, scores(0)), "Beta").play(t)
		assert.Equal(t, "Alpha", titleOf(p.out.FinalIdea))
	})
	proves(t, []string{"DA28 DC1 D31 the leader fails", "D31 the leader fails"}, func(t *testing.T) {
		p := leading(judged(2, scores(7, 8)), errBoom).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.Contains(t, p.warned(), "discussion/agent-failed")
	})
	t.Run("D23 without a moderator there are no scores", func(t *testing.T) {
		d := judged(2)
		d.cfg = without(d.cfg, discussion.Moderator)
		p := leading(d, "Beta.").play(t)
		require.NoError(t, p.err)
		assert.NotContains(t, p.types(), "validation")
		assert.NotContains(t, p.kinds(), discussion.EventIdeaScored)
	})
	for _, tt := range []struct{ name, text, want string }{
		{"DA13 DC14 names one", "I take Beta, clearly.", "Beta"},
		{"DC14 by id", `{"idea_id":"idea-1"} It beats Beta.`, "Alpha"},
		{"DC14 by an id that is none, and one title", `{"idea_id":"idea-5"} beta!`, "Beta"},
		{"DC14 a title inside of a word is not named", "Alphabet soup, then Beta.", "Beta"},
		{"DC14 title in another case", "BETA", "Beta"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := judged(2)
			d.cfg = without(d.cfg, discussion.Moderator)
			p := leading(d, tt.text).play(t)
			require.NoError(t, p.err)
			assert.Equal(t, tt.want, titleOf(p.out.FinalIdea))
			assert.Equal(t, discussion.ByLeader, p.out.SelectedBy)
			assert.Nil(t, p.out.Score)
			assert.Equal(t, orchestrator.Completed, p.out.Status, "no grade was asked for")
			assert.Empty(t, p.out.Unverified)
		})
	}
	t.Run("DC14 a title that is part of another", func(t *testing.T) {
		for text, want := range map[string]string{"Solar roof!": "Solar roof", "Solar!": "Solar", "Solar, not Solar roof": "none"} {
			d := judged(2)
			d.cfg = without(d.cfg, discussion.Moderator)
			d.cast[discussion.Ideation] = []any{ideas("Solar", "Solar roof")}
			p := leading(d, text).play(t)
			if want == "none" {
				assert.Nil(t, p.out.LeaderChoice, text)
				continue
			}
			assert.Equal(t, want, titleOf(p.out.FinalIdea), text)
		}
	})
	t.Run("DC14 two ideas of one title", func(t *testing.T) {
		d := judged(2)
		d.cfg = without(d.cfg, discussion.Moderator)
		d.cast[discussion.Ideation] = []any{`[{"title":"A","description":"one"},{"title":"A","description":"two"}]`}
		assert.Nil(t, leading(d, "A").play(t).out.LeaderChoice)
	})
}
