package discussion_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		assert.Equal(t, discussion.TypeVisualization, last.Type)
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
			assert.Equal(t, []string{"report.failed"}, p.warned())
			assert.Len(t, p.events(t, "report.failed"), 1)
			assert.Equal(t, discussion.StatusCompleted, p.out.Discussion.Status)
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
		cfg.Reporter = discussion.HTML{}
		p := debate{cfg: cfg}.play(t)
		require.NoError(t, p.err)
		assert.Contains(t, p.out.Report, "<!DOCTYPE html>")
		assert.Contains(t, p.out.Report, topic)
		assert.NotContains(t, p.roles(), creator)
	})
	t.Run("DX11 a Reporter that fails", func(t *testing.T) {
		cfg := discussion.Standard(nil)
		cfg.Reporter = broken{}
		p := debate{cfg: cfg}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"report.failed"}, p.warned())
		assert.Equal(t, "<h1>Report</h1>", p.out.Report, "the ui_creator's")
	})
}

type broken struct{}

func (broken) Report(discussion.Outcome) (string, error) { return "", errors.New("no paper") }

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
	t.Run("golden page", func(t *testing.T) {
		golden(t, "page.html", page(t, debate{cfg: discussion.Full(nil), cast: cast{discussion.Moderator: {evaluations(
			map[string]any{"idea_id": "idea-1", "criteria": marks(8, 7, 9, 8, 6), "pros": []string{"cheap"}, "cons": []string{"loud"}, "feedback": "Try it."},
			map[string]any{"idea_id": "idea-2", "score": 4},
		)}}}))
	})
	t.Run("of a discussion that failed", func(t *testing.T) {
		html := page(t, debate{cfg: discussion.Standard(nil), cast: cast{discussion.Ideation: {"prose"}}})
		assert.Contains(t, html, "No idea was chosen.")
		assert.Contains(t, html, "failed")
	})
	t.Run("of nothing", func(t *testing.T) {
		html, err := discussion.Page(discussion.Outcome{})
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(strings.TrimSpace(html), "</html>"))
	})
}
