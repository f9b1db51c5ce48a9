package discussion_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
)

func TestReport(t *testing.T) {
	proves(t, []string{"D32 DA30 the ui_creator gets everything", "DA30 the ui_creator gets everything"}, func(t *testing.T) {
		p := debate{cfg: discussion.Full(nil), cast: cast{discussion.Moderator: {scores(7.9, 9.1, 6, 3.3, 2)}}}.play(t)
		require.NoError(t, p.err)
		text := p.prompts(discussion.UICreator)[0]
		for _, m := range p.out.Discussion.Messages[:len(p.out.Discussion.Messages)-1] {
			assert.Contains(t, text, m.Content)
		}
		for _, score := range []string{"7.9/10", "9.1/10", "6.0/10", "3.3/10", "2.0/10"} {
			assert.Contains(t, text, score)
		}
		assert.Contains(t, text, "<data name=\"winner\">\n"+p.out.FinalIdea.Title)
	})
	t.Run("D33 D37 its page is a message", func(t *testing.T) {
		p := debate{cfg: discussion.Standard(nil)}.play(t)
		last := p.out.Discussion.Messages[len(p.out.Discussion.Messages)-1]
		assert.EqualValues(t, "visualization", last.Type)
		assert.Equal(t, "<h1>Report</h1>", last.Content)
		assert.Equal(t, "<h1>Report</h1>", p.out.Report)
	})
	t.Run("DX11 without its fence", func(t *testing.T) {
		p := debate{cfg: discussion.Standard(nil), cast: cast{discussion.UICreator: {"```html\n<p>x</p>\n```\n"}}}.play(t)
		assert.Equal(t, "<p>x</p>", p.out.Report)
	})
	for _, tt := range []struct {
		name   string
		answer any
	}{
		{"DA29 D34 D48 the ui_creator fails", errBoom},
		{"D34 the discussion ends as completed", errBoom},
		{"D48 it is no error", errBoom},
		{"DA29 DX11 its page is empty", " "},
		{"DA29 DX11 its page is an empty fence", "```html\n\n```"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := debate{cfg: discussion.Standard(nil), cast: cast{discussion.UICreator: {tt.answer}}}.play(t)
			require.NoError(t, p.err)
			assert.Empty(t, p.out.Report)
			assert.Equal(t, []string{"discussion/report-failed"}, p.warned())
			assert.Equal(t, creator, p.out.Warnings[0].Who)
			assert.Equal(t, orchestrator.Completed, p.out.Status)
		})
	}
	proves(t, []string{"DA29 D35 no ui_creator", "D35 no ui_creator"}, func(t *testing.T) {
		p := debate{cfg: without(discussion.Standard(nil), discussion.UICreator)}.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.out.Report)
		assert.Empty(t, p.warned())
	})
	t.Run("DX11 a Reporter in place of the ui_creator", func(t *testing.T) {
		cfg := without(discussion.Standard(nil), discussion.UICreator)
		cfg.Rules.Report = discussion.Page
		p := debate{cfg: cfg}.play(t)
		require.NoError(t, p.err)
		assert.Contains(t, p.out.Report, "<!DOCTYPE html>")
		assert.Contains(t, p.out.Report, topic)
		assert.NotContains(t, p.roles(), creator)
	})
	t.Run("DX11 a Reporter that fails", func(t *testing.T) {
		cfg := discussion.Standard(nil)
		cfg.Rules.Report = func(discussion.Outcome) (string, error) { return "", errors.New("no paper") }
		p := debate{cfg: cfg}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"discussion/rule"}, p.warned())
		assert.Equal(t, "<h1>Report</h1>", p.out.Report, "the ui_creator's")
	})
}

