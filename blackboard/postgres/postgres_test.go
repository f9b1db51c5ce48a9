package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest"
)

// server is the one of most tests; nil: Postgres is not installed.
var server *pgtest.Server

func TestMain(m *testing.M) {
	flag.Parse()
	if *engineDSN != "" { // a child process, on the server of its parent
		m.Run()
		return
	}
	var err error
	server, err = pgtest.Start(context.Background(), "fsync=off", "max_connections=200")
	if err != nil && !errors.Is(err, pgtest.ErrNotInstalled) {
		panic(err)
	}
	if server != nil {
		defer func() { _ = server.Close() }()
	}
	m.Run()
}

// dsn is that of the server of most tests.
func dsn(t testing.TB) string {
	t.Helper()
	if server == nil {
		t.Skip(pgtest.ErrNotInstalled)
	}
	return server.DSN()
}

// pool opens a pool until the test ends.
func pool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

var schemas atomic.Int64

// config is for a store over tables of its own.
func config(t testing.TB) postgres.Config {
	t.Helper()
	return postgres.Config{Pool: pool(t, dsn(t)+" pool_max_conns=4"), Schema: fmt.Sprint("test_", schemas.Add(1))}
}

// open opens a store until the test ends.
func open(t testing.TB, cfg postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// two opens tables twice, as two processes would.
func two(t testing.TB) (cfg postgres.Config, a, b *postgres.Store) {
	t.Helper()
	cfg = config(t)
	return cfg, open(t, cfg), open(t, cfg)
}

// suite checks stores by way of that parameter of the pool's DSN.
func suite(parameter string) storetest.Suite {
	configs := make(map[runlog.Store]postgres.Config)
	return storetest.Suite{
		Open: func(t *testing.T) runlog.Store {
			t.Helper()
			cfg := config(t)
			if parameter != "" {
				cfg.Pool = pool(t, dsn(t)+" pool_max_conns=4 "+parameter)
			}
			s := open(t, cfg)
			configs[s] = cfg
			return s
		},
		Other: func(t testing.TB, s runlog.Store) runlog.Store {
			t.Helper()
			return open(t, configs[s])
		},
		Damage: func(t testing.TB, s runlog.Store, run string, seq int64) {
			t.Helper()
			cfg := configs[s]
			sql := fmt.Sprintf(`UPDATE %[1]s.log SET data = convert_to(replace(convert_from(data, 'UTF8'), 'r', 's'), 'UTF8')
				WHERE no = (SELECT no FROM %[1]s.runs WHERE run = '%[2]s') AND seq = %[3]d`, cfg.Schema, run, seq)
			if seq < 0 {
				sql = fmt.Sprintf(`UPDATE %s.blobs SET data = '\x00' WHERE run = '%s'`, cfg.Schema, run)
			}
			_, err := cfg.Pool.Exec(t.Context(), sql)
			require.NoError(t, err)
		},
	}
}

func TestStore(t *testing.T) { suite("").Run(t) }

// TestStorePooler has pools as they must be behind a pooler that shares connections.
func TestStorePooler(t *testing.T) {
	if testing.Short() {
		t.Skip("long: TestStore says the same without a pooler")
	}
	suite("default_query_exec_mode=exec").Run(t)
}
