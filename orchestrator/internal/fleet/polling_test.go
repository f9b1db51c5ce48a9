package fleet_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
)

const (
	slower     = 5           // how much less often letters are looked for where the store notifies
	storeLimit = time.Minute // most time of one look
)

func TestLettersAreLookedFor(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"each Poll": func(t *testing.T) {
			h := keeps(t, "me", newStore().mute())
			pass(5 * poll)
			assert.Equal(t, each(poll, 5), h.at("letters "), "those to all runs")
		},
		"less often where the store notifies": func(t *testing.T) {
			h := keeps(t, "me", newStore())
			pass(3 * slower * poll)
			assert.Equal(t, each(slower*poll, 3), h.at("letters "))
		},
		"less often where the engine listened before": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s)
			h.Listen()
			require.NoError(t, h.Keep(t.Context()))
			pass(slower * poll)
			assert.Equal(t, each(slower*poll, 1), h.at("letters "))
			assert.Len(t, s.calls("Changes"), 1, "it listens once")
		},
		"for a minute at most, and then again": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s.mute())
			h.looks(func(ctx context.Context, what string) {
				if what == "letters " {
					<-ctx.Done()
				}
			})
			pass(poll + storeLimit - 1)
			assert.Len(t, h.at("letters "), 1)
			pass(poll + 1)
			assert.Len(t, h.at("letters "), 2)
			assert.Equal(t, storeLimit, h.notes()[0].limit)
			assert.True(t, s.lives(t, "me"), "the heart beats meanwhile")
		},
	})
}

func TestFreeRunsAreTakenUp(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"after Watch, each Poll": func(t *testing.T) {
			s := newStore()
			s.start(t, "r", "cid")
			h := keeps(t, "me", s)
			pass(10 * poll)
			assert.Empty(t, h.heard("take up"))
			assert.Empty(t, s.calls("Orphans"))
			h.Watch()
			h.Watch()
			pass(2 * poll)
			assert.Equal(t, []time.Duration{11 * poll, 12 * poll}, h.at("take up r"), "as often as there are free runs, whether the store notifies or not")
		},
		"of a Watch before Keep": func(t *testing.T) {
			s := newStore()
			s.start(t, "r", "cid")
			h := newHost(t, "me", s)
			h.Watch()
			pass(10 * poll)
			assert.Empty(t, s.all(), "it starts nothing")
			require.NoError(t, h.Keep(t.Context()))
			pass(poll)
			assert.Equal(t, []string{"take up r"}, h.heard("take up"))
		},
		"when their engine has died": func(t *testing.T) {
			s := newStore()
			other := keeps(t, "ann", s)
			h := keeps(t, "me", s)
			h.Watch()
			s.start(t, "r", "ann")
			pass(10 * lease)
			assert.Empty(t, h.heard("take up"))
			other.close() // without a word
			began := time.Since(h.began)
			pass(2 * lease)
			require.NotEmpty(t, h.at("take up r"))
			died := h.at("take up r")[0] - began
			assert.Greater(t, died, lease*2/3-1)
			assert.LessOrEqual(t, died, lease+poll)
		},
		"if this engine can resume them": func(t *testing.T) {
			s := newStore()
			s.start(t, "old", "cid", version(7))
			s.start(t, "us", "cid", labeled("zone", "us"))
			s.start(t, "eu", "cid", labeled("zone", "eu"))
			s.start(t, "child", "cid", inside("eu"))
			s.start(t, "over", "cid")
			s.end(t, "over", "1")
			s.start(t, "ann's", "ann")
			s.start(t, "mine", "me")
			keeps(t, "ann", s)
			h := keeps(t, "me", s, func(c *fleet.Config) { c.Serves = map[string]string{"zone": "eu"} })
			h.Watch()
			pass(poll)
			assert.ElementsMatch(t, []string{"take up eu", "take up child"}, h.heard("take up"), "what is a child is the host's matter")
			assert.Empty(t, h.warn.String())
		},
		"if an outage made this engine abandon them": func(t *testing.T) {
			s := newStore()
			s.start(t, "mine", "me")
			s.start(t, "old", "me", version(7))
			h := keeps(t, "me", s)
			h.abandons("deleted", "mine", "old")
			pass(2 * poll)
			assert.Empty(t, h.heard("take up"), "not before Watch")
			h.Watch()
			pass(poll)
			assert.Equal(t, []string{"take up mine", "take up old"}, h.heard("take up"))
			h.abandons()
			pass(10 * poll)
			assert.Len(t, h.heard("take up"), 2)
		},
		"with a warning, if they cannot be listed": func(t *testing.T) {
			const unlisted = "runs without an engine cannot be listed"
			s := newStore()
			s.start(t, "r", "cid")
			s.fails("Orphans")
			h := keeps(t, "me", s)
			h.Watch()
			pass(3 * poll)
			assert.Equal(t, 3, strings.Count(h.warn.String(), "level=WARN msg=\""+unlisted+"\" err=\"disk full\""))
			s.heals()
			pass(poll)
			assert.Equal(t, []string{"take up r"}, h.heard("take up"))
			assert.Equal(t, 3, strings.Count(h.warn.String(), unlisted))
		},
		"by a look of a minute at most, and then again": func(t *testing.T) {
			s := newStore()
			s.start(t, "r", "cid")
			s.hangs("Orphans")
			h := keeps(t, "me", s)
			h.Watch()
			pass(poll)
			assert.Equal(t, storeLimit, s.calls("Orphans")[0].limit)
			s.heals() // the first hangs already
			pass(storeLimit - 1)
			assert.Empty(t, h.heard("take up"))
			pass(poll)
			assert.Equal(t, []string{"take up r"}, h.heard("take up"))
			assert.Empty(t, h.warn.String(), "that took long is no failure")
			assert.NotEmpty(t, h.at("letters "), "letters are read meanwhile")
			assert.True(t, s.lives(t, "me"))
		},
	})
}

