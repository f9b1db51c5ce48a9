package sqlite_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// TestAppendHeedsContext has another program that keeps the file locked.
func TestAppendHeedsContext(t *testing.T) {
	path, a, _ := two(t)
	require.NoError(t, appendOne(t, a, "r", 0))
	unlock := lockFile(t, path)
	for name, change := range map[string]func(ctx context.Context) error{
		"a plain record": func(ctx context.Context) error { return a.Append(ctx, []runlog.Record{small("r", 1)}) },
		"several records": func(ctx context.Context) error {
			return a.Append(ctx, []runlog.Record{small("r", 1), small("r", 2)})
		},
		"a letter": func(ctx context.Context) error { return a.Put(ctx, runlog.Letter{Run: "r", Key: "q"}) },
		"the end of a run": func(ctx context.Context) error {
			return a.Append(ctx, []runlog.Record{{Run: "r", Seq: 1, Kind: runlog.Ended}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			began := time.Now()
			require.ErrorIs(t, change(ctx), context.DeadlineExceeded)
			assert.Less(t, time.Since(began), 5*time.Second, "it does not wait for SQLite's own time limit")
		})
	}
	unlock()
	require.NoError(t, appendOne(t, a, "r", 1), "nothing of it was stored")
}

// TestAppendWaitsForItsTurn has calls that wait for a call that waits for the file:
// the end of one's context is its own affair.
func TestAppendWaitsForItsTurn(t *testing.T) {
	path, a, _ := two(t)
	unlock := lockFile(t, path)
	first, second := make(chan error, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { first <- a.Append(ctx, []runlog.Record{small("first", 0)}) }()
	go func() { second <- a.Append(context.WithoutCancel(ctx), []runlog.Record{small("second", 0)}) }()
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	require.ErrorIs(t, a.Append(short, []runlog.Record{small("third", 0)}), context.DeadlineExceeded)
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	unlock()
	require.NoError(t, <-second)
	for run, want := range map[string]error{"first": runlog.ErrNoRun, "second": nil, "third": runlog.ErrNoRun} {
		_, err := a.Last(t.Context(), run)
		require.ErrorIs(t, err, want, run)
	}
}

// lockFile locks the file at path as another program that writes to it.
func lockFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	c, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = c.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	return func() {
		_, err := c.ExecContext(t.Context(), "ROLLBACK")
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, db.Close())
	}
}
