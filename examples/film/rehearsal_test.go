package main

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/routing"
)

func TestWorseTextsScoreLess(t *testing.T) {
	files, err := fs.Sub(scriptFiles, "script")
	require.NoError(t, err)
	script := rehearsal.Script{Files: files}
	whole, err := script.Text(master, 1)
	require.NoError(t, err)
	assert.Equal(t, marks{Quality: 1, Relevance: 1, Consistency: 1}, mark(whole))
	for _, who := range []string{"story-plot-specialist", "story-dialogue-specialist", "character-appearance-specialist", "visual-lighting-specialist", "audio-music-specialist"} {
		first, err := script.Text(who, 1)
		require.NoError(t, err)
		second, err := script.Text(who, 2)
		require.NoError(t, err)
		weak, good := mark(first), mark(second)
		assert.Less(t, weak.Quality, 0.4, who)
		assert.Less(t, weak.Relevance, 1.0, who)
		assert.NotEmpty(t, weak.Suggestions, who)
		assert.Greater(t, good.Quality, 0.8, who)
		assert.Equal(t, 1.0, good.Relevance, "%s: %q", who, good.Suggestions)
		assert.Equal(t, 1.0, good.Consistency, "%s: %q", who, good.Suggestions)
	}
	assert.Equal(t, marks{Suggestions: []string{
		"say more: 0 words are not enough", "show who", "show what", "show the deed", "show the danger", "show the first moment",
	}, Consistency: 1}, mark(""))
	assert.Equal(t, 0.5, mark("He runs. He runs.").Consistency)
}

func TestAttempt(t *testing.T) {
	assert.Equal(t, 1, attempt(nil))
	assert.Equal(t, 2, attempt(map[string]string{"feedback": "Attempt 1: say more"}))
	assert.Equal(t, 3, attempt(map[string]string{"feedback": "Attempt 1: say more\nAttempt 2: show who\n"}))
}

func TestScriptIsForOneRequest(t *testing.T) {
	got := start(t, nil, "Another scene", "-db", filepath.Join(t.TempDir(), "f.db"))
	assert.Equal(t, cli.BadUsage, got.Code)
	assert.Equal(t, "film: the rehearsal has a script for one request alone, \"Create a dramatic opening scene with Aladdin stealing bread\": another one needs a -model (film -h lists the flags)\n", got.Err)

	// An agent without a script fails, and the run continues without it.
	_, err := rehearse(hierarchy.MovieDepartments(), 0)["audio-voice-specialist"].Call(t.Context(), agent.Request{Prompt: bread})
	require.EqualError(t, err, "the script has no text for audio-voice-specialist at attempt 1")
	assert.ErrorIs(t, err, agent.Code("permanent"))
}

func TestBriefsAreWorthSpecialists(t *testing.T) {
	for _, d := range hierarchy.MovieDepartments() {
		text, err := brief(nil, hierarchy.Input{Prompt: "Bread"}, d, nil)
		require.NoError(t, err)
		got := routing.Rules{}.Analyze(text, nil)
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
			assert.ElementsMatch(t, want, routing.Rules{}.Analyze(text, skills).Skills, d.ID)
		}
	}
}
