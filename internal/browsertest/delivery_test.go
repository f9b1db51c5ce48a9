package browsertest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/team/page"
)

// delivered is the page of a run with a failed test, a rejection and a difference, all of
// which hold markup and lines of any length.
func delivered(t *testing.T) string {
	t.Helper()
	wide := strings.Repeat("W", 400)
	goal := delivery.Verdict{Kind: "goal", Target: "goal", Approved: true, Score: 93, Threshold: 80, Reason: "It does " + evil, Evidence: []string{"go test passes"}}
	step := delivery.Verdict{Kind: "step", Target: "p1.s1", Score: 45, Threshold: 70, Reason: wide}
	o := delivery.Outcome{
		Outcome: orchestrator.Outcome{Status: orchestrator.Partial, Unverified: []string{"p1.s2"}},
		State: delivery.State{PrimaryGoal: "a parser " + evil, Status: "completed", Plans: []delivery.Plan{{
			ID: "p1", Approved: true, Steps: []delivery.Step{
				{ID: "p1.s1", Description: "parse " + evil, Complexity: "simple", Status: delivery.StepCompleted, Attempts: 2, Verification: &step},
				{ID: "p1.s2", Description: wide, Complexity: "complex", Status: delivery.StepFailed, FailReason: evil},
			},
		}}},
		Changes: []page.Step{{Title: "p1.s1", Turns: []page.Turn{{
			Who: "Difference", What: "+1 −1", Diff: "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n \tkept\n-" + wide + "\n+" + evil + "\n",
		}}}},
		Course: []page.Step{{Title: "Plan", Turns: []page.Turn{
			{Who: "Planner", What: "plan", Text: evil},
			{Who: "Project", What: "failed", Text: "failed: " + evil, Output: "--- FAIL\n" + wide + "\n" + evil},
			{Who: "Supervisor", What: "step rejected", Score: &page.Score{Value: 45, Gate: 70, Max: 100}, Text: wide},
		}}},
	}
	o.Report.Verdicts = []delivery.Verdict{goal}
	html, err := delivery.Page(o)
	require.NoError(t, err)
	return html
}

func TestDeliveryPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts browsers")
	}
	html := delivered(t)
	for _, view := range []struct {
		name          string
		width, height int64
		scheme        string
	}{
		{"phone", 400, 800, "light"},
		{"desk-dark", 1400, 900, "dark"},
	} {
		t.Run(view.name, func(t *testing.T) {
			b := open(t, html, view.width, view.height, view.scheme)
			for _, d := range []string{"false", "true"} {
				eval[bool](b, "document.querySelectorAll('details').forEach(d => d.open = "+d+"), true")
				assert.LessOrEqual(t, eval[float64](b, "document.documentElement.scrollWidth"), float64(view.width), "nothing sticks out, open details: "+d)
			}
			assert.GreaterOrEqual(t, contrast(b), 4.5, "text is readable on its ground (WCAG AA), added and removed lines too")
			assert.Equal(t, "The goal is reached", eval[string](b, "document.querySelector('#result h3').textContent"))
			assert.Equal(t, "+"+evil, eval[string](b, "document.querySelector('#changes .added').textContent"), "a line stays text")
			assert.Equal(t, 1.0, eval[float64](b, "document.querySelectorAll('#changes .removed').length"))
			assert.NotEqual(t, eval[string](b, "getComputedStyle(document.querySelector('#changes .added')).backgroundColor"),
				eval[string](b, "getComputedStyle(document.querySelector('#changes .removed')).backgroundColor"))
			assert.Contains(t, eval[string](b, "document.querySelector('#course pre').textContent"), evil)
			assert.Equal(t, 0.0, eval[float64](b, "document.scripts.length"))
			assert.Greater(t, len(b.shoot("delivery-"+view.name)), 10_000)
			assert.Empty(t, b.problems())
			assert.Empty(t, b.outside())
		})
	}
}
