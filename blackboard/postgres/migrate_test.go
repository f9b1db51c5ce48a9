package postgres

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/blackboard/runlog"
)

// adds and breaks are versions that a newer program might bring.
var (
	adds   = version{oldest: 3, sql: "ALTER TABLE @runs ADD COLUMN novelty text"}
	breaks = version{oldest: 5, sql: "ALTER TABLE @log RENAME COLUMN hash TO request"}
)

func TestMigrate(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	p, err := pgxpool.New(t.Context(), pgtest.Open(t, "fsync=off").DSN())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	with := func(schema string) *Store {
		s, err := New(t.Context(), Config{Pool: p, Schema: schema})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		return s
	}
	newer := func(s *Store, v ...version) error {
		return s.migrate(t.Context(), append(versions(), v...))
	}

	t.Run("many at once", func(t *testing.T) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				s, err := New(context.Background(), Config{Pool: p, Schema: "many", Prefix: "a_"})
				if assert.NoError(t, err) {
					assert.NoError(t, s.Close())
				}
			})
		}
		all.Wait()
		var n int
		require.NoError(t, p.QueryRow(t.Context(), "SELECT count(*) FROM many.a_versions").Scan(&n))
		assert.Len(t, versions(), n)
	})

	t.Run("an older program works on after a change that adds", func(t *testing.T) {
		s := with("added")
		require.NoError(t, newer(s, adds))
		older := with("added")
		require.NoError(t, older.Append(t.Context(), []runlog.Record{{Run: "r"}}))
		require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: "r", Seq: 1}}))
	})

	t.Run("an older program stops at a change that breaks", func(t *testing.T) {
		s := with("broken")
		require.NoError(t, newer(s, adds, breaks))
		_, err := New(t.Context(), Config{Pool: p, Schema: "broken"})
		require.ErrorContains(t, err, "the tables have version 5, for programs of version 5 and newer; this one has version 3: use a newer program")
		require.NoError(t, newer(s, adds, breaks), "the newer one works on")
		err = s.Append(t.Context(), []runlog.Record{{Run: "r"}})
		require.ErrorContains(t, err, "postgres: append:", "a store that is open finds out")
	})

	t.Run("a change that fails leaves nothing", func(t *testing.T) {
		s := with("failed")
		require.ErrorContains(t, newer(s, adds, version{oldest: 2, sql: "CREATE TABLE @more(a int); SELECT 1/0"}), "from version 4 to 5")
		var n int
		require.NoError(t, p.QueryRow(t.Context(), "SELECT count(*) FROM failed.versions").Scan(&n))
		assert.Equal(t, 3, n)
	})

	t.Run("stores of one database", func(t *testing.T) {
		var stores []*Store
		for i, cfg := range []Config{{Schema: "shared"}, {Schema: "shared", Prefix: "x_"}, {Schema: "user"}, {}} {
			cfg.Pool = p
			s, err := New(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
			require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: fmt.Sprint(i)}}))
			stores = append(stores, s)
		}
		for i, s := range stores {
			for l, err := range s.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				assert.Equal(t, fmt.Sprint(i), l.Run)
			}
		}
	})

	t.Run("a role that may only use the tables", func(t *testing.T) {
		with("granted")
		for _, sql := range []string{
			"CREATE ROLE clerk LOGIN", "GRANT USAGE ON SCHEMA granted TO clerk",
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA granted TO clerk",
			"REVOKE CREATE ON DATABASE postgres FROM PUBLIC",
		} {
			_, err := p.Exec(t.Context(), sql)
			require.NoError(t, err)
		}
		cfg := p.Config()
		cfg.ConnConfig.User = "clerk"
		clerk, err := pgxpool.NewWithConfig(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(clerk.Close)
		s, err := New(t.Context(), Config{Pool: clerk, Schema: "granted"})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: "r"}}))
		require.NoError(t, s.Beat(t.Context(), "ann", 1))

		_, err = New(t.Context(), Config{Pool: clerk, Schema: "elsewhere"})
		require.ErrorContains(t, err, "postgres: open schema elsewhere: the role may not do this")
	})

	t.Run("a database of another encoding", func(t *testing.T) {
		_, err := p.Exec(t.Context(), "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
		require.NoError(t, err)
		cfg := p.Config()
		cfg.ConnConfig.Database = "latin"
		latin, err := pgxpool.NewWithConfig(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(latin.Close)
		_, err = New(t.Context(), Config{Pool: latin})
		require.ErrorContains(t, err, "the database has the encoding LATIN1, want UTF8")
	})
}

// version2 makes a database of version 2 with the runs of testdata, and returns a pool.
func version2(t *testing.T, p *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	_, err := p.Exec(t.Context(), "CREATE DATABASE second")
	require.NoError(t, err)
	cfg := p.Config()
	cfg.ConnConfig.Database = "second"
	second, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(second.Close)
	dump, err := os.ReadFile("testdata/v1.sql")
	require.NoError(t, err)
	_, err = second.Exec(t.Context(), string(dump), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	old := &Store{cfg: Config{Pool: second}.withDefaults(), sql: newStatements(DefaultSchema, "")}
	require.NoError(t, old.migrate(t.Context(), versions()[:2]))
	return second
}

// TestVersion2 has open questions in tables of version 2, and texts to search for.
func TestVersion2(t *testing.T) {
	p, err := pgxpool.New(t.Context(), pgtest.Open(t, "fsync=off").DSN())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	second := version2(t, p)
	for _, sql := range []string{
		"UPDATE convene.log SET data = '{}' WHERE kind = 'asked' AND no = (SELECT no FROM convene.runs WHERE run = 'twice')", // it is damaged
		`UPDATE convene.labels SET value = '\x00ff' WHERE no = (SELECT no FROM convene.runs WHERE run = 'stop')`,
		"UPDATE convene.runs SET ended = true WHERE run = 'early'",
	} {
		_, err = second.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	s, err := New(t.Context(), Config{Pool: second})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	var indexed, found []string
	for a, err := range s.OpenAsks(t.Context(), runlog.AskQuery{Label: "kind=fixture", Flow: "order"}) {
		require.NoError(t, err)
		indexed = append(indexed, a.Run+" "+a.Name)
	}
	slices.Sort(indexed)
	assert.Equal(t, []string{"again size", "waits color"}, indexed)
	for l, err := range s.List(t.Context(), runlog.Query{Text: "FIXTURE"}) {
		require.NoError(t, err)
		found = append(found, l.Run)
	}
	slices.Sort(found)
	assert.Equal(t, []string{"again", "done", "early", "stop", "twice", "waits"}, found)

	// What programs of version 2 that are still running write.
	old := "INSERT INTO convene.log(no, seq, n, at, sum, kind, branch, name, hash, data, blob) SELECT no, 90, 0, 0, 0, $1, '', '', '', NULL, '' FROM convene.runs WHERE run = 'waits'"
	_, err = second.Exec(t.Context(), old, runlog.Called)
	require.NoError(t, err)
	for _, kind := range []string{runlog.Asked, runlog.Answered, runlog.Expired, runlog.Withdrawn} {
		_, err = second.Exec(t.Context(), old, kind)
		require.ErrorContains(t, err, "asks_are_indexed")
	}
}

// TestLastRound has a "!" behind records that reject an answer.
func TestLastRound(t *testing.T) {
	p, err := pgxpool.New(t.Context(), pgtest.Open(t, "fsync=off").DSN())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	s, err := New(t.Context(), Config{Pool: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	for records, want := range map[string]int{
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
		got := -1
		require.NoError(t, pgx.BeginFunc(t.Context(), p, func(tx pgx.Tx) (err error) {
			var no int64
			if err = tx.QueryRow(t.Context(), "SELECT no FROM convene.runs WHERE run = $1", records).Scan(&no); err == nil {
				got, err = lastRound(t.Context(), tx, s.sql, no, "q")
			}
			return err
		}))
		assert.Equal(t, want, got, "%s", records)
	}
}
