package sqlite_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

// fill stores a run with all that a run can have.
func fill(t *testing.T, s interface {
	runlog.Store
	runlog.Blobs
},
) {
	t.Helper()
	hash, err := s.PutBlob(t.Context(), "r-1", []byte(`{"large":"<&> ü"}`))
	require.NoError(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	require.NoError(t, s.Append(t.Context(), []runlog.Record{
		{Run: "r-1", Kind: runlog.Started, Name: "flow", At: at, Data: []byte(`{"in":"<&> ü \u2028"}`)},
		{Run: "r-1", Seq: 1, Kind: runlog.Called, Branch: "0.1", N: 7, Hash: "4f", At: at.Add(1), Blob: hash},
		{Run: "r-1", Seq: 2, Kind: runlog.Ended, At: at.Add(time.Hour)},
	}))
}

func export(t *testing.T, s runlog.Store) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, runlog.Export(t.Context(), s, "r-1", &out))
	return out.String()
}

// TestRoundTrip copies a run from memory to SQLite and back.
func TestRoundTrip(t *testing.T) {
	memory, again := runlog.NewMemory(), runlog.NewMemory()
	file := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "runs.db")})
	fill(t, memory)
	want := export(t, memory)

	run, err := runlog.Import(t.Context(), file, bytes.NewReader([]byte(want)))
	require.NoError(t, err)
	assert.Equal(t, "r-1", run)
	assert.Equal(t, want, export(t, file))

	_, err = runlog.Import(t.Context(), again, bytes.NewReader([]byte(export(t, file))))
	require.NoError(t, err)
	assert.Equal(t, want, export(t, again))

	_, err = runlog.Import(t.Context(), file, bytes.NewReader([]byte(want)))
	assert.ErrorIs(t, err, runlog.ErrConflict)
}