func TestPage(t *testing.T) {
	const evil = `<script>alert(1)</script>`
	page := func(t *testing.T, d debate) string {
		t.Helper()
		p := d.play(t)
		page, err := discussion.Page(p.out)
		require.NoError(t, err)
		return page
	}
	t.Run("text of agents stays text", func(t *testing.T) {
		html := page(t, debate{
			cfg: discussion.Full(nil), in: discussion.Input{Topic: evil + topic},
			cast: cast{
				discussion.Ideation:  {ideas(evil, `" onload="x`)},
				discussion.Critic:    {evil},
				discussion.UICreator: {"<h1>Mine</h1>" + evil + `<img src="https://example.com/x">`},
			},
		})
		assert.NotContains(t, html, "<script")
		assert.NotContains(t, html, "<img")
		assert.NotContains(t, html, ` onload="x`)
		assert.Contains(t, html, "&lt;script&gt;alert(1)&lt;/script&gt;")
		assert.Contains(t, html, `<iframe sandbox="" `)
		assert.Contains(t, html, `srcdoc="&lt;h1&gt;Mine&lt;/h1&gt;`)
		assert.Contains(t, html, "default-src 'none'")
		for _, loading := range []string{"http://", "https://example.com/x\"", "<link", "@import", "url("} {
			assert.NotContains(t, html, loading)
		}
	})
	t.Run("DC38 what comes where, in words", func(t *testing.T) {
		leaders := `{"idea_id": "idea-1"} **Podcast lab** is what teenagers want.`
		html := page(t, debate{
			cfg: discussion.Full(nil), in: discussion.Input{Preamble: []string{"We have 500 euros."}},
			cast: cast{
				discussion.TeamLeader: {"# Direction\n\nBe loud.", errBoom, "two", "three", leaders},
				discussion.Moderator: {evaluations(
					map[string]any{"idea_id": 1, "score": 7.45, "criteria": marks(8, 7, 9, 8, 6), "pros": []string{"first pro"}},
					map[string]any{"idea_id": 2, "score": 7.6, "criteria": marks(1, 2, 3, 4, 5), "pros": []string{"cheap", "easy", "third pro"}, "cons": []string{"loud", "second con"}, "feedback": "Try it."},
					map[string]any{"idea_id": 3, "score": 9.999, "criteria": marks(0, 0, 0, 0, 10.5)},
				)},
			},
		})
		body := html[strings.Index(html, "<main>"):]
		at := 0
		for _, part := range []string{
			`<p class="eyebrow">Winner</p>`, "<h3>Repair café</h3><span class=\"score\">10.0</span>", "The highest of 3 scores, and the threshold of 7.5 is met. The team leader preferred “Podcast lab”.",
			"<span>Feasibility</span>", `0.0</span>`, `<blockquote class="prose"><p><b>Team leader</b></p><p>Podcast lab is what teenagers want.</p></blockquote>`,
			`id="facts"`, "<b>Rounds</b>3 of 3", "<b>Ideas</b>5", "<b>Calls</b>26", `id="warnings"`,
			"<li><b>Team leader:</b> round 1: boom</li>", "<li><b>Repair café:</b> completeness is 10.5, want a number of 0 to 10</li>",
			"The line marks the threshold of 7.5 out of 10.",
			"<span>1. Repair café</span>", "<span>2. Game night</span><span class=\"score\">7.60</span>", "<span>3. Podcast lab</span><span class=\"score below\">7.45 below</span>",
			"<article class=\"card winner\">", "<h3>Repair café</h3>", "<h3>Game night</h3>", "<h3>Podcast lab</h3><span class=\"score below\">7.45 below 7.5</span>", "<h3>Silent disco</h3>", "no score",
			"<h3>Opening</h3>", `<b>Host</b> <span class="tag">preamble</span> <span class="soft">We have 500 euros.</span>`,
			`<b>Team leader</b> <span class="tag">kickoff</span> <span class="soft">Direction</span>`, "<p><b>Direction</b></p><p>Be loud.</p>",
			"<h3>Round 1</h3>", `<b>Ideation</b> <span class="soft">Ideas: Podcast lab, Game night, Repair café, Silent disco, Roof garden</span>`,
			"<li><b>Podcast lab</b><ul><li><b>Description</b>: about Podcast lab</li></ul></li>", `<b>Critic</b> <span class="tag">turn 2</span>`,
			"<h3>Round 3</h3>", "<h3>Decision</h3>", `<b>Moderator</b> <span class="tag">validation</span>`, `<span class="tag">selection</span> <span class="soft">Podcast lab is what teenagers want.</span>`,
			"The UI creator&#39;s own page",
		} {
			i := strings.Index(body[at:], part)
			require.GreaterOrEqual(t, i, 0, "%s, in its place; the rest is %.300s", part, body[at:])
			at += i
		}
		for _, raw := range []string{"team_leader", "ui_creator", "**", "idea_id"} {
			assert.NotContains(t, body, raw)
		}
	})
	t.Run("DC38 the winner shows two pros and one con, its card all", func(t *testing.T) {
		html := page(t, judged(1, evaluations(map[string]any{"idea_id": 1, "score": 5.95, "pros": []string{"p1", "p2", "p3"}, "cons": []string{"c1", "c2"}})))
		result, rest, _ := strings.Cut(html, `id="facts"`)
		assert.Contains(t, result, "<li>p1</li><li>p2</li></ul>")
		assert.Contains(t, result, "<li>c1</li></ul>")
		assert.NotContains(t, result, "p3")
		assert.NotContains(t, result, "c2")
		assert.Contains(t, rest, "<li>p1</li><li>p2</li><li>p3</li></ul>")
		assert.Contains(t, rest, "<li>c1</li><li>c2</li></ul>")
		assert.Contains(t, result, "5.95 below 6.0")
		assert.Contains(t, result, "The only score, below the threshold of 6.")
		assert.Contains(t, rest, "<b>Unverified:</b> Alpha")
		assert.Contains(t, html, "Discussion · Partial")
	})
	t.Run("golden page", func(t *testing.T) {
		golden(t, "page.html", page(t, debate{cfg: discussion.Full(nil), cast: cast{discussion.Moderator: {evaluations(
			map[string]any{"idea_id": "idea-1", "criteria": marks(8, 7, 9, 8, 6), "pros": []string{"cheap"}, "cons": []string{"loud"}, "feedback": "Try it."},
			map[string]any{"idea_id": "idea-2", "score": 4},
		)}}}))
	})
	t.Run("of a discussion that failed", func(t *testing.T) {
		html := page(t, debate{cfg: discussion.Standard(nil), cast: cast{discussion.Ideation: {"prose"}}})
		assert.Contains(t, html, "No idea was chosen")
		assert.Contains(t, html, "Discussion · Failed")
	})
	t.Run("of nothing", func(t *testing.T) {
		html, err := discussion.Page(discussion.Outcome{})
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(strings.TrimSpace(html), "</html>"))
	})
}
