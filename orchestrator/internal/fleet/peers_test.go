package fleet_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
	"github.com/convene-go/convene/orchestrator/internal/journal"
	"github.com/convene-go/convene/providers"
)

const (
	askLimit    = 5 * time.Second  // most time that an engine has to reply
	readerLimit = 10 * time.Second // time after which a reader that asks no more is gone
)

// pair is me, who asks, and ann, who works on the run "r"; each has a store of its own.
func pair(t *testing.T) (me, ann *host) {
	t.Helper()
	hers := newStore()
	me, ann = keeps(t, "me", hers.beside()), keeps(t, "ann", hers)
	hers.start(t, "r", "ann")
	ann.own("r")
	ann.replies(state("1"))
	synctest.Wait()
	return me, ann
}

// store is the one of an engine of pair.
func (h *host) store() *store { return h.cfg.Store.Messenger.(*store) }

func state(s string) fleet.Reply { return fleet.Reply{State: json.RawMessage(s)} }

// has requires what Ask returned for the state of a run.
func has(t *testing.T, want string, a fleet.Reply, err error) {
	t.Helper()
	require.NoError(t, err)
	assert.JSONEq(t, want, string(a.State))
	assert.False(t, a.Gone)
}

// refused requires that nobody replies, with that reason, for a state and for a reader.
func refused(t *testing.T, h *host, why string) {
	t.Helper()
	var crossed *agent.Error
	_, err := h.Ask(t.Context(), fleet.Request{Run: "r"})
	require.EqualError(t, err, `no-state: run "r": `+why)
	require.ErrorIs(t, err, engine.ErrNoState)
	require.ErrorAs(t, err, &crossed)
	_, err = h.Ask(t.Context(), fleet.Request{Run: "r", Reader: "x"})
	require.EqualError(t, err, `stopped: run "r": `+why)
	require.ErrorIs(t, err, engine.ErrStopped)
	require.ErrorAs(t, err, &crossed)
}

func TestAskThisEngine(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"which replies without its store": func(t *testing.T) {
			s := newStore()
			h := newHost(t, "me", s)
			var got fleet.Request
			h.answers(func(_ context.Context, q fleet.Request, limit time.Duration) (fleet.Reply, error) {
				got = q
				assert.Zero(t, limit, "the reader is in this process")
				return state("1"), nil
			})
			q := fleet.Request{Run: "r", Reader: "x", Began: true}
			a, err := h.Ask(t.Context(), q)
			has(t, "1", a, err)
			assert.Equal(t, q, got)
			assert.Empty(t, s.all())
		},
		"which fails": func(t *testing.T) {
			h := newHost(t, "me", newStore())
			h.refuses(errDisk)
			_, err := h.Ask(t.Context(), fleet.Request{Run: "r"})
			assert.Equal(t, errDisk, err)
		},
		"which has stopped the run": func(t *testing.T) {
			s := newStore()
			s.start(t, "r", "me")
			refused(t, keeps(t, "me", s), `engine "me" has stopped it`)
			assert.Empty(t, s.calls("Request"), "it does not ask itself")
		},
	})
}

