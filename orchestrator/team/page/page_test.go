package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/providers"
)

func TestScore(t *testing.T) {
	for _, tt := range []struct {
		value, gate, most float64
		short, whole      string
	}{
		{7.45, 7.5, 10, "7.45 below", "7.45 below 7.5"},
		{7.4, 7.5, 10, "7.40 below", "7.40 below 7.5"},
		{7.39, 7.5, 10, "7.4 below", "7.4 below 7.5"},
		{7.6, 7.5, 10, "7.60", "7.60"},
		{7.61, 7.5, 10, "7.6", "7.6"},
		{7.5, 7.5, 10, "7.50", "7.50"},
		{7.499, 7.5, 10, "7.499 below", "7.499 below 7.5"},
		{7.4999999, 7.5, 10, "7.50", "7.50"}, // equal to six decimals
		{0, 7.5, 10, "0.0 below", "0.0 below 7.5"},
		{9.1, 0, 10, "9.1", "9.1"},
		{0, 0, 10, "0.0", "0.0"},
		{82.4, 70, 100, "82", "82"},
		{69.6, 70, 100, "69.6 below", "69.6 below 70"},
		{0.69, 0.7, 1, "0.690 below", "0.690 below 0.70"},
		{0.5, 0.7, 1, "0.50 below", "0.50 below 0.70"},
	} {
		s := page.Score{Value: tt.value, Gate: tt.gate, Max: tt.most}
		assert.Equal(t, tt.short, s.Short(), tt)
		assert.Equal(t, tt.whole, s.String(), tt)
	}
	assert.Equal(t, "76.0", page.Score{Value: 7.6, Max: 10}.Percent())
	assert.Equal(t, "100.0", page.Score{Value: 12, Max: 10}.Percent())
	assert.Equal(t, "0.0", page.Score{Value: -1, Max: 10}.Percent())
	assert.Equal(t, "75.0", page.Score{Value: 1, Gate: 7.5, Max: 10}.GateAt())
}

// A score never reads like a gate that it has not reached.
func TestScoreIsHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := page.Score{Value: rapid.Float64Range(0, 10).Draw(t, "value"), Gate: rapid.Float64Range(0.1, 10).Draw(t, "gate"), Max: 10}
		assert.Equal(t, s.Below(), strings.Contains(s.Short(), "below"))
	})
}

func TestOf(t *testing.T) {
	out := orchestrator.Outcome{
		Status: orchestrator.OutOfBudget, Unverified: []string{"the year"}, Elapsed: 90*time.Second + time.Millisecond,
		Spent:    providers.Usage{Calls: 3, Input: 10, Output: 5, Cost: 1_234_000_000},
		Warnings: []orchestrator.Warning{{Code: "x/y", Who: "ann", Message: "was late"}},
	}
	p := page.Of("Research", "Tea", out)
	assert.Equal(t, page.Page{
		Team: "Research", Title: "Tea", Status: "Out of budget", Unverified: []string{"the year"},
		Facts:    []page.Fact{{"Calls", "3"}, {"Tokens", "10 in, 5 out"}, {"Cost", "1.2340 USD"}, {"Time", "1m30s"}},
		Warnings: []page.Note{{"ann", "was late"}},
	}, p)
	named := page.Of("Research", "Tea", out).Named(func(id string) string { return map[string]string{"ann": "Ann", "the year": "Year"}[id] })
	assert.Equal(t, []string{"Year"}, named.Unverified)
	assert.Equal(t, []page.Note{{"Ann", "was late"}}, named.Warnings)
	assert.Equal(t, []string{"the year"}, out.Unverified, "the outcome is left as it is")
	assert.Equal(t, "Running", page.Of("x", "y", orchestrator.Outcome{}).Status)
	cost := func(u providers.Usage) string { return page.Of("", "", orchestrator.Outcome{Spent: u}).Facts[2].Value }
	assert.Equal(t, "unknown", cost(providers.Usage{Unpriced: 1}))
	assert.Equal(t, "more than 1.0000 USD", cost(providers.Usage{Unpriced: 1, Cost: providers.USD}))
}

