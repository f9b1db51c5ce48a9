package fleet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
)

func TestAskAboutARunThatChangesHands(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"a reply of the engine that lost it does not count": func(t *testing.T) {
			me, ann := pair(t)
			hers := ann.store()
			ben := keeps(t, "ben", hers.beside())
			ben.replies(state("2"))
			ann.answers(func(context.Context, fleet.Request, time.Duration) (fleet.Reply, error) {
				hers.resume(t, "r", "ben")
				return state("1"), nil
			})
			synctest.Wait()
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			has(t, "2", a, err)
			assert.Zero(t, time.Since(me.began))
		},
		"nor does its failure": func(t *testing.T) {
			me, ann := pair(t)
			hers := ann.store()
			ben := keeps(t, "ben", hers.beside())
			ben.replies(state("2"))
			ann.hangs()
			time.AfterFunc(time.Second, func() { hers.resume(t, "r", "ben") })
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			has(t, "2", a, err)
			assert.Equal(t, askLimit, time.Since(me.began))
		},
		"the next owner has its own time": func(t *testing.T) {
			me, ann := pair(t)
			mine, hers := me.store(), ann.store()
			ben := keeps(t, "ben", hers.beside())
			ben.hangs()
			ann.hangs()
			time.AfterFunc(time.Second, func() { hers.resume(t, "r", "ben") })
			_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			require.ErrorContains(t, err, `engine "ben" works on it and does not reply`)
			assert.Equal(t, 2*askLimit, time.Since(me.began))
			assert.Equal(t, []string{"ann", "ben"}, texts(mine.calls("Request")))
		},
		"this engine takes it up": func(t *testing.T) {
			me, ann := pair(t)
			ann.answers(func(context.Context, fleet.Request, time.Duration) (fleet.Reply, error) {
				me.own("r") // it is not on record yet
				me.replies(state("2"))
				return state("1"), nil
			})
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			has(t, "2", a, err)
		},
		"it ends meanwhile": func(t *testing.T) {
			for _, reply := range []fleet.Reply{state("1"), {Gone: true}} {
				me, ann := pair(t)
				hers := ann.store()
				ann.answers(func(context.Context, fleet.Request, time.Duration) (fleet.Reply, error) {
					hers.end(t, "r", "3")
					return reply, nil
				})
				a, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
				has(t, "3", a, err)
				assert.True(t, a.Over)
			}
		},
		"it ends, and what its agents reported is read first": func(t *testing.T) {
			me, ann := pair(t)
			hers := ann.store()
			ann.answers(func(context.Context, fleet.Request, time.Duration) (fleet.Reply, error) {
				hers.end(t, "r", "3")
				return fleet.Reply{Progress: []agent.Progress{{Text: "hm"}}}, nil
			})
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r", Reader: "x"})
			require.NoError(t, err)
			assert.Equal(t, fleet.Reply{Progress: []agent.Progress{{Text: "hm"}}}, a)
		},
	})
}

func TestAskAboutARunThatIsOver(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"has the state of its end": func(t *testing.T) {
			me, ann := pair(t)
			mine, hers := me.store(), ann.store()
			hers.end(t, "r", `{"n":3}`)
			for _, q := range []fleet.Request{{Run: "r"}, {Run: "r", Reader: "x"}} {
				a, err := me.Ask(t.Context(), q)
				has(t, `{"n":3}`, a, err)
				assert.True(t, a.Over)
			}
			assert.Empty(t, mine.calls("Request"), "its owner is not asked")
		},
		"has none, if it is stuck": func(t *testing.T) {
			me, ann := pair(t)
			mine, hers := me.store(), ann.store()
			hers.stuck(t, "r")
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			require.NoError(t, err)
			assert.Equal(t, fleet.Reply{Over: true}, a)
			assert.Empty(t, mine.calls("Request"))
		},
		"has reports that a reader did not read": func(t *testing.T) {
			for _, over := range []func(*store){
				func(s *store) { s.end(t, "r", "3") },
				func(s *store) { s.stuck(t, "r") },
			} {
				me, ann := pair(t)
				hers := ann.store()
				over(hers)
				ann.replies(fleet.Reply{Progress: []agent.Progress{{Text: "hm"}}})
				q := fleet.Request{Run: "r", Reader: "x", Began: true}
				a, err := me.Ask(t.Context(), q)
				require.NoError(t, err)
				assert.Equal(t, fleet.Reply{Progress: []agent.Progress{{Text: "hm"}}}, a)
				ann.replies(fleet.Reply{Gone: true})
				a, err = me.Ask(t.Context(), q)
				require.NoError(t, err)
				assert.True(t, a.Over, "now all is read")
			}
		},
		"has its end, if the owner is gone": func(t *testing.T) {
			for _, gone := range []func(me, ann *host){
				func(_, ann *host) { ann.close() },
				func(me, _ *host) { me.store().fails("Request") },
			} {
				me, ann := pair(t)
				hers := ann.store()
				hers.end(t, "r", "3")
				gone(me, ann)
				a, err := me.Ask(t.Context(), fleet.Request{Run: "r", Reader: "x", Began: true})
				has(t, "3", a, err)
				assert.True(t, a.Over)
			}
		},
		"fails if its end cannot be read": func(t *testing.T) {
			me, ann := pair(t)
			hers := ann.store()
			require.NoError(t, hers.Append(t.Context(), []runlog.Record{{Run: "r", Seq: 1, Kind: runlog.Ended, Data: []byte(`{"output":1,"elapsed":"x"}`)}}))
			_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			require.ErrorIs(t, err, runlog.ErrDamaged)
		},
	})
}
