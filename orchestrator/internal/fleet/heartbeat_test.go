package fleet_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// lives reports whether an engine is alive, as others see it.
func (s *store) lives(t *testing.T, id string) bool {
	t.Helper()
	alive, err := s.Memory.Alive(t.Context(), id)
	require.NoError(t, err)
	return alive
}

const beatFailed = "the store does not learn that this engine is alive"

func TestKeep(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"has the store know that the engine is alive, before it returns": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s)
			pass(lease)
			assert.False(t, s.lives(t, "me"), "New starts nothing")
			assert.Empty(t, s.all())
			require.NoError(t, h.Keep(t.Context()))
			assert.True(t, s.lives(t, "me"))
			assert.False(t, s.lives(t, "ann"))
		},
		"beats three times a lease": func(t *testing.T) {
			s := newStore()
			keeps(t, "me", s)
			pass(2 * lease)
			assert.Equal(t, append([]time.Duration{0}, each(lease/3, 6)...), at(s.calls("Beat"), "me 30s"), "each for a lease")
		},
		"holds for as long as the engine lives": func(t *testing.T) {
			s := newStore()
			keeps(t, "me", s)
			for range 100 {
				pass(lease / 2)
				require.True(t, s.lives(t, "me"))
			}
		},
		"is done once": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s)
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() { assert.NoError(t, h.Keep(t.Context())) })
			}
			all.Wait()
			require.NoError(t, h.Keep(t.Context()))
			assert.Len(t, s.calls("Beat"), 1)
			pass(slower * poll)
			assert.Equal(t, each(slower*poll, 1), h.at("letters "), "one goroutine polls")
			assert.Len(t, s.calls("Serve"), 1)
			assert.Len(t, s.calls("Changes"), 1)
		},
		"fails with the store, and can be tried again": func(t *testing.T) {
			s := newStore()
			s.fails("Beat")
			h := newHost(t, "me", s)
			err := h.Keep(t.Context())
			require.ErrorIs(t, err, errDisk)
			require.EqualError(t, err, "this engine cannot be known as alive: disk full")
			pass(lease)
			assert.Len(t, s.all(), 1, "nothing was started")
			assert.Empty(t, h.heard(""))
			s.heals()
			require.NoError(t, h.Keep(t.Context()))
			assert.True(t, s.lives(t, "me"))
		},
		"waits no longer than its caller": func(t *testing.T) {
			s := newStore()
			s.hangs("Beat")
			h := newHost(t, "me", s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.ErrorIs(t, h.Keep(ctx), context.DeadlineExceeded)
			assert.Equal(t, time.Second, time.Since(h.began))
		},
		"does nothing in an engine that closes": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s)
			h.shut()
			require.NoError(t, h.Keep(t.Context()))
			h.Listen()
			pass(lease)
			assert.Empty(t, s.all())
			assert.Empty(t, h.heard(""))
		},
		"does nothing with a store that is no Owners and no Inbox": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s.plain())
			h.Watch()
			pass(10 * lease)
			assert.Empty(t, s.all())
			assert.Empty(t, h.heard(""))
			h.close()
			require.NoError(t, h.Leave(t.Context()))
		},
		"polls a store that is only an Inbox": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", struct {
				runlog.Store
				runlog.Inbox
			}{s, s})
			h.Watch()
			pass(poll)
			assert.Equal(t, []time.Duration{poll}, h.at("letters "))
			pass(10 * lease)
			assert.Empty(t, h.at("fenced"))
			assert.Empty(t, h.heard("take up"))
			require.NoError(t, h.Leave(t.Context()))
			assert.Empty(t, s.all())
			assert.Empty(t, h.warn.String())
		},
		"beats in a store that is only Owners": func(t *testing.T) {
			s := newStore()
			keeps(t, "me", struct {
				runlog.Store
				runlog.Owners
			}{s, s})
			pass(10 * lease)
			assert.True(t, s.lives(t, "me"))
		},
	})
}

func TestABeatThatFails(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"is a warning, and is followed by others": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			s.fails("Beat")
			pass(lease / 3)
			assert.Contains(t, h.warn.String(), "level=WARN msg=\""+beatFailed+"\" err=\"disk full\"")
			pass(lease / 3)
			assert.Equal(t, 2, strings.Count(h.warn.String(), beatFailed))
			s.heals()
			pass(lease / 3)
			assert.Equal(t, 2, strings.Count(h.warn.String(), beatFailed))
			assert.True(t, s.lives(t, "me"))
			assert.Empty(t, h.at("fenced"), "it was not silent for longer than its lease")
		},
		"makes the engine look for its runs, once, if it was silent for longer than its lease": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			s.fails("Beat")
			pass(lease)
			assert.False(t, s.lives(t, "me"))
			assert.Empty(t, h.at("fenced"), "it looks when the store works")
			s.heals()
			pass(lease / 3)
			assert.Equal(t, []time.Duration{lease + lease/3}, h.at("fenced"))
			assert.True(t, s.lives(t, "me"), "it beat first")
			pass(10 * lease)
			assert.Len(t, h.at("fenced"), 1)
			s.fails("Beat")
			pass(2 * lease)
			s.heals()
			pass(lease)
			assert.Len(t, h.at("fenced"), 2, "it was silent again")
		},
		"because it hangs has a third of the lease": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			s.hangs("Beat")
			pass(2 * lease / 3)
			assert.Equal(t, lease/3, s.calls("Beat")[1].limit)
			assert.Equal(t, 1, strings.Count(h.warn.String(), beatFailed))
			pass(2 * lease / 3)
			s.heals() // some hang already
			pass(lease)
			assert.True(t, s.lives(t, "me"))
			assert.Len(t, h.at("fenced"), 1)
		},
		"comes too late when it takes so long that the lease ends meanwhile": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			s.fails("Beat")
			pass(5 * lease / 6)
			s.breaks(func(context.Context) error {
				<-time.After(lease / 4)
				return nil
			}, "Beat")
			pass(lease) // the beat at lease began in time
			assert.Equal(t, []time.Duration{lease + lease/4}, h.at("fenced"))
			pass(10 * lease)
			assert.Len(t, h.at("fenced"), 1, "beats that take long are in time where the next ones are")
			s.heals()
			pass(lease)
		},
		"has the look at its runs end with a third of the lease": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			h.looks(func(ctx context.Context, what string) {
				if what == "fenced" {
					<-ctx.Done()
				}
			})
			s.fails("Beat")
			pass(lease)
			s.heals()
			pass(lease)
			assert.Len(t, h.at("fenced"), 1)
			assert.True(t, s.lives(t, "me"))
		},
	})
}

func TestBeatsInTimeFenceNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		h := keeps(t, "me", s)
		pass(100 * lease)
		assert.Empty(t, h.at("fenced"))
		assert.Empty(t, h.warn.String())
	})
}