func TestAskAnotherEngine(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"which replies": func(t *testing.T) {
			me, ann := pair(t)
			mine := me.store()
			for _, q := range []fleet.Request{{Run: "r"}, {Run: "r", Reader: "x"}, {Run: "r", Reader: "x", Began: true}} {
				ann.answers(func(ctx context.Context, got fleet.Request, limit time.Duration) (fleet.Reply, error) {
					assert.Equal(t, fleet.Request{Run: q.Run, Reader: q.Reader}, got, "whether it began is the asker's matter")
					assert.Equal(t, readerLimit, limit)
					return fleet.Reply{State: json.RawMessage("1"), Progress: []agent.Progress{{Agent: "bob", Text: "hm"}}}, nil
				})
				a, err := me.Ask(t.Context(), q)
				has(t, "1", a, err)
				assert.Equal(t, []agent.Progress{{Agent: "bob", Text: "hm"}}, a.Progress)
				assert.False(t, a.Over)
			}
			assert.Equal(t, []string{"ann", "ann", "ann"}, texts(mine.calls("Request")))
			assert.Equal(t, askLimit, mine.calls("Request")[0].limit)
			assert.Zero(t, time.Since(me.began))
		},
		"which fails, with all that its error says": func(t *testing.T) {
			me, ann := pair(t)
			ann.refuses(agent.Transient(engine.ErrNoState, time.Minute))
			_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			require.ErrorIs(t, err, engine.ErrNoState)
			var crossed *agent.Error
			require.ErrorAs(t, err, &crossed)
			assert.Equal(t, agent.Error{Message: "no-state", Codes: []agent.Code{engine.ErrNoState}, Transient: true, RetryAfter: time.Minute}, *crossed)
		},
		"which has stopped the run": func(t *testing.T) {
			me, ann := pair(t)
			ann.replies(fleet.Reply{Gone: true})
			refused(t, me, `engine "ann" has stopped it`)
		},
		"which is dead": func(t *testing.T) {
			me, ann := pair(t)
			ann.close()
			pass(lease)
			refused(t, me, "no engine works on it")
		},
		"which has left": func(t *testing.T) {
			me, ann := pair(t)
			ann.close()
			require.NoError(t, ann.Leave(t.Context()))
			began := time.Now()
			refused(t, me, "no engine works on it")
			assert.Zero(t, time.Since(began))
		},
		"which does not reply": func(t *testing.T) {
			me, ann := pair(t)
			ann.hangs()
			began := time.Now()
			refused(t, me, `engine "ann" works on it and does not reply`)
			assert.Equal(t, 2*askLimit, time.Since(began))
		},
		"which does not serve requests yet": func(t *testing.T) {
			me, ann := pair(t)
			hers := ann.store()
			require.NoError(t, hers.Memory.Beat(t.Context(), "ben", time.Hour))
			hers.resume(t, "r", "ben")
			var ben *host
			time.AfterFunc(askLimit/2, func() {
				ben = keeps(t, "ben", hers.beside())
				ben.replies(state("2"))
			})
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			has(t, "2", a, err)
			assert.LessOrEqual(t, time.Since(me.began), askLimit)
		},
		"which never serves requests": func(t *testing.T) {
			me, ann := pair(t)
			hers := ann.store()
			require.NoError(t, hers.Memory.Beat(t.Context(), "ben", time.Hour))
			hers.resume(t, "r", "ben")
			_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			require.EqualError(t, err, `no-state: run "r": engine "ben" works on it and does not reply`)
			assert.GreaterOrEqual(t, time.Since(me.began), askLimit)
			assert.LessOrEqual(t, time.Since(me.began), askLimit+poll)
		},
		"for as long as the caller waits": func(t *testing.T) {
			me, ann := pair(t)
			ann.hangs()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := me.Ask(ctx, fleet.Request{Run: "r"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, engine.ErrNoState)
			assert.Equal(t, time.Second, time.Since(me.began))
		},
		"whose reply is damaged": func(t *testing.T) {
			me, ann := pair(t)
			ann.close()
			go func() {
				_ = me.store().Memory.Serve(t.Context(), "ann", func(context.Context, []byte) []byte { return []byte("{") })
			}()
			synctest.Wait()
			_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			var syntax *json.SyntaxError
			require.ErrorAs(t, err, &syntax)
		},
		"over a store that carries no requests": func(t *testing.T) {
			_, ann := pair(t)
			hers := ann.store()
			refused(t, newHost(t, "me", hers.mute()), "it is not running in this process, and the store is no runlog.Messenger: unsupported operation")
			refused(t, newHost(t, "me", hers.plain()), "it is not running in this process, and the store is no runlog.Messenger: unsupported operation")
		},
		"over a store that fails": func(t *testing.T) {
			me, ann := pair(t)
			mine := me.store()
			for _, method := range []string{"List", "Request"} {
				mine.fails(method)
				_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
				require.ErrorIs(t, err, errDisk, method)
			}
			lists := 0
			mine.breaks(func(context.Context) error {
				if lists++; lists == 2 { // the first finds the owner
					return errDisk
				}
				return nil
			}, "List")
			_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			require.ErrorIs(t, err, errDisk, "whether the reply holds is not known")
			ann.close()
			mine.fails("Alive")
			_, err = me.Ask(t.Context(), fleet.Request{Run: "r"})
			require.ErrorIs(t, err, errDisk)
		},
		"about a run that is not there": func(t *testing.T) {
			me, _ := pair(t)
			_, err := me.Ask(t.Context(), fleet.Request{Run: "nobody's"})
			require.ErrorIs(t, err, engine.ErrNoRun)
		},
		"in an engine that closes": func(t *testing.T) {
			me, ann := pair(t)
			hers := ann.store()
			require.NoError(t, hers.Memory.Beat(t.Context(), "ben", time.Hour))
			hers.resume(t, "r", "ben")
			me.shut()
			_, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			assert.Equal(t, journal.Closed(), err)
		},
	})
}

