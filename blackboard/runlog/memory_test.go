package runlog_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Suite{
		Open: func(*testing.T) runlog.Store { return runlog.NewMemory() },
		In:   synctest.Test,
	}.Run(t)
}

func TestMemoryAliveUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m runlog.Memory
		require.NoError(t, m.Beat(t.Context(), "ann", time.Minute))
		<-time.After(time.Minute - 1)
		alive, err := m.Alive(t.Context(), "ann")
		require.NoError(t, err)
		assert.True(t, alive)
		<-time.After(1)
		alive, err = m.Alive(t.Context(), "ann")
		require.NoError(t, err)
		assert.False(t, alive)
	})
}

// TestMemoryChangesWhileBusy has changes that come while the body of the loop is
// busy: each run is yielded once.
func TestMemoryChangesWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m runlog.Memory
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		busy := make(chan struct{})
		var loop sync.WaitGroup
		loop.Go(func() {
			for run, err := range m.Changes(ctx) {
				if err != nil {
					assert.ErrorIs(t, err, context.Canceled)
					return
				}
				got = append(got, run)
				<-busy
			}
		})
		synctest.Wait()
		appendTo := func(run string, seq int64) {
			require.NoError(t, m.Append(t.Context(), []runlog.Record{{Run: run, Seq: seq, Kind: runlog.Started}}))
		}
		appendTo("a", 0)
		synctest.Wait()
		appendTo("b", 0)
		appendTo("b", 1)
		require.NoError(t, m.Put(t.Context(), runlog.Letter{Run: "b", Key: "q"}))
		close(busy)
		synctest.Wait()
		cancel()
		loop.Wait()
		assert.Equal(t, []string{"a", "b"}, got)
	})
}
