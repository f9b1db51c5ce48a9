package sqlite

import (
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// filled returns the path of a file of today's version with a run.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: "r", Kind: runlog.Started, Name: "flow"}}))
	require.NoError(t, s.Close())
	return path
}

// TestOpenTogether opens new and old files by many at once.
func TestOpenTogether(t *testing.T) {
	for name, path := range map[string]string{"old": filled(t), "new": filepath.Join(t.TempDir(), "new.db")} {
		t.Run(name, func(t *testing.T) {
			errs := make([]error, 16)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() {
					s, err := Open(path)
					if err == nil {
						err = s.Append(t.Context(), []runlog.Record{{Run: fmt.Sprint(i), Kind: runlog.Started}})
					}
					if err == nil {
						err = s.Close()
					}
					errs[i] = err
				})
			}
			all.Wait()
			for i, err := range errs {
				assert.NoError(t, err, "opener %d", i)
			}
		})
	}
}

// TestQueryPlans holds that no query looks at rows in vain: each goes by an index
// and in its order.
func TestQueryPlans(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "plans.db"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	list := func(q runlog.Query) string {
		sql, _ := listOf(q)
		return sql
	}
	asks := func(q runlog.AskQuery) string {
		sql, _ := openAsks(q, allAsks)
		return sql
	}
	for sql, index := range map[string]string{
		selectRecords:                                "INTEGER PRIMARY KEY",
		selectLast:                                   "INTEGER PRIMARY KEY",
		selectAsks:                                   "log_asks",
		selectAsksKey:                                "log_asks_name",
		selectHashes:                                 "",
		selectListing:                                "",
		list(runlog.Query{}):                         "runs_all",
		list(runlog.Query{Open: true}):               "runs_open",
		list(runlog.Query{Flow: "f"}):                "runs_flow",
		list(runlog.Query{Status: "s"}):              "runs_status",
		list(runlog.Query{Parent: "p"}):              "runs_parent",
		"DELETE FROM log WHERE " + ofRun:             "INTEGER PRIMARY KEY",
		"DELETE FROM labels WHERE no = " + runNumber: "",
		selectOwners:                                 "runs_owner",
		list(runlog.Query{Run: "r", Open: true}):     "sqlite_autoindex_runs_1",
		"SELECT no FROM labels WHERE name = ? AND value = ?": "labels_name",
		selectLetters:                     "inbox_open",
		selectLettersOfRun:                "inbox_open",
		takeLetter:                        "sqlite_autoindex_inbox_1",
		"DELETE FROM inbox WHERE run = ?": "",
		list(runlog.Query{Open: true, Owner: "o"}):                 "runs_owner",
		list(runlog.Query{Open: true, Parent: "p", Text: "t"}):     "runs_parent",
		list(runlog.Query{Flow: "f", Text: "t", Status: "failed"}): "",
		list(runlog.Query{Text: "t"}):                              "runs_text",
		list(runlog.Query{Text: "t", Open: true, Flow: "f"}):       "runs_text",
		list(runlog.Query{Text: "t", Label: "team=red"}):           "runs_text",
		asks(runlog.AskQuery{}):                                    "asks_open",
		asks(runlog.AskQuery{Flow: "f", Label: "l", Text: "t"}):    "asks_open",
		asks(runlog.AskQuery{Before: time.Unix(1, 0)}):             "asks_open",
		deleteAsks: "",
		renewAsks:  "",
	} {
		var args []driver.Value
		for range 16 {
			args = append(args, "0")
		}
		found := false
		require.NoError(t, s.writer.rows(func(_ *conn, row []driver.Value) error {
			step := as[string](row[3])
			assert.NotContains(t, step, "TEMP B-TREE", "%s", sql)
			if step != "SCAN CONSTANT ROW" && step != "SCAN next" {
				assert.NotRegexp(t, `^SCAN \w+$`, step, "%s", sql)
			}
			found = found || index == "" || strings.Contains(step+" ", index+" ")
			return nil
		}, "EXPLAIN QUERY PLAN "+sql, args...))
		assert.True(t, found, "%s does not use %s", sql, index)
	}
}

// TestLastRound has a "!" behind records that reject an answer.
func TestLastRound(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "rounds.db"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	for records, want := range map[string]int64{
		"":                            0,
		"asked":                       0,
		"asked asked":                 0,
		"answered":                    0,
		"answered asked":              0,
		"answered expired asked":      0,
		"asked expired asked":         1,
		"asked withdrawn asked":       1,
		"asked expired expired asked": 1,
		"answered asked! asked":       1,
		"answered expired asked withdrawn asked asked!": 1,
		"asked expired asked withdrawn asked":           2,
		"answered asked! answered asked!":               2,
		"expired answered asked":                        0,
		"expired asked answered asked! asked":           2,
	} {
		recs := []runlog.Record{{Run: records, Kind: runlog.Started}}
		for i, kind := range strings.Fields(records) {
			kind, rejects := strings.CutSuffix(kind, "!")
			r := runlog.Record{Run: records, Seq: int64(i) + 1, Kind: kind, Name: "q"}
			if rejects {
				r.Data = []byte(`{"rejected":"no number"}`)
			}
			recs = append(recs, r)
		}
		require.NoError(t, s.Append(t.Context(), recs))
		got, err := s.writer.lastRound(records, "q")
		require.NoError(t, err)
		assert.Equal(t, want, got, "%s", records)
	}
}

