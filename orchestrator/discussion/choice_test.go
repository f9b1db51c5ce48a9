package discussion_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// unscored is a team without a moderator, whose leader makes these choices.
func unscored(choices ...any) debate {
	d := judged(3)
	d.cfg = without(d.cfg, discussion.Moderator, discussion.UICreator)
	d.cast[discussion.TeamLeader] = append([]any{"go", "so far"}, choices...)
	return d
}

// scored is a team whose second idea has the best score, and whose leader says so much.
func scored(choice string) debate {
	d := judged(2, scores(7, 8))
	d.cast[discussion.TeamLeader] = []any{"go", "so far", choice}
	return d
}

func TestChoiceInProse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"I choose idea-2.":                 "Beta",
		"2":                                "Beta",
		"**idea-2** it is":                 "Beta",
		"My choice: [idea-2]":              "Beta",
		"My choice is 2.":                  "Beta",
		"Idea 2 wins because it is cheap.": "Beta",
		"Option 2 (idea-2)":                "Beta",
		"#2 for me":                        "Beta",
		"IDEA_02: Beta":                    "Beta",
		"Beta (idea-2), in 3 weeks":        "Beta",
		"idea-9 is none; Gamma":            "Gamma",
		"```json\n{\"idea_id\": \"Idea 2\"}\n```":     "Beta",
		`{"idea_id":2,"reason":"better than idea-1"}`: "Beta",
		"idea-2 beats idea-1":                         "",
		"idea-2, Alpha":                               "",
		"Not Alpha; Beta it is":                       "",
		"The 2 of you are right":                      "",
		"idea-4":                                      "",
	} {
		t.Run("DC40 "+text, func(t *testing.T) {
			p := unscored(text).play(t)
			require.NoError(t, p.err)
			assert.Equal(t, want, titleOf(p.out.LeaderChoice))
		})
	}
	t.Run("DC40 N20 a title with accents of their own", func(t *testing.T) {
		d := unscored("I choose the CAFE\u0301 idea.")
		d.cast[discussion.Ideation] = []any{`[{"title":"Garden","description":"one"},{"title":"Café","description":"two"}]`}
		assert.Equal(t, "Café", titleOf(d.play(t).out.LeaderChoice))
	})
	t.Run("DC40 DC34 an ID beside a title that two ideas have", func(t *testing.T) {
		d := unscored("idea-2: A")
		d.cast[discussion.Ideation] = []any{`[{"title":"A","description":"one"},{"title":"A","description":"two"}]`}
		assert.Equal(t, "idea-2", d.play(t).out.LeaderChoice.ID)
	})
	t.Run("DC40 a title that looks like an ID", func(t *testing.T) {
		d := unscored("Idea 1")
		d.cast[discussion.Ideation] = []any{ideas("Beta", "Idea 1")}
		assert.Equal(t, "idea-1", d.play(t).out.LeaderChoice.ID)
	})
	t.Run("DC40 a title with the number of another idea", func(t *testing.T) {
		d := unscored("Plan B, option 1, it is")
		d.cast[discussion.Ideation] = []any{ideas("Plan A", "Plan B, option 1")}
		assert.Equal(t, "idea-2", d.play(t).out.LeaderChoice.ID)
	})
}

func TestNoChoice(t *testing.T) {
	t.Parallel()
	for name, choices := range map[string][]any{
		"DC40 DA14 DC14 it names both": {"Alpha and Beta are fine."},
		"DC40 DA14 DC14 it names none": {"All are fine."},
		"DC40 it fails":                {errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			d := unscored(choices...)
			p := d.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, []string{leader, ideation, leader, leader, leader}, p.roles(), "one call more")
			assert.Equal(t, "Alpha", titleOf(p.out.FinalIdea), "the first by the rule of ties")
			assert.Nil(t, p.out.LeaderChoice)
			assert.Equal(t, discussion.ByOrder, p.out.SelectedBy)
			assert.Equal(t, orchestrator.Partial, p.out.Status)
			assert.Equal(t, []string{"idea-1"}, p.out.Unverified)
			assert.Contains(t, p.warned(), "discussion/fallback")
			html, err := discussion.Page(p.out)
			require.NoError(t, err)
			assert.Contains(t, html, "The first idea: none has a score, and the team leader named none clearly.")
			c, _ := d.open(t)
			c.Quick = true
			c.Sweep(t)
		})
	}
	t.Run("DC40 it chooses when it is asked once more", func(t *testing.T) {
		p := unscored("All are fine.", `{"idea_id":"idea-3","reason":"It is {cheap}."}`).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Gamma", titleOf(p.out.FinalIdea))
		assert.Equal(t, discussion.ByLeader, p.out.SelectedBy)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Empty(t, p.out.Warnings)
		assert.Contains(t, string(p.asked[3].req.Output), `"required":["idea_id","reason"]`)
		html, err := discussion.Page(p.out)
		require.NoError(t, err)
		assert.Contains(t, html, "<p>It is {cheap}.</p>", "the reason is the leader's words")
	})
	t.Run("DC40 beside scores it is asked once", func(t *testing.T) {
		p := scored("All are fine.").play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{leader, ideation, leader, moderator, leader, creator}, p.roles())
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	t.Run("DC40 a choice in prose is told where the score overrules it", func(t *testing.T) {
		p := scored("Idea 1 wins because it is cheap.").play(t)
		assert.Equal(t, "Alpha", titleOf(p.out.LeaderChoice))
		assert.True(t, slices.Contains(p.kinds(), string(discussion.EventSelectionOverruled)))
	})
}
