package page

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/convene-go/convene/orchestrator/research/workers/internal/prose"
)

// here is where the pages of tests come from.
var here = &url.URL{Scheme: "https", Host: "example.com", Path: "/a"}

// readHTML reads an HTML page.
func readHTML(body string) (title, text string, err error) {
	title, text, err = Read("text/html", []byte(body), here)
	return title, prose.Paragraphs(text), err
}

// formats is a page on which a parser that opens formatting elements again makes
// paragraphs × marks elements.
func formats(mark string, marks, paragraphs int) string {
	var b strings.Builder
	for i := range marks {
		fmt.Fprintf(&b, "<p><%s id=a%d>", mark, i)
	}
	return b.String() + strings.Repeat("<p>x", paragraphs)
}

func TestHostileHTML(t *testing.T) {
	t.Run("a small page is no giant tree", func(t *testing.T) {
		for _, mark := range []string{"b", "font", "nobr", "tt", "a", "code", "a href=x"} {
			page := formats(mark, 400, 1000)
			plain, err := simplify(strings.NewReader(page))
			require.NoError(t, err)
			doc, err := html.Parse(bytes.NewReader(plain))
			require.NoError(t, err)
			elements, _ := size(doc)
			assert.Less(t, elements, 10_000, mark)
			_, _, err = readHTML(page)
			require.NoError(t, err)
		}
	})
	t.Run("many tags", func(t *testing.T) {
		plain, err := simplify(strings.NewReader(strings.Repeat("<p>", maxTags+10)))
		require.NoError(t, err)
		assert.Equal(t, maxTags, bytes.Count(plain, []byte("<p>")))
	})
	news, err := os.ReadFile("../../testdata/article.html")
	require.NoError(t, err)
	for name, around := range map[string][2]string{
		"more elements than are searched": {"", strings.Repeat("<p>x", maxElements)},
		"nested deeper than is searched":  {strings.Repeat("<div>", maxDepth), ""},
	} {
		t.Run(name, func(t *testing.T) {
			page := strings.Replace(string(news), "<body>", "<body>"+around[0], 1) + around[1]
			title, text, err := readHTML(page)
			require.NoError(t, err)
			assert.Equal(t, "Night wards try a new helper | The Invented Courier", title)
			assert.Contains(t, text, "Sports", "as it is, with its menu")
			assert.Contains(t, text, "where the two did not agree.")
			assert.NotContains(t, text, "not for readers")
			assert.True(t, strings.HasSuffix(text, "Copyright of nobody"+strings.ReplaceAll(around[1], "<p>", "\n\n")))
		})
	}
	t.Run("nested deeper than is parsed", func(t *testing.T) {
		_, _, err := readHTML(strings.Repeat("<div>", 49_000) + "hi")
		require.ErrorContains(t, err, "HTML cannot be read")
	})
	t.Run("a long title", func(t *testing.T) {
		plain, err := simplify(strings.NewReader("<title>" + strings.Repeat("ab", 100_000) + "</title>"))
		require.NoError(t, err)
		assert.Equal(t, "<title>"+strings.Repeat("ab", MaxTitle)[:MaxTitle-1]+"…</title>", string(plain))
		title, _, err := readHTML("<title>" + strings.Repeat("a | ", 100_000) + "</title><p>hi")
		require.NoError(t, err)
		assert.LessOrEqual(t, utf8.RuneCountInString(title), MaxTitle)
	})
	t.Run("long attributes", func(t *testing.T) {
		plain, err := simplify(strings.NewReader(`<p class="` + strings.Repeat("a", maxAttribute+1) + `" id="i" onclick="x()" role="` + strings.Repeat("r", maxAttribute) + `">`))
		require.NoError(t, err)
		assert.Equal(t, `<p id="i" role="`+strings.Repeat("r", maxAttribute)+`">`, string(plain))
	})
	t.Run("an element that does not end", func(t *testing.T) {
		_, text, err := readHTML("<p>hi<svg><p>x")
		require.NoError(t, err)
		assert.Equal(t, "hi", text)
	})
}

func FuzzPage(f *testing.F) {
	f.Add("text/html", []byte("<title>a - b</title><nav><a href=x>c</a></nav><article><h1>a</h1><p>d, e"))
	f.Add("text/html; charset=utf-16", []byte("<p>a"))
	f.Add("text/html", []byte(formats("b", 3, 3)))
	f.Add("text/html", []byte("<table><a><td><a><select><title><template><form></table><br>"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		title, text, err := Read(kind, body, here)
		if err != nil {
			require.NotContains(t, err.Error(), "runtime error")
			return
		}
		text = prose.Cut(prose.Paragraphs(text), 100)
		require.True(t, utf8.ValidString(title+text))
		require.LessOrEqual(t, utf8.RuneCountInString(text), 100)
		require.LessOrEqual(t, utf8.RuneCountInString(title), MaxTitle)
		require.NotContains(t, title, "\n")
	})
}