func TestWords(t *testing.T) {
	assert.Equal(t, "Team leader", page.Words("team_leader"))
	assert.Equal(t, "Out of budget", page.Words("out-of-budget"))
	assert.Empty(t, page.Words(""))
}

// section is the page of one section, from its heading on.
func section(t *testing.T, s page.Section) string {
	t.Helper()
	s.ID = "it"
	html, err := page.Page{Sections: []page.Section{s}}.HTML()
	require.NoError(t, err)
	_, html, _ = strings.Cut(html, `<section id="it">`)
	html, _, _ = strings.Cut(html, "</main>")
	return html
}

func TestProse(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"paragraphs", "one\ntwo\n\nthree", "<p>one two</p><p>three</p>"},
		{"Markdown", "# Head\nA **bold** `word`.\n\n- one\n  goes on\n- two\n\n1. first\n---\nend", "<p><b>Head</b></p><p>A bold word.</p><ul><li>one goes on</li><li>two</li></ul><ul><li>first</li></ul><p>end</p>"},
		{"code", "so:\n```go\nx := <y>\n```\nend", "<p>so:</p><pre>x := &lt;y&gt;</pre><p>end</p>"},
		{"code without its end", "```\nx", "<pre>x</pre>"},
		{"HTML", "<b>x</b> & <script>", "<p>&lt;b&gt;x&lt;/b&gt; &amp; &lt;script&gt;</p>"},
		{"a link leaves its text and its host", "*See* [the <b> study](https://a.example/x?y=1#z), (*that* is 2 * 3 * 4)", "<p>See the &lt;b&gt; study (a.example), (that is 2 * 3 * 4)</p>"},
		{"another link is text", "[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"},
		{"JSON", `{"ideas":[{"title":"A","description":"a","n":1},{"title":"B","ok":true}]}`, "<ul><li><b>Ideas</b><ul><li><b>A</b><ul><li><b>Description</b>: a</li><li><b>N</b>: 1</li></ul></li><li><b>B</b><ul><li><b>Ok</b>: true</li></ul></li></ul></li></ul>"},
		{"a title that is not first", `[{"a":"x","title":"T"},{"n":1},[2]]`, "<ul><li><b>T</b><ul><li><b>A</b>: x</li></ul></li><li><b>1</b></li><li><b>2</b></li></ul>"},
		{"a list of JSON", `[{"a":"x"}]`, "<ul><li><b>x</b></li></ul>"},
		{"JSON in a fence and in prose", "See:\n```json\n{\"a\":\"<x>\"}\n```\nend {\"b\": 2}", "<p>See:</p><ul><li><b>A</b>: &lt;x&gt;</li></ul><p>end</p><ul><li><b>B</b>: 2</li></ul>"},
		{"broken JSON", `{"a": 1`, "<p>{&#34;a&#34;: 1</p>"},
		{"no JSON", "a {b} [1]", "<p>a {b} [1]</p>"},
		{"deep JSON", strings.Repeat(`{"a":`, 8) + "1" + strings.Repeat("}", 8), strings.Repeat("<ul><li><b>A</b>", 6) + `: {&#34;a&#34;:{&#34;a&#34;:1}}` + strings.Repeat("</li></ul>", 6)},
	} {
		t.Run("DC38 "+tt.name, func(t *testing.T) {
			assert.Contains(t, section(t, page.Section{Text: tt.in}), `<div class="card prose">`+tt.want+"</div>")
		})
	}
}

func TestTurnsShowAuthorAndFirstLine(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"prose", "# Head\n\nmore", "Head"},
		{"long", strings.Repeat("word ", 50), strings.Repeat("word ", 24) + "…"},
		{"JSON", `{"ideas":[{"title":"A","description":"a"},{"title":"B"}]}`, "Ideas: A, B"},
		{"JSON and prose", `{"idea_id":"idea-1"} It is the best.`, "It is the best."},
		{"nothing", "", ""},
	} {
		t.Run("DC38 "+tt.name, func(t *testing.T) {
			html := section(t, page.Section{Steps: []page.Step{{Title: "Round 1", Turns: []page.Turn{{Who: "Critic", What: "turn 2", Score: &page.Score{Value: 60, Gate: 70, Max: 100}, Text: tt.in}}}}})
			assert.Contains(t, html, `<summary><b>Critic</b> <span class="tag">turn 2</span> <span class="score below">60 below 70</span> <span class="soft">`+tt.want+`</span></summary>`)
			assert.NotContains(t, html, "<details open")
		})
	}
}

