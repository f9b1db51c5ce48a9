package fleet_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
)

func TestClose(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"ends all that was started": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			h.Watch()
			pass(lease)
			h.close()
			asked, told := len(s.all()), len(h.heard(""))
			s.start(t, "r", "nobody")
			pass(10 * lease)
			assert.Len(t, s.all(), asked)
			assert.Len(t, h.heard(""), told)
			assert.False(t, s.lives(t, "me"), "it is silent")
			_, err := s.Memory.Request(t.Context(), "me", []byte(`{"run":"r"}`))
			require.ErrorIs(t, err, runlog.ErrNoReply)
			assert.Empty(t, h.warn.String(), "nothing of it is a failure")
		},
		"waits for what is under way": func(t *testing.T) {
			for _, what := range []string{"letters ", "take up r", "fenced", "reply"} {
				s := newStore()
				s.start(t, "r", "cid")
				h := keeps(t, "me", s)
				h.Watch()
				begun, may := make(chan struct{}), make(chan struct{})
				var once sync.Once
				h.looks(func(ctx context.Context, told string) {
					if told == what {
						once.Do(func() { close(begun) })
						<-ctx.Done()
						<-may
					}
				})
				switch what {
				case "fenced":
					s.fails("Beat")
					pass(lease + 1)
					s.heals()
				case "reply":
					synctest.Wait() // it serves
					go func() { _, _ = s.Memory.Request(t.Context(), "me", []byte(`{"run":"r"}`)) }()
				}
				select {
				case <-begun:
				case <-time.After(time.Hour):
					t.Fatal(what, "did not begin")
				}
				closed := make(chan struct{})
				go func() {
					h.close()
					close(closed)
				}()
				synctest.Wait()
				select {
				case <-closed:
					t.Error(what, "is under way, and Close has returned")
				default:
				}
				close(may)
				<-closed
			}
		},
		"waits for calls of the store": func(t *testing.T) {
			for _, method := range []string{"Orphans", "Serve", "Changes"} {
				s := newStore()
				may := make(chan struct{})
				s.breaks(func(ctx context.Context) error {
					<-ctx.Done()
					<-may
					return ctx.Err()
				}, method)
				h := keeps(t, "me", s)
				h.Watch()
				pass(poll)
				closed := make(chan struct{})
				go func() {
					h.close()
					close(closed)
				}()
				synctest.Wait()
				select {
				case <-closed:
					t.Error(method, "is under way, and Close has returned")
				default:
				}
				close(may)
				<-closed
			}
		},
		"ends with the life of the engine, too": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			h.Watch()
			s.hangs("Orphans", "Beat", "Serve", "Changes")
			pass(lease)
			h.die()
			began := time.Now()
			h.Close()
			assert.Zero(t, time.Since(began))
		},
		"ends calls of the store": func(t *testing.T) {
			s := newStore()
			s.hangs("Orphans", "Serve", "Changes")
			h := keeps(t, "me", s)
			h.Watch()
			pass(poll)
			began := time.Now()
			h.close()
			assert.Zero(t, time.Since(began))
			assert.Empty(t, h.warn.String())
		},
		"may come before anything was started, and twice": func(t *testing.T) {
			h := newHost(t, "me", newStore())
			h.close()
			h.Close()
		},
	})
}

func TestLeave(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"frees the runs of the engine at once": func(t *testing.T) {
			s := newStore()
			h, other := keeps(t, "me", s), newHost(t, "ann", s)
			s.start(t, "r", "me")
			l, err := other.cfg.Store.Listing(t.Context(), "r")
			require.NoError(t, err)
			c, err := other.Claim(t.Context(), &l, fleet.Wish{})
			require.NoError(t, err)
			assert.Equal(t, "me", c.Holder)
			h.close()
			require.NoError(t, h.Leave(t.Context()))
			c, err = other.Claim(t.Context(), &l, fleet.Wish{})
			require.NoError(t, err)
			assert.Equal(t, "may", decision(c))
			assert.Equal(t, []string{"me"}, texts(s.calls("Leave")))
		},
		"does nothing in an engine that never told that it is alive": func(t *testing.T) {
			s := newStore()
			s.fails("Leave", "Beat")
			h := newHost(t, "me", s)
			require.NoError(t, h.Leave(t.Context()))
			require.Error(t, h.Keep(t.Context()))
			require.NoError(t, h.Leave(t.Context()))
			assert.Empty(t, s.calls("Leave"))
		},
		"says that the store failed": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			s.fails("Leave")
			h.close()
			err := h.Leave(t.Context())
			require.ErrorIs(t, err, errDisk)
			require.EqualError(t, err, "this engine cannot be known as stopped: disk full")
		},
	})
}
