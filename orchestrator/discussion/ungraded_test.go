package discussion_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// graderOf is a Grader whose answers are these functions, in turn.
func graderOf(answers ...func(w discussion.Work) ([]discussion.Evaluation, error)) discussion.Rules {
	return discussion.Rules{Grader: orchestrator.GradeWith(func(_ *orchestrator.Context, w discussion.Work) ([]discussion.Evaluation, error) {
		second := slices.ContainsFunc(w.Discussion.Ideas, func(i discussion.Idea) bool { return i.Validated })
		if second {
			return answers[1](w)
		}
		return answers[0](w)
	})}
}

// gives is an answer that gives these ideas a score.
func gives(score float64, ids ...string) func(discussion.Work) ([]discussion.Evaluation, error) {
	return func(discussion.Work) (all []discussion.Evaluation, _ error) {
		for _, id := range ids {
			all = append(all, discussion.Evaluation{IdeaID: id, Score: new(score)})
		}
		return all, nil
	}
}

func TestUngraded(t *testing.T) {
	t.Parallel()
	t.Run("N18 two of thirty have a grade: the others are asked for, and one of them wins", func(t *testing.T) {
		var titles []string
		var rest []map[string]any
		for i := range 30 {
			titles = append(titles, fmt.Sprintf("Plan %c%d", 'A'+i%26, i))
			if i > 1 {
				rest = append(rest, map[string]any{"idea_id": i + 1, "score": 5 + float64(i)/10})
			}
		}
		d := judged(1, scores(7, 7.5), evaluations(rest...))
		d.cfg.Bounds.IdeasPerCall = 30
		d.cast[discussion.Ideation] = []any{ideas(titles...)}
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "idea-30", p.out.FinalIdea.ID)
		assert.InDelta(t, 7.9, *p.out.Score, 0)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Empty(t, p.out.Unverified)
		assert.Empty(t, p.out.Warnings)
		asked := p.prompts(discussion.Moderator)
		require.Len(t, asked, 2)
		assert.Contains(t, asked[0], "Assess every idea above.")
		assert.Contains(t, asked[1], "These ideas have no marks yet: idea-3, idea-4, ")
		assert.Contains(t, asked[1], ", idea-30. Assess each of them, and no other.")
		assert.Len(t, p.events(t, discussion.EventIdeaScored), 30, "each is told once")
	})
	t.Run("N18 a grade of what was not asked for does not count", func(t *testing.T) {
		p := judged(3, scores(7, 8), scores(10, 1, 7.5)).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.InDelta(t, 8, *p.out.Score, 0)
		assert.Equal(t, []string{"idea-2", "idea-3", "idea-1"}, p.out.Ranking)
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("N18 DA22 four criteria of five are asked for again", func(t *testing.T) {
		four := map[string]any{"feasibility": 8, "innovation": 7, "impact": 9, "clarity": 8}
		p := judged(2, evaluations(map[string]any{"idea_id": 1, "criteria": four}, map[string]any{"idea_id": 2, "score": 7}),
			evaluations(map[string]any{"idea_id": 1, "criteria": marks(8, 7, 9, 8, 6)})).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Alpha", titleOf(p.out.FinalIdea))
		assert.InDelta(t, 7.6, *p.out.Score, 0)
	})
	t.Run("N18 DA26 the title that is none leaves its idea without a grade, which is asked for", func(t *testing.T) {
		p := judged(2, evaluations(map[string]any{"title": "BETA", "score": 7}, map[string]any{"title": "Alfa", "score": 9}),
			evaluations(map[string]any{"title": "alpha", "score": 9})).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Alpha", titleOf(p.out.FinalIdea))
		assert.Equal(t, []string{"discussion/unknown-idea"}, p.warned())
	})
	t.Run("N18 what the second request cannot grade cannot win, whatever a Ranker says", func(t *testing.T) {
		d := judged(3, scores("none", 7, 8))
		d.cfg.Policy.AssumeScore = new(10.0)
		d.cfg.Rules.Ranker = grading.RankerFunc(func(all []grading.Ranked) []grading.Ranked { return all })
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea), "the first that has a grade")
		assert.Equal(t, []string{"idea-2", "idea-3", "idea-1"}, p.out.Ranking)
		assert.Equal(t, discussion.ByScore, p.out.SelectedBy)
		assert.Equal(t, []string{"idea-1"}, p.out.Unverified)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		html, err := discussion.Page(p.out)
		require.NoError(t, err)
		assert.Contains(t, html, "<b>Unverified:</b> Alpha</li>")
	})
	t.Run("N18 the final idea is below the threshold beside one without a grade", func(t *testing.T) {
		p := judged(2, scores(5)).play(t)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"idea-1", "idea-2"}, p.out.Unverified)
	})
	t.Run("N18 the second request fails", func(t *testing.T) {
		p := judged(3, scores(7, 8), errBoom).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.prompts(discussion.Moderator), 2)
		assert.Equal(t, []orchestrator.Warning{{
			Code: "discussion/ungraded", Who: "idea-3", Message: "no grade of it has a score that counts, and asking for it once more failed: boom",
		}}, p.out.Warnings)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	t.Run("N18 DX13 nothing is left for the second request", func(t *testing.T) {
		d := judged(3, scores(7, 8))
		d.cfg.Limits.Calls = 4
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, []string{"discussion/budget", "discussion/ungraded", "discussion/budget", "discussion/budget"}, p.warned())
		assert.Equal(t, moderator, p.out.Warnings[0].Who)
	})
	t.Run("N18 the moderator says that it is canceled", func(t *testing.T) {
		p := judged(3, scores(7, 8), orchestrator.ErrCanceled).play(t)
		require.NoError(t, p.err, "the moderator's own error is not the run's")
	})
	t.Run("N18 a Grader of the host is asked for some ideas", func(t *testing.T) {
		d := judged(3)
		var asked []string
		d.cfg.Rules = graderOf(gives(7, "idea-1"), func(w discussion.Work) ([]discussion.Evaluation, error) {
			asked = nil
			for _, idea := range w.Ideas {
				asked = append(asked, idea.ID)
			}
			return gives(8, "idea-1", "idea-3")(w)
		})
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"idea-2", "idea-3"}, asked)
		assert.Equal(t, "Gamma", titleOf(p.out.FinalIdea))
		assert.Equal(t, []string{"idea-2"}, p.out.Unverified)
		assert.Equal(t, []string{leader, ideation, leader, leader, creator}, p.roles())
	})
	t.Run("a Grader of the host gets copies", func(t *testing.T) {
		d := judged(2)
		d.cfg.Rules = graderOf(func(w discussion.Work) ([]discussion.Evaluation, error) {
			w.Ideas[0].Title, w.Discussion.Ideas[1].Title, w.Discussion.Messages[0].Content = "x", "y", "z"
			return gives(7, "idea-1", "idea-2")(w)
		})
		p := d.play(t)
		assert.Equal(t, []string{"Alpha", "Beta"}, p.titles())
		assert.NotEqual(t, "z", p.out.Discussion.Messages[0].Content)
	})
	t.Run("N18 a Grader of the host has the moderator grade fewer", func(t *testing.T) {
		d := judged(3, scores(7, 8, 9))
		d.cfg.Rules.Grader = orchestrator.GradeWith(func(c *orchestrator.Context, w discussion.Work) ([]discussion.Evaluation, error) {
			w.Ideas = w.Ideas[:1]
			return discussion.ByModerator{}.Grade(c, w)
		})
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Contains(t, p.prompts(discussion.Moderator)[0], "These ideas have no marks yet: idea-1. Assess")
	})
	for name, second := range map[string]func(w discussion.Work) ([]discussion.Evaluation, error){
		"panics":          func(discussion.Work) ([]discussion.Evaluation, error) { panic("oh") },
		"is out of range": gives(11, "idea-2"),
	} {
		t.Run("N18 a Grader of the host "+name+" at the second request", func(t *testing.T) {
			d := judged(3)
			d.cfg.Rules = graderOf(gives(7, "idea-1"), second)
			p := d.play(t)
			require.ErrorIs(t, p.err, discussion.ErrRule)
			assert.Equal(t, orchestrator.Failed, p.out.Status)
		})
	}
	t.Run("N18 a Grader of the host fails at the second request", func(t *testing.T) {
		d := judged(3)
		d.cfg.Rules = graderOf(gives(7, "idea-1"), func(discussion.Work) ([]discussion.Evaluation, error) { return nil, errors.New("no") })
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"idea-2", "idea-3"}, p.out.Unverified)
	})
}

