package fleet_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// wait is a call of Until under way.
type wait struct {
	done  atomic.Bool // look says that it is done
	mu    sync.Mutex
	times []time.Duration // times of the calls of look
	over  bool            // Until has returned
	after time.Duration   // time after which it has
	got   error           // error that it returned
}

// looks are the times of the calls of look.
func (w *wait) looks() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.times)
}

// ended returns what Until returned, and after which time. It must have returned.
func (w *wait) ended(t *testing.T) (time.Duration, error) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.True(t, w.over)
	return w.after, w.got
}

// isOver reports whether Until has returned.
func (w *wait) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// until has somebody wait for a run.
func (h *host) until(ctx context.Context, run string) *wait {
	w := &wait{}
	began := time.Now()
	go func() {
		err := h.Until(ctx, run, func() (bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.times = append(w.times, time.Since(began))
			return w.done.Load(), nil
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over, w.after, w.got = true, time.Since(began), err
	}()
	synctest.Wait()
	return w
}

func TestUntil(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"looks now": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s)
			looks := 0
			require.NoError(t, h.Until(t.Context(), "r", func() (bool, error) {
				looks++
				return true, nil
			}))
			assert.Equal(t, 1, looks)
			assert.Empty(t, s.all(), "who does not wait hears nothing")
		},
		"fails with look, whatever else it says": func(t *testing.T) {
			h := newHost(t, "me", newStore())
			for _, done := range []bool{false, true} {
				err := h.Until(t.Context(), "r", func() (bool, error) { return done, errDisk })
				assert.Equal(t, errDisk, err)
			}
		},
		"looks before it finds that ctx is done or the engine closed": func(t *testing.T) {
			h := newHost(t, "me", newStore())
			h.shut()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, h.Until(ctx, "r", func() (bool, error) { return true, nil }))
		},
		"looks whenever a run of this engine changes": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s)
			h.own("r")
			h.own("other")
			w := h.until(t.Context(), "r")
			n := len(w.looks())
			pass(24 * time.Hour)
			h.changes("other")
			synctest.Wait()
			assert.Len(t, w.looks(), n, "nothing changes")
			h.changes("r")
			synctest.Wait()
			assert.Greater(t, len(w.looks()), n)
			assert.False(t, w.isOver())
			w.done.Store(true)
			pass(time.Second)
			assert.False(t, w.isOver())
			h.changes("r")
			synctest.Wait()
			_, err := w.ended(t)
			require.NoError(t, err)
			assert.Empty(t, s.all(), "the store knows no more of it")
		},
		"does not miss a change that comes while it looks": func(t *testing.T) {
			s := newStore()
			s.start(t, "foreign", "ann")
			h := newHost(t, "me", s)
			h.own("mine")
			for run, change := range map[string]func(){
				"mine": func() { h.changes("mine") },
				"foreign": func() {
					synctest.Wait() // it listens
					require.NoError(t, s.Put(t.Context(), runlog.Letter{Run: "foreign"}))
					synctest.Wait()
				},
			} {
				began, looks, changed := time.Now(), 0, false
				require.NoError(t, h.Until(t.Context(), run, func() (bool, error) {
					was := changed
					if looks++; looks == 2 {
						change()
						changed = true
					}
					return was, nil
				}))
				assert.Zero(t, time.Since(began), run)
			}
		},
		"looks when the store tells of a run of another engine": func(t *testing.T) {
			s := newStore()
			s.start(t, "r", "ann")
			s.start(t, "other", "ann")
			h := newHost(t, "me", s)
			a, b, c := h.until(t.Context(), "r"), h.until(t.Context(), "r"), h.until(t.Context(), "other")
			assert.Len(t, s.calls("Changes"), 1)
			for range 3 {
				na, nb, nc := len(a.looks()), len(b.looks()), len(c.looks())
				s.resume(t, "r", "ben")
				synctest.Wait()
				assert.Equal(t, na+1, len(a.looks()))
				assert.Equal(t, nb+1, len(b.looks()))
				assert.Equal(t, nc, len(c.looks()))
			}
			for _, w := range []*wait{a, b, c} {
				w.done.Store(true)
			}
			s.resume(t, "r", "ann")
			synctest.Wait()
			assert.True(t, a.isOver() && b.isOver())
			assert.False(t, c.isOver())
			assert.Empty(t, s.calls("Beat"), "to listen is no work")
		},
		"looks each Poll at a run of another engine": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s.mute())
			w := h.until(t.Context(), "r")
			pass(3 * poll)
			assert.Equal(t, each(poll, 3), w.looks()[len(w.looks())-3:])
			w.done.Store(true)
			pass(poll)
			after, err := w.ended(t)
			require.NoError(t, err)
			assert.Equal(t, 4*poll, after)
			assert.Empty(t, s.all())
		},
		"follows a run that this engine takes up, and one that it loses": func(t *testing.T) {
			h := newHost(t, "me", newStore().mute())
			w := h.until(t.Context(), "r")
			h.own("r")
			pass(poll)
			n := len(w.looks())
			pass(100 * poll)
			assert.Len(t, w.looks(), n, "it is this engine's now")
			h.changes("r")
			synctest.Wait()
			assert.Len(t, w.looks(), n+1)
			h.mu.Lock()
			lost := h.owned["r"]
			delete(h.owned, "r")
			h.mu.Unlock()
			close(lost)
			pass(2 * poll)
			assert.Len(t, w.looks(), n+4, "at once, and each Poll")
		},
		"ends with its context": func(t *testing.T) {
			errGone := errors.New("the caller is gone")
			for _, owned := range []bool{true, false} {
				h := newHost(t, "me", newStore())
				if owned {
					h.own("r")
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				w := h.until(ctx, "r")
				time.AfterFunc(poll/2, func() { cancel(errGone) })
				pass(poll / 2)
				after, err := w.ended(t)
				require.ErrorIs(t, err, errGone)
				assert.Equal(t, poll/2, after)
			}
		},
		"ends with the engine": func(t *testing.T) {
			h := newHost(t, "me", newStore())
			h.own("mine")
			a, b := h.until(t.Context(), "mine"), h.until(t.Context(), "foreign")
			h.shut()
			h.changes("mine") // as runs do when they stop
			pass(poll)
			for _, w := range []*wait{a, b} {
				after, err := w.ended(t)
				require.ErrorIs(t, err, engine.ErrStopped)
				assert.Equal(t, journal.Closed(), err)
				assert.LessOrEqual(t, after, poll)
			}
			err := h.Until(t.Context(), "mine", func() (bool, error) { return false, nil })
			require.EqualError(t, err, "stopped: the engine is closed; the run can be resumed")
		},
	})
}
