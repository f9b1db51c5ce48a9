package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// hooked is a store that lets a test look at what is appended, hold it up, or fail it.
type hooked struct {
	plain
	before func(recs []runlog.Record) error
}

func (s hooked) Append(ctx context.Context, recs []runlog.Record) error {
	if err := s.before(recs); err != nil {
		return err
	}
	return s.plain.Append(ctx, recs)
}

// has tells whether a record of a kind is among recs, of any run or of one.
func has(recs []runlog.Record, kind, run string) bool {
	return slices.ContainsFunc(recs, func(rec runlog.Record) bool { return rec.Kind == kind && (run == "" || rec.Run == run) })
}

// held is a call of Append that waits until it is let through.
type held struct{ there, open chan struct{} }

func newHeld() held { return held{make(chan struct{}), make(chan struct{})} }

func (h held) wait() {
	close(h.there)
	<-h.open
}

// Runs share commits; one that was fenced off does not take the others along.
func TestFencedRunInACommitOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, once := newHeld(), sync.Once{}
		together := false
		s := hooked{newPlain(), nil}
		s.before = func(recs []runlog.Record) error {
			if has(recs, runlog.Called, "first") {
				once.Do(first.wait)
			}
			if has(recs, runlog.Called, "bad") {
				together = together || has(recs, runlog.Called, "good")
				return runlog.ErrConflict
			}
			return nil
		}
		valves := map[string]valve{"first": newValve(), "good": newValve(), "bad": newValve()}
		a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			return valves[agent.InfoFrom(ctx).Run].Call(ctx, req)
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s})
		runs := map[string]*orchestrator.Run{}
		for _, id := range []string{"first", "good", "bad"} {
			runs[id] = begin(t, e, pair, id)
		}
		synctest.Wait()
		close(valves["first"].open)
		<-first.there // the committer is busy, and the next two wait for it together
		close(valves["good"].open)
		close(valves["bad"].open)
		synctest.Wait()
		close(first.open)
		require.ErrorIs(t, runs["bad"].Wait(t.Context()), runlog.ErrConflict)
		for _, id := range []string{"first", "good"} {
			got, err := pair.Result(t.Context(), runs[id])
			require.NoError(t, err)
			assert.Equal(t, "one two", got)
		}
		assert.True(t, together, "they came in one commit")
	})
}

// Nothing follows a record that was not stored.
func TestRecordThatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, failing := errors.New("the disk is full"), newHeld()
		once := sync.Once{}
		s := hooked{newPlain(), nil}
		s.before = func(recs []runlog.Record) (err error) {
			if has(recs, runlog.Called, "") {
				once.Do(func() {
					failing.wait()
					err = full
				})
			}
			return err
		}
		v := map[string]valve{"x": newValve(), "y": newValve()}
		a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			return v[req.Prompt].Call(ctx, req)
		})
		f := flow("two", func(c *orchestrator.Context) ([]string, error) {
			return orchestrator.Values(orchestrator.Map(c, []string{"x", "y"}, 0, func(c *orchestrator.Context, item string) (string, error) { return ask(c, "a", item) }))
		})
		c := orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s}
		e := local(t, c)
		r := begin(t, e, f, "x")
		synctest.Wait()
		close(v["x"].open)
		<-failing.there
		close(v["y"].open) // its record waits behind the one that fails
		synctest.Wait()
		close(failing.open)
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err, "it was tried again")
		assert.Equal(t, []string{"x", "y"}, got)
		assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Called, runlog.Ended}, kinds(logOf(t, s, "x")))
	})
}

