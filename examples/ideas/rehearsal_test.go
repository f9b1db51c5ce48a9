package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
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
	assert.Equal(t, map[string]float64{
		"feasibility": 10, "innovation": 10, "impact": 10, "clarity": 10, "completeness": 10,
	}, c.marks)
	assert.Empty(t, c.cons)
	assert.Len(t, c.pros, 5)
}

func TestWorseTextsScoreLess(t *testing.T) {
	tests := []struct {
		name, text string
		others     []proposal
		mark       string
		want       float64
		con        string
	}{
		{"a word less of the topic", strings.Replace(good, "rain", "cold", 1), nil, "impact", 6.7, "it leaves out “rain”"},
		{"no end of the steps", strings.Replace(good, "Finally", "Maybe", 1), nil, "feasibility", 6.7, "first steps are missing"},
		{"no time", strings.Replace(good, "a week", "some", 1), nil, "completeness", 7.5, "is missing"},
		{"too short", "A dragon.", nil, "clarity", 1.2, "it has 3 words, 25 to 120 would be clear"},
		{"too long", good + strings.Repeat(" more", 120), nil, "clarity", 8.1, "it has 149 words"},
		{"said before", good, []proposal{{id: "idea-2", title: "Toll", text: good}}, "innovation", 0, "much of it is in other ideas, too"},
		{"empty", "", nil, "impact", 0, "it leaves out “dragon”, “bridge” and “rain”"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := proposal{id: "idea-1", title: "Toll", text: tt.text}
			c := check(p, words, append(tt.others, p))
			assert.InDelta(t, tt.want, c.marks[tt.mark], 1e-9)
			assert.Contains(t, strings.Join(c.cons, "\n"), tt.con)
			assert.Less(t, meanOf(c.marks), 10.0)
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
	quoted, _ := discussion.BuildContext(d, 0)
	quoted += "\n\n"
	got := readTalk(quoted + "Round 2 of 3. Build on the earlier ideas.")
	assert.Equal(t, []proposal{{"idea-1", "Toll", "Pay - with stories.", 7.2}, {"idea-2", "Ferry [slow]", "", 0}}, got.ideas, "scores have one decimal there")
	assert.Equal(t, 2, got.round)
	assert.False(t, got.opening)
	assert.Equal(t, 2, readTalk(quoted+"2 ideas are still missing. Propose 2 more.").missing)
	assert.Equal(t, 1, readTalk(quoted+"1 idea is still missing.").missing)
	assert.True(t, readTalk("You lead a team of 4 that is about to explore a topic:\n\nTopic:\n<data name=\"topic\">\nDragons\n</data>").opening)
}

// member is one of the rehearsal.
// meanOf returns the mean of five marks.
func meanOf(marks map[string]float64) float64 {
	sum := 0.0
	for _, mark := range marks {
		sum += mark
	}
	return sum / 5
}

func member(role discussion.Role) player { return rehearse(0)[string(role)].(player) }

func TestProposals(t *testing.T) {
	titles := func(k talk) []string {
		t.Helper()
		text, err := member(discussion.Ideation).propose(k)
		require.NoError(t, err)
		var said struct{ Ideas []idea }
		require.NoError(t, json.Unmarshal([]byte(text), &said))
		all := make([]string, len(said.Ideas))
		for n, i := range said.Ideas {
			all[n] = i.Title
		}
		return all
	}
	first := titles(talk{round: 1})
	assert.Equal(t, []string{"The Late Room", "A Shelf of Their Own", "Things to Borrow", "Podcast Booth"}, first)
	assert.Equal(t, []string{"The Late Room, Kept by Two", "Night Bus Reading", "Homework by the Year Above"}, titles(talk{round: 2}))

	var known talk
	for _, title := range first {
		known.ideas = append(known.ideas, proposal{title: title})
	}
	known.round, known.missing = 1, 2
	assert.Equal(t, []string{"The Late Room, Kept by Two", "Night Bus Reading"}, titles(known), "what is missing is of later rounds")
	_, err := member(discussion.Ideation).propose(talk{round: 4})
	require.EqualError(t, err, "the script has no text for ideation.4 at attempt 1")
}

func TestLaterRoundsScoreMore(t *testing.T) {
	best := func(round int) (best float64) {
		text, err := member(discussion.Ideation).propose(talk{round: round})
		require.NoError(t, err)
		var said struct{ Ideas []idea }
		require.NoError(t, json.Unmarshal([]byte(text), &said))
		var all []proposal
		for _, i := range said.Ideas {
			all = append(all, proposal{id: i.Title, title: i.Title, text: i.Description})
		}
		total := 0.0
		for _, p := range all {
			total += meanOf(check(p, rehearsal.Words(scripted, 8), all).marks)
		}
		return total / float64(len(all))
	}
	assert.Less(t, best(1), 6.5, "the first ideas are weak")
	assert.Greater(t, best(2), best(1)+1)
}

func TestWhoSaysWhat(t *testing.T) {
	said := func(role discussion.Role, prompt string) string {
		t.Helper()
		resp, err := member(role).Call(t.Context(), agent.Request{Prompt: prompt})
		require.NoError(t, err)
		return resp.Text
	}
	opening := said(discussion.TeamLeader, "You lead a team of 4.\n<data name=\"topic\">\nx\n</data>\n\nSet the direction.")
	assert.Contains(t, opening, "two rooms and one and a half posts")
	one := said(discussion.TeamLeader, "Sum up round 1 of 3")
	two := said(discussion.TeamLeader, one+"\nSum up round 2 of 3")
	assert.Contains(t, one, "Round one")
	assert.Contains(t, two, "Round two")
	assert.NotEqual(t, said(discussion.Critic, "Question the premises."), said(discussion.Critic, "Reply to that answer:"))
	talk := "Ideas:\n1. [idea-1]\n<data name=\"idea-1\">\nA - b.\n</data>\n   Score: 3.0/10\n2. [idea-2]\n<data name=\"idea-2\">\nB - c.\n</data>\n   Score: 8.0/10\n\n"
	assert.True(t, strings.HasPrefix(said(discussion.TeamLeader, talk+`Begin with {"idea_id":"idea-1"}`), `{"idea_id":"idea-2"} B: It decides`))
}

func TestScriptIsForOneTopic(t *testing.T) {
	got := tool.Start(t.Context(), "Something else", "-db", filepath.Join(t.TempDir(), "i.db"))
	assert.Equal(t, cli.BadUsage, got.Code)
	assert.Contains(t, got.Err, "ideas: the rehearsal has a script for one topic alone")
}

func TestRehearsalIsDeterministic(t *testing.T) {
	prompt := "Ideas:\n1. [idea-1]\n<data name=\"idea-1\">\nToll - Slow.\n</data>\n\nRound 2 of 3."
	for name := range rehearse(0) {
		ask := agent.Request{Prompt: prompt, Output: agent.JSON(map[string]string{})}
		one, err := rehearse(0)[name].Call(t.Context(), ask)
		require.NoError(t, err)
		two, err := rehearse(0)[name].Call(t.Context(), ask)
		require.NoError(t, err)
		assert.Equal(t, one, two, name)
	}
}