func TestEvidenceStays(t *testing.T) {
	t.Parallel()
	better := `{"idea_id":"idea-2","reason":"so","title":"Betterer","description":"improved","ideas":[{"title":"Betterer","description":"improved"}]}`
	graded := evaluations(
		map[string]any{"idea_id": 1, "score": 7}, map[string]any{"idea_id": 2, "score": 8, "title": "Betterer", "description": "improved"},
	)
	for name, d := range map[string]debate{
		"N22 the leader writes the idea anew":          {cast: cast{discussion.TeamLeader: {"go", "so far", better}, discussion.Moderator: {scores(7, 8)}}},
		"N22 the moderator writes the idea anew":       {cast: cast{discussion.TeamLeader: {"go"}, discussion.Moderator: {graded}}},
		"N22 the ui_creator writes the idea anew":      {cast: cast{discussion.UICreator: {better}, discussion.Moderator: {scores(7, 8)}}},
		"N22 the host's report writes the idea anew":   {cfg: discussion.Config{Rules: discussion.Rules{Report: rewrite}}, cast: cast{discussion.Moderator: {scores(7, 8)}}},
		"N22 the idea is below a threshold it has not": {cfg: discussion.Config{Policy: discussion.Policy{Threshold: 9, RequireThreshold: true}}, cast: cast{discussion.Moderator: {scores(7, 8)}}},
	} {
		t.Run(name, func(t *testing.T) {
			base := judged(2)
			base.cfg.Rules = d.cfg.Rules
			if d.cfg.Policy.Threshold > 0 {
				base.cfg.Policy = d.cfg.Policy
			}
			maps.Copy(base.cast, d.cast)
			p := base.play(t)
			require.NoError(t, p.err)
			require.Len(t, p.out.Discussion.Ideas, 2)
			idea := p.out.Discussion.Ideas[1]
			assert.Equal(t, []any{"Beta", "about Beta", 8.0, true}, []any{idea.Title, idea.Description, idea.Score, idea.Validated})
			if p.out.FinalIdea != nil {
				assert.Equal(t, idea, *p.out.FinalIdea)
				assert.Equal(t, "Beta\n\nabout Beta", p.out.Result())
			}
		})
	}
}

// rewrite is a report that changes what it gets.
func rewrite(o discussion.Outcome) (string, error) {
	o.FinalIdea.Title, o.Discussion.Ideas[1].Description = "Betterer", "improved"
	return "<p>done</p>", nil
}
