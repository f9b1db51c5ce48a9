package runlog_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// started is the first record of a run inside of parent; "": it is no child.
func started(run, parent string) runlog.Record {
	rec := entry(run, 0)
	rec.Kind, rec.Data = runlog.Started, fmt.Appendf(nil, `{"parent":%q}`, parent)
	return rec
}

// familyOf stores a run with a child, and a child of that.
func familyOf(t *testing.T) *runlog.Memory {
	t.Helper()
	m := appended(t, started("r", ""), entry("r", 1), started("r/0.1:2", "r"), started("r/0.1:2/0", "r/0.1:2"), started("other", ""))
	for _, run := range []string{"r", "r/0.1:2/0"} {
		_, err := m.PutBlob(t.Context(), run, []byte(run))
		require.NoError(t, err)
	}
	for _, l := range []runlog.Letter{
		{Run: "r", Key: "taken", Data: []byte(`1`)},
		{Run: "r", Key: "q", Round: 2, Data: []byte(`{"yes":true}`)},
		{Run: "r/0.1:2", Key: "q", Expired: true},
		{Run: "r/0.1:2", Data: []byte(`"canceled"`)},
		{Run: "other", Key: "q"},
	} {
		require.NoError(t, m.Put(t.Context(), l))
	}
	require.NoError(t, m.Take(t.Context(), "r", "taken", 0))
	return m
}

func TestImportHasTheWholeFamily(t *testing.T) {
	from, to := familyOf(t), runlog.NewMemory()
	var out, again bytes.Buffer
	require.NoError(t, runlog.Export(t.Context(), from, "r", &out))
	run, err := runlog.Import(t.Context(), to, bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	assert.Equal(t, "r", run)
	for _, run := range []string{"r", "r/0.1:2", "r/0.1:2/0"} {
		assert.Equal(t, all(t, from.Records(t.Context(), run, 0)), all(t, to.Records(t.Context(), run, 0)), run)
		assert.Equal(t, all(t, from.BlobsOf(t.Context(), run)), all(t, to.BlobsOf(t.Context(), run)), run)
		assert.Equal(t, all(t, from.Letters(t.Context(), run)), all(t, to.Letters(t.Context(), run)), run)
	}
	assert.Len(t, all(t, to.List(t.Context(), runlog.Query{})), 3)
	require.NoError(t, runlog.Export(t.Context(), to, "r", &again))
	assert.Equal(t, out.String(), again.String())
	for _, run := range []string{"r/0.1:2", "r/0.1:2/0"} {
		require.NoError(t, to.Delete(t.Context(), "r"))
		_, err = runlog.Import(t.Context(), to, bytes.NewReader(out.Bytes()))
		require.ErrorIs(t, err, runlog.ErrConflict)
		require.ErrorContains(t, err, `run "r/0.1:2`)
		_, err = to.Last(t.Context(), "r")
		require.ErrorIs(t, err, runlog.ErrNoRun, "all or none")
		require.NoError(t, to.Delete(t.Context(), run))
	}
}

func TestImportNeedsAllFaces(t *testing.T) {
	m := familyOf(t)
	var out bytes.Buffer
	require.NoError(t, runlog.Export(t.Context(), m, "r/0.1:2", &out))
	to := appended(t, started("r", ""))
	_, err := runlog.Import(t.Context(), blobsOnly{to, to}, bytes.NewReader(out.Bytes()))
	require.ErrorContains(t, err, "the run has letters, and the store takes none")
	_, err = runlog.Import(t.Context(), to, bytes.NewReader(out.Bytes()))
	require.NoError(t, err, "its parent is in the store")
	_, err = runlog.Import(t.Context(), runlog.NewMemory(), bytes.NewReader(out.Bytes()))
	require.ErrorContains(t, err, `the parent "r" of run "r/0.1:2" is neither in the file nor in the store`)
}

// blobsOnly is a store without an inbox.
type blobsOnly struct {
	runlog.Store
	runlog.Blobs
}

func TestImportFaultsOfFamilies(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, runlog.Export(t.Context(), familyOf(t), "r", &out))
	file := out.String()
	lines := strings.SplitAfter(file, "\n")
	require.Len(t, lines, 13, file)
	cut := func(n int) string { return strings.Join(lines[:n], "") }
	for name, tt := range map[string]struct{ file, want string }{
		"a run is missing":      {cut(9), "line 9: the file ends after 2 of 3 runs"},
		"a record is missing":   {cut(8), "line 8: the file ends after 0 of 1 records"},
		"a header is no header": {cut(5) + lines[6], "line 6: not an exported run"},
		"a run comes twice":     {cut(5) + lines[0], `line 6: run "r" is in the file twice`},
		"a letter is missing":   {cut(7) + lines[8], `line 8: run "r/0.1:2" has 1 letters, want 2`},
		"a late letter":         {cut(4) + lines[2], "line 5: a blob or a letter after the first record"},
		"another parent":        {strings.ReplaceAll(file, `"parent":"r"`, `"parent":"other"`), `run "r/0.1:2" has the ID of a child of "r", and its parent is "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			m := runlog.NewMemory()
			_, err := runlog.Import(t.Context(), m, strings.NewReader(tt.file))
			require.ErrorContains(t, err, tt.want)
			assert.Empty(t, all(t, m.List(t.Context(), runlog.Query{})))
		})
	}
}

// TestImportIDs takes the IDs that a host could start, and those of children.
func TestImportIDs(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, "A-z_0.9": true, strings.Repeat("x", 128): true,
		"": false, ".": false, "..": false, "../x": false, "a/": false, "a//0": false, "/a": false, "a b": false,
		"a\x00": false, "ü": false, strings.Repeat("x", 129): false, strings.Repeat("x", 5000): false, "a/../b": false, "a/0": true,
		"a/b c": false, "a/\x00": false, "a/" + strings.Repeat("0", 5000): false,
	} {
		rec := started(id, "")
		if i := strings.LastIndex(id, "/"); i > 0 {
			rec = started(id, id[:i])
		}
		var out bytes.Buffer
		m := runlog.NewMemory()
		require.NoError(t, m.Append(context.WithoutCancel(t.Context()), []runlog.Record{rec}))
		require.NoError(t, runlog.Export(t.Context(), m, id, &out))
		to := appended(t, started("a", ""), started("a/..", "a"))
		if id == "a" {
			to = runlog.NewMemory()
		}
		_, err := runlog.Import(t.Context(), to, bytes.NewReader(out.Bytes()))
		assert.Equal(t, ok, err == nil, "%.200q: %v", id, err)
	}
}
