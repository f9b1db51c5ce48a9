package journal_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

func TestStoredSaysWhetherThereIsAStore(t *testing.T) {
	assert.True(t, newDesk(t, newTap()).Stored)
	assert.False(t, newDesk(t, nil).Stored)
}

func TestRead(t *testing.T) {
	both(t, func(t *testing.T, d *desk) {
		r := d.run("r")
		require.NoError(t, r.sync(runlog.Started, engine.StartedData{Version: 3}))
		require.NoError(t, r.sync(runlog.Resumed, engine.ResumedData{Owner: "me"}))
		require.NoError(t, r.sync("note", json.RawMessage(`"words"`)))
		var start engine.StartedData
		require.NoError(t, d.Read(t.Context(), "r", 0, &start))
		assert.Equal(t, 3, start.Version)
		var resumed engine.ResumedData
		require.NoError(t, d.Read(t.Context(), "r", 1, &resumed))
		assert.Equal(t, "me", resumed.Owner)
		err := d.Read(t.Context(), "r", 2, &start)
		require.ErrorIs(t, err, runlog.ErrDamaged)
		require.ErrorContains(t, err, `log of run "r": record 2: `)
		require.ErrorIs(t, d.Read(t.Context(), "r", 3, &start), engine.ErrNoRun)
		require.ErrorIs(t, d.Read(t.Context(), "nobody", 0, &start), engine.ErrNoRun)
	})
}

func TestListing(t *testing.T) {
	both(t, func(t *testing.T, d *desk) {
		d.started(t, "other")
		d.started(t, "r")
		l, err := d.Listing(t.Context(), "r")
		require.NoError(t, err)
		assert.Equal(t, "r", l.Run)
		assert.Equal(t, int64(1), l.Next)
		_, err = d.Listing(t.Context(), "nobody")
		require.ErrorIs(t, err, engine.ErrNoRun)
		require.ErrorContains(t, err, `"nobody"`)
	})
	t.Run("says why a store cannot", func(t *testing.T) {
		double := doubles.New(runlog.NewMemory())
		d := newDesk(t, double.Store())
		double.Fail(2)
		_, err := d.Listing(t.Context(), "r")
		require.ErrorIs(t, err, doubles.ErrDouble)
		require.ErrorIs(t, d.Read(t.Context(), "r", 0, &struct{}{}), doubles.ErrDouble)
	})
}

func TestNoRun(t *testing.T) {
	err := newDesk(t, nil).NoRun("r")
	require.EqualError(t, err, `no-run: "r"`)
	var crossed *agent.Error
	require.ErrorAs(t, err, &crossed)
}

func TestNowIsAsRecordsHaveIt(t *testing.T) {
	now := journal.Now()
	assert.Equal(t, time.UTC, now.Location())
	assert.Equal(t, now, now.Round(0), "without the monotonic clock")
}

// TestWhatStandsInForAFace shows an engine whose store has only what every store has, and
// one without a store.
func TestWhatStandsInForAFace(t *testing.T) {
	for name, store := range map[string]runlog.Store{"a plain store": struct{ runlog.Store }{runlog.NewMemory()}, "no store": nil} {
		t.Run(name, func(t *testing.T) {
			d, ctx := newDesk(t, store), t.Context()
			require.NoError(t, d.Beat(ctx, "me", time.Minute))
			require.NoError(t, d.Leave(ctx, "me"))
			alive, err := d.Alive(ctx, "me")
			require.NoError(t, err)
			assert.False(t, alive)
			d.started(t, "r")
			for l, err := range d.Orphans(ctx) {
				t.Error("who knows no owners knows no orphans", l, err)
			}
			_, err = d.Request(ctx, "me", nil)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.NoError(t, d.Serve(ctx, "me", nil))
			_, err = d.Blob(ctx, "r", "hash")
			require.ErrorIs(t, err, runlog.ErrDamaged)
			require.ErrorContains(t, err, "blob hash, and the store keeps none")
			assert.Nil(t, d.Inbox)
			err = d.Delete(ctx, "r")
			if store == nil {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "the store cannot delete runs")
			}
		})
	}
	t.Run("a store that has all of them", func(t *testing.T) {
		store := runlog.NewMemory()
		d, ctx := newDesk(t, store), t.Context()
		require.NoError(t, d.Beat(ctx, "me", time.Minute))
		alive, err := d.Alive(ctx, "me")
		require.NoError(t, err)
		assert.True(t, alive)
		assert.Same(t, store, d.Inbox)
		_, err = d.Request(ctx, "you", nil)
		require.ErrorIs(t, err, runlog.ErrNoReply)
		d.started(t, "r")
		require.NoError(t, d.Delete(ctx, "r"))
		assert.Empty(t, d.records(t, "r"))
	})
}
