package runlog_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// single is an export of the first version of the format, of a run without records but
// its first.
func single(run, data string) string {
	return `{"format":"convene-run","version":1,"run":"` + run + `","records":1}` + "\n" +
		`{"run":"` + run + `","seq":0,"kind":"started","name":"flow","at":"2026-01-02T03:04:05Z","data":` + data + "}\n"
}

// TestImportOfOlderExports imports a parent and its child from two files, as programs wrote
// them that left children out.
func TestImportOfOlderExports(t *testing.T) {
	m := runlog.NewMemory()
	_, err := runlog.Import(t.Context(), m, strings.NewReader(single("a/0", `{"parent":"a"}`)))
	require.ErrorContains(t, err, "export the parent")
	for _, file := range []string{single("a", "{}"), single("a/0", `{"parent":"a"}`), single("a/0/1", `{"parent":"a/0"}`)} {
		_, err := runlog.Import(t.Context(), m, strings.NewReader(file))
		require.NoError(t, err)
	}
	assert.Len(t, all(t, m.List(t.Context(), runlog.Query{})), 3)
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), m, "a", &out))
	assert.Contains(t, out.String(), `"runs":3`)
	out.Reset()
	require.NoError(t, runlog.Export(t.Context(), m, "a/0/1", &out))
	assert.Contains(t, out.String(), `"version":1`, "older programs read one run without letters")
}

// TestExportWithoutSecretsHasNoLetters leaves out letters to a run that shows only.
func TestExportWithoutSecretsHasNoLetters(t *testing.T) {
	for _, secrets := range []bool{false, true} {
		rec := started("r", "")
		rec.Data = []byte(`{"values":{"token":"hush"},"secret":{"values":{"token":"hush"}}}`)
		m := appended(t, rec)
		require.NoError(t, m.Put(t.Context(), runlog.Letter{Run: "r", Key: "q", Data: []byte(`"said"`)}))
		var out strings.Builder
		require.NoError(t, runlog.Export(t.Context(), m, "r", &out, runlog.ExportOptions{Secrets: secrets}))
		assert.Equal(t, secrets, strings.Contains(out.String(), `"said"`))
	}
}

// TestExportOfLettersIsNotOfTheFirstVersion has letters in a file that older programs refuse.
func TestExportOfLettersIsNotOfTheFirstVersion(t *testing.T) {
	m := appended(t, started("r", ""))
	require.NoError(t, m.Put(t.Context(), runlog.Letter{Run: "r", Key: "q"}))
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), m, "r", &out))
	assert.Contains(t, out.String(), `"version":2`)
}

// begetting is a store in which a run gets a child as soon as its children were listed.
type begetting struct {
	*runlog.Memory
	beget func()
}

func (b begetting) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	type item struct {
		l   runlog.Listing
		err error
	}
	var items []item
	for l, err := range b.Memory.List(ctx, q) {
		items = append(items, item{l, err})
	}
	b.beget()
	return func(yield func(runlog.Listing, error) bool) {
		for _, i := range items {
			if !yield(i.l, i.err) {
				return
			}
		}
	}
}

// TestExportWhileAChildBegins leaves out the child with all that its parent did later.
func TestExportWhileAChildBegins(t *testing.T) {
	m := appended(t, started("r", ""), entry("r", 1))
	var out strings.Builder
	s := begetting{m, func() {
		require.NoError(t, m.Append(t.Context(), []runlog.Record{started("r/0", "r"), entry("r", 2)}))
	}}
	require.NoError(t, runlog.Export(t.Context(), s, "r", &out))
	assert.Contains(t, out.String(), `"records":2`)
	assert.NotContains(t, out.String(), `"seq":2`)
}
