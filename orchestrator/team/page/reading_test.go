package page_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/providers"
)

// prose returns the HTML of a text.
func prose(t *testing.T, text string) string {
	t.Helper()
	_, html, ok := strings.Cut(section(t, page.Section{Text: text}), `<div class="card prose">`)
	require.True(t, ok)
	html, _, _ = strings.Cut(html, "</div>")
	return html
}

// line returns the line that shows a folded turn.
func line(t *testing.T, text string) string {
	t.Helper()
	html := section(t, page.Section{Steps: []page.Step{{Turns: []page.Turn{{Who: "a", Text: text}}}}})
	_, html, ok := strings.Cut(html, `<summary><b>a</b> <span class="soft">`)
	require.True(t, ok)
	html, _, _ = strings.Cut(html, "</span></summary>")
	return html
}

func TestHeadings(t *testing.T) {
	for in, want := range map[string]string{
		"# one":         "<p><b>one</b></p>",
		"###### six ##": "<p><b>six</b></p>",
		"# a # b #":     "<p><b>a # b</b></p>",
		"##":            "<p>##</p>",
		"####### seven": "<p>####### seven</p>",
		"#none":         "<p>#none</p>",
		"  ## in":       "<p><b>in</b></p>",
		"# **bold**":    "<p><b>bold</b></p>",
		"a\n# b\nc":     "<p>a</p><p><b>b</b></p><p>c</p>",
	} {
		assert.Equal(t, want, prose(t, in), in)
	}
}

func TestBullets(t *testing.T) {
	list := "<ul><li>one</li><li>two</li></ul>"
	for _, mark := range []string{"-", "*", "+", "•", "1.", "12)", "999."} {
		assert.Equal(t, list, prose(t, mark+" one\n"+mark+" two"), mark)
	}
	for in, want := range map[string]string{
		"1000. one":           "<p>1000. one</p>",
		"-one":                "<p>-one</p>",
		"- one\n\n- two":      "<ul><li>one</li></ul><ul><li>two</li></ul>",
		"- one\n   goes on":   "<ul><li>one goes on</li></ul>",
		"- one\n  - two":      list,
		"- `one`\n- __two__":  list,
		"***\n- one\n- two\n": list,
	} {
		assert.Equal(t, want, prose(t, in), in)
	}
}

func TestInlineMarks(t *testing.T) {
	for in, want := range map[string]string{
		"a *b* c":                         "a b c",
		"2 * 3 * 4":                       "2 * 3 * 4",
		"(*b*)":                           "(b)",
		"a*b*c":                           "a*b*c",
		"`*b*`":                           "b",
		"snake_case":                      "snake_case",
		"[x](http://a.example)":           "x (a.example)",
		"[x](<https://a.example/b c>)":    "[x](&lt;https://a.example/b c&gt;)",
		"[x](mailto:a@b.example)":         "[x](mailto:a@b.example)",
		"[x](https://a.example/b \"t\")":  "[x](https://a.example/b &#34;t&#34;)",
		"[a](https://x/1), [b](http://y)": "a (x), b (y)",
	} {
		assert.Equal(t, "<p>"+want+"</p>", prose(t, in), in)
	}
}

// TestCodeIsVerbatim has no Markdown read between fences.
func TestCodeIsVerbatim(t *testing.T) {
	for in, want := range map[string]string{
		"```\n# a\n- b\n**c**\n\n  d\n```":     "<pre># a\n- b\n**c**\n\n  d</pre>",
		"  ```go\nx\n  ```":                    "<pre>x</pre>",
		"a\n```\nb\n```\nc":                    "<p>a</p><pre>b</pre><p>c</p>",
		"```\na {x}\n```\nand `b`":             "<pre>a {x}</pre><p>and b</p>",
		"- one\n```\ncode\n```\n- two":         "<ul><li>one</li></ul><pre>code</pre><ul><li>two</li></ul>",
		"```\na\n```\n\n```\nb\n```\n\n```\nc": "<pre>a</pre><pre>b</pre><pre>c</pre>",
	} {
		assert.Equal(t, want, prose(t, in), in)
	}
}

func TestJSONItems(t *testing.T) {
	for in, want := range map[string]string{
		`{"a_b":"x"}`:                        "<li><b>A b</b>: x</li>",
		`{"a":null,"b":1.50,"c":[]}`:         "<li><b>A</b>: null</li><li><b>B</b>: 1.50</li><li><b>C</b></li>",
		`{"a":["x",1,true]}`:                 "<li><b>A</b><ul><li>x</li><li>1</li><li>true</li></ul></li>",
		`[{"name":"N","x":"y"}]`:             "<li><b>N</b><ul><li><b>X</b>: y</li></ul></li>",
		`[{"id":"I","title":"T"}]`:           "<li><b>I</b><ul><li><b>Title</b>: T</li></ul></li>",
		`[{"x":["y"],"z":1}]`:                "<li><ul><li><b>X</b><ul><li>y</li></ul></li><li><b>Z</b>: 1</li></ul></li>",
		`{"a":"two\nlines","b":"**c** <d>"}`: "<li><b>A</b>: two\nlines</li><li><b>B</b>: **c** &lt;d&gt;</li>",
		`{"b":1,"a":2,"b":3}`:                "<li><b>B</b>: 1</li><li><b>A</b>: 2</li><li><b>B</b>: 3</li>",
	} {
		assert.Equal(t, "<ul>"+want+"</ul>", prose(t, in), in)
	}
}

