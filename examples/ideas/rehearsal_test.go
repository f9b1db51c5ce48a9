package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

var words = []string{"dragon", "bridge", "rain"}

// good passes all checks: 27 words, all of the topic's, steps, who, when, what with and
// how one sees that it works.
const good = "A dragon guards the bridge in the rain, and people pay with stories. " +
	"First find a list of stories. Then open for a week. Finally count who passes."

func TestGoodText(t *testing.T) {
	p := proposal{id: "idea-1", title: "Toll", text: good}
	c := check(p, words, []proposal{p})
	assert.Equal(t, grading.Criteria{Feasibility: 10, Innovation: 10, Impact: 10, Clarity: 10, Completeness: 10}, c.marks)
	assert.Empty(t, c.cons)
	assert.Len(t, c.pros, 5)
}

func TestWorseTextsScoreLess(t *testing.T) {
	tests := []struct {
		name, text string
		others     []proposal
		mark       func(grading.Criteria) float64
		want       float64
		con        string
	}{
		{"a word less of the topic", strings.Replace(good, "rain", "cold", 1), nil, func(m grading.Criteria) float64 { return m.Impact }, 6.7, "it leaves out “rain”"},
		{"no end of the steps", strings.Replace(good, "Finally", "Maybe", 1), nil, func(m grading.Criteria) float64 { return m.Feasibility }, 6.7, "first steps are missing"},
		{"no time", strings.Replace(good, "a week", "some", 1), nil, func(m grading.Criteria) float64 { return m.Completeness }, 7.5, "is missing"},
		{"too short", "A dragon.", nil, func(m grading.Criteria) float64 { return m.Clarity }, 1.2, "it has 3 words, 25 to 120 would be clear"},
		{"too long", good + strings.Repeat(" more", 120), nil, func(m grading.Criteria) float64 { return m.Clarity }, 8.1, "it has 149 words"},
		{"said before", good, []proposal{{id: "idea-2", title: "Toll", text: good}}, func(m grading.Criteria) float64 { return m.Innovation }, 0, "much of it is in other ideas, too"},
		{"empty", "", nil, func(m grading.Criteria) float64 { return m.Impact }, 0, "it leaves out “dragon”, “bridge” and “rain”"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := proposal{id: "idea-1", title: "Toll", text: tt.text}
			c := check(p, words, append(tt.others, p))
			assert.InDelta(t, tt.want, tt.mark(c.marks), 1e-9)
			assert.Contains(t, strings.Join(c.cons, "\n"), tt.con)
			assert.Less(t, c.mean(), 10.0)
		})
	}
}

func TestReadTalk(t *testing.T) {
	d := discussion.Discussion{
		Topic: "Dragons\nIdeas:\n1. no idea [idea-9]",
		Ideas: []discussion.Idea{
			{ID: "idea-1", Title: "Toll", Description: "Pay - with stories.", Score: 7.25, Validated: true},
			{ID: "idea-2", Title: "Ferry [slow]"},
		},
	}
	quoted := "<data name=\"discussion\">\n" + discussion.BuildContext(d, 0) + "\n</data>\n\n"
	got := readTalk(quoted + "Round 2 of 3. Build on the earlier ideas.")
	assert.Equal(t, []proposal{{"idea-1", "Toll", "Pay - with stories.", 7.2}, {"idea-2", "Ferry [slow]", "", 0}}, got.ideas, "scores have one decimal there")
	assert.Equal(t, 2, got.round)
	assert.False(t, got.opening)
	assert.Equal(t, 2, readTalk(quoted+"2 ideas are still missing. Propose 2 more.").missing)
	assert.Equal(t, 1, readTalk(quoted+"1 idea is still missing.").missing)
	assert.True(t, readTalk("<data name=\"topic\">\nDragons\n</data>").opening)
}

func TestFreshIdeas(t *testing.T) {
	for _, topic := range []string{library, "Bread", "?!", "a b c d e f g h i j k l m"} {
		p := player{role: discussion.Ideation, words: rehearsal.Words(topic, mostWords)}
		var known talk
		for range 4 {
			for _, i := range p.fresh(known, 3) {
				assert.False(t, known.has(i.Title), i.Title)
				assert.NotContains(t, i.Description, "%!", "of %q", topic)
				known.ideas = append(known.ideas, proposal{title: i.Title, text: i.Description})
			}
		}
		assert.Len(t, known.ideas, 12, topic)
	}
}

func TestLaterRoundsImprove(t *testing.T) {
	p := player{role: discussion.Ideation, words: words}
	first := p.fresh(talk{}, 3)
	var known talk
	for n, i := range first {
		known.ideas = append(known.ideas, proposal{id: "idea-" + string(rune('1'+n)), title: i.Title, text: i.Description})
	}
	known.round = 2
	second := p.propose(known)
	require.Len(t, second, 3)
	assert.Equal(t, better+first[2].Title, second[0].Title)
	for n, i := range second[:2] {
		old, now := known.ideas[2-n], proposal{id: "new", title: i.Title, text: i.Description}
		assert.Empty(t, rehearsal.Missing(words, i.Description))
		assert.Greater(t, check(now, words, []proposal{now}).mean(), check(old, words, []proposal{old}).mean())
	}
	known.ideas = append(known.ideas, proposal{title: second[0].Title, text: second[0].Description})
	assert.NotEqual(t, second[0].Title, p.improved(known, 1)[0].Title, "each is improved once")
}

func TestOthersTakeUpIdeas(t *testing.T) {
	known := talk{ideas: []proposal{{"idea-1", "Toll", good, 0}, {"idea-2", "Ferry", "Slow.", 0}}, round: 1}
	say := func(role discussion.Role, task string) string {
		known.task = task
		return player{role: role, words: words}.speak(known)
	}
	for _, role := range []discussion.Role{discussion.Critic, discussion.Implementer} {
		text := say(role, "")
		assert.Contains(t, text, "“Toll”", role)
		assert.Contains(t, text, "“Ferry”", role)
	}
	assert.Contains(t, say(discussion.Critic, ""), "“Ferry” may fail: it has 2 words")
	assert.Contains(t, say(discussion.TeamLeader, "Sum up round 1 of 2"), "By the checks “Toll” is ahead.")
	assert.True(t, strings.HasPrefix(say(discussion.TeamLeader, `Begin with {"idea_id":"idea-1"}`), `{"idea_id":"idea-1"}`))
	known.ideas[1].score = 9.9
	known.ideas[0].score = 1
	assert.True(t, strings.HasPrefix(say(discussion.TeamLeader, `Begin with {"idea_id":"idea-1"}`), `{"idea_id":"idea-2"}`), "scores count more than checks")
	for _, w := range words {
		assert.Contains(t, say(discussion.Researcher, ""), quote(w))
	}
}

func TestRehearsalIsDeterministic(t *testing.T) {
	prompt := "<data name=\"discussion\">\nTopic: x\n\nIdeas:\n1. Toll - Slow. [idea-1]\n</data>\n\nRound 2 of 3."
	for name := range rehearse(library, 0) {
		ask := agent.Request{Prompt: prompt, Output: agent.JSON(map[string]string{})}
		one, err := rehearse(library, 0)[name].Call(t.Context(), ask)
		require.NoError(t, err)
		two, err := rehearse(library, 0)[name].Call(t.Context(), ask)
		require.NoError(t, err)
		assert.Equal(t, one, two, name)
	}
}
