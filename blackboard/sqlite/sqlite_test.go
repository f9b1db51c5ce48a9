package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/blackboard/storetest"
)

// open opens the file at path until the test ends.
func open(t testing.TB, cfg sqlite.Config) *sqlite.Store {
	t.Helper()
	s, err := sqlite.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// suite checks stores of that setting in virtual time, with other processes' views
// and damage.
func suite(sync sqlite.Sync, name string) storetest.Suite {
	paths := make(map[runlog.Store]string)
	return storetest.Suite{
		Open: func(t *testing.T) runlog.Store {
			t.Helper()
			path := filepath.Join(t.TempDir(), name)
			s := open(t, sqlite.Config{Path: path, Sync: sync})
			paths[s] = path
			return s
		},
		Other: func(t testing.TB, s runlog.Store) runlog.Store {
			t.Helper()
			return open(t, sqlite.Config{Path: paths[s], Sync: sync})
		},
		Damage: func(t testing.TB, s runlog.Store, run string, seq int64) {
			t.Helper()
			damage := fmt.Sprintf(`UPDATE log SET data = replace(data, 'r', 's')
				WHERE id = (SELECT no FROM runs WHERE run = '%s') << 32 | %d`, run, seq)
			if seq < 0 {
				damage = fmt.Sprintf("UPDATE blobs SET data = x'00' WHERE run = '%s'", run)
			}
			require.NoError(t, script(t, paths[s], damage))
		},
		In: synctest.Test,
	}
}

func TestStoreNormal(t *testing.T) { suite(sqlite.Normal, "runs.db").Run(t) }

func TestStoreFull(t *testing.T) { suite(sqlite.Full, "100% of #1?.db").Run(t) }