func TestHeadline(t *testing.T) {
	for in, want := range map[string]string{
		"- one\n- two":              "one, two",
		"```\ncode\n```":            "code",
		"a\nb\n\nc":                 "a b",
		`{"a":{"x":1,"y":2}}`:       "A: X: 1, Y: 2",
		`{"a":1,"b":"t"}`:           "A: 1, B: t",
		"{\"a\":1}\n\n# Head\nmore": "Head",
		"Text.\n{\"a\":1}":          "Text.",
		"{\"a\":1} {\"b\":2}":       "A: 1", // the first of them
		"  \n\n ":                   "",
	} {
		assert.Equal(t, want, line(t, in), in)
	}
	assert.Equal(t, strings.Repeat("é", 60)+"…", line(t, strings.Repeat("é", 61)), "120 bytes")
	assert.Equal(t, strings.Repeat("é", 60), line(t, strings.Repeat("é", 60)))
}

// TestEveryStringOfJSONIsShown has no text of an answer get lost on its way to the page.
func TestEveryStringOfJSONIsShown(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{3,8}`)
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOfN(word, word, 1, 5).Draw(t, "fields")
		data, err := json.Marshal(map[string]any{"list": []any{fields}, "more": fields})
		require.NoError(t, err)
		html, err := page.Page{Sections: []page.Section{{ID: "it", Text: string(data)}}}.HTML()
		require.NoError(t, err)
		for _, text := range fields {
			require.GreaterOrEqual(t, strings.Count(html, text), 2, "%s in %s", text, data)
		}
	})
}

// TestPercentIsAShare has bars that never leave their rail.
func TestPercentIsAShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]float64{1, 10, 100}).Draw(t, "max")
		s := page.Score{Value: rapid.Float64Range(-2, 3).Draw(t, "value") * most, Gate: rapid.Float64Range(0, 1).Draw(t, "gate") * most, Max: most}
		var value, gate float64
		_, err := fmt.Sscan(s.Percent()+" "+s.GateAt(), &value, &gate)
		require.NoError(t, err)
		require.InDelta(t, 100*math.Min(math.Max(s.Value/most, 0), 1), value, 0.05+1e-9)
		require.InDelta(t, 100*s.Gate/most, gate, 0.05+1e-9)
	})
}

func TestStatusInWords(t *testing.T) {
	for status, want := range map[orchestrator.Status]string{
		"": "Running", orchestrator.Completed: "Completed", orchestrator.OutOfBudget: "Out of budget",
	} {
		assert.Equal(t, want, page.Of("x", "y", orchestrator.Outcome{Status: status}).Status)
	}
}

func TestCost(t *testing.T) {
	for _, tt := range []struct {
		u    providers.Usage
		want string
	}{
		{providers.Usage{}, "0.0000 USD"},
		{providers.Usage{Cost: 49_999}, "0.0000 USD"},
		{providers.Usage{Cost: 12 * providers.USD}, "12.0000 USD"},
		{providers.Usage{Unpriced: 2, Cost: 1}, "more than 0.0000 USD"},
		{providers.Usage{Unpriced: 2}, "unknown"},
	} {
		facts := page.Of("x", "y", orchestrator.Outcome{Spent: tt.u}).Facts
		assert.Contains(t, facts, page.Fact{Name: "Cost", Value: tt.want})
	}
}

// TestDiffMarksItsLines has the lines of a difference by what they do.
func TestDiffMarksItsLines(t *testing.T) {
	diff := func(text string) string {
		html := section(t, page.Section{Steps: []page.Step{{Turns: []page.Turn{{Diff: text}}}}})
		_, html, _ = strings.Cut(html, "<pre>")
		html, _, _ = strings.Cut(html, "</pre>")
		return html
	}
	assert.Equal(t, `<span class="place">@@ -1 &#43;1 @@</span>
<span class="removed">-a</span>
<span class="added">&#43;b</span>
<span> c</span>
`, diff("@@ -1 +1 @@\n-a\n+b\n c\n"))
	assert.NotContains(t, section(t, page.Section{Steps: []page.Step{{Turns: []page.Turn{{Text: "x"}}}}}), "<pre>", "there is none")
}

// TestNamedKeepsTheRest replaces names, and nothing else.
func TestNamedKeepsTheRest(t *testing.T) {
	o := orchestrator.Outcome{Warnings: []orchestrator.Warning{{Who: "ann", Message: "ann was late"}, {Message: "no budget"}}}
	p := page.Of("Research", "ann", o).Named(strings.ToUpper)
	assert.Equal(t, []page.Note{{Who: "ANN", Text: "ann was late"}, {Text: "no budget"}}, p.Warnings)
	assert.Equal(t, "ann", p.Title)
	assert.Empty(t, p.Unverified)
}

// TestTurnsWithoutText shows of a turn only what it has.
func TestTurnsWithoutText(t *testing.T) {
	html := section(t, page.Section{Steps: []page.Step{{Title: "Round 1", Turns: []page.Turn{{Who: "ann"}, {Who: "bob", What: "late"}}}}})
	ann, bob, ok := strings.Cut(html, "<b>bob</b>")
	require.True(t, ok)
	assert.NotContains(t, ann, "tag")
	assert.NotContains(t, ann, "score")
	assert.NotContains(t, ann, "<pre>")
	assert.Contains(t, bob, `<span class="tag">late</span>`)
}

// TestWordsKeepTheRest changes the first letter, dashes and underscores, and nothing else.
func TestWordsKeepTheRest(t *testing.T) {
	for in, want := range map[string]string{
		"a": "A", "A_B-c": "A B c", "x__y": "X  y", "_x": " x", "two words": "Two words", "7up": "7up", "ID": "ID",
	} {
		assert.Equal(t, want, page.Words(in), in)
	}
}
