package runlog_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// exported is the export of a run with all that there is.
const exported = `{"format":"convene-run","version":1,"run":"r-1","records":3}
{"blob":"5cdfcee8f63908c2ad17b10c008a5c7e4acf3f2a37f54fd21593a454c4e6dad5","bytes":"eyJiaWciOiI8Jj4ifQ=="}
{"run":"r-1","seq":0,"kind":"started","name":"flow","at":"2026-01-02T03:04:05.000000006Z","data":{"in":"<&> ü"}}
{"run":"r-1","seq":1,"kind":"called","branch":"0.1","n":7,"hash":"4f","at":"2026-01-02T03:04:06Z","blob":"5cdfcee8f63908c2ad17b10c008a5c7e4acf3f2a37f54fd21593a454c4e6dad5"}
{"run":"r-1","seq":2,"kind":"ended","at":"2026-01-02T04:04:05Z"}
`

func filled(t *testing.T) *runlog.Memory {
	t.Helper()
	m := runlog.NewMemory()
	hash, err := m.PutBlob(t.Context(), "r-1", []byte(`{"big":"<&>"}`))
	require.NoError(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	require.NoError(t, m.Append(t.Context(), []runlog.Record{
		{Run: "r-1", Kind: runlog.Started, Name: "flow", At: at, Data: []byte(`{"in":"<&> ü"}`)},
		{Run: "r-1", Seq: 1, Kind: runlog.Called, Branch: "0.1", N: 7, Hash: "4f", At: at.Add(time.Second - 6), Blob: hash},
		{Run: "r-1", Seq: 2, Kind: runlog.Ended, At: at.Add(time.Hour - 6)},
	}))
	return m
}

func TestExport(t *testing.T) {
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), filled(t), "r-1", &out))
	assert.Equal(t, exported, out.String())
}

func TestExportUnknownRun(t *testing.T) {
	err := runlog.Export(t.Context(), runlog.NewMemory(), "r", new(strings.Builder))
	require.ErrorIs(t, err, runlog.ErrNoRun)
	assert.ErrorContains(t, err, `export run "r"`)
}

func TestExportBlobMissing(t *testing.T) {
	m := runlog.NewMemory()
	require.NoError(t, m.Append(t.Context(), []runlog.Record{{Run: "r", Kind: runlog.Started, Blob: "4f"}}))
	err := runlog.Export(t.Context(), m, "r", new(strings.Builder))
	require.ErrorIs(t, err, runlog.ErrNoBlob)
	assert.ErrorContains(t, err, "record 0")
}

var errFullDisk = errors.New("full disk")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFullDisk }

func TestExportWriteError(t *testing.T) {
	assert.ErrorIs(t, runlog.Export(t.Context(), filled(t), "r-1", fullDisk{}), errFullDisk)
}

func TestImport(t *testing.T) {
	m := runlog.NewMemory()
	run, err := runlog.Import(t.Context(), m, strings.NewReader(exported))
	require.NoError(t, err)
	assert.Equal(t, "r-1", run)
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), m, run, &out))
	assert.Equal(t, exported, out.String())
	_, err = runlog.Import(t.Context(), m, strings.NewReader(exported))
	assert.ErrorIs(t, err, runlog.ErrConflict)
}

// plain is a store without blobs.
type plain struct{ runlog.Store }

// TestImportWithoutBlobs has a store that would lose the blobs of a run.
func TestImportWithoutBlobs(t *testing.T) {
	m := runlog.NewMemory()
	_, err := runlog.Import(t.Context(), plain{m}, strings.NewReader(exported))
	require.ErrorContains(t, err, "the run has blobs, and the store takes none")
	_, err = m.Last(t.Context(), "r-1")
	require.ErrorIs(t, err, runlog.ErrNoRun)

	without := `{"format":"convene-run","version":1,"run":"r","records":1}` + "\n" + `{"run":"r","seq":0,"kind":"started","at":"2026-01-02T03:04:05Z"}`
	_, err = runlog.Import(t.Context(), plain{m}, strings.NewReader(without))
	require.NoError(t, err)
}

