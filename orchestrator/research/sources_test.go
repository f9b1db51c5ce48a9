package research_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
)

// found returns the outcome's sources for those that research workers found.
func found(t *testing.T, first, second []research.Source) []research.Source {
	t.Helper()
	p := scored(0.9)
	p.cast["planner"] = []any{plan(0.3, parallel("research", "web_search", "news_search"), sequential("writing", "article_writer"))}
	p.cast["web_search"] = []any{sources(first...)}
	p.cast["news_search"] = []any{sources(second...)}
	got := p.play(t)
	require.NoError(t, got.err)
	return got.out.Sources
}

func TestSources(t *testing.T) {
	type source = research.Source
	proves(t, []string{"RA70 RX15 R89 one address, the highest relevance", "R89 one address, the highest relevance"}, func(t *testing.T) {
		got := found(t, []source{{Title: "A", URL: "HTTPS://Example.com:443/x/?utm_source=y#top", Relevance: 0.8}}, []source{{Title: "B", URL: "https://example.com/x", Relevance: 0.9}})
		assert.Equal(t, []source{{Title: "A", URL: "HTTPS://Example.com:443/x/?utm_source=y#top", Relevance: 0.9}}, got)
	})
	t.Run("RX15 of one address the longer excerpt", func(t *testing.T) {
		got := found(t, []source{{Title: "A", URL: "https://example.com/x", Excerpt: "short"}}, []source{{Title: "B", URL: "https://example.com/x", Excerpt: "the whole page"}})
		assert.Equal(t, []source{{Title: "A", URL: "https://example.com/x", Excerpt: "the whole page"}}, got)
	})
	t.Run("RX15 the highest relevance, whichever worker found it first", func(t *testing.T) {
		got := found(t, []source{{Title: "A", URL: "https://example.com/x", Relevance: 0.9}}, []source{{Title: "B", URL: "https://example.com/x", Relevance: 0.8}})
		assert.Equal(t, []source{{Title: "A", URL: "https://example.com/x", Relevance: 0.9}}, got)
	})
	t.Run("RA71 RX16 R89 the most relevant first, none last, equals in order", func(t *testing.T) {
		got := found(t, []source{{Title: "a", Relevance: 0.88}, {Title: "b", Relevance: 0.95}}, []source{{Title: "c"}, {Title: "d", Relevance: 0.95}})
		var titles []string
		for _, s := range got {
			titles = append(titles, s.Title)
		}
		assert.Equal(t, []string{"b", "d", "a", "c"}, titles)
	})
	t.Run("RX15 without an address the title counts", func(t *testing.T) {
		got := found(t, []source{{Title: "The  Report"}}, []source{{Title: "the report", Relevance: 0.4}})
		assert.Equal(t, []source{{Title: "The Report", Relevance: 0.4}}, got)
	})
	t.Run("RC49 no user and password in the address", func(t *testing.T) {
		got := found(t, []source{{Title: "A", URL: "https://me:secret@example.com/x?a=%20"}}, []source{{Title: "B", URL: "http://www.example.com/x?a=%20"}})
		assert.Equal(t, []source{{Title: "A", URL: "https://example.com/x?a=%20"}}, got)
	})
	t.Run("RX24 only http and https addresses", func(t *testing.T) {
		for _, url := range []string{"javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "ftp://x/y", "//x/y"} {
			assert.Equal(t, []source{{Title: "x"}}, found(t, []source{{Title: "x", URL: url}}, []source{{Title: "x"}}), url)
		}
	})
	t.Run("RC56 a page that was not read is a warning, and stands behind those that were", func(t *testing.T) {
		unread := []research.Unread{{URL: "http://me:secret@example.com/a/", Reason: "the site's robots.txt\ndoes not allow it"}, {URL: "https://example.com/other", Reason: "status 404 Not Found"}}
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search", "web_scraper"), sequential("writing", "article_writer"))}
		p.cast["web_search"] = []any{sources(source{Title: "A", URL: "https://example.com/a", Relevance: 0.9, Excerpt: "a snippet"}, source{Title: "B", URL: "https://example.com/b", Relevance: 0.1})}
		p.cast["web_scraper"] = []any{agent.Response{Data: agent.JSON(research.Findings{Sources: []source{{Title: "B", URL: "https://example.com/b", Excerpt: "the whole page"}}, Unread: unread})}}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []source{
			{Title: "B", URL: "https://example.com/b", Relevance: 0.1, Excerpt: "the whole page"},
			{Title: "A", URL: "https://example.com/a", Relevance: 0.9, Excerpt: "a snippet"},
		}, got.out.Sources)
		var warned []orchestrator.Warning
		for _, w := range got.out.Warnings {
			if w.Code == "research/unread" {
				warned = append(warned, w)
			}
		}
		assert.Equal(t, []orchestrator.Warning{
			{Code: "research/unread", Who: "web_scraper", Message: "http://example.com/a/: the site's robots.txt does not allow it"},
			{Code: "research/unread", Who: "web_scraper", Message: "https://example.com/other: status 404 Not Found"},
		}, warned)
	})
	t.Run("RC56 at most 100 pages of an answer are warnings", func(t *testing.T) {
		p, found := scored(0.9), many(1)
		for _, s := range many(101).Sources {
			found.Unread = append(found.Unread, research.Unread{URL: s.URL + "/unread", Reason: "robots"})
		}
		p.cast["planner"], p.cast["web_search"] = []any{small()}, []any{found}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, 100, count(got.codes(), "research/unread"))
	})
	t.Run("RC56 a page that another worker reads later was read", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search", "web_scraper", "academic_search"), sequential("writing", "article_writer"))}
		p.cast["web_search"] = []any{sources(source{Title: "A", URL: "https://example.com/a", Relevance: 0.9}, source{Title: "B", URL: "https://example.com/b", Relevance: 0.1})}
		p.cast["web_scraper"] = []any{agent.Response{Data: agent.JSON(research.Findings{Unread: []research.Unread{{URL: "https://example.com/a", Reason: "slow"}}})}}
		p.cast["academic_search"] = []any{sources(source{Title: "A", URL: "https://example.com/a", Excerpt: "the whole page"})}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "A", got.out.Sources[0].Title)
	})
	t.Run("RC56 a page that its worker reads in the next iteration was read", func(t *testing.T) {
		p := scored(0.5, 0.9)
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), sequential("writing", "article_writer"))}
		pages := []source{{Title: "A", URL: "https://example.com/a", Relevance: 0.9}, {Title: "B", URL: "https://example.com/b", Relevance: 0.1}}
		p.cast["web_search"] = []any{agent.Response{Data: agent.JSON(research.Findings{Sources: pages, Unread: []research.Unread{{URL: pages[0].URL, Reason: "slow"}}})}, sources(pages...)}
		assert.Equal(t, pages, p.play(t).out.Sources)
	})
	t.Run("RX7 relevance on another scale is sent back", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{small()}
		p.cast["web_search"] = []any{sources(research.Source{Title: "x", Relevance: 95}), sources(research.Source{Title: "x", Relevance: 0.95})}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.InDelta(t, 0.95, got.out.Sources[0].Relevance, 0)
		assert.Len(t, got.asked["web_search"], 2)
		assert.Equal(t, 1, got.task(t, "web_search").Attempts)
	})
}

