package runlog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
)

// TestExportStoreFails has each method of the store fail that Export calls.
func TestExportStoreFails(t *testing.T) {
	m := filled(t)
	for name, s := range map[string]*failing{
		"the last record": {Memory: m, last: true},
		"the blobs":       {Memory: m, blobs: true},
		"the second of 3": {Memory: m, records: 1},
		"the third of 3":  {Memory: m, records: 2},
	} {
		t.Run(name, func(t *testing.T) {
			err := runlog.Export(t.Context(), s, "r-1", io.Discard)
			require.ErrorIs(t, err, errDisk)
			assert.ErrorContains(t, err, `runlog: export run "r-1": `)
		})
	}
}

func TestExportCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, runlog.Export(ctx, filled(t), "r-1", io.Discard), context.Canceled)
}

// growing is a store in which the run changes when Export has read its last record.
type growing struct {
	*runlog.Memory
	change func()
}

func (g growing) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	g.change()
	return g.Memory.BlobsOf(ctx, run)
}

// TestExportWhileItGrows writes the records that were there when it began.
func TestExportWhileItGrows(t *testing.T) {
	m := appended(t, entry("r", 0), entry("r", 1))
	var out strings.Builder
	s := growing{m, func() {
		require.NoError(t, m.Append(t.Context(), []runlog.Record{entry("r", 2), entry("r", 3)}))
	}}
	require.NoError(t, runlog.Export(t.Context(), s, "r", &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, `{"format":"convene-run","version":1,"run":"r","records":2}`, lines[0])
	assert.Contains(t, lines[2], `"seq":1`)
}

// TestExportWhileItIsDeleted does not pass half a run for a whole one.
func TestExportWhileItIsDeleted(t *testing.T) {
	m := appended(t, entry("r", 0), entry("r", 1))
	s := growing{m, func() { require.NoError(t, m.Delete(t.Context(), "r")) }}
	err := runlog.Export(t.Context(), s, "r", io.Discard)
	require.ErrorContains(t, err, `export run "r": record 1 is missing: the run was deleted meanwhile`)
}

// TestExportRefusesBrokenData has data that would be no line of JSON.
func TestExportRefusesBrokenData(t *testing.T) {
	rec := entry("r", 0)
	rec.Data = []byte("{")
	err := runlog.Export(t.Context(), appended(t, rec), "r", io.Discard)
	require.ErrorContains(t, err, `export run "r": record 0: `)
}

// TestExportOnlyItsRun leaves out other runs and letters to them.
func TestExportOnlyItsRun(t *testing.T) {
	m := filled(t)
	require.NoError(t, m.Append(t.Context(), []runlog.Record{entry("r-2", 0)}))
	_, err := m.PutBlob(t.Context(), "r-2", []byte("other"))
	require.NoError(t, err)
	require.NoError(t, m.Put(t.Context(), runlog.Letter{Run: "r-2", Key: "q", Data: []byte(`"a letter"`)}))
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), m, "r-1", &out))
	assert.Equal(t, exported, out.String())
}

// TestExportEmptyBlob has the bytes of an empty blob as text, not as null.
func TestExportEmptyBlob(t *testing.T) {
	rec := entry("r", 0)
	rec.Kind = runlog.Started
	m := appended(t, rec)
	hash, err := m.PutBlob(t.Context(), "r", nil)
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), m, "r", &out))
	assert.Contains(t, out.String(), `{"blob":"`+hash+`","bytes":""}`)
	to := runlog.NewMemory()
	_, err = runlog.Import(t.Context(), to, strings.NewReader(out.String()))
	require.NoError(t, err)
	data, err := to.Blob(t.Context(), "r", hash)
	require.NoError(t, err)
	assert.Empty(t, data)
}

// TestImportStoreFails has each method of the store fail that Import calls.
func TestImportStoreFails(t *testing.T) {
	for name, s := range map[string]*failing{
		"the last record": {last: true},
		"the blobs":       {blobs: true},
		"the records":     {append: true},
	} {
		t.Run(name, func(t *testing.T) {
			s.Memory = runlog.NewMemory()
			run, err := runlog.Import(t.Context(), s, strings.NewReader(exported))
			require.ErrorIs(t, err, errDisk)
			require.ErrorContains(t, err, "runlog: import: ")
			assert.Empty(t, run)
			assert.Empty(t, all(t, s.List(t.Context(), runlog.Query{})))
		})
	}
}

