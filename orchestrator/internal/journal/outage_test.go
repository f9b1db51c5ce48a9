package journal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

var errDisk = errors.New("disk full")

// fails has every Append fail.
func (s *tap) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = func(int, []runlog.Record) error { return err }
}

// heals has Append work again.
func (s *tap) heals() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = nil
}

// calls is how often Append was called.
func (s *tap) calls() int { return len(s.appended()) }

// suspended requires that err is that of a run which is suspended by an outage.
func suspended(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, engine.ErrStopped)
	require.ErrorIs(t, err, journal.ErrOutage)
	require.ErrorContains(t, err, "the store failed for 1m0s, and the run is suspended: disk full")
	var crossed *agent.Error
	require.ErrorAs(t, err, &crossed)
}

func TestAStoreThatFailsIsTriedAgain(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"with growing waits, until it works": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			store.fails(errDisk)
			time.AfterFunc(outage*3/4, store.heals)
			began := time.Now()
			require.NoError(t, r.sync("note", nil))
			assert.InDelta(t, outage*3/4, time.Since(began), float64(8*time.Second))
			assert.Equal(t, "started note", d.kinds(t, "r"))
			at := began
			for i, b := range store.batches[2:] {
				wait := b.at.Sub(at)
				at = b.at
				switch { // half of a wait is by chance
				case i == 0:
					assert.Zero(t, wait)
				case i == 1:
					assert.GreaterOrEqual(t, wait, 25*time.Millisecond)
					assert.LessOrEqual(t, wait, 75*time.Millisecond)
				case i > 13:
					assert.GreaterOrEqual(t, wait, 2500*time.Millisecond)
				}
				assert.LessOrEqual(t, wait, 7500*time.Millisecond)
			}
			assert.Greater(t, store.calls(), 15)
			assert.Equal(t, 1, strings.Count(d.warn.String(), "the store fails; trying again"), "it is said once")
			assert.Contains(t, d.warn.String(), `err="disk full" for=1m0s`)
		},
		"for Config.Outage": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			store.fails(errDisk)
			began := time.Now()
			suspended(t, r.sync("note", nil))
			assert.LessOrEqual(t, time.Since(began), outage)
			assert.GreaterOrEqual(t, time.Since(began), outage-8*time.Second)
			assert.Equal(t, "started note!", r.outcome())
			n := store.calls()
			err := r.sync("more", nil)
			suspended(t, err)
			require.ErrorContains(t, err, "an earlier record was not stored")
			assert.Equal(t, n, store.calls(), "nothing follows, and the store is not asked")
		},
		"once, at the end of an outage": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			a, b := d.started(t, "a"), d.started(t, "b")
			store.fails(errDisk)
			suspended(t, a.sync("note", nil))
			for time.Now().Before(store.batches[2].at.Add(outage)) {
				pass(time.Second)
			}
			n, began := store.calls(), time.Now()
			suspended(t, b.sync("note", nil))
			assert.Equal(t, n+2, store.calls())
			assert.Zero(t, time.Since(began))
			store.heals()
			c := d.started(t, "c")
			store.fails(errDisk)
			began = time.Now()
			suspended(t, c.sync("note", nil))
			assert.GreaterOrEqual(t, time.Since(began), outage-8*time.Second, "it worked between them: another outage")
		},
		"for a time that is one for all": func(t *testing.T) {
			double := doubles.New(runlog.NewMemory())
			d := newDesk(t, double.Store())
			r := d.started(t, "r")
			double.Fail(1 << 30)
			began := time.Now()
			r.write("note", nil)
			pass(outage * 2 / 3)
			_, err := d.Keep("other", []byte("large"))
			require.ErrorIs(t, err, journal.ErrOutage)
			require.ErrorIs(t, err, engine.ErrStopped)
			assert.LessOrEqual(t, time.Since(began), outage)
			pass(outage)
			assert.Equal(t, "started note!", r.outcome())
		},
		"not after the engine began to close": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			a, b := d.started(t, "a"), d.started(t, "b")
			store.fails(errDisk)
			a.write("note", nil)
			pass(time.Second)
			assert.Equal(t, "started", a.outcome())
			began := time.Now()
			d.shut()
			synctest.Wait()
			assert.Equal(t, "started note!", a.outcome())
			require.ErrorIs(t, a.err(t), journal.ErrOutage)
			n := store.calls()
			require.ErrorIs(t, b.sync("note", nil), errDisk)
			assert.Equal(t, n+1, store.calls())
			assert.Zero(t, time.Since(began))
			store.heals()
			c := d.started(t, "c")
			require.NoError(t, c.sync("note", nil), "what works is written")
		},
		"not for a conflict or damage": func(t *testing.T) {
			for _, final := range []error{runlog.ErrConflict, runlog.ErrDamaged} {
				store := newTap()
				d := newDesk(t, store)
				r := d.started(t, "r")
				store.fails(fmt.Errorf("no: %w", final))
				began := time.Now()
				err := r.sync("note", nil)
				require.ErrorIs(t, err, final)
				require.NotErrorIs(t, err, journal.ErrOutage)
				assert.Zero(t, time.Since(began))
				assert.Equal(t, 2, store.calls())
				assert.Empty(t, d.warn.String())
			}
		},
	})
}

