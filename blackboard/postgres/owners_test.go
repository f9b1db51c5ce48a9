package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
)

func TestKilledEngine(t *testing.T) {
	t.Run("N7 a killed engine is dead within a second", func(t *testing.T) {
		cfg := config(t)
		s := open(t, cfg)
		e := startEngine(t, cfg, dsn(t))
		assert.True(t, isAlive(t, s, "ann"))
		assert.Empty(t, orphans(t, s))

		e.kill()
		took := awaitLife(t, s, "ann", false)
		assert.Less(t, took, time.Second)
		assert.Equal(t, []string{"r"}, orphans(t, s))

		require.NoError(t, s.Beat(t.Context(), "ann", time.Hour), "its name is free")
		assert.True(t, isAlive(t, s, "ann"))
	})
}

// TestSeveralEngines has three engines in one process, two of them on one store.
func TestSeveralEngines(t *testing.T) {
	cfg, a, b := two(t)
	c := open(t, cfg)
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	require.NoError(t, a.Beat(t.Context(), "anton", time.Hour))
	require.NoError(t, b.Beat(t.Context(), "bob", time.Hour))
	for _, run := range []string{"ann", "anton", "bob"} {
		require.NoError(t, a.Append(t.Context(), []runlog.Record{ownedBy("of "+run, run)}))
	}
	for _, s := range []*postgres.Store{a, b, c} {
		assert.Empty(t, orphans(t, s))
	}
	require.NoError(t, a.Leave(t.Context(), "anton"))
	for _, s := range []*postgres.Store{a, b, c} {
		assert.Equal(t, []string{"of anton"}, orphans(t, s))
	}
	require.NoError(t, b.Close(), "without Leave: its engine is dead")
	for _, s := range []*postgres.Store{a, c} {
		awaitLife(t, s, "bob", false)
		assert.Equal(t, []string{"of anton", "of bob"}, orphans(t, s))
	}
}

func TestBeatNameTaken(t *testing.T) {
	_, a, b := two(t)
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	err := b.Beat(t.Context(), "ann", time.Hour)
	require.ErrorIs(t, err, runlog.ErrConflict)
	require.ErrorContains(t, err, "give each engine a name of its own")
	require.NoError(t, a.Leave(t.Context(), "ann"))
	require.NoError(t, b.Beat(t.Context(), "ann", time.Hour))
	assert.True(t, isAlive(t, a, "ann"))
}

// TestSessionLost cuts the session of a living engine again and again: it never counts as
// dead.
func TestSessionLost(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	cfg, a, b := two(t)
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	require.NoError(t, a.Append(t.Context(), []runlog.Record{ownedBy("r", "ann")}))
	for range 10 {
		_, err := cfg.Pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN `+cfg.Schema+`.owners o
			ON classid::bigint << 32 | objid::bigint = o.lock WHERE locktype = 'advisory'`)
		require.NoError(t, err)
		for range 10 {
			assert.True(t, isAlive(t, b, "ann"))
			assert.Empty(t, orphans(t, b))
			<-time.After(10 * time.Millisecond)
		}
	}
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	require.ErrorIs(t, b.Beat(t.Context(), "ann", time.Hour), runlog.ErrConflict)
}

// TestSessionWrong has a DSN that leads nowhere.
func TestSessionWrong(t *testing.T) {
	cfg := config(t)
	cfg.Session = "host=" + t.TempDir()
	s := open(t, cfg)
	err := s.Beat(t.Context(), "ann", time.Hour)
	require.ErrorContains(t, err, "the store's own connection (Config.Session)")
	assert.False(t, isAlive(t, s, "ann"))
	require.NoError(t, appendOne(t, s, "r", 0), "records need no session")
}

// TestOwnersIgnoreTheWallClock has times of records far from now: only beats and the
// process's monotonic clock count.
func TestOwnersIgnoreTheWallClock(t *testing.T) {
	cfg, a, b := two(t)
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	require.NoError(t, a.Append(t.Context(), []runlog.Record{ownedBy("r", "ann"), ownedBy("dead", "dan")}))
	for i, at := range []time.Time{time.Now().AddDate(-200, 0, 0), time.Now().AddDate(200, 0, 0)} {
		late := small("r", int64(i)+1)
		late.At = at
		require.NoError(t, a.Append(t.Context(), []runlog.Record{late}))
		_, err := cfg.Pool.Exec(t.Context(), "UPDATE "+cfg.Schema+".owners SET beat_at = $1", at)
		require.NoError(t, err)
		for _, s := range []*postgres.Store{a, b} {
			assert.True(t, isAlive(t, s, "ann"))
			assert.Equal(t, []string{"dead"}, orphans(t, s))
		}
	}
}
