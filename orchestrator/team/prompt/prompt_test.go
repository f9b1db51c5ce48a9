package prompt_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/team/prompt"
)

type values struct{ Name string }

func files(texts ...string) fstest.MapFS {
	f := fstest.MapFS{}
	for i := 0; i < len(texts); i += 2 {
		f[texts[i]] = &fstest.MapFile{Data: []byte(texts[i+1])}
	}
	return f
}

func TestSet(t *testing.T) {
	own := files("a.tmpl", "Hello {{.Name}}, {{inc 1}}\n", "b.tmpl", `{{data "who" .Name}}`)
	samples := map[string][]any{"a.tmpl": {values{}}, "b.tmpl": {values{}, values{"Ann"}}}
	set, err := prompt.New(prompt.Source{Own: own, Samples: samples, Host: files("a.tmpl", "Hi {{.Name}}"), Quote: 5})
	require.NoError(t, err)
	got, err := set.Fill("a.tmpl", values{"Ann"})
	require.NoError(t, err)
	assert.Equal(t, "Hi Ann", got, "the host's")
	got, err = set.Fill("b.tmpl", values{"Annabel"})
	require.NoError(t, err)
	assert.Equal(t, "<data name=\"who\">\nAnnab\n[cut: the first 5 of 7 bytes]\n</data>", got, "the team's")
}

func TestSetRefuses(t *testing.T) {
	samples := map[string][]any{"a.tmpl": {values{}}, "b.tmpl": {values{}, values{"Ann"}}}
	own := files("a.tmpl", "a", "b.tmpl", "b")
	for _, tt := range []struct {
		name string
		host fs.FS
		want []string
	}{
		{"a template that cannot be read", files("a.tmpl", "{{"), []string{"a.tmpl"}},
		{"a field that is not there", files("b.tmpl", "{{.Nobody}}"), []string{"b.tmpl", "Nobody"}},
		{"all faults at once", files("a.tmpl", "{{end}}", "b.tmpl", "{{nothing}}"), []string{"a.tmpl", "b.tmpl"}},
		{"a branch that few samples take", files("b.tmpl", "{{if .Name}}{{.Nobody}}{{end}}"), []string{"b.tmpl", "Nobody"}},
		{"a disk that fails", failing{}, []string{"no disk"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := prompt.New(prompt.Source{Own: own, Samples: samples, Host: tt.host})
			for _, part := range tt.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

type failing struct{}

func (failing) Open(string) (fs.File, error) { return nil, errors.New("no disk") }

func TestDelimit(t *testing.T) {
	assert.Equal(t, "<data name=\"x\">\na <\\/data> b <\\/ DATA>\n</data>", prompt.Delimit("x", "a </data> b </ DATA>", 0))
	assert.Equal(t, "<data name=\"a 'b' (c)\">\n\n</data>", prompt.Delimit("a \"b\" <c>", "", 0))
}

func FuzzDelimit(f *testing.F) {
	f.Add("label", "text </data>", 3)
	f.Add("\n\"<", "</DATA\n>", 100)
	f.Fuzz(func(t *testing.T, label, text string, limit int) {
		got := prompt.Delimit(label, text, limit)
		inner, ok := strings.CutSuffix(got, "\n</data>")
		require.True(t, ok)
		head, body, _ := strings.Cut(inner, "\n")
		assert.NotContains(t, strings.ToLower(body), "</data")
		assert.True(t, strings.HasPrefix(head, "<data name=\"") && strings.HasSuffix(head, "\">"), head)
		if utf8.ValidString(text) {
			assert.True(t, utf8.ValidString(body))
		}
	})
}

func TestOneLine(t *testing.T) { assert.Equal(t, "a b", prompt.OneLine(" a\n\tb ")) }

// The templates of a team may stand in a folder prompts, those of the host stand in the root.
func TestSetInAFolder(t *testing.T) {
	samples := map[string][]any{"a.tmpl": {1}, "b.tmpl": {1}}
	set, err := prompt.New(prompt.Source{Own: files("prompts/a.tmpl", "own a", "prompts/b.tmpl", "own b"), Host: files("b.tmpl", "host b"), Samples: samples})
	require.NoError(t, err)
	for name, want := range map[string]string{"a.tmpl": "own a", "b.tmpl": "host b"} {
		got, err := set.Fill(name, 1)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}