func TestRepliesToOtherEngines(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"leave out what a tool was given, if it is no JSON": func(t *testing.T) {
			me, ann := pair(t)
			call := func(input string) *providers.ToolCall {
				return &providers.ToolCall{ID: "1", Name: "grep", Input: json.RawMessage(input)}
			}
			ann.replies(fleet.Reply{Progress: []agent.Progress{
				{Agent: "bob", Kind: agent.ProgressTool, Turn: 2, Tool: call(`{"q":`)},
				{Agent: "bob", Kind: agent.ProgressText, Text: "hm"},
			}})
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r", Reader: "x"})
			require.NoError(t, err)
			assert.Equal(t, []agent.Progress{
				{Agent: "bob", Kind: agent.ProgressTool, Turn: 2, Tool: &providers.ToolCall{ID: "1", Name: "grep"}},
				{Agent: "bob", Kind: agent.ProgressText, Text: "hm"},
			}, a.Progress)
			whole := []agent.Progress{{Tool: call(`{"q":1}`)}}
			ann.replies(fleet.Reply{Progress: whole})
			a, err = me.Ask(t.Context(), fleet.Request{Run: "r", Reader: "x"})
			require.NoError(t, err)
			assert.Equal(t, whole, a.Progress, "JSON is kept")
		},
		"say that a request was damaged": func(t *testing.T) {
			me, ann := pair(t)
			mine := me.store()
			data, err := mine.Memory.Request(t.Context(), "ann", []byte("{"))
			require.NoError(t, err)
			var a fleet.Reply
			require.NoError(t, json.Unmarshal(data, &a))
			require.ErrorContains(t, a.Err, "unexpected end of JSON input")
			assert.Empty(t, ann.at("reply"))
		},
		"have the form that engines of other processes read": func(t *testing.T) {
			me, ann := pair(t)
			mine := me.store()
			ann.answers(func(_ context.Context, q fleet.Request, _ time.Duration) (fleet.Reply, error) {
				assert.Equal(t, fleet.Request{Run: "r", Reader: "x"}, q)
				return fleet.Reply{State: json.RawMessage("1"), Gone: true, Over: true}, errDisk
			})
			data, err := mine.Memory.Request(t.Context(), "ann", []byte(`{"run":"r","reader":"x"}`))
			require.NoError(t, err)
			assert.JSONEq(t, `{"state":1,"gone":true,"error":{"message":"disk full"}}`, string(data))
		},
		"are given side by side": func(t *testing.T) {
			me, ann := pair(t)
			ann.hangs()
			go func() { _, _ = me.Ask(t.Context(), fleet.Request{Run: "r", Reader: "slow"}) }()
			synctest.Wait()
			ann.replies(state("1"))
			a, err := me.Ask(t.Context(), fleet.Request{Run: "r"})
			has(t, "1", a, err)
			assert.Zero(t, time.Since(me.began))
			pass(askLimit)
			assert.Equal(t, 2, strings.Count(strings.Join(ann.heard("reply"), " "), "reply"))
		},
	})
}
