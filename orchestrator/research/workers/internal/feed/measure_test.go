package feed

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// full is how long an answer may be that the search reads.
const full = 4 << 20

// filled is a feed of at most 4 MiB: a begin, and a part as often as it fits.
func filled(begin, part string) string {
	end := "</feed>"
	return begin + strings.Repeat(part, (full-len(begin)-len(end))/len(part)) + end
}

// papers is a feed of 4 MiB as arXiv writes it.
func papers() string {
	author := "    <author>\n      <name>Ada Example</name>\n      <arxiv:affiliation xmlns:arxiv=\"http://arxiv.org/schemas/atom\">A</arxiv:affiliation>\n    </author>\n"
	return filled(feedOf, "  <entry>\n    <id>http://arxiv.org/abs/1</id>\n    <title>T</title>\n    <summary>"+strings.Repeat("word ", 240)+
		"</summary>\n"+strings.Repeat(author, 5)+"    <link href=\"http://arxiv.org/abs/1\" rel=\"alternate\"/>\n"+strings.Repeat("    <category term=\"cs.AI\"/>\n", 4)+"  </entry>\n")
}

// hostile are feeds of 4 MiB, or less, that take the parser long, and why they are refused.
var hostile = map[string]struct{ text, want string }{
	"nested":               {filled(feedOf, "<a>"), "nested deeper than 100"},
	"nested in an entry":   {filled(feedOf+"<entry>", "<author>"), "nested deeper than 100"},
	"nested in a text":     {filled(feedOf+"<entry><title>", "<b>"), "nested deeper than 100"},
	"nested, with a BEL":   {filled(feedOf, "<\x07a>"), "nested deeper than 100"},
	"elements":             {filled(feedOf, "<a/>"), "more than 80000 elements"},
	"papers without words": {filled(feedOf, "<entry/>"), "more than 80000 elements"},
	"namespaces":           {filled(strings.TrimSuffix(feedOf, ">")+declared(1000)+">", "<a/>"), "more than 8 namespaces"},
	"namespaces, nested":   {filled(feedOf+strings.Repeat("<a"+declared(5)+">", 20), "<b/>"), "more than 8 namespaces"},
	"a long base":          {filled(strings.TrimSuffix(feedOf, ">")+` xml:base="http://a/`+strings.Repeat("b", 1<<20)+`">`, `<link href="c"/>`), "xml:base"},
	"a base of another prefix": {filled(strings.TrimSuffix(feedOf, ">")+` xmlns:q="http://www.w3.org/XML/1998/namespace" q:base="http://a/">`,
		`<link href="c"/>`), "xml:base"},
}

// declared are so many namespaces of an element.
func declared(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` xmlns:n%d="http://a/%d"`, i, i)
	}
	return b.String()
}

func TestMeasure(t *testing.T) {
	doc, err := os.ReadFile("../../doc.go")
	require.NoError(t, err)
	assert.Contains(t, string(doc), fmt.Sprintf(" %d,000 elements, nested at most %d deep", maxElements/1000, maxDepth))
	for name, tt := range hostile {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(tt.text), full)
			n, err := measure([]byte(tt.text))
			require.ErrorContains(t, err, tt.want)
			assert.LessOrEqual(t, n, maxElements+1, "the elements behind the fault are not read")
			if !strings.Contains(tt.want, "elements") {
				assert.LessOrEqual(t, n, maxDepth+1)
			}
			_, err = Parse([]byte(tt.text), 10)
			assert.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("a real feed of 4 MiB is read", func(t *testing.T) {
		text := papers()
		n, err := measure([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, strings.Count(text, "<")-strings.Count(text, "</"), n)
		f, err := Parse([]byte(text), 10_000)
		require.NoError(t, err)
		assert.Len(t, f.Entries, strings.Count(text, "<entry>"))
	})
	limits := []struct {
		name string
		text func(n int) string
		most int
	}{
		{"elements", func(n int) string { return feedOf + strings.Repeat("<a/>", n-1) + "</feed>" }, maxElements},
		{"depth", func(n int) string {
			return feedOf + strings.Repeat("<a>", n-1) + strings.Repeat("</a>", n-1) + "</feed>"
		}, maxDepth},
		{"namespaces", func(n int) string { return feedOf + "<a" + declared(n-2) + "/></feed>" }, maxNamespaces},
	}
	for _, tt := range limits {
		t.Run("the limit: "+tt.name, func(t *testing.T) {
			_, err := measure([]byte(tt.text(tt.most)))
			require.NoError(t, err)
			_, err = measure([]byte(tt.text(tt.most + 1)))
			require.Error(t, err)
		})
	}
	t.Run("namespaces of an element that ended count no more", func(t *testing.T) {
		_, err := measure([]byte(feedOf + strings.Repeat("<a"+declared(6)+"></a>", 100) + "</feed>"))
		require.NoError(t, err)
	})
	t.Run("a feed in another charset", func(t *testing.T) {
		f, err := Parse([]byte(`<?xml version="1.0" encoding="iso-8859-1"?>`+feedOf+"<entry><title>caf\xe9</title></entry></feed>"), 1)
		require.NoError(t, err)
		assert.Equal(t, "café", f.Entries[0].Title)
		_, err = Parse([]byte(`<?xml version="1.0" encoding="iso-8859-1"?>`+feedOf+"<!-- \xe9 -->"+strings.Repeat("<a>", 1000)), 1)
		require.ErrorContains(t, err, "nested deeper")
	})
}

func BenchmarkParse(b *testing.B) {
	texts := map[string]string{
		"papers":        papers(),
		"most elements": feedOf + strings.Repeat("<a/>", maxElements-1) + "</feed>",
		"most namespaces": strings.TrimSuffix(feedOf, ">") + declared(maxNamespaces-2) + ">" +
			strings.Repeat("<entry/>", maxElements-1) + "</feed>",
	}
	for name, tt := range hostile {
		texts["refused: "+name] = tt.text
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, _ = Parse([]byte(text), 50)
			}
		})
	}
}
