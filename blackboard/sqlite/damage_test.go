package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

func TestFileGone(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			return os.Rename(path+".copy", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, a, _ := two(t)
			require.NoError(t, appendOne(t, a, "r", 0))
			require.NoError(t, os.WriteFile(path+".copy", nil, 0o600))
			require.NoError(t, remove(path))
			for seq := range int64(2) {
				err := appendOne(t, a, "r", 1+seq)
				require.ErrorIs(t, err, runlog.ErrDamaged)
				require.ErrorContains(t, err, path)
				require.ErrorContains(t, err, "while it was open")
			}
			require.ErrorIs(t, a.Put(t.Context(), runlog.Letter{Run: "r", Key: "q"}), runlog.ErrDamaged)
			require.ErrorIs(t, a.Beat(t.Context(), "ann", time.Hour), runlog.ErrDamaged)
		})
	}
}

func TestFileGoneMakesNoNewOne(t *testing.T) {
	path, a, _ := two(t)
	require.NoError(t, appendOne(t, a, "r", 0))
	require.NoError(t, os.Remove(path))
	for _, err := range a.Records(t.Context(), "r", 0) {
		assert.Error(t, err)
	}
	assert.NoFileExists(t, path)
}

func TestRecordMissing(t *testing.T) {
	path, a, _ := two(t)
	for seq := range int64(5) {
		require.NoError(t, appendOne(t, a, "r", seq))
	}
	require.NoError(t, script(t, path, "DELETE FROM log WHERE id & 0xff = 2"))
	var last error
	n := 0
	for _, err := range a.Records(t.Context(), "r", 0) {
		if last = err; err == nil {
			n++
		}
	}
	assert.Equal(t, 2, n)
	require.ErrorIs(t, last, runlog.ErrDamaged)
	assert.ErrorContains(t, last, `missing record 2 of run "r"`)
}

// headDamage changes heads, in which most fields are.
var headDamage = []string{
	"head = x''", "head = head || x'00'", "head = substr(head, 1, length(head) - 1)", "head = 'x'",
	"head = zeroblob(length(head))", "head = substr(head, 1, 12) || x'7f' || substr(head, 14)",
}

// TestDamagedColumns changes each column of a record and of a letter.
func TestDamagedColumns(t *testing.T) {
	for _, damage := range append(headDamage, "data = NULL", "data = data || ' '", "data = x''") {
		t.Run("record "+damage, func(t *testing.T) {
			path, a, _ := two(t)
			require.NoError(t, appendOne(t, a, "r", 0))
			require.NoError(t, script(t, path, "UPDATE log SET "+damage))
			_, err := a.Last(t.Context(), "r")
			require.ErrorIs(t, err, runlog.ErrDamaged)
			assert.ErrorContains(t, err, `record 0 of run "r"`)
		})
	}
	for _, harmless := range []string{"kind = 'Called'", "name = 'writes'", "at = at + 1", "at = 'x'"} {
		t.Run("record "+harmless, func(t *testing.T) {
			path, a, _ := two(t)
			require.NoError(t, appendOne(t, a, "r", 0))
			require.NoError(t, script(t, path, "UPDATE log SET "+harmless))
			last, err := a.Last(t.Context(), "r")
			require.NoError(t, err)
			assert.Equal(t, small("r", 0), last)
		})
	}
	for _, damage := range append(headDamage, "key = 'p'", "round = 1", "expired = 1", "data = '\"no\"'") {
		t.Run("letter "+damage, func(t *testing.T) {
			path, a, _ := two(t)
			require.NoError(t, appendOne(t, a, "r", 0))
			require.NoError(t, a.Put(t.Context(), runlog.Letter{Run: "r", Key: "q", Data: []byte(`"yes"`)}))
			require.NoError(t, script(t, path, "UPDATE inbox SET "+damage))
			for _, err := range a.Letters(t.Context(), "") {
				require.ErrorIs(t, err, runlog.ErrDamaged)
				assert.ErrorContains(t, err, `of run "r"`)
			}
		})
	}
}

