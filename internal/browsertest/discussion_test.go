package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/providers"
)

const evil = `<script>alert(1)</script>`

// outcome is a discussion as it may end, with more ideas than are shown open, and the
// ui_creator's page.
func outcome(created string) discussion.Outcome {
	start := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	long := strings.Repeat("Teenagers come where their friends are, where something happens and nobody tells them to be quiet. ", 4)
	marks := map[string]float64{"feasibility": 8, "innovation": 7, "impact": 9, "clarity": 8, "completeness": 6}
	ideas := []discussion.Idea{
		{Title: "Repair café", Description: "Mend phones and bicycles together.", Round: 2},
		{Title: evil, Description: evil, Round: 1, Score: 4.1, Validated: true},
		{Title: "Night shift", Description: "Open until midnight on Fridays.", Round: 1, Score: 7.45, Validated: true, Cons: []string{"Costs a guard"}},
		{
			Title: "Podcast lab", Description: long, Category: "media", Round: 1, Criteria: marks, Score: 7.6, Validated: true, Eligible: true,
			Pros: []string{"Cheap to begin with", "Teenagers lead it", "It can be copied"}, Cons: []string{"Needs a quiet room", "Wears off"},
			Feedback: "Begin with one microphone.",
		},
	}
	for n := range 20 {
		ideas = append(ideas, discussion.Idea{Title: fmt.Sprintf("Small idea %d", n+1), Description: "It is small.", Round: 2, Score: 5 - float64(n)/10, Validated: true})
	}
	for i := range ideas {
		ideas[i].ID, ideas[i].CreatedBy = fmt.Sprintf("idea-%d", i+1), string(discussion.Ideation)
	}
	say := func(from discussion.Role, kind discussion.MessageType, round, turn int, text string) discussion.Message {
		return discussion.Message{From: from, To: "team", Type: kind, Round: round, Turn: turn, Content: text}
	}
	o := discussion.Outcome{
		Outcome: orchestrator.Outcome{
			Status: orchestrator.Completed, Spent: providers.Usage{Calls: 12, Input: 52_300, Output: 8_100, Cost: 41_000_000}, Elapsed: 95 * time.Second,
			Warnings: []orchestrator.Warning{
				{Code: "discussion/agent-failed", Who: string(discussion.Researcher), Message: "round 2: openai: 503 overloaded"},
				{Code: "discussion/ungraded", Who: "idea-1", Message: "the moderator gave it no score that counts"},
			},
		},
		Discussion: discussion.Discussion{
			ID: "run", Topic: "How might a small library attract teenagers? " + evil, Phase: "completed", Round: 2, Rounds: 2, Threshold: 7.5,
			Ideas: ideas, FinalIdeaID: "idea-4", Started: start, Ended: start.Add(95 * time.Second),
			Messages: []discussion.Message{
				say(discussion.System, "preamble", 0, 0, "We have 500 euros and two rooms."),
				say(discussion.TeamLeader, "kickoff", 0, 0, "## Direction\n\nLet us look at **three** things:\n\n- noise\n- money\n- who decides\n\n"+long),
				say(discussion.Researcher, "researcher", 1, 1, long),
				say(discussion.Ideation, "ideation", 1, 1, `{"ideas":[{"title":"Podcast lab","description":"A room and a microphone."},{"title":"Night shift","description":"Open late.","category":"time"}]}`),
				say(discussion.Critic, "critic", 1, 1, evil+strings.Repeat("W", 300)),
				say(discussion.Ideation, "ideation", 1, 2, "You are right about the noise.\n\n```json\n{\"ideas\":[{\"title\":\"Repair café\"}]}\n```"),
				say(discussion.TeamLeader, "synthesis", 2, 1, long),
				say(discussion.Moderator, "validation", 0, 0, `{"evaluations":[{"idea_id":"idea-4","criteria":{"feasibility":8,"innovation":7},"pros":["Cheap"],"feedback":"Begin."}]}`),
				say(discussion.TeamLeader, "selection", 0, 0, `{"idea_id":"idea-4"} I choose the **podcast lab**: it is the one that teenagers would run by themselves.`),
			},
		},
		FinalIdea: &ideas[3], SelectedBy: discussion.ByScore, LeaderChoice: &ideas[3], Shortlist: ideas[3:4],
	}
	if created != "" {
		o.Discussion.Messages = append(o.Discussion.Messages, say(discussion.UICreator, "visualization", 0, 0, created))
	}
	return o
}

func pageOf(t *testing.T, created string) string {
	t.Helper()
	html, err := discussion.Page(outcome(created))
	require.NoError(t, err)
	return html
}

func TestDiscussionPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts browsers")
	}
	html := pageOf(t, "<h1>My report</h1><p style=\"color:teal\">All is well.</p>")
	for _, view := range []struct {
		name          string
		width, height int64
		scheme        string
	}{
		{"phone", 400, 800, "light"},
		{"desk", 1400, 900, "light"},
		{"phone-dark", 400, 800, "dark"},
		{"desk-dark", 1400, 900, "dark"},
	} {
		t.Run(view.name, func(t *testing.T) {
			b := open(t, html, view.width, view.height, view.scheme)
			assert.LessOrEqual(t, eval[float64](b, "document.documentElement.scrollWidth"), float64(view.width), "nothing sticks out")
			assert.Equal(t, view.scheme == "dark", eval[bool](b, "matchMedia('(prefers-color-scheme: dark)').matches"))
			assert.GreaterOrEqual(t, contrast(b), 4.5, "text is readable on its ground (WCAG AA)")
			assert.Equal(t, 20.0, eval[float64](b, "document.querySelectorAll('#ideas > .grid article').length"))
			assert.Equal(t, 4.0, eval[float64](b, "document.querySelectorAll('#ideas .fold article').length"), "more than 20 fold")
			assert.Equal(t, "Podcast lab", eval[string](b, "document.querySelector('#result h3').textContent"))
			assert.Equal(t, 4.0, eval[float64](b, "document.querySelectorAll('.course > section').length"), "opening, two rounds, decision")
			assert.Equal(t, evil, eval[string](b, "document.querySelectorAll('#ideas > .grid h3')[11].textContent"), "a title stays text")
			assert.Equal(t, 0.0, eval[float64](b, "document.scripts.length"))
			b.shoot("discussion-" + view.name)
			for _, d := range []string{"false", "true"} {
				eval[bool](b, "document.querySelectorAll('details').forEach(d => d.open = "+d+"), true")
				assert.LessOrEqual(t, eval[float64](b, "document.documentElement.scrollWidth"), float64(view.width), "open details: "+d)
			}
			assert.Greater(t, len(b.shoot("discussion-"+view.name+"-open")), 10_000)
			assert.Empty(t, b.problems())
			assert.Empty(t, b.outside())
		})
	}
}

// contrast is the least contrast of the texts with the ground that they stand on.
func contrast(b *tab) float64 {
	b.t.Helper()
	return eval[float64](b, `(() => {
		const light = c => {
			const [r, g, b] = c.match(/[\d.]+/g).map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		let least = 21;
		for (const e of document.querySelectorAll('h1, h2, h3, p, li, span, summary, b')) {
			if (!e.textContent.trim()) continue;
			let ground = e;
			while (ground && getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
			const a = light(getComputedStyle(e).color), g = light(getComputedStyle(ground ?? document.body).backgroundColor);
			least = Math.min(least, (Math.max(a, g) + 0.05) / (Math.min(a, g) + 0.05));
		}
		return least;
	})()`)
}

// What the ui_creator made can neither run nor load anything.
func TestHostileReport(t *testing.T) {
	var hits atomic.Int64
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(outside.Close)
	u := outside.URL
	b := open(t, pageOf(t, `<h1>Mine</h1>`+
		`<script>parent.document.title = "taken"; alert(1)</script>`+
		`<img src="`+u+`/img" onerror="parent.document.title = 'taken'">`+
		`<link rel="stylesheet" href="`+u+`/css"><style>@import url(`+u+`/import); body { background: url(`+u+`/bg) }</style>`+
		`<iframe src="`+u+`/frame"></iframe><object data="`+u+`/object"></object><video src="`+u+`/video" autoplay></video>`+
		`<meta http-equiv="refresh" content="0;url=`+u+`/refresh"><base href="`+u+`/">`+
		`<form action="`+u+`/form"><input autofocus onfocus="this.form.submit()"></form>`+
		`"></iframe><script>document.title = "taken"</script>`), 1000, 800, "light")
	eval[bool](b, "document.querySelectorAll('details').forEach(d => d.open = true), true")
	loaded, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](
		"new Promise(done => { const f = document.querySelector('iframe'); f.onload = () => done(true); f.srcdoc = f.srcdoc; f.scrollIntoView() })",
		chromedp.EvalAwaitPromise,
	))
	require.NoError(t, err)
	require.True(t, loaded)
	b.shoot("discussion-hostile")
	assert.NotEqual(t, "taken", eval[string](b, "document.title"))
	assert.Equal(t, 0.0, eval[float64](b, "document.scripts.length"))
	assert.Equal(t, 1.0, eval[float64](b, "document.querySelectorAll('iframe').length"), "the content does not break out of its frame")
	for _, p := range b.problems() {
		assert.NotContains(t, p, "dialog")
	}
	assert.Zero(t, hits.Load(), "requests to another server")
}
