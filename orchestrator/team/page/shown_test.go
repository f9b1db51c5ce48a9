package page_test

import (
	"fmt"
	"html/template"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/page"
)

// whole returns the HTML of a page from its body on.
func whole(t *testing.T, p page.Page) string {
	t.Helper()
	html, err := p.HTML()
	require.NoError(t, err)
	_, body, ok := strings.Cut(html, "<body>")
	require.True(t, ok)
	return body
}

// inOrder asserts that the parts stand in the text, one after the other.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		before, after, ok := strings.Cut(text, part)
		require.True(t, ok, "%s is not after what comes before it, in:\n%s%s", part, before, after)
		text = after
	}
}

func TestPageFromTopToBottom(t *testing.T) {
	html := whole(t, page.Page{
		Team: "Research", Title: "Tea & milk", Status: "Completed",
		Result:     page.Card{Title: "Article", Won: true, Text: "It helps."},
		Facts:      []page.Fact{{Name: "Calls", Value: "3"}, {Name: "Time", Value: "1m"}},
		Unverified: []string{"the year", "the place"},
		Warnings:   []page.Note{{Who: "ann", Text: "was late"}, {Text: "no budget"}},
		Sections:   []page.Section{{ID: "a", Title: "First", Text: "x"}, {ID: "b", Title: "Second", Text: "y"}},
	})
	inOrder(
		t, html, `Research · Completed`, `<h1>Tea &amp; milk</h1>`, `<section class="card winner" id="result">`, "<h3>Article</h3>", "<p>It helps.</p>",
		"<li><b>Calls</b>3</li>", "<li><b>Time</b>1m</li>", "What to know", "<b>Unverified:</b> the year, the place</li>",
		"<li><b>ann:</b> was late</li>", "<li>no budget</li>", `<section id="a">`, "<h2>First</h2>", `<section id="b">`, "<h2>Second</h2>",
	)
}

func TestPageWithoutWarnings(t *testing.T) {
	html := whole(t, page.Page{Title: "x"})
	assert.NotContains(t, html, "What to know")
	assert.NotContains(t, html, "winner", "nothing was made")
	assert.NotContains(t, html, "<h2>")
	assert.Contains(t, whole(t, page.Page{Unverified: []string{"it"}}), "What to know", "what is unverified is enough")
}

func TestCardShowsAllParts(t *testing.T) {
	html := section(t, page.Section{Cards: []page.Card{{
		Label: "Idea 1", Title: "Podcast", Score: &page.Score{Value: 7.2, Gate: 7.5, Max: 10}, Why: "Two liked it.", Tags: []string{"round 2", "new"},
		Text: "A **weekly** show.", Bars: []page.Bar{{Name: "Fun", Score: page.Score{Value: 8, Max: 10}}}, Pros: []string{"cheap"}, Cons: []string{"slow"},
		Quote: &page.Turn{Who: "Critic", Text: "Fine."}, Won: true,
	}}})
	inOrder(
		t, html, `<article class="card winner">`, `<p class="eyebrow">Idea 1</p>`, "<h3>Podcast</h3>", `<span class="score below">7.2 below 7.5</span>`,
		"Two liked it.", `<span class="tag">round 2</span>`, `<span class="tag">new</span>`, "<p>A weekly show.</p>",
		"<span>Fun</span>", `style="width:80.0%"`, `<span class="score">8.0</span>`,
		`<ul class="plus"><li>cheap</li></ul>`, `<ul class="minus"><li>slow</li></ul>`, "<p><b>Critic</b></p><p>Fine.</p></blockquote>",
	)
}

func TestCardLeavesOutWhatIsMissing(t *testing.T) {
	html := section(t, page.Section{Cards: []page.Card{{Title: "Podcast"}}})
	for _, part := range []string{"eyebrow", "score", "soft", "tag", "prose", "marks", "plus", "minus", "blockquote", "winner"} {
		assert.NotContains(t, html, part)
	}
}

func TestBarShowsGate(t *testing.T) {
	html := section(t, page.Section{Bars: []page.Bar{
		{Name: "ann", Score: page.Score{Value: 5, Gate: 7.5, Max: 10}}, {Name: "bob", Score: page.Score{Value: 9, Max: 10}},
	}})
	ann, bob, ok := strings.Cut(html, "<span>bob</span>")
	require.True(t, ok)
	inOrder(t, ann, "<span>ann</span>", `<span class="score below">5.0 below</span>`, `width:50.0%`, `class="limit" style="left:75.0%"`)
	inOrder(t, bob, `<span class="score">9.0</span>`, `width:90.0%`)
	assert.NotContains(t, bob, "limit", "there is no gate")
}

func TestSectionInOrder(t *testing.T) {
	html := section(t, page.Section{
		Title: "Title", Note: "note", Text: "text", Bars: []page.Bar{{Name: "bar", Score: page.Score{Max: 1}}}, Cards: []page.Card{{Title: "card"}},
		Steps: []page.Step{{Title: "Round 1", Turns: []page.Turn{{Who: "a"}, {Who: "b"}}}, {Title: "Round 2"}}, Frame: "<p>",
	})
	inOrder(
		t, html, "<h2>Title</h2>", `<p class="soft">note</p>`, "<p>text</p>", "<span>bar</span>", "<h3>card</h3>",
		"<h3>Round 1</h3>", "<summary><b>a</b>", "<summary><b>b</b>", "<h3>Round 2</h3>", "<iframe",
	)
}

