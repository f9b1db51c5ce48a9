package sqlite

import (
	"database/sql/driver"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
)

var update = flag.Bool("update", false, "write testdata/v1.sqlite anew")

// The runs of testdata/v1.sqlite: "ended" and "open", three records each.
const v1Records = `
	INSERT INTO log VALUES
		('ended', 0, 'started', NULL, NULL, 'flow', NULL, 1000000001, '{"in":1}'),
		('ended', 1, 'called', '0.1', 2, 'writer', '4f2a', 1000000002, '"<é>"'),
		('ended', 2, 'ended', NULL, NULL, NULL, NULL, 1000000003, 'null'),
		('open', 0, 'started', NULL, NULL, 'flow', NULL, 2000000001, NULL),
		('open', 1, 'asked', NULL, 1, 'q', NULL, 2000000002, NULL),
		('open', 2, 'answered', NULL, NULL, 'q', NULL, 2000000003, '"yes"');`

// TestUpdateV1 makes testdata/v1.sqlite, as the first version of this package did.
func TestUpdateV1(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	path := filepath.Join("testdata", "v1.sqlite")
	require.NoError(t, os.RemoveAll(path))
	c, err := connect(writerDSN(Config{Path: path}))
	require.NoError(t, err)
	require.NoError(t, c.script(versions[0]+v1Records))
	require.NoError(t, c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1", applicationID)))
	require.NoError(t, c.close())
}

// oldFile returns a copy of testdata/v1.sqlite.
func oldFile(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "v1.sqlite"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "old.db")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// schema returns the definitions of all tables, indexes and triggers.
func schema(t *testing.T, c *conn) []string {
	t.Helper()
	var sql []string
	require.NoError(t, c.rows(func(row []driver.Value) bool {
		sql = append(sql, text(row[0])+": "+text(row[1]))
		return true
	}, "SELECT name, sql FROM sqlite_master ORDER BY name"))
	return sql
}

func TestMigrate(t *testing.T) {
	s, err := Open(oldFile(t))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })

	var got []string
	for ends, err := range s.Runs(t.Context(), false) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(ends[0].Run, ends[0].Seq, ends[1].Seq, ends[1].Kind))
	}
	assert.Equal(t, []string{"open0 2answered", "ended0 2ended"}, slices.Collect(slices.Values(got)))
	for ends, err := range s.Runs(t.Context(), true) {
		require.NoError(t, err)
		assert.Equal(t, "open", ends[0].Run)
	}
	for r, err := range s.Records(t.Context(), "ended", 1) {
		require.NoError(t, err)
		assert.Equal(t, blackboard.Record{
			Run: "ended", Seq: 1, Kind: "called", Branch: "0.1", N: 2, Name: "writer", Hash: "4f2a",
			At: fromNanos(1000000002), Data: []byte(`"<é>"`),
		}, r)
		break
	}
	assert.ErrorIs(t, s.Put(t.Context(), blackboard.Letter{Run: "open", Key: "q"}), blackboard.ErrConflict)
	assert.NoError(t, s.Append(t.Context(), []blackboard.Record{{Run: "open", Seq: 3, Kind: blackboard.Ended}}))

	fresh, err := Open(filepath.Join(t.TempDir(), "new.db"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, fresh.Close()) })
	assert.Equal(t, schema(t, fresh.writer), schema(t, s.writer), "a migrated file is as a new one")
}

func TestMigrateAgain(t *testing.T) {
	path := oldFile(t)
	for range 3 {
		s, err := Open(path)
		require.NoError(t, err)
		v, err := version(s.writer)
		require.NoError(t, err)
		assert.Equal(t, len(versions), v)
		require.NoError(t, s.Close())
	}
}

// TestMigrateTogether opens new and old files by many at once.
func TestMigrateTogether(t *testing.T) {
	for name, path := range map[string]string{"old": oldFile(t), "new": filepath.Join(t.TempDir(), "new.db")} {
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

func TestMigrateFails(t *testing.T) {
	path := oldFile(t)
	c, err := connect(writerDSN(Config{Path: path}))
	require.NoError(t, err)
	require.NoError(t, c.script("CREATE TABLE runs(x)")) // in the way of version 2
	_, err = Open(path)
	assert.ErrorContains(t, err, "bring it from version 1 to 2")
	v, err := version(c)
	require.NoError(t, err)
	assert.Equal(t, 1, v, "all or nothing")
	require.NoError(t, c.close())
}

func TestQueryPlans(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "plans.db"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	for _, sql := range []string{selectRecords, selectTexts, selectAllRuns, selectOpenRuns, selectBlobs, putLetter, putCancel, "DELETE FROM log WHERE " + ofRun} {
		var args []driver.Value
		for range len(sql) {
			args = append(args, int64(0))
		}
		require.NoError(t, s.writer.rows(func(row []driver.Value) bool {
			assert.NotContains(t, text(row[3]), "TEMP B-TREE", "%s", sql)
			if text(row[3]) != "SCAN CONSTANT ROW" {
				assert.NotRegexp(t, `^SCAN \w+$`, text(row[3]), "%s", sql)
			}
			return true
		}, "EXPLAIN QUERY PLAN "+sql, args...))
	}
}
