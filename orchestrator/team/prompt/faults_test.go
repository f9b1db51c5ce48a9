package prompt_test

import (
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/team/prompt"
)

func TestHostHasUnknownFile(t *testing.T) {
	samples := map[string][]any{"a.tmpl": {values{}}, "b.tmpl": {values{}}}
	own := files("a.tmpl", "a", "b.tmpl", "b")
	_, err := prompt.New(prompt.Source{Own: own, Samples: samples, Host: files("c.tmpl", "x", "sub/a.tmpl", "x")})
	require.EqualError(t, err, "prompts: c.tmpl is no template of the team, want one of a.tmpl, b.tmpl\n"+
		"prompts: sub/a.tmpl is no template of the team, want one of a.tmpl, b.tmpl")
}

func TestTeamLacksFile(t *testing.T) {
	_, err := prompt.New(prompt.Source{Own: files(), Samples: map[string][]any{"a.tmpl": {values{}}}})
	require.ErrorContains(t, err, "prompts: open a.tmpl")
	_, err = prompt.New(prompt.Source{Own: files(), Samples: map[string][]any{"a.tmpl": nil}, Host: files("a.tmpl", "x")})
	require.NoError(t, err, "the host has it")
}

func TestFunctions(t *testing.T) {
	set, err := prompt.New(prompt.Source{
		Own: files("a.tmpl", "  {{shout .Name}} {{inc 41}}\n\n"), Samples: map[string][]any{"a.tmpl": {values{}}},
		Funcs: template.FuncMap{"shout": strings.ToUpper},
	})
	require.NoError(t, err)
	var all sync.WaitGroup
	for _, name := range []string{"ann", "bob", "eve"} {
		all.Go(func() {
			got, err := set.Fill("a.tmpl", values{name})
			assert.NoError(t, err)
			assert.Equal(t, strings.ToUpper(name)+" 42", got, "without the space around it")
		})
	}
	all.Wait()
	_, err = set.Fill("none.tmpl", values{})
	require.ErrorContains(t, err, "fill prompt")
	_, err = set.Fill("a.tmpl", map[string]string{})
	require.ErrorContains(t, err, "fill prompt", "a missing key is an error")
}

// TestQuoteLimitsData cuts what data quotes, and nothing else.
func TestQuoteLimitsData(t *testing.T) {
	set, err := prompt.New(prompt.Source{
		Own: files("a.tmpl", `{{.Name}} {{data .Name .Name}}`), Samples: map[string][]any{"a.tmpl": {values{}}}, Quote: 3,
	})
	require.NoError(t, err)
	got, err := set.Fill("a.tmpl", values{"abcde"})
	require.NoError(t, err)
	assert.Equal(t, "abcde <data name=\"abcde\">\nabc\n[cut: the first 3 of 5 bytes]\n</data>", got)
}
