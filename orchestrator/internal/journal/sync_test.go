package journal_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

func TestWriteSync(t *testing.T) {
	// hangs returns a desk whose store hangs, and a run of it.
	hangs := func(t *testing.T) (*desk, *run, *doubles.Double) {
		t.Helper()
		double := doubles.New(runlog.NewMemory())
		d := newDesk(t, double.Store())
		r := d.started(t, "r")
		double.Hang()
		return d, r, double
	}
	bubble(t, map[string]func(*testing.T){
		"waits": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			release := store.hold()
			returned := make(chan error, 1)
			go func() { returned <- r.sync("note", nil) }()
			synctest.Wait()
			assert.Empty(t, returned)
			release()
			require.NoError(t, <-returned)
			assert.Equal(t, "started note", d.kinds(t, "r"))
		},
		"returns when its run was told": func(t *testing.T) {
			d := newDesk(t, newTap())
			r := d.started(t, "r")
			var returned, looked atomic.Bool
			r.look = func(*journal.Entry) {
				synctest.Wait()
				assert.False(t, returned.Load())
				looked.Store(true)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				assert.NoError(t, r.sync("note", nil))
				returned.Store(true)
			}()
			<-done
			assert.True(t, looked.Load())
		},
		"does not wait for a store that hangs when its context is done": func(t *testing.T) {
			d, r, double := hangs(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("no patience")
			cancel(why)
			require.ErrorIs(t, d.WriteSync(ctx, r.log, r.entry("note", nil)), why)
			assert.Equal(t, "started", r.outcome())
			double.Heal()
			require.NoError(t, r.sync("other", nil))
			assert.Equal(t, "started note other", r.outcome(), "the run is told all the same")
			assert.Equal(t, "started note other", d.kinds(t, "r"))
		},
		"does not wait when the engine's life is over": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			release := store.hold() // also for a context that is done
			returned := make(chan error, 1)
			go func() { returned <- r.sync("note", nil) }()
			synctest.Wait()
			d.die()
			require.ErrorIs(t, <-returned, engine.ErrStopped)
			assert.Equal(t, "started", r.outcome())
			release()
			assert.Equal(t, "started note!", r.outcome())
		},
		"of one who waits for the engine's life commits itself": func(t *testing.T) {
			d := newDesk(t, newTap())
			r := d.run("r")
			did := false
			r.next = jobs.Func(func() { did = true })
			d.pool.Close() // no goroutine is started any more
			require.NoError(t, d.WriteSync(d.life, r.log, r.entry(runlog.Started, nil)))
			assert.Equal(t, "started", d.kinds(t, "r"))
			assert.False(t, did)
		},
		"of one who waits for the engine's life goes on with nobody's work": func(t *testing.T) {
			d := newDesk(t, newTap())
			r := d.run("r")
			did := make(chan struct{})
			r.next = jobs.Func(func() { close(did) })
			require.NoError(t, d.WriteSync(d.life, r.log, r.entry(runlog.Started, nil)))
			<-did
		},
		"without a store is told at once, also of a context that is done": func(t *testing.T) {
			d := newDesk(t, nil)
			r := d.run("r")
			did := make(chan struct{})
			r.next = jobs.Func(func() { close(did) })
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, d.WriteSync(ctx, r.log, r.entry(runlog.Started, nil)))
			<-did
			r.next = nil
			require.ErrorIs(t, r.sync(runlog.Started, nil), runlog.ErrConflict)
		},
	})
	t.Run("the error of a closed engine says that the run can be resumed", func(t *testing.T) {
		require.EqualError(t, journal.Closed(), "stopped: the engine is closed; the run can be resumed")
	})
}

// Answers that come side by side reach the flow in the order in which a replay has them.
func TestRunsAreToldInTheOrderOfTheLog(t *testing.T) {
	d := newDesk(t, nil)
	r := d.started(t, "r")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 2000 {
				r.write("note", nil)
			}
		})
	}
	wait.Wait()
	d.pool.Close()
	require.Len(t, r.told, 16001)
	for i, e := range r.told {
		require.Equal(t, int64(i), e.Seq, "place of what was told")
	}
}
