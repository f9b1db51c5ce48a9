package robots

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRobots(t *testing.T) {
	tests := []struct {
		name, text, path string
		want             bool
	}{
		{"none", "", "/a", true},
		{"all", "User-agent: *\nDisallow: /", "/a", false},
		{"a folder", "User-agent: *\nDisallow: /a/", "/a/b", false},
		{"another folder", "User-agent: *\nDisallow: /a/", "/ab", true},
		{"nothing", "User-agent: *\nDisallow:", "/a", true},
		{"the longest counts: allow", "User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true},
		{"the longest counts: disallow", "User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b/c", false},
		{"of equals allow counts", "User-agent: *\nDisallow: /a\nAllow: /a", "/a", true},
		{"of equals allow counts, in any order", "User-agent: *\nAllow: /a\nDisallow: /a", "/a", true},
		{"for another", "User-agent: other\nDisallow: /", "/a", true},
		{"for us", "User-agent: *\nAllow: /\n\nUser-agent: convene-research\nDisallow: /", "/a", false},
		{"for us, so not for all", "User-agent: *\nDisallow: /\n\nUser-agent: Convene-Research\nDisallow: /b", "/a", true},
		{"for us, and nothing said", "User-agent: convene-research\n\nUser-agent: *\nDisallow: /", "/a", false},
		{"for us, with a version", "User-agent: convene-research/1.0\nDisallow: /", "/a", false},
		{"a name that ours begins with", "User-agent: convene\nDisallow: /", "/a", true},
		{"two names", "User-agent: other\nUser-agent: convene-research\nDisallow: /", "/a", false},
		{"two groups for us", "User-agent: convene-research\nDisallow: /a\nUser-agent: *\nDisallow: /c\nUser-agent: convene-research\nDisallow: /b", "/b", false},
		{"two groups for us, not that for all", "User-agent: convene-research\nDisallow: /a\nUser-agent: *\nDisallow: /c\nUser-agent: convene-research\nDisallow: /b", "/c", true},
		{"another line between names", "User-agent: convene-research\nCrawl-delay: 5\nUser-agent: other\nDisallow: /", "/a", false},
		{"a rule without a group", "Disallow: /", "/a", true},
		{"comments and case", "# hello\nUSER-AGENT : * # all\n  DISALLOW : /a # not this", "/a", false},
		{"line ends of all kinds", "User-agent: *\rDisallow: /a\r\nDisallow: /b", "/a", false},
		{"a mark of the byte order", "\xef\xbb\xbfUser-agent: *\nDisallow: /", "/a", false},
		{"star", "User-agent: *\nDisallow: /*.pdf", "/x/y.pdf?z", false},
		{"star without a hit", "User-agent: *\nDisallow: /*.pdf", "/x/y.html", true},
		{"end", "User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", true},
		{"end met", "User-agent: *\nDisallow: /*.pdf$", "/x.pdf/y.pdf", false},
		{"end of a plain path", "User-agent: *\nDisallow: /a$", "/a", false},
		{"end of a longer one", "User-agent: *\nDisallow: /a$", "/ab", true},
		{"parts do not overlap", "User-agent: *\nDisallow: /ab*ba$", "/aba", true},
		{"query", "User-agent: *\nDisallow: /*?print=", "/a?print=1", false},
		{"not ASCII", "User-agent: *\nDisallow: /ü", "/%C3%BC", false},
		{"no sense", "<html>User-agent: *\x00: no\n:::", "/a", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Allow(tt.text, "convene-research", "https://example.com"+tt.path))
		})
	}
}

func TestProduct(t *testing.T) {
	assert.Equal(t, "convene-research", Product("convene-research/1 (+https://github.com/convene-go/convene)"))
	assert.Equal(t, "Acme_Bot", Product("Acme_Bot"))
	assert.Empty(t, Product("* x"))
}

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /"), "/ab")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		ok := Allow(string(text), "convene-research", (&url.URL{Scheme: "https", Host: "example.com", Path: "/" + path}).String())
		if !strings.Contains(strings.ToLower(string(text)), "allow") {
			assert.True(t, ok)
		}
	})
}
