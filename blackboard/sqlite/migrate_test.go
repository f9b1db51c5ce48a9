package sqlite

import (
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
)

// later is the schema of a version to come.
var later = append(slices.Clone(versions), "ALTER TABLE runs ADD COLUMN note TEXT; UPDATE runs SET note = flow;")

// filled returns the path of a file of today's version with a run.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), []blackboard.Record{{Run: "r", Kind: blackboard.Started, Name: "flow"}}))
	require.NoError(t, s.Close())
	return path
}

// writer connects to the file at path as it is.
func writer(t *testing.T, path string) *conn {
	t.Helper()
	c, err := connect(writerDSN(Config{Path: path}))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.close()) })
	return c
}

func values(t *testing.T, c *conn, sql string) []string {
	t.Helper()
	var all []string
	require.NoError(t, c.rows(func(row []driver.Value) error {
		for _, v := range row {
			all = append(all, text(v))
		}
		return nil
	}, sql))
	return all
}

func TestMigrate(t *testing.T) {
	c := writer(t, filled(t))
	for range 2 { // again: there is nothing left to do
		require.NoError(t, migrate(c, later))
		v, err := version(c, len(later))
		require.NoError(t, err)
		assert.Equal(t, len(later), v)
	}
	assert.Equal(t, []string{"r", "flow"}, values(t, c, "SELECT run, note FROM runs"))

	fresh := writer(t, filepath.Join(t.TempDir(), "new.db"))
	require.NoError(t, migrate(fresh, later))
	const schema = "SELECT name, sql FROM sqlite_master ORDER BY name"
	assert.Equal(t, values(t, fresh, schema), values(t, c, schema), "a migrated file is as a new one")
}

func TestMigrateFails(t *testing.T) {
	c := writer(t, filled(t))
	broken := append(slices.Clone(later), "CREATE TABLE more(x); CREATE TABLE log(x)")
	require.ErrorContains(t, migrate(c, broken), "bring it from version 2 to 3")
	v, err := version(c, len(broken))
	require.NoError(t, err)
	assert.Equal(t, 1, v, "all or nothing")
	assert.Empty(t, values(t, c, "SELECT name FROM pragma_table_info('runs') WHERE name = 'note'"))
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
						err = s.Append(t.Context(), []blackboard.Record{{Run: fmt.Sprint(i), Kind: blackboard.Started}})
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
	list := func(q blackboard.Query) string {
		where, _ := conditions(q)
		return selectRuns + where + newestFirst
	}
	for sql, index := range map[string]string{
		selectRecords:                                "INTEGER PRIMARY KEY",
		selectTexts:                                  "INTEGER PRIMARY KEY",
		selectLast:                                   "INTEGER PRIMARY KEY",
		selectAsks:                                   "log_asks",
		selectAsksKey:                                "log_asks_name",
		selectStates:                                 "log_asks_name",
		selectHashes:                                 "",
		selectRun:                                    "",
		selectRuns + ownedOpen + newestFirst:         "runs_owner",
		list(blackboard.Query{}):                     "runs_all",
		list(blackboard.Query{Open: true}):           "runs_open",
		list(blackboard.Query{Flow: "f"}):            "runs_flow",
		list(blackboard.Query{Status: "s"}):          "runs_status",
		list(blackboard.Query{Parent: "p"}):          "runs_parent",
		"DELETE FROM log WHERE " + ofRun:             "INTEGER PRIMARY KEY",
		"DELETE FROM labels WHERE no = " + runNumber: "",
		selectOwners:                                 "runs_owner",
		list(blackboard.Query{Run: "r", Open: true}): "sqlite_autoindex_runs_1",
		"SELECT no FROM labels WHERE name = ? AND value = ?":           "labels_name",
		"DELETE FROM letters WHERE run = ? AND key = ?":                "",
		list(blackboard.Query{Open: true, Owner: "o"}):                 "runs_owner",
		list(blackboard.Query{Open: true, Parent: "p", Text: "t"}):     "runs_parent",
		list(blackboard.Query{Flow: "f", Text: "t", Status: "failed"}): "",
	} {
		var args []driver.Value
		for range 16 {
			args = append(args, "0")
		}
		found := false
		require.NoError(t, s.writer.rows(func(row []driver.Value) error {
			step := text(row[3])
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