// TestConflictsShowThatAStoreWorks has a conflict between two failures: that is no one
// outage.
func TestConflictsShowThatAStoreWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTap()
		d := newDesk(t, store)
		a, b, c := d.started(t, "a"), d.started(t, "b"), d.started(t, "c")
		store.fails(errDisk)
		suspended(t, a.sync("note", nil))
		store.fails(runlog.ErrConflict)
		require.ErrorIs(t, b.sync("note", nil), runlog.ErrConflict)
		store.fails(errDisk)
		began := time.Now()
		suspended(t, c.sync("note", nil))
		assert.GreaterOrEqual(t, time.Since(began), outage-8*time.Second)
	})
}

func TestTimeOfOneAppend(t *testing.T) {
	left := func(b batch) time.Duration {
		at, ok := b.ctx.Deadline()
		if !ok {
			return 0
		}
		return at.Sub(b.at)
	}
	bubble(t, map[string]func(*testing.T){
		"is AppendLimit at least, and twice that at most": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			for range 30 {
				pass(1700 * time.Millisecond)
				require.NoError(t, r.sync("note", nil))
			}
			shared := 0
			for i, b := range store.batches {
				assert.GreaterOrEqual(t, left(b), journal.AppendLimit)
				assert.LessOrEqual(t, left(b), 2*journal.AppendLimit)
				if i > 0 && b.ctx == store.batches[i-1].ctx {
					shared++
				}
			}
			assert.Equal(t, 25, shared, "those of a few seconds share one context")
		},
		"is over for a store that hangs, which is tried again": func(t *testing.T) {
			double := doubles.New(runlog.NewMemory())
			d := newDesk(t, double.Store())
			r := d.started(t, "r")
			double.Hang()
			time.AfterFunc(time.Second, double.Heal) // not for those who hang already
			began := time.Now()
			require.NoError(t, r.sync("note", nil))
			assert.GreaterOrEqual(t, time.Since(began), journal.AppendLimit)
			assert.LessOrEqual(t, time.Since(began), 2*journal.AppendLimit+time.Second)
			assert.Equal(t, "started note", d.kinds(t, "r"))
		},
		"ends with the engine's life": func(t *testing.T) {
			double := doubles.New(runlog.NewMemory())
			d := newDesk(t, double.Store())
			r := d.started(t, "r")
			double.Hang()
			r.write("note", nil)
			pass(time.Second)
			began := time.Now()
			d.die()
			d.pool.Close()
			assert.Zero(t, time.Since(began))
			assert.Equal(t, "started note!", r.outcome())
			require.ErrorIs(t, r.err(t), context.Canceled)
		},
	})
}

// pass lets time pass in a bubble, and what happens at its end.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