func TestEmptySectionsAreLeftOut(t *testing.T) {
	sections := []page.Section{{ID: "empty", Title: "Empty", Note: "n"}, {ID: "full", Title: "Full", Bars: []page.Bar{{Name: "b", Score: page.Score{Max: 1}}}}}
	html, err := page.Page{Sections: sections}.HTML()
	require.NoError(t, err)
	assert.NotContains(t, html, "Empty")
	assert.Contains(t, html, "Full")
	assert.Len(t, sections, 2)
	assert.Equal(t, "empty", sections[0].ID, "the page is left as it is")
}

// Output of programs is shown verbatim, without reading Markdown or JSON.
func TestTurnsShowOutputAndDiff(t *testing.T) {
	html := section(t, page.Section{Steps: []page.Step{{Turns: []page.Turn{{
		Text: "so", Output: "--- FAIL: <T>\n```\n{\"a\":1}",
		Diff: "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n---dashes\n+++<plus> {\"a\":1}\ndiff --git a/y b/y\n--- a/y\n",
	}}}}})
	assert.Contains(t, html, "<p>so</p><pre>--- FAIL: &lt;T&gt;\n```\n{&#34;a&#34;:1}</pre><pre>")
	assert.Contains(t, html, `<pre><span class="place">diff --git a/x b/x</span>
<span class="place">--- a/x</span>
<span class="place">&#43;&#43;&#43; b/x</span>
<span class="place">@@ -1,2 &#43;1,2 @@</span>
<span> one</span>
<span class="removed">---dashes</span>
<span class="added">&#43;&#43;&#43;&lt;plus&gt; {&#34;a&#34;:1}</span>
<span class="place">diff --git a/y b/y</span>
<span class="place">--- a/y</span>
</pre>`)
}

func TestFold(t *testing.T) {
	many := func(n int) page.Section {
		var s page.Section
		for range n {
			s.Cards = append(s.Cards, page.Card{Title: "x"})
			s.Bars = append(s.Bars, page.Bar{Name: "x", Score: page.Score{Max: 10}})
		}
		return s
	}
	t.Run("DC38 more than 20 fold", func(t *testing.T) {
		assert.NotContains(t, section(t, many(20)), "more</summary>")
		html := section(t, many(23))
		assert.Equal(t, 2, strings.Count(html, "<summary>3 more</summary>"))
		cards, folded, _ := strings.Cut(html[strings.Index(html, `<div class="grid">`):], "<summary>3 more</summary>")
		assert.Equal(t, 20, strings.Count(cards, "<article"))
		assert.Equal(t, 3, strings.Count(folded, "<article"))
	})
}

func FuzzProse(f *testing.F) {
	for _, seed := range []string{"# a\n- b\n```\nc", `x {"a":[1,{"b":null}]} y`, "[{\"", "{\"a\":{\"\":[[]]}}", "\xff{\"\":0}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		html, err := page.Page{Sections: []page.Section{{Text: text, Steps: []page.Step{{Turns: []page.Turn{{Text: text}}}}}}}.HTML()
		require.NoError(t, err)
		assert.NotContains(t, strings.ToLower(html), "<script")
	})
}

// A page shares nothing with its outcome: other names on the page change no outcome.
func TestOfSharesNothing(t *testing.T) {
	o := orchestrator.Outcome{Unverified: []string{"dep-1"}, Warnings: []orchestrator.Warning{{Who: "dep-1", Message: "late"}}}
	p := page.Of("Hierarchy", "t", o).Named(func(string) string { return "Sales" })
	assert.Equal(t, []string{"Sales"}, p.Unverified)
	assert.Equal(t, []page.Note{{Who: "Sales", Text: "late"}}, p.Warnings)
	assert.Equal(t, []string{"dep-1"}, o.Unverified)
	assert.Equal(t, "dep-1", o.Warnings[0].Who)
}