// version3 makes a file of version 3, and returns a connection to it.
func version3(t *testing.T) (path string, c *conn) {
	t.Helper()
	dump, err := os.ReadFile("testdata/v2.sql")
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "runs.db")
	c, err = connect(path, toWrite)
	require.NoError(t, err)
	require.NoError(t, c.exec(string(dump)))
	require.NoError(t, c.fromVersion2())
	rows, err := c.all("PRAGMA user_version")
	require.NoError(t, err)
	require.Equal(t, int64(3), rows[0][0])
	return path, c
}

// TestVersion3 has open questions in a file of version 3, and texts to search for.
func TestVersion3(t *testing.T) {
	path, c := version3(t)
	require.NoError(t, c.close())
	s, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	var scanned, indexed, found []string
	for a, err := range s.OpenAsks(t.Context(), runlog.AskQuery{Label: "kind=fixture"}) {
		require.NoError(t, err)
		indexed = append(indexed, a.Run+" "+a.Name)
	}
	for a, err := range runlog.OpenAsks(t.Context(), struct{ runlog.Store }{s}, runlog.AskQuery{}) {
		require.NoError(t, err)
		scanned = append(scanned, a.Run+" "+a.Name)
	}
	assert.Equal(t, scanned, indexed)
	assert.Contains(t, indexed, "again size")
	assert.Contains(t, indexed, "waits color")
	for l, err := range s.List(t.Context(), runlog.Query{Text: "FIXTURE"}) {
		require.NoError(t, err)
		found = append(found, l.Run)
	}
	assert.Len(t, found, 6)
	require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: "waits", Seq: 3, Kind: runlog.Answered, Name: "color"}}))
	for a, err := range s.OpenAsks(t.Context(), runlog.AskQuery{Run: "waits"}) {
		require.NoError(t, err)
		assert.NotEqual(t, "color", a.Name)
	}
}

// TestVersion3Fails runs what programs of version 3 that have the file open run when they
// start or list a run: they must fail, as they would not keep up the new indexes.
func TestVersion3Fails(t *testing.T) {
	path, c := version3(t)
	t.Cleanup(func() { assert.NoError(t, c.close()) })
	s, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, sql := range []string{
		"INSERT INTO runs(owner, status, err, ended, head, data, run, started_at, flow, parent) VALUES('', '', '', 0, '', 'null', 'x', 0, '', '')",
		"UPDATE runs SET (owner, status, err, ended, head, data) = ('', '', '', 0, '', 'null') WHERE run = 'waits'",
		"SELECT ended, CAST(head AS TEXT), CAST(data AS BLOB), run FROM runs",
	} {
		require.ErrorContains(t, c.exec(sql), "column", sql)
	}
}

// TestVersion3Damaged has damage in one run: the questions of the others are found.
func TestVersion3Damaged(t *testing.T) {
	path, c := version3(t)
	require.NoError(t, c.exec("UPDATE log SET data = '{}' WHERE id = (SELECT no FROM runs WHERE run = 'again') << 32 | 2"))
	require.NoError(t, c.exec("UPDATE runs SET head = '' WHERE run = 'twice'"))
	require.NoError(t, c.exec("UPDATE runs SET ended = 1 WHERE run = 'early'")) // its questions are not looked for
	require.NoError(t, c.close())
	s, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	for run, want := range map[string]int{"waits": 1, "early": 0} {
		n := 0
		for _, err := range s.OpenAsks(t.Context(), runlog.AskQuery{Run: run}) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, want, n, run)
	}
}

// TestVersion2Expiry has an expiry among the letters of a file of version 2.
func TestVersion2Expiry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	dump, err := os.ReadFile("testdata/v2.sql")
	require.NoError(t, err)
	c, err := connect(path, toWrite)
	require.NoError(t, err)
	require.NoError(t, c.exec(string(dump)))
	head := c.head(&runlog.Record{Run: "waits", Seq: 1, Name: "color"}, 0)
	require.NoError(t, c.exec("INSERT INTO letters VALUES('waits', 'color', 1, ?, NULL)", head))
	require.NoError(t, c.close())

	s, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	n := 0
	for l, err := range s.Letters(t.Context(), "waits") {
		require.NoError(t, err)
		assert.Equal(t, runlog.Letter{Run: "waits", Key: "color", Expired: true}, l)
		n++
	}
	assert.Equal(t, 1, n)
}
