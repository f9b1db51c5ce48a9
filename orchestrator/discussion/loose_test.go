package discussion_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

func TestLooseAnswers(t *testing.T) {
	t.Parallel()
	inString := func(text string) string { return string(agent.JSON(text)) }
	for name, wrap := range map[string]func(text string) string{
		"in an object of one field": func(text string) string { return `{"result":` + text + `}` },
		"in a list of one":          func(text string) string { return `[` + text + `]` },
		"in a string":               inString,
		"in a fence, wrapped":       func(text string) string { return "Here:\n```json\n{\"output\": " + text + "}\n```" },
	} {
		t.Run("N14 all answers "+name, func(t *testing.T) {
			d := judged(2, wrap(scores(7, 8)))
			d.cast[discussion.Ideation] = []any{wrap(ideas("Alpha", "Beta"))}
			d.cast[discussion.TeamLeader] = []any{"go", "so far", wrap(`{"idea_id":"idea-1","reason":"cheap"}`)}
			p := d.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, []string{leader, ideation, leader, moderator, leader, creator}, p.roles(), "nothing is sent back")
			assert.Equal(t, orchestrator.Completed, p.out.Status)
			assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
			assert.Equal(t, "Alpha", titleOf(p.out.LeaderChoice))
			assert.Empty(t, p.out.Warnings)
		})
	}
	t.Run("N14 extra fields are dropped, with one word", func(t *testing.T) {
		d := judged(2, `{"summary":"fine","evaluations":[{"idea_id":"idea-1","score":7,"criteria":{"feasibility":8,"innovation":8,"impact":8,"clarity":8,"completeness":8},"confidence":1},
			{"idea_id":"idea-2","score":8,"criteria":{"feasibility":8,"innovation":8,"impact":8,"clarity":8,"completeness":8}}]}`)
		d.cast[discussion.Ideation] = []any{`{"thoughts":"hm","ideas":[{"title":"Alpha","description":"a","cost":1},{"title":"Beta","description":"b"}]}`}
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.Equal(t, []string{"answer/extra-fields"}, p.warned())
		assert.Equal(t, ideation, p.out.Warnings[0].Who)
	})
	for who, answers := range map[discussion.Role][2]string{
		discussion.TeamLeader: {scores(7, 8), `{"idea_id":"idea-1","reason":"cheap","confidence":1}`},
		discussion.Moderator:  {`{"evaluations":[{"idea_id":"idea-1","score":70,"confidence":1},{"idea_id":"idea-2","score":8}]}`, `{"idea_id":"idea-1","reason":"cheap"}`},
	} {
		t.Run("N14 extra fields of the "+string(who), func(t *testing.T) {
			d := judged(2, answers[0])
			d.cast[discussion.TeamLeader] = []any{"go", "so far", answers[1]}
			p := d.play(t)
			require.NoError(t, p.err)
			i := slices.Index(p.warned(), "answer/extra-fields")
			require.GreaterOrEqual(t, i, 0, "also beside a mark that does not count")
			assert.Contains(t, p.out.Warnings[i].Message, "confidence")
			assert.Equal(t, string(who), p.out.Warnings[i].Who)
			assert.Equal(t, "Alpha", titleOf(p.out.LeaderChoice))
		})
	}
	t.Run("N14 names in another spelling, of entries and of marks too", func(t *testing.T) {
		d := judged(2, `{"Evaluations":[{"ideaId":"idea-1","Score":7},{"idea-id":"idea-2","Criteria":{"Feasibility":8,"INNOVATION":8,"impact":8,"Clarity":8,"completeness":8}}]}`)
		d.cast[discussion.Ideation] = []any{`{"Ideas":[{"Title":"Alpha"},{"TITLE":"Beta"}]}`}
		p := d.play(t)
		assert.Equal(t, []string{leader, ideation, leader, moderator, leader, creator}, p.roles(), "nothing is sent back")
		assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		assert.Empty(t, p.out.Warnings)
	})
	for mark, want := range map[string]float64{"8/10": 8, "7.5 / 10": 7.5, "80 %": 8, "85%": 8.5} {
		t.Run("N14 a mark of "+mark, func(t *testing.T) {
			p := judged(2, scores(mark, 1)).play(t)
			assert.InDelta(t, want, p.out.Discussion.Ideas[0].Score, 0)
			assert.Len(t, p.prompts(discussion.Moderator), 1)
		})
	}
	for _, mark := range []any{"8/5", "85/100", "9 out of 10", "11/10", "110 %", 85} {
		t.Run("N14 N17 no mark", func(t *testing.T) {
			p := judged(2, scores(mark, 1)).play(t)
			assert.False(t, p.out.Discussion.Ideas[0].Validated, mark)
			assert.Equal(t, "Beta", titleOf(p.out.FinalIdea))
		})
	}
}
