package hierarchy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/providers"
)

func TestPage(t *testing.T) {
	words := func(text string) json.RawMessage { return agent.JSON(text) }
	out := hierarchy.Outcome{
		Outcome: orchestrator.Outcome{
			Status: orchestrator.Partial, Asked: "Make a short film", Score: new(81.4), Unverified: []string{"sound"}, Spent: providers.Usage{Calls: 9}, Elapsed: time.Minute,
			Warnings: []orchestrator.Warning{{Code: "hierarchy/ungraded", Who: "ann", Message: "no grade came"}, {Code: "hierarchy/budget", Message: "nothing left"}},
		},
		Reports: []hierarchy.Report{
			{
				DepartmentID: "script", DepartmentName: "Script", Status: hierarchy.DepartmentDone, Basis: hierarchy.FromSpecialists, Output: words("Fade in."),
				HeadAttempts: []hierarchy.Attempt{{Output: words("Fade."), Score: 55, Feedback: "Fade in where?"}, {Output: words("Fade in."), Score: 90}},
				RawQuality:   81.4, Gate: 70, Specialists: []hierarchy.SpecialistResult{{AgentID: "ann", AgentName: "Ann", Threshold: 75, Attempts: []hierarchy.Attempt{
					{Error: "openai: 503"}, {Output: words("Weak <b>draft</b>."), Score: 60, Feedback: "Say more."}, {Output: words("Fade in."), Score: 82},
				}}},
			},
			{
				DepartmentID: "sound", DepartmentName: "Sound", Status: hierarchy.DepartmentDone, Basis: hierarchy.HeadAfterFailure, Output: words("Rain."), Ungraded: "no grade came",
				Specialists: []hierarchy.SpecialistResult{{AgentID: "bob", AgentName: "Bob", Threshold: 75, Attempts: []hierarchy.Attempt{{Output: words("Wind."), Ungraded: "out of scale"}}}},
			},
			{DepartmentID: "light", DepartmentName: "Light", Status: hierarchy.DepartmentFailed},
		},
		Output: map[string]json.RawMessage{"result": words("# The film\n\nFade in. Rain."), "script": words("Fade in.")},
	}
	show := func(o hierarchy.Outcome) string {
		t.Helper()
		html, err := hierarchy.Page(o)
		require.NoError(t, err)
		return html[strings.Index(html, "<main>"):]
	}
	html, at := show(out), 0
	for _, part := range []string{
		"Hierarchy · Partial", "<h1>Make a short film</h1>", "What the team made", `<span class="score">81</span>`, "By 2 of 3 departments.",
		"<p><b>The film</b></p><p>Fade in. Rain.</p>", "<b>Calls</b>9", "<b>Time</b>1m0s", "<b>Unverified:</b> Sound", "<b>Ann:</b> no grade came", "<li>nothing left</li>",
		"<h3>Script</h3><span class=\"score\">81</span>", "<span class=\"tag\">specialists</span>", "<h3>Sound</h3></div>", "Not graded: no grade came", "head after failure", "no score",
		"<h3>Light</h3>", "<span class=\"tag\">failed</span>",
		"<h3>Script</h3>", `<b>Ann</b> <span class="tag">try 1 of 3</span> <span class="soft">It failed: openai: 503</span>`,
		`<span class="tag">try 2 of 3</span> <span class="score below">60 below 75</span> <span class="soft">Weak &lt;b&gt;draft&lt;/b&gt;.</span>`, "<p>Feedback: Say more.</p>",
		`<span class="tag">try 3 of 3</span> <span class="score">82</span>`, `<b>Head</b> <span class="tag">try 1 of 2</span> <span class="score">55</span> <span class="soft">Fade.</span>`, "Fade in where?", `<span class="tag">try 2 of 2</span> <span class="score">90</span>`,
		"<h3>Sound</h3>", "<p>Not graded: out of scale</p>",
	} {
		i := strings.Index(html[at:], part)
		require.GreaterOrEqual(t, i, 0, "%s, in its place; the rest is %.300s", part, html[at:])
		at += i
	}
	out.Output = map[string]json.RawMessage{"script": words("Fade in."), "sound": words("Rain.")}
	assert.Contains(t, show(out), "<p><b>Script</b></p><p>Fade in.</p><p><b>Sound</b></p><p>Rain.</p>", "without a master, what the departments made")
	assert.Equal(t, "## Script\n\nFade in.\n\n## Sound\n\nRain.\n\n", out.Result())
	assert.Empty(t, hierarchy.Outcome{}.Result())
	assert.Contains(t, show(hierarchy.Outcome{}), "<h3>Unable to generate content</h3>")
	assert.Equal(t, []string{"sound"}, out.Unverified, "the outcome stays as it is")
}