// Two processes may start one run at the same moment.
func TestStartAtTheSameMoment(t *testing.T) {
	in := orchestrator.Flow[string, string]{Name: "in", Do: func(c *orchestrator.Context, in string) (string, error) { return ask(c, "a", in) }}
	race := func(t *testing.T, mine, theirs string) (string, error) {
		t.Helper()
		s, once := newPlain(), sync.Once{}
		agents := agent.Roster{"a": echo}
		other := local(t, orchestrator.Config{Agents: agents, Store: s})
		slow := hooked{s, func(recs []runlog.Record) error {
			if has(recs, runlog.Started, "") {
				once.Do(func() {
					_, err := in.Start(context.WithoutCancel(t.Context()), other, theirs, orchestrator.StartOptions{ID: "x"})
					assert.NoError(t, err)
				})
			}
			return nil
		}}
		e := local(t, orchestrator.Config{Agents: agents, Store: slow})
		r, err := in.Start(t.Context(), e, mine, orchestrator.StartOptions{ID: "x"})
		if err != nil {
			return "", err
		}
		return in.Result(t.Context(), r)
	}
	t.Run("it is one run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got, err := race(t, "tea", "tea")
			require.NoError(t, err)
			assert.Equal(t, "tea", got)
		})
	})
	t.Run("it ends once, where both have the whole log", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newPlain()
			start := func(end <-chan struct{}) *orchestrator.Run {
				slow := hooked{s, func(recs []runlog.Record) error {
					if has(recs, runlog.Ended, "") {
						<-end
					}
					return nil
				}}
				e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: slow})
				r, err := in.Start(t.Context(), e, "tea", orchestrator.StartOptions{ID: "x"})
				require.NoError(t, err)
				synctest.Wait()
				return r
			}
			theirEnd, myEnd := make(chan struct{}), make(chan struct{})
			theirs, mine := start(theirEnd), start(myEnd)
			close(theirEnd)
			require.NoError(t, theirs.Wait(t.Context()))
			close(myEnd)
			got, err := in.Result(t.Context(), mine)
			require.NoError(t, err)
			assert.Equal(t, "tea", got)
		})
	})
	t.Run("with another input it is not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, err := race(t, "tea", "coffee")
			require.ErrorIs(t, err, orchestrator.ErrExists)
		})
	})
}

// Two processes may take up one run at the same moment: one does, for the other it is
// no error.
func TestResumeAtTheSameMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, once := newPlain(), sync.Once{}
		c := orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s, Flows: []orchestrator.AnyFlow{pair}}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		begin(t, e, pair, "x")
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		c.Agents = agent.Roster{"a": echo}
		other := local(t, c)
		c.Store = hooked{s, func(recs []runlog.Record) error {
			if has(recs, runlog.Resumed, "") {
				once.Do(func() {
					runs, err := listed(other.Resume(context.WithoutCancel(t.Context())))
					assert.NoError(t, err)
					assert.Len(t, runs, 1)
				})
			}
			return nil
		}}
		runs, err := listed(local(t, c).Resume(t.Context()))
		require.NoError(t, err)
		assert.Empty(t, runs)
	})
}

// An answer and the end of the question's time may come at the same moment: what is
// on record first counts, the other is dropped.
func TestAnsweredAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, once := newHeld(), sync.Once{}
		s := hooked{newPlain(), func(recs []runlog.Record) error {
			if has(recs, runlog.Answered, "") {
				once.Do(slow.wait)
			}
			return nil
		}}
		f := flow("question", func(c *orchestrator.Context) (bool, error) {
			ok, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: time.Hour})
			if err != nil {
				return ok, err
			}
			return ok, c.Sleep(time.Hour)
		})
		r := begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
		synctest.Wait()
		var host sync.WaitGroup
		host.Go(func() { assert.NoError(t, r.Answer(t.Context(), "ok", true)) })
		<-slow.there
		late := time.NewTimer(2 * time.Hour) // the time is up, behind the answer
		<-late.C
		close(slow.open)
		host.Wait()
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.True(t, got)
		assert.Equal(t, []string{runlog.Started, runlog.Asked, runlog.Answered, runlog.Slept, runlog.Ended}, kinds(logOf(t, s, "x")))
	})
}

// changedLog is a store whose log was tampered with.
type changedLog struct {
	plain
	change func(rec *runlog.Record)
}

func (s changedLog) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		for rec, err := range s.plain.Records(ctx, run, from) {
			s.change(&rec)
			if !yield(rec, err) {
				return
			}
		}
	}
}

func TestDamagedLogIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(rec *runlog.Record)
		want   string
	}{
		{"a record is missing", func(rec *runlog.Record) {
			if rec.Seq > 0 {
				rec.Seq++
			}
		}, "record 2: runlog: damaged: it is at the place of record 1"},
		{"the start is missing", func(rec *runlog.Record) { rec.Kind = runlog.Called }, `record 0: runlog: damaged: it is "called", want "started"`},
		{"the start cannot be read", func(rec *runlog.Record) { rec.Data = json.RawMessage(`7`) }, "record 0: runlog: damaged"},
		{"an answer cannot be read", func(rec *runlog.Record) {
			if rec.Kind == runlog.Called {
				rec.Data = json.RawMessage(`7`)
			}
		}, "record 1"},
		{"a large value is lost", func(rec *runlog.Record) {
			if rec.Kind == runlog.Called {
				rec.Blob = "0123"
			}
		}, "runlog: no such blob"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := orchestrator.Config{Agents: agent.Roster{"a": echo}}
				log := whole(t, c, pair)
				c.Store = changedLog{stored(t, log[:2]...), tt.change}
				r, err := pair.Start(t.Context(), local(t, c), none{}, orchestrator.StartOptions{ID: "x"})
				if err == nil {
					err = r.Wait(t.Context())
				}
				require.ErrorContains(t, err, tt.want)
				assert.ErrorContains(t, err, `"x"`)
			})
		})
	}
}

// Who worked on a run last is who must be gone before another takes it up.
func TestLeaseOfTheLastOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := runlog.NewMemory()
		open := func() *orchestrator.Engine {
			return local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s, Flows: []orchestrator.AnyFlow{pair}})
		}
		first, second, third := open(), open(), open()
		begin(t, first, pair, "x")
		synctest.Wait()
		require.NoError(t, first.Close(t.Context()))
		runs, err := listed(second.Resume(t.Context()))
		require.NoError(t, err)
		require.Len(t, runs, 1)
		synctest.Wait()
		runs, err = listed(third.Resume(t.Context()))
		require.NoError(t, err)
		assert.Empty(t, runs, "the second one lives")
	})
}

// Who looks whether an engine is dead does not hold up the next one who looks.
func TestRunsOfADeadEngineAreSharedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := runlog.NewMemory()
		other := pair
		other.Name = "other"
		open := func(a agent.Agent, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
			return local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Flows: flows})
		}
		dead := open(hang)
		begin(t, dead, pair, "x")
		begin(t, dead, other, "y")
		synctest.Wait()
		require.NoError(t, dead.Close(t.Context()))
		for _, e := range []*orchestrator.Engine{open(echo, pair), open(echo, other)} {
			runs, err := listed(e.Resume(t.Context()))
			require.NoError(t, err)
			require.Len(t, runs, 1)
			require.NoError(t, runs[0].Wait(t.Context()))
		}
	})
}

// A flow owns what it was answered; what it does with it does not change the log.
func TestLogOfAnAnswerThatTheFlowChanges(t *testing.T) {
	for name, s := range map[string]runlog.Store{"in memory": nil, "on a store": newPlain()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
					return agent.Response{Data: json.RawMessage(`"told"`), Messages: []providers.Message{{Role: providers.Assistant, Text: "told"}}}, nil
				})
				f := flow("changes", func(c *orchestrator.Context) (none, error) {
					resp, err := c.Call("a", agent.Request{})
					copy(resp.Data, `"bold"`)
					resp.Messages[0].Text = "bold"
					return none{}, err
				})
				r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s}), f, "x")
				require.NoError(t, r.Wait(t.Context()))
				for rec, err := range r.Events(t.Context(), 1) {
					require.NoError(t, err)
					assert.NotContains(t, string(rec.Data), "bold")
				}
			})
		})
	}
}

// An agent may look at its context now and then, and not wait for it.
func TestAgentThatLooksAtItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			for ctx.Err() == nil {
				wait := time.NewTimer(time.Second)
				<-wait.C
			}
			return agent.Response{}, ctx.Err()
		})
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": looks}})
		require.NoError(t, err)
		begin(t, e, pair, "stopped")
		canceled := begin(t, e, pair, "canceled")
		synctest.Wait()
		require.NoError(t, canceled.Cancel(t.Context(), ""))
		require.NoError(t, canceled.Wait(t.Context()))
		begun := time.Now()
		require.NoError(t, e.Close(t.Context()))
		assert.LessOrEqual(t, time.Since(begun), time.Second)
	})
}