// TestImportAppendsOnce stores all records or none, whatever the store does in between.
func TestImportAppendsOnce(t *testing.T) {
	s := &failing{Memory: runlog.NewMemory()}
	_, err := runlog.Import(t.Context(), s, strings.NewReader(exported))
	require.NoError(t, err)
	assert.Equal(t, 1, s.appends)
	assert.Len(t, all(t, s.Memory.Records(t.Context(), "r-1", 0)), 3)

	_, err = runlog.Import(t.Context(), s, strings.NewReader(exported))
	require.ErrorIs(t, err, runlog.ErrConflict)
	require.ErrorContains(t, err, `run "r-1" is in the store already`)
	assert.Equal(t, 1, s.appends)
}

// TestImportReadFails says the line at which the file could not be read.
func TestImportReadFails(t *testing.T) {
	lines := strings.SplitAfter(exported, "\n")
	for n := range lines {
		file := io.MultiReader(strings.NewReader(strings.Join(lines[:n], "")), iotest.ErrReader(errDisk))
		m := runlog.NewMemory()
		_, err := runlog.Import(t.Context(), m, file)
		require.ErrorIs(t, err, errDisk)
		require.ErrorContains(t, err, fmt.Sprintf("import: line %d: ", n+1))
		assert.Empty(t, all(t, m.List(t.Context(), runlog.Query{})))
	}
}

// TestImportSlowly reads lines that come in single bytes, and one without its end.
func TestImportSlowly(t *testing.T) {
	m := runlog.NewMemory()
	_, err := runlog.Import(t.Context(), m, iotest.OneByteReader(strings.NewReader(strings.TrimSpace(exported))))
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), m, "r-1", &out))
	assert.Equal(t, exported, out.String())
}

// TestImportLongLine has a line that is longer than readers of lines allow by themselves.
func TestImportLongLine(t *testing.T) {
	text, err := json.Marshal(strings.Repeat("x", 200_000))
	require.NoError(t, err)
	started, long := entry("r", 0), entry("r", 1)
	started.Kind, long.Data = runlog.Started, text
	var out bytes.Buffer
	require.NoError(t, runlog.Export(t.Context(), appended(t, started, long), "r", &out))
	m := runlog.NewMemory()
	_, err = runlog.Import(t.Context(), m, &out)
	require.NoError(t, err)
	last, err := m.Last(t.Context(), "r")
	require.NoError(t, err)
	assert.Equal(t, string(text), string(last.Data))
}

// TestImportOtherZone has times come back in UTC, the same moments.
func TestImportOtherZone(t *testing.T) {
	file := strings.Replace(exported, "2026-01-02T04:04:05Z", "2026-01-02T09:34:05+05:30", 1)
	m := runlog.NewMemory()
	_, err := runlog.Import(t.Context(), m, strings.NewReader(file))
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), m, "r-1", &out))
	assert.Equal(t, exported, out.String())
}

// TestExportIsARoundTrip carries any run from one store to another.
func TestExportIsARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := runlog.NewMemory(), runlog.NewMemory()
		var blobs []string
		for _, data := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 3).Draw(t, "blobs") {
			hash, err := from.PutBlob(context.Background(), "r", data)
			require.NoError(t, err)
			blobs = append(blobs, hash)
		}
		for seq := range rapid.Int64Range(1, 6).Draw(t, "records") {
			rec := entry("r", seq)
			rec.Name, rec.Branch, rec.Hash = rapid.String().Draw(t, "name"), rapid.String().Draw(t, "branch"), rapid.String().Draw(t, "hash")
			rec.N = rapid.Int64().Draw(t, "n")
			switch data := rapid.SampledFrom([]string{"", "{}", `{"a":"<&>\u2028"}`, `"x"`, "1.50", "blob"}).Draw(t, "data"); {
			case data != "blob":
				rec.Data = []byte(data)
			case len(blobs) > 0:
				rec.Blob = rapid.SampledFrom(blobs).Draw(t, "blob")
			}
			if seq == 0 {
				rec.Kind, rec.Data = runlog.Started, nil
			}
			require.NoError(t, from.Append(context.Background(), []runlog.Record{rec}))
		}
		var file bytes.Buffer
		require.NoError(t, runlog.Export(context.Background(), from, "r", &file))
		run, err := runlog.Import(context.Background(), to, &file)
		require.NoError(t, err)
		require.Equal(t, "r", run)
		require.Equal(t, all(t, from.Records(context.Background(), "r", 0)), all(t, to.Records(context.Background(), "r", 0)))
		require.Equal(t, all(t, from.BlobsOf(context.Background(), "r")), all(t, to.BlobsOf(context.Background(), "r")))
		require.Equal(t, all(t, from.List(context.Background(), runlog.Query{})), all(t, to.List(context.Background(), runlog.Query{})))
	})
}