func TestChangesThatTheStoreTells(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"have the letters of this engine's runs read": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			s.start(t, "mine", "me")
			s.start(t, "ann's", "ann")
			synctest.Wait()
			h.own("mine")
			assert.Empty(t, h.heard("letters"), "it was told of before the engine had it")
			require.NoError(t, s.Put(t.Context(), runlog.Letter{Run: "mine"}))
			require.NoError(t, s.Put(t.Context(), runlog.Letter{Run: "ann's"}))
			synctest.Wait()
			assert.Equal(t, []string{"letters mine"}, h.heard("letters"), "at once")
			assert.Zero(t, h.at("letters mine")[0])
			assert.Zero(t, h.notes()[0].limit)
		},
		"are heard while letters are read": func(t *testing.T) {
			s := newStore()
			h := keeps(t, "me", s)
			s.start(t, "a", "me")
			s.start(t, "b", "me")
			synctest.Wait() // their starts have been heard
			h.own("a")
			h.own("b")
			h.looks(func(ctx context.Context, _ string) { <-ctx.Done() })
			require.NoError(t, s.Put(t.Context(), runlog.Letter{Run: "a"}))
			synctest.Wait()
			require.NoError(t, s.Put(t.Context(), runlog.Letter{Run: "b"}))
			synctest.Wait()
			assert.Equal(t, []string{"letters a", "letters b"}, h.heard("letters"), "each by a goroutine of the engine")
			h.close()
			h.tasks.Wait() // their readers end with Close
		},
		"are heard without Keep, too, and nothing else is done then": func(t *testing.T) {
			s := newStore()
			s.start(t, "mine", "me")
			h := newHost(t, "me", s)
			h.own("mine")
			h.Listen()
			h.Listen()
			synctest.Wait()
			assert.Equal(t, []string{""}, texts(s.calls("Changes")))
			require.NoError(t, s.Put(t.Context(), runlog.Letter{Run: "mine"}))
			synctest.Wait()
			assert.Equal(t, []string{"letters mine"}, h.heard(""))
			pass(10 * lease)
			assert.Len(t, h.heard(""), 1)
			assert.Empty(t, s.calls("Beat"))
		},
		"are heard again a Poll after the store failed": func(t *testing.T) {
			s := newStore()
			s.start(t, "mine", "me")
			s.fails("Changes")
			h := newHost(t, "me", s)
			h.own("mine")
			h.Listen()
			pass(2 * poll)
			assert.Equal(t, []time.Duration{0, poll, 2 * poll}, at(s.calls("Changes"), ""))
			s.heals()
			pass(poll)
			require.NoError(t, s.Put(t.Context(), runlog.Letter{Run: "mine"}))
			synctest.Wait()
			assert.Equal(t, []string{"letters mine"}, h.heard(""))
			pass(10 * poll)
			assert.Len(t, s.calls("Changes"), 4)
		},
		"are not taken from an error": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", wrong{s})
			h.own("mine")
			h.Listen()
			pass(3 * poll)
			assert.Empty(t, h.heard(""))
			h.close()
		},
		"are none where the store does not tell": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s.mute())
			h.Listen()
			pass(10 * lease)
			assert.Empty(t, s.all())
			h.close()
		},
	})
}

// wrong is a store whose Changes yields a run with an error.
type wrong struct{ runlog.Store }

// Changes implements runlog.Notifier.
func (wrong) Changes(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("mine", errDisk) }
}

func TestAStoreThatCannotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.fails("Serve")
		h := keeps(t, "me", s)
		pass(lease)
		assert.Equal(t, 1, strings.Count(h.warn.String(), `level=WARN msg="other engines cannot ask this one for the states of its runs" err="disk full"`))
		assert.True(t, s.lives(t, "me"), "the rest is done")
	})
}