func TestNormalURL(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"RX15 case of scheme and host", "HTTP://EXAMPLE.com/Path", "https://example.com/Path"},
		{"RC49 scheme", "http://example.com/x", "https://example.com/x"},
		{"RC49 www.", "https://www.example.com/x", "https://example.com/x"},
		{"RC49 a host that is called www", "https://www.com/x", "https://www.com/x"},
		{"RX15 default port", "http://example.com:80/x", "https://example.com/x"},
		{"RC49 the other default port", "https://example.com:443/x", "https://example.com/x"},
		{"RX15 another port", "https://example.com:8443/x", "https://example.com:8443/x"},
		{"RX15 fragment and trailing slash", "https://example.com/x/#a", "https://example.com/x"},
		{"RX15 the root", "https://example.com/", "https://example.com"},
		{"RX15 campaign parameters alone", "https://example.com/?a=1&utm_medium=x&UTM_Term=y&b=2", "https://example.com?a=1&b=2"},
		{"RC49 other tracking", "https://example.com/?gclid=1&fbclid=2&id=3", "https://example.com?id=3"},
		{"RC49 letters that need no code", "https://example.com/%41%7e%2d?q=%61%20b", "https://example.com/A~-?q=a%20b"},
		{"RC49 codes that are needed stay, in one case", "https://example.com/a%2fb%C3%a9", "https://example.com/a%2Fb%C3%A9"},
		{"RC49 a blank and a letter that need a code have one", "https://example.com/x?q=a b\u00e9&r= &s", "https://example.com/x?q=a%20b%C3%A9&r=%20&s"},
		{"RC49 user and password", "https://me:secret@example.com/x", "https://example.com/x"},
		{"RC56 the dot behind a host", "https://example.com./x", "https://example.com/x"},
		{"RC56 dots behind a host", "https://example.com../x", "https://example.com/x"},
		{"RC56 the dot before a port", "https://example.com.:8443/x", "https://example.com:8443/x"},
		{"RC56 letters that are not ASCII in a host", "https://B\u00fccher.example/x", "https://xn--bcher-kva.example/x"},
		{"RC56 the same in their own code", "https://xn--bcher-kva.example/x", "https://xn--bcher-kva.example/x"},
		{"RC56 dot segments", "https://example.com/./a/../b/%2e/c/%2E%2e", "https://example.com/b"},
		{"RC56 more dots than segments", "https://example.com/../../a", "https://example.com/a"},
		{"RX15 an IPv6 host", "http://[::1]:80/x", "https://[::1]/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := research.NormalURL(tt.in)
			assert.True(t, ok)
			assert.Equal(t, tt.want, got)
		})
	}
	for _, bad := range []string{"", "x", "mailto:a@b", "http://", "http://:80/x", "ht tp://x", "javascript:alert(1)"} {
		_, ok := research.NormalURL(bad)
		assert.False(t, ok, bad)
	}
}

func FuzzNormalURL(f *testing.F) {
	for _, seed := range []string{"https://example.com/a?utm_x=1#f", "http://EXAMPLE.com:80//", "https://[::1]:443/%2F/?&&", "http://a/?a=%zz", "http://a/b? &", "http://\u00fc./%2e/..", "http://a/?\xff=\u0130"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, ok := research.NormalURL(text)
		if !ok {
			return
		}
		twice, ok := research.NormalURL(once)
		assert.True(t, ok, "%q", once)
		assert.Equal(t, once, twice)
	})
}
