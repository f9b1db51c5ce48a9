package workers

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

// sent is an answer of that type.
func sent(kind, body string) *answer {
	u := &url.URL{Scheme: "https", Host: "example.com", Path: "/a"}
	return &answer{url: u, status: http.StatusOK, header: http.Header{"Content-Type": {kind}}, body: []byte(body)}
}

func TestPageOf(t *testing.T) {
	news, err := os.ReadFile("testdata/article.html")
	require.NoError(t, err)
	t.Run("the article, without what is around it", func(t *testing.T) {
		p, err := pageOf(t.Context(), sent("text/html; charset=utf-8", string(news)), 4000)
		require.NoError(t, err)
		assert.Equal(t, "https://example.com/a", p.URL)
		assert.Contains(t, p.Title, "Night wards try a new helper")
		assert.Contains(t, p.Text, "In three made-up hospitals, nurses")
		assert.Contains(t, p.Text, "where the two did not agree.")
		for _, other := range []string{"Sports", "subscription", "not for readers", "color: black", "Copyright"} {
			assert.NotContains(t, p.Text, other)
		}
	})
	t.Run("as many characters as are wanted", func(t *testing.T) {
		p, err := pageOf(t.Context(), sent("text/html", string(news)), 50)
		require.NoError(t, err)
		assert.Equal(t, "In three made-up hospitals, nurses began this win…", p.Text)
	})
	tests := []struct {
		name, kind, body string
		title, text      string
	}{
		{"plain text", "text/plain", "  a <b>\n\n\n\nc", "", "a <b>\n\nc"},
		{"the charset of the header", "text/plain; charset=windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2", "", "Привет"},
		{"the charset of the page", "text/html", "<meta charset=iso-8859-1><title>\xfc</title><p>caf\xe9 cr\xe8me", "ü", "café crème"},
		{"the mark of the byte order", "text/plain", "\xff\xfeh\x00i\x00", "", "hi"},
		{"an unknown charset", "text/plain; charset=martian", "hi", "", "hi"},
		{"UTF-8 that is none", "text/plain; charset=utf-8", "a\xffb", "", "a\uFFFDb"},
		{"HTML in UTF-8 that is none", "text/html; charset=utf-8", "<title>a\xffb</title><p>c\xffd", "a\uFFFDb", "c\uFFFDd"},
		{"zero bytes", "text/html", "<title>t</title><p>a\x00b", "t", "ab"},
		{"a type with a broken parameter", "text/plain; charset", "hi", "", "hi"},
		{"text that begins like a picture", "text/plain", "BM is short for a company's name", "", "BM is short for a company's name"},
		{"UTF-16 without a mark", "text/plain; charset=utf-16le", "h\x00i\x00", "", "hi"},
		{"a control character late in a page", "text/html", "<p>" + strings.Repeat("a ", 300) + "\x01b", "", strings.Repeat("a ", 300) + "b"},
		{"no type, but HTML", "", "<!doctype html><title>t</title><p>hi", "t", "hi"},
		{"no type, but text", "", "hi", "", "hi"},
		{"XHTML", "application/xhtml+xml", "<html><title>t</title><p>hi</p></html>", "t", "hi"},
		{"words with marks in them", "text/html", "<title>t</title><p>H<sub>2</sub>O is <b>w</b>ater<center>here</center>", "t", "H2O is water here"},
		{"not for readers", "text/html", "<title>t</title><p>a</p><svg><text>b</text><svg>c</svg>d</svg><script>e</script><p>f</p><textarea>g</textarea>", "t", "a\n\nf"},
		{"the first title", "text/html", "<title>one</title><p>a<title>two</title>", "one", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := sent(tt.kind, tt.body)
			if tt.kind == "" {
				a.header = http.Header{}
			}
			p, err := pageOf(t.Context(), a, 4000)
			require.NoError(t, err)
			assert.Equal(t, tt.title, p.Title)
			assert.Equal(t, tt.text, p.Text)
		})
	}
	refused := []struct{ name, kind, body, want string }{
		{"a PDF that is none", "application/pdf", "%PDF-1.4", "its PDF cannot be read"},
		{"a picture that is said to be HTML", "text/html", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", `no text but "image/png", although its content type is "text/html"`},
		{"an archive that is said to be text", "text/plain; charset=utf-8", "PK\x03\x04\x14\x00", `no text but "application/zip"`},
		{"a program that is said to be text", "text/plain", "\x7fELF\x02\x01\x01\x00\x00", `no text but "application/octet-stream"`},
		{"JSON", "application/json", "{}", `"application/json", want HTML, plain text or PDF`},
		{"a picture", "image/png", "\x89PNG", "image/png"},
		{"no type, but a picture", "", "\x89PNG\r\n\x1a\n", "image/png"},
		{"a style sheet", "text/css", "a{}", "text/css"},
		{"no sense as a type", "/;;", "hi", "content type"},
		{"nothing", "text/html", "", "no text"},
		{"nothing to read", "text/html", "<title>t</title><script>x</script>", "no text"},
		{"spaces", "text/plain", " \n ", "no text"},
	}
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			a := sent(tt.kind, tt.body)
			if tt.kind == "" {
				a.header = http.Header{}
			}
			_, err := pageOf(t.Context(), a, 4000)
			require.ErrorIs(t, err, providers.Permanent)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}