// A frame's page is one attribute, whatever it has in it, and the frame can do nothing.
func TestFrameIsClosed(t *testing.T) {
	const evil = `<p class="x">a & b</p>"><script>alert('x')</script>`
	html := section(t, page.Section{Frame: evil})
	assert.Contains(t, html, `<iframe sandbox="" referrerpolicy="no-referrer"`)
	assert.Contains(t, html, `srcdoc="`+template.HTMLEscapeString(evil)+`"`)
	assert.NotContains(t, html, "<script")
}

// Text of agents never becomes markup, wherever it is shown.
func TestEverythingIsEscaped(t *testing.T) {
	const evil = `<img src=x onerror="a()">`
	bars := []page.Bar{{Name: evil, Score: page.Score{Max: 1}}}
	turn := page.Turn{Who: evil, What: evil, Text: evil, Output: evil, Diff: evil}
	card := page.Card{
		Label: evil, Title: evil, Why: evil, Tags: []string{evil}, Text: evil, Bars: bars,
		Pros: []string{evil}, Cons: []string{evil}, Quote: &turn,
	}
	html, err := page.Page{
		Team: evil, Title: evil, Status: evil, Result: card, Facts: []page.Fact{{Name: evil, Value: evil}}, Unverified: []string{evil},
		Warnings: []page.Note{{Who: evil, Text: evil}},
		Sections: []page.Section{{
			ID: evil, Title: evil, Note: evil, Text: evil, Bars: bars, Cards: []page.Card{card}, Frame: evil,
			Steps: []page.Step{{Title: evil, Turns: []page.Turn{turn}}},
		}},
	}.HTML()
	require.NoError(t, err)
	assert.NotContains(t, html, "<img")
	// 5 in the head, 10 in each card, 2 facts, 3 to know, 6 in the turn, and 7 in the section.
	assert.Equal(t, 5+2*10+2+3+6+7, strings.Count(html, "&lt;img"), "each text is there")
}

func TestPageLoadsNothing(t *testing.T) {
	html, err := page.Page{Title: "x", Sections: []page.Section{{ID: "a", Text: "see [it](https://a.example/b)", Frame: "<p>"}}}.HTML()
	require.NoError(t, err)
	for _, part := range []string{"<script", "<link", "src=", "href=", "url(", "@import"} {
		assert.NotContains(t, html, part)
	}
}

func TestTitleIsShort(t *testing.T) {
	p := page.Of("Research", " tea\n and  "+strings.Repeat("milk ", 100), orchestrator.Outcome{})
	assert.True(t, strings.HasPrefix(p.Title, "tea and milk"), p.Title)
	assert.LessOrEqual(t, len(p.Title), 303, "300 bytes and an ellipsis")
}

func TestManyPlacesOfJSON(t *testing.T) {
	html := section(t, page.Section{Text: strings.Repeat("a {\"k\":1}\n", 60)})
	assert.Equal(t, 50, strings.Count(html, "<li><b>K</b>: 1</li>"), "only the first 50 become lists")
	assert.Contains(t, html, "a {&#34;k&#34;:1} a {&#34;k&#34;:1}", "the others are text")
}

func TestItemsEndWithTheirList(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a list after a paragraph", "one\n- two", "<p>one</p><ul><li>two</li></ul>"},
		{"a paragraph after a list", "- one\ntwo", "<ul><li>one</li></ul><p>two</p>"},
		{"a heading after a list", "- one\n# two", "<ul><li>one</li></ul><p><b>two</b></p>"},
		{"code after a list", "- one\n```\n- two\n```", "<ul><li>one</li></ul><pre>- two</pre>"},
		{"two codes", "```\na\n```\n```\nb\n```", "<pre>a</pre><pre>b</pre>"},
		{"an empty code", "```\n```", "<pre></pre>"},
		{"Windows", "a\r\n\r\nb", "<p>a</p><p>b</p>"},
		{"numbers that are no list", "1984 was\n3.5 is", "<p>1984 was 3.5 is</p>"},
		{"a rule of stars", "a\n* * *\nb", "<p>a</p><p>b</p>"},
		{"an object that breaks off", `see {"a":`, "<p>see {&#34;a&#34;:</p>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Contains(t, section(t, page.Section{Text: tt.in}), `<div class="card prose">`+tt.want+"</div>")
		})
	}
}

// Plain words are shown as they are, in one paragraph for each.
func TestPlainTextStays(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		var text, want strings.Builder
		for i := range rapid.IntRange(1, 5).Draw(t, "paragraphs") {
			words := strings.Join(rapid.SliceOfN(word, 1, 6).Draw(t, "words"), " ")
			fmt.Fprintf(&text, "%s%s", strings.Repeat("\n", 2*min(i, 1)), words)
			fmt.Fprintf(&want, "<p>%s</p>", words)
		}
		html, err := page.Page{Sections: []page.Section{{ID: "it", Text: text.String()}}}.HTML()
		require.NoError(t, err)
		require.Contains(t, html, `<div class="card prose">`+want.String()+"</div>")
	})
}
