package feed

import (
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mmcdole/gofeed/atom"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/research/workers/internal/address"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/page"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/prose"
)

const feedOf = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:o="http://a9.com/-/spec/opensearch/1.1/">`

func TestParse(t *testing.T) {
	data, err := os.ReadFile("../../testdata/arxiv.xml")
	require.NoError(t, err)
	f, err := Parse(data, 10)
	require.NoError(t, err)
	assert.Equal(t, 17, f.Total)
	assert.Len(t, f.Entries, 3)
	assert.Empty(t, f.Fault())
	f, err = Parse(data, 2)
	require.NoError(t, err)
	assert.Len(t, f.Entries, 2, "no more than are wanted")

	data, err = os.ReadFile("../../testdata/arxiv-error.xml")
	require.NoError(t, err)
	f, err = Parse(data, 10)
	require.NoError(t, err)
	assert.Equal(t, "max_results must be non-negative", f.Fault())

	tests := []struct{ name, text, want string }{
		{"nothing", "", "root node"},
		{"no XML", "hello", "root node"},
		{"HTML", "<html><body>Sorry</body></html>", "name:html"},
		{"cut off", feedOf + "<entry><title>x", "unexpected EOF"},
		{"UTF-8 that is none", feedOf + "<entry><title>a\xffb</title></entry></feed>", "UTF-8"},
		{"another charset", `<?xml version="1.0" encoding="martian"?>` + feedOf + "</feed>", "martian"},
		{"nested without end", feedOf + strings.Repeat("<a>", 100_000), "nested deeper than 100"},
		{"nested without end in an entry", feedOf + "<entry>" + strings.Repeat("<author>", 100_000), "nested deeper than 100"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text), 10)
			require.ErrorContains(t, err, "no Atom feed")
			require.ErrorContains(t, err, tt.want)
		})
	}
	for name, text := range map[string]string{
		"without a namespace":      "<feed><entry><title>x</title></entry></feed>",
		"a tag that is not closed": feedOf + "<entry><title>x</title></author></entry></feed>",
		"a control character":      feedOf + "<entry><title>x\x01</title></entry></feed>",
		"entities that grow":       `<!DOCTYPE feed [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>` + feedOf + "<entry><title>x &b;</title></entry></feed>",
		"a file of the machine":    `<!DOCTYPE feed [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + feedOf + "<entry><title>x &a;</title></entry></feed>",
	} {
		t.Run("read as well as possible: "+name, func(t *testing.T) {
			f, err := Parse([]byte(text), 10)
			require.NoError(t, err)
			s, ok := f.Entries[0].Source()
			require.True(t, ok)
			assert.Contains(t, []string{"x", "x &a;", "x &b;"}, s.Title, "no entity of the document's own is expanded")
		})
	}
	t.Run("a total that is none", func(t *testing.T) {
		for _, total := range []string{"", "many", "-1", "99999999999999999999999"} {
			f, err := Parse([]byte(feedOf+"<o:totalResults>"+total+"</o:totalResults></feed>"), 10)
			require.NoError(t, err)
			assert.Zero(t, f.Total)
		}
	})
}

func TestEntrySource(t *testing.T) {
	long := "https://arxiv.org/abs/" + strings.Repeat("a", address.MaxURL)
	links := []struct{ name, xml, want string }{
		{"the page", `<link href="http://arxiv.org/abs/1" rel="alternate"/><link href="http://arxiv.org/pdf/1" rel="related"/>`, "http://arxiv.org/abs/1"},
		{"without a word", `<link href="https://arxiv.org/abs/1"/>`, "https://arxiv.org/abs/1"},
		{"the ID", `<id>https://arxiv.org/abs/2</id><link href="http://arxiv.org/pdf/1" rel="related"/>`, "https://arxiv.org/abs/2"},
		{"the ID, if the page is too long", `<id>https://arxiv.org/abs/2</id><link href="` + long + `" rel="alternate"/>`, "https://arxiv.org/abs/2"},
		{"too long", `<link href="` + long + `" rel="alternate"/>`, ""},
		{"not of the web", `<id>tag:1</id><link href="javascript:alert(1)" rel="alternate"/><link href="file:///etc/passwd"/><link href="/abs/1"/><link href="ftp://arxiv.org/abs/1"/>`, ""},
		{"with a user", `<link href="https://user:word@arxiv.org/abs/1"/>`, ""},
	}
	for _, tt := range links {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse([]byte(feedOf+"<entry><title>x</title>"+tt.xml+"</entry></feed>"), 1)
			require.NoError(t, err)
			s, ok := f.Entries[0].Source()
			require.True(t, ok)
			assert.Equal(t, tt.want, s.URL)
		})
	}
	t.Run("a paper without a title is none", func(t *testing.T) {
		_, ok := Entry{&atom.Entry{Title: " \n", Summary: "x"}}.Source()
		assert.False(t, ok)
	})
	t.Run("an abstract alone", func(t *testing.T) {
		s, _ := Entry{&atom.Entry{Title: "t", Summary: " a\nb "}}.Source()
		assert.Equal(t, "a b", s.Excerpt)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(feedOf + `<o:totalResults>1</o:totalResults><entry><id>http://a/1</id><title>a b</title><summary>c</summary></entry></feed>`))
	f.Add([]byte(feedOf + `<entry><title>&#x1F600;</title><link href="http://a"/><author><name>n</name></author><published>2024-01-01T00:00:00Z</published></entry></feed>`))
	f.Add([]byte(feedOf + `<entry><id>http://a/api/errors#x</id><summary>no</summary></entry></feed>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 { // long ones are made shorter for minutes whenever they lead somewhere new
			return
		}
		got, err := Parse(data, 3)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(got.Entries), 3)
		require.GreaterOrEqual(t, got.Total, 0)
		got.Fault()
		for _, e := range got.Entries {
			s, ok := e.Source()
			require.Equal(t, ok, s.Title != "")
			require.True(t, utf8.ValidString(s.Title+s.Excerpt))
			require.LessOrEqual(t, utf8.RuneCountInString(s.Title), page.MaxTitle)
			require.LessOrEqual(t, utf8.RuneCountInString(s.Excerpt), maxAbstract)
			require.NotContains(t, s.Title+s.Excerpt, "\n")
			if s.URL != "" {
				u, err := url.Parse(s.URL)
				require.NoError(t, err)
				require.Contains(t, []string{"http", "https"}, u.Scheme)
			}
			r := prose.Overlap([]string{"a", "b", "c"}, e.Title+" "+e.Summary)
			require.True(t, r >= 0 && r <= 1)
		}
	})
}