// TestExportKinds copies a run with all kinds of records, and more than one page.
func TestExportKinds(t *testing.T) {
	from, to := runlog.NewMemory(), runlog.NewMemory()
	kinds := []string{
		runlog.Started, runlog.Resumed, runlog.Called, runlog.Used, runlog.Refused,
		runlog.Lost, runlog.Slept, runlog.Asked, runlog.Withdrawn, runlog.Expired,
		runlog.Answered, runlog.Canceled, runlog.Changed, runlog.Stuck, "my own", runlog.Ended,
	}
	for seq, kind := range kinds {
		require.NoError(t, from.Append(t.Context(), []runlog.Record{{Run: "r", Seq: int64(seq), Kind: kind, Data: []byte(`{"owner":"ann"}`)}}))
	}
	var out bytes.Buffer
	require.NoError(t, runlog.Export(t.Context(), from, "r", &out))
	_, err := runlog.Import(t.Context(), to, bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	seq := 0
	for rec, err := range to.Records(t.Context(), "r", 0) {
		require.NoError(t, err)
		assert.Equal(t, kinds[seq], rec.Kind)
		seq++
	}
	assert.Len(t, kinds, seq)
	for l, err := range to.List(t.Context(), runlog.Query{Owner: "ann"}) {
		require.NoError(t, err)
		assert.True(t, l.Ended)
	}
}

func TestImportFaults(t *testing.T) {
	line := strings.SplitAfter(exported, "\n")
	header, blob, first, second, third := line[0], line[1], line[2], line[3], line[4]
	for _, tt := range []struct{ name, file, want string }{
		{"empty", "", "line 1: the header is missing"},
		{"text", "hello\n", "line 1: not an exported run"},
		{"other JSON", "{}\n", "line 1: not an exported run"},
		{"newer", strings.Replace(header, `"version":1`, `"version":3,"new":true`, 1), "line 1: the format has version 3, this program reads versions 1 and 2"},
		{"no run", `{"format":"convene-run","version":1,"run":"","records":3}`, "line 1: not an exported run"},
		{"no records", `{"format":"convene-run","version":1,"run":"r","records":0}`, "line 1: not an exported run"},
		{"unknown field", header + `{"run":"r-1","sequence":0}`, "line 2: not a line of an export"},
		{"blank line", header + "\n" + blob, "line 2: not a line of an export"},
		{"two values", header + blob[:len(blob)-1] + "{}", "line 2: not a line of an export: more than one JSON value"},
		{"cut", header + blob + first[:40], "line 3: not a line of an export"},
		{"cut after a line", header + blob + first + second, "line 4: the file ends after 2 of 3 records"},
		{"wrong hash", header + strings.Replace(blob, `:"5c`, `:"00`, 1), "line 2: runlog: damaged: blob \"00"},
		{"wrong bytes", header + strings.Replace(blob, "eyJ", "eyK", 1), "line 2: runlog: damaged: blob \"5c"},
		{"late blob", header + blob + first + blob, "line 4: a blob or a letter after the first record"},
		{"no blob", header + first + second, `line 3: the record's blob "5c`},
		{"gap", header + blob + first + third, `line 4: record 2 of run "r-1" is not the next of run "r-1", which has 1 of 3`},
		{"twice", header + blob + first + first, `line 4: record 0 of run "r-1" is not the next of run "r-1", which has 1 of 3`},
		{"other run", header + strings.Replace(first, "r-1", "r-2", 1), `line 2: record 0 of run "r-2" is not the next of run "r-1"`},
		{"not started", header + strings.Replace(first, "started", "ended", 1), `line 2: the kind of record 0 is "ended"`},
		{"no kind", header + strings.Replace(first, "started", "", 1), `line 2: the kind of record 0 is ""`},
		{"after the end", header + blob + first + strings.Replace(third, `"seq":2`, `"seq":1`, 1) + third, "line 5: record 2 of run \"r-1\" is not the next of run \"r-1\", which has 2 of 3, ended: true"},
		{"data of no listing", header + strings.Replace(first, `{"in":"<&> ü"}`, `["in"]`, 1), "line 2: runlog: refused: data of record 0 (started)"},
		{"too many", exported + strings.Replace(third, `"seq":2`, `"seq":3`, 1), `line 6: record 3 of run "r-1" is not the next of run "r-1", which has 3 of 3`},
		{"year 10000", header + strings.Replace(first, "2026-01-02T03:04:05.000000006Z", "9999-12-31T23:59:59-01:00", 1), "line 2: the record's time is in year 10000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := runlog.NewMemory()
			_, err := runlog.Import(t.Context(), m, strings.NewReader(tt.file))
			require.ErrorContains(t, err, tt.want)
			for ends, err := range m.List(t.Context(), runlog.Query{}) {
				assert.Fail(t, "something was stored", "%v, %v", ends, err)
			}
			for data, err := range m.BlobsOf(t.Context(), "r-1") {
				assert.Fail(t, "a blob was stored", "%s, %v", data, err)
			}
		})
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(exported))
	f.Add([]byte(strings.Replace(exported, `"data":{"in"`, `"data": { "in" `, 1)))
	f.Add([]byte(`{"format":"convene-run","version":1,"run":"r","records":1}` + "\n" + `{"run":"r","seq":0,"kind":"started","at":"2026-01-02T03:04:05+01:00","data":null}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		m := runlog.NewMemory()
		run, err := runlog.Import(t.Context(), m, bytes.NewReader(file))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		require.NoError(t, runlog.Export(t.Context(), m, run, &first))
		again := runlog.NewMemory()
		_, err = runlog.Import(t.Context(), again, bytes.NewReader(first.Bytes()))
		require.NoError(t, err, "the export of what was imported: %s", first.Bytes())
		require.NoError(t, runlog.Export(t.Context(), again, run, &second))
		assert.Equal(t, first.String(), second.String())
	})
}
