package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
)

func TestWhoWaitsLeavesNothing(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"over a store that does not notify": func(t *testing.T) {
			h := newHost(t, "me", newStore().mute())
			var waits []*wait
			for i := range 10 {
				waits = append(waits, h.until(t.Context(), fmt.Sprint(i)))
			}
			pass(3 * poll)
			assert.Equal(t, 10, h.Watched())
			for _, w := range waits {
				w.done.Store(true)
			}
			pass(poll)
			for _, w := range waits {
				_, err := w.ended(t)
				require.NoError(t, err)
			}
			assert.Zero(t, h.Watched())
		},
		"when the caller has enough": func(t *testing.T) {
			h := newHost(t, "me", newStore())
			ctx, cancel := context.WithCancel(t.Context())
			w := h.until(ctx, "r")
			assert.Equal(t, 1, h.Watched())
			cancel()
			pass(0)
			assert.True(t, w.isOver())
			assert.Zero(t, h.Watched())
		},
		"and others are told of the next change": func(t *testing.T) {
			s := newStore()
			s.start(t, "r", "ann")
			h := newHost(t, "me", s)
			ctx, cancel := context.WithCancel(t.Context())
			leaves, stays := h.until(ctx, "r"), h.until(t.Context(), "r")
			cancel()
			pass(0)
			assert.True(t, leaves.isOver())
			stays.done.Store(true)
			s.resume(t, "r", "ben")
			pass(0)
			after, err := stays.ended(t)
			require.NoError(t, err)
			assert.Zero(t, after)
			assert.Zero(t, h.Watched())
		},
	})
}

func TestAskHasBounds(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"an owner that hangs does not keep the end of its run": func(t *testing.T) {
			me, ann := pair(t)
			ann.store().end(t, "r", "3")
			ann.hangs()
			began := time.Now()
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r", Reader: "x", Began: true})
			has(t, "3", a, err)
			assert.True(t, a.Over)
			assert.Equal(t, time.Second, time.Since(began))
		},
		"a reply that is too large is an error that says so": func(t *testing.T) {
			me, ann := pair(t)
			ann.replies(fleet.Reply{State: json.RawMessage(`"` + strings.Repeat("x", engine.MaxData) + `"`)})
			_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			require.ErrorIs(t, err, engine.ErrTooLarge)
			require.ErrorContains(t, err, "the reply cannot be sent")
		},
	})
}

func TestAbandonedRunsWithoutAList(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"those that an outage suspended go on": func(t *testing.T) {
			s := newStore()
			s.start(t, "r", "me")
			h := keeps(t, "me", s)
			h.Watch()
			h.abandons("r")
			s.fails("Orphans")
			pass(poll)
			assert.Equal(t, []string{"take up r"}, h.heard("take up"))
		},
	})
}

func TestPruneLeavesOpenChildren(t *testing.T) {
	s, h := office(t)
	s.tree(t)
	for _, run := range []string{"root", "a", "b"} {
		s.end(t, run, "1")
	}
	gone, err := h.prunes(t.Context(), runlog.Query{})
	require.NoError(t, err)
	assert.Empty(t, gone, "a1 goes on")
	assert.Equal(t, []string{"a", "a1", "b", "root", "twig"}, s.has(t))
	s.end(t, "a1", "1")
	gone, err = h.prunes(t.Context(), runlog.Query{Limit: 1})
	require.NoError(t, err)
	require.Len(t, gone, 1)
	assert.Equal(t, []string{"twig"}, s.has(t))
}
