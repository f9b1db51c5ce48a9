package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
)

// ownersOf are the engines that the tables know.
func ownersOf(t *testing.T, cfg postgres.Config) []string {
	t.Helper()
	rows, err := cfg.Pool.Query(t.Context(), "SELECT owner FROM "+cfg.Schema+".owners ORDER BY owner")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

// TestDeadEnginesAreForgotten has engines that left without a word and without a run.
func TestDeadEnginesAreForgotten(t *testing.T) {
	t.Run("engines that are gone leave nothing once another one works", func(t *testing.T) {
		cfg, hangs, next := two(t)
		gone := open(t, cfg)
		for i := range 30 {
			require.NoError(t, gone.Beat(t.Context(), fmt.Sprint("dead-", i), time.Millisecond))
		}
		require.NoError(t, gone.Close())
		require.NoError(t, hangs.Beat(t.Context(), "hangs", time.Millisecond), "its process has its lock")
		patient := open(t, cfg)
		require.NoError(t, patient.Beat(t.Context(), "patient", time.Hour))
		require.NoError(t, patient.Close(), "its lock is free, but it may be about to connect again")
		require.NoError(t, next.Beat(t.Context(), "next", time.Hour))
		assert.Len(t, ownersOf(t, cfg), 33, "a lock that was seen free once proves nothing: its engine may be about to connect again")
		for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
			require.NoError(t, next.Beat(t.Context(), "next", time.Hour))
			left := ownersOf(t, cfg)
			require.Subset(t, left, []string{"hangs", "next", "patient"})
			if len(left) == 3 {
				break
			}
			require.Less(t, time.Since(began), time.Minute)
		}
		require.NoError(t, hangs.Beat(t.Context(), "hangs", time.Hour))
		assert.True(t, isAlive(t, next, "hangs"))
	})
}