// TestDamagedList changes each column of a run in the list of runs.
func TestDamagedList(t *testing.T) {
	first := ownedBy("r", "ann")
	first.Data = []byte(`{"owner":"ann","version":3,"labels":{"a":"b"}}`)
	for _, damage := range append(headDamage, "ended = 1", "labels = ''", `labels = '{"a":"c"}'`) {
		t.Run(damage, func(t *testing.T) {
			path, a, _ := two(t)
			require.NoError(t, a.Append(t.Context(), []runlog.Record{first}))
			require.NoError(t, script(t, path, "UPDATE runs SET "+damage))
			for _, err := range a.List(t.Context(), runlog.Query{Run: "r"}) {
				require.ErrorIs(t, err, runlog.ErrDamaged)
				assert.ErrorContains(t, err, `entry in the list of run "r"`)
			}
			end := runlog.Record{Run: "r", Seq: 1, Kind: runlog.Ended}
			assert.ErrorIs(t, a.Append(t.Context(), []runlog.Record{end}), runlog.ErrDamaged)
		})
	}
	for _, harmless := range []string{"started_at = 7", "flow = 'flaw'", "parent = 'p'", "owner = 'bob'", "status = 'x'", "err = 'x'"} {
		t.Run(harmless, func(t *testing.T) {
			path, a, _ := two(t)
			require.NoError(t, a.Append(t.Context(), []runlog.Record{first}))
			require.NoError(t, script(t, path, "UPDATE runs SET "+harmless))
			for l, err := range a.List(t.Context(), runlog.Query{Run: "r"}) {
				require.NoError(t, err)
				want := runlog.Listing{Run: "r", Flow: "flow", Version: 3, Owner: "ann", Labels: map[string]string{"a": "b"}, Next: 1}
				assert.Equal(t, want, l)
			}
		})
	}
}

// TestFlippedBits flips single bits of a file: what is read then is what was
// written, or an error. A run whose name in the list of runs is hit is not found.
func TestFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(path)
	require.NoError(t, err)
	want := make(map[string]string)
	for i := range 4 {
		run := fmt.Sprint("run-", i)
		hash, err := s.PutBlob(t.Context(), run, bytes.Repeat([]byte(run), 300))
		require.NoError(t, err)
		var recs []runlog.Record
		for seq := range int64(30) {
			recs = append(recs, small(run, seq))
		}
		recs[7].Data, recs[7].Blob = nil, hash
		require.NoError(t, s.Append(t.Context(), recs))
		want[run] = contents(t, s, run)
	}
	require.NoError(t, s.Close())
	good, err := os.ReadFile(path)
	require.NoError(t, err)

	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 400 {
		bad := bytes.Clone(good)
		bit := random.IntN(8 * len(bad))
		bad[bit/8] ^= 1 << (bit % 8)
		path := filepath.Join(t.TempDir(), "bad.db")
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		s, err := sqlite.Open(path)
		if err != nil {
			found++
			continue
		}
		for run, want := range want {
			switch got := contents(t, s, run); got {
			case want:
			case "damaged", "no run":
				found++
			default:
				assert.Equal(t, want, got, "bit %d is flipped", bit)
			}
		}
		assert.NoError(t, s.Close())
	}
	assert.Positive(t, found)
}

// contents is the hash of all records of a run with their blobs, or "damaged", or
// "no run".
func contents(t *testing.T, s *sqlite.Store, run string) string {
	t.Helper()
	var all bytes.Buffer
	for r, err := range s.Records(t.Context(), run, 0) {
		var blob []byte
		if err == nil && r.Blob != "" {
			blob, err = s.Blob(t.Context(), run, r.Blob)
		}
		if err != nil {
			return "damaged" // whatever the error: a bit of the schema may be hit, too
		}
		fmt.Fprintf(&all, "%+v %s", r, blob)
	}
	if all.Len() == 0 {
		return "no run"
	}
	return runlog.BlobHash(all.Bytes())
}
