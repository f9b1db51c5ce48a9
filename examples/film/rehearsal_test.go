package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/routing"
)

func TestWanted(t *testing.T) {
	tests := []struct {
		request string
		want    []string
	}{
		{bread, []string{"dramatic", "opening", "Aladdin", "stealing", "bread"}},
		{"Bread, BREAD and bread!", []string{"Bread"}},
		{"the with of", []string{"the", "with", "of"}},
		{"?!", []string{"something"}},
		{"Ein Drache über Köln", []string{"Ein", "Drache", "über", "Köln"}},
		{strings.Repeat("x", 99), []string{strings.Repeat("x", 40)}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, wanted(tt.request), "%q", tt.request)
	}
	var many []string
	for i := range 99 {
		many = append(many, fmt.Sprintf("w%d", i))
	}
	assert.Len(t, wanted(strings.Join(many, " ")), mostWanted)
}

func TestWorseTextsScoreLess(t *testing.T) {
	words := wanted(bread)
	p := player{id: "p", craft: "dialogue", words: words}
	whole := check(p.compose(words), words)
	assert.Equal(t, checked{length: 1, coverage: 1, variety: 1}, whole)
	assert.Empty(t, whole.suggestions())

	part := check(p.compose(words[:2]), words)
	assert.Less(t, part.length, whole.length)
	assert.Equal(t, 0.4, part.coverage)
	assert.Equal(t, []string{`take up "Aladdin"`, `take up "stealing"`, `take up "bread"`, "say more"}, part.suggestions())

	twice := check(strings.Repeat(p.compose(words)+" ", 2), words)
	assert.Equal(t, 0.5, twice.variety)
	assert.Contains(t, twice.suggestions(), "repeat nothing")
	assert.Equal(t, checked{missing: words}, check("", words))
}

func TestFeedbackIsTakenUp(t *testing.T) {
	words := []string{"dragon", "bridge", "rain"}
	p := player{id: "p", craft: "dialogue", words: words}
	got := p.write("The request:\n<data name=\"previous attempt\">\nThe rain falls.\n</data>\n<data name=\"feedback\">\nAttempt 1: take up \"dragon\"\n</data>")
	assert.Equal(t, []string{"bridge"}, check(got, words).missing)
}

func TestHeadTakesUpWhatItsTeamWrote(t *testing.T) {
	words := []string{"dragon", "bridge", "rain"}
	p := player{id: "h", craft: "the house", team: []string{"Ann", "Bob"}, words: words}
	got := p.write("<data name=\"Ann\">\nA dragon lands. The bridge holds.\n</data>\n<data name=\"Bob\">\nThe bridge sways.\n</data>\n<data name=\"Eve\">\nNo rain today.\n</data>")
	assert.True(t, strings.HasPrefix(got, "A dragon lands. The bridge sways. "), got)
	assert.Empty(t, check(got, words).missing)
	assert.NotContains(t, got, "No rain today", "she is not of this house")
}

func TestRehearsalIsDeterministic(t *testing.T) {
	ask := agent.Request{Prompt: bread}
	for name := range rehearse(bread, hierarchy.MovieDepartments(), 0) {
		one, err := rehearse(bread, hierarchy.MovieDepartments(), 0)[name].Call(t.Context(), ask)
		require.NoError(t, err)
		two, err := rehearse(bread, hierarchy.MovieDepartments(), 0)[name].Call(t.Context(), ask)
		require.NoError(t, err)
		assert.Equal(t, one, two, name)
	}
}

func TestBriefsAreWorthSpecialists(t *testing.T) {
	for _, d := range hierarchy.MovieDepartments() {
		text, err := brief(nil, hierarchy.Input{Prompt: "Bread"}, d, nil)
		require.NoError(t, err)
		got := routing.Analyze(text, routing.Rules{})
		assert.Equal(t, routing.Moderate, got.Complexity, "%s: %d words, %q", d.ID, got.Words, got.ComplexTerms)
	}
}

func TestRequestDecidesWhoIsAsked(t *testing.T) {
	for _, d := range hierarchy.MovieDepartments() {
		var skills []string
		for _, a := range d.Agents {
			skills = append(skills, a.Skills...)
		}
		for _, named := range append([]string{""}, skills...) {
			text, err := brief(nil, hierarchy.Input{Prompt: "Bread " + named}, d, nil)
			require.NoError(t, err)
			want := strings.Fields(named)
			assert.ElementsMatch(t, want, routing.Analyze(text, routing.Rules{Skills: skills}).Skills, d.ID)
		}
	}
}
