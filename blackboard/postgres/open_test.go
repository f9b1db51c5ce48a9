package postgres_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
)

func TestConfig(t *testing.T) {
	err := postgres.Config{
		Session: "host=", Schema: "My Schema", Prefix: strings.Repeat("x", 31), Timeout: -1, LockTimeout: 1,
	}.Validate()
	for _, want := range []string{"Pool is nil", `Schema is "My Schema"`, "Prefix is", "Timeout is -1ns", "LockTimeout is 1ns"} {
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, postgres.Config{Session: "postgres://u:secret@h:port/"}.Validate(), "Session is no DSN")
	assert.NotContains(t, postgres.Config{Session: "postgres://u:secret@h:port/"}.Validate().Error(), "secret")
	_, err = postgres.New(t.Context(), postgres.Config{})
	require.ErrorContains(t, err, "postgres: Pool is nil")
}

// wantOurs requires an error without types of the driver.
func wantOurs(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	var pgErr *pgconn.PgError
	var connectErr *pgconn.ConnectError
	assert.NotErrorAs(t, err, &pgErr)
	assert.NotErrorAs(t, err, &connectErr)
	assert.True(t, strings.HasPrefix(err.Error(), "postgres: "), err)
}

func TestNoServer(t *testing.T) {
	_, err := postgres.New(t.Context(), postgres.Config{Pool: pool(t, "host="+t.TempDir()+" password=secret")})
	wantOurs(t, err)
	require.ErrorContains(t, err, "the server cannot be reached")
	assert.NotContains(t, err.Error(), "secret")
}

func TestTablesDropped(t *testing.T) {
	cfg := config(t)
	s := open(t, cfg)
	_, err := cfg.Pool.Exec(t.Context(), "DROP SCHEMA "+cfg.Schema+" CASCADE")
	require.NoError(t, err)
	err = appendOne(t, s, "r", 0)
	wantOurs(t, err)
	require.ErrorContains(t, err, "the tables are missing")
}

func TestReadOnly(t *testing.T) {
	cfg := config(t)
	open(t, cfg)
	cfg.Pool = pool(t, dsn(t)+" default_transaction_read_only=on")
	s := open(t, cfg)
	err := appendOne(t, s, "r", 0)
	wantOurs(t, err)
	require.ErrorContains(t, err, "target_session_attrs=read-write")
}

// TestLocked has another program that keeps a run locked.
func TestLocked(t *testing.T) {
	cfg := config(t)
	open(t, cfg) // the tables are made without haste
	cfg.LockTimeout, cfg.Timeout = 50*time.Millisecond, 200*time.Millisecond
	s := open(t, cfg)
	require.NoError(t, appendOne(t, s, "r", 0))
	tx, err := cfg.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	_, err = tx.Exec(t.Context(), "SELECT FROM "+cfg.Schema+".runs FOR UPDATE")
	require.NoError(t, err)
	err = appendOne(t, s, "r", 1)
	wantOurs(t, err)
	require.ErrorContains(t, err, "did not answer in time")
	for name, change := range map[string]func() error{
		"the end": func() error {
			return s.Append(t.Context(), []runlog.Record{{Run: "r", Seq: 1, Kind: runlog.Ended}})
		},
		"a letter": func() error { return s.Put(t.Context(), runlog.Letter{Run: "r", Key: "q"}) },
		"a delete": func() error { return s.Delete(t.Context(), "r") },
	} {
		t.Run(name, func(t *testing.T) {
			err := change()
			wantOurs(t, err)
			require.ErrorContains(t, err, "another transaction kept a lock longer than Config.LockTimeout")
		})
	}
}

// TestCanceledAppend has calls that wait for a locked run: a canceled one returns and does
// not affect the others.
func TestCanceledAppend(t *testing.T) {
	t.Run("a call that waits returns when its ctx is done", func(t *testing.T) {
		cfg := config(t)
		s := open(t, cfg)
		require.NoError(t, appendOne(t, s, "r", 0))
		tx, err := cfg.Pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "SELECT FROM "+cfg.Schema+".runs FOR UPDATE")
		require.NoError(t, err)
		first, second := make(chan error, 1), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { first <- s.Append(ctx, []runlog.Record{small("r", 1)}) }()
		<-time.After(20 * time.Millisecond)
		go func() {
			second <- s.Append(context.WithoutCancel(ctx), []runlog.Record{small("second", 0)})
		}()
		short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		require.ErrorIs(t, s.Append(short, []runlog.Record{small("third", 0)}), context.DeadlineExceeded)
		cancel()
		require.ErrorIs(t, <-first, context.Canceled)
		require.NoError(t, tx.Rollback(t.Context()))
		require.NoError(t, <-second)
		_, err = s.Last(t.Context(), "third")
		require.ErrorIs(t, err, runlog.ErrNoRun, "it had not begun")
		last, err := s.Last(t.Context(), "r")
		require.NoError(t, err)
		assert.EqualValues(t, 1, last.Seq, "the outcome of one that had begun is unknown: it was stored")
	})
}

func TestClosed(t *testing.T) {
	s := open(t, config(t))
	require.NoError(t, s.Beat(t.Context(), "ann", time.Hour))
	loop := make(chan error, 1)
	go func() {
		for _, err := range s.Changes(t.Context()) {
			loop <- err
		}
	}()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-loop, os.ErrClosed)
	require.ErrorIs(t, appendOne(t, s, "r", 0), os.ErrClosed)
	require.ErrorIs(t, s.Beat(t.Context(), "ann", time.Hour), os.ErrClosed)
	_, err := s.Last(t.Context(), "r")
	require.ErrorIs(t, err, os.ErrClosed)
}
