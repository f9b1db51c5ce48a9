package sqlite_test

import (
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

// two opens one file twice, as two processes would.
func two(t *testing.T) (path string, a, b *sqlite.Store) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	cfg := sqlite.Config{Path: path, Sync: sqlite.Normal}
	return path, open(t, cfg), open(t, cfg)
}

// appendOne appends a small record.
func appendOne(t *testing.T, s *sqlite.Store, run string, seq int64) error {
	t.Helper()
	return s.Append(t.Context(), []runlog.Record{small(run, seq)})
}

func TestTwoStoresLetters(t *testing.T) {
	_, a, b := two(t)
	require.NoError(t, appendOne(t, a, "r", 0))
	require.NoError(t, b.Put(t.Context(), runlog.Letter{Run: "r", Key: "q", Data: []byte(`"yes"`)}))
	require.ErrorIs(t, a.Put(t.Context(), runlog.Letter{Run: "r", Key: "q"}), runlog.ErrConflict)
	for l, err := range a.Letters(t.Context(), "") {
		require.NoError(t, err)
		assert.Equal(t, `"yes"`, string(l.Data))
	}
}

// TestOtherWriter has another program write the log: the file itself keeps it from
// writing what is there.
func TestOtherWriter(t *testing.T) {
	path, a, _ := two(t)
	require.NoError(t, appendOne(t, a, "r", 0))
	require.ErrorContains(t, script(t, path, "INSERT INTO log(id, kind, name, at, head) SELECT no << 32 | 0, 'x', '', 0, '' FROM runs"), "UNIQUE")
	require.NoError(t, script(t, path, "INSERT INTO log(id, kind, name, at, head) SELECT no << 32 | 1, 'x', '', 0, '' FROM runs"))
	require.NoError(t, appendOne(t, a, "r", 2))
}

// TestNumbersOutOfRange has numbers for which a record's id has no room: bits of one
// run's must not be taken for another's.
func TestNumbersOutOfRange(t *testing.T) {
	_, a, _ := two(t)
	require.NoError(t, appendOne(t, a, "r", 0))
	for _, seq := range []int64{-1, 1 << 32, 1<<32 + 1, math.MaxInt64, math.MinInt64} {
		odd := small("r", 0)
		odd.Seq = seq
		require.ErrorIs(t, a.Append(t.Context(), []runlog.Record{odd}), runlog.ErrConflict, "%d", seq)
		for _, err := range a.Records(t.Context(), "r", max(seq, 1)) {
			require.Fail(t, "there is but one record", "from %d on: %v", seq, err)
		}
	}
	require.ErrorIs(t, appendOne(t, a, "", 1), runlog.ErrConflict)
}

// TestControlCharacters has texts with bytes that end texts elsewhere.
func TestControlCharacters(t *testing.T) {
	_, a, _ := two(t)
	odd := small("r\x1f", 0)
	odd.Name, odd.Kind, odd.Blob = "\x1fwriter\x00", "a\x1f\x1fb", "\x1f"
	odd.Data = nil
	require.NoError(t, a.Append(t.Context(), []runlog.Record{odd}))
	for r, err := range a.Records(t.Context(), odd.Run, 0) {
		require.NoError(t, err)
		assert.Equal(t, odd, r)
	}
	last, err := a.Last(t.Context(), odd.Run)
	require.NoError(t, err)
	assert.Equal(t, odd, last)
}

func TestTimeOutOfRange(t *testing.T) {
	_, a, _ := two(t)
	bad := small("r", 1)
	bad.At = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
	err := a.Append(t.Context(), []runlog.Record{small("r", 0), bad})
	require.ErrorContains(t, err, `record 1 of run "r"`)
	require.ErrorContains(t, err, "is not in the years 1678 to 2261")
	require.NoError(t, appendOne(t, a, "r", 0), "nothing of it was stored")

	for year, want := range map[int]int{-300: 0, 1: 0, 1000: 0, 3000: 1, 12000: 1} {
		n := 0
		for _, err := range a.List(t.Context(), runlog.Query{Before: time.Date(year, 2, 1, 0, 0, 0, 0, time.UTC)}) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, want, n, "runs whose last record is before the year %d", year)
	}
}

// TestManyConnections has more loops at once than the store keeps connections.
func TestManyConnections(t *testing.T) {
	_, a, _ := two(t)
	for i := range 20 {
		require.NoError(t, appendOne(t, a, fmt.Sprint(i), 0))
	}
	var depth func(i int)
	depth = func(i int) {
		for _, err := range a.Records(t.Context(), fmt.Sprint(i), 0) {
			require.NoError(t, err)
			if i < 19 {
				depth(i + 1)
			}
			require.NoError(t, appendOne(t, a, fmt.Sprint(i), 1))
			break
		}
	}
	depth(0)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			n := 0
			for _, err := range a.Records(t.Context(), fmt.Sprint(i), 0) {
				assert.NoError(t, err)
				n++
			}
			assert.Equal(t, 2, n)
		})
	}
	all.Wait()
}
