package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// counting exposes how many calls have ended.
var counting = flow("counting", func(c *orchestrator.Context) (none, error) {
	n := 0
	c.Expose(func() any { return n })
	for n < 3 {
		if _, err := ask(c, "a", fmt.Sprint(n)); err != nil {
			return none{}, err
		}
		n++
	}
	return none{}, nil
})

// process is an engine on s that can resume counting.
func process(t *testing.T, s runlog.Store, a agent.Agent) *orchestrator.Engine {
	t.Helper()
	return local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Flows: []orchestrator.AnyFlow{counting}, Fleet: lease})
}

// stateOf is the state of counting.
func stateOf(t *testing.T, r *orchestrator.Run) (n int, err error) {
	t.Helper()
	err = r.State(t.Context(), &n)
	return n, err
}

// wire is a Memory as one process sees it.
type wire struct {
	*runlog.Memory
	silent atomic.Bool            // its beats are lost
	cut    atomic.Pointer[string] // requests to that engine are lost; "": to all
	before atomic.Pointer[func()] // the next request is as late as this
	broken atomic.Bool            // nothing is stored
}

func (w *wire) Append(ctx context.Context, recs []runlog.Record) error {
	if w.broken.Load() {
		return errors.New("the disk is full")
	}
	return w.Memory.Append(ctx, recs)
}

func (w *wire) Beat(ctx context.Context, owner string, d time.Duration) error {
	if w.silent.Load() {
		return nil
	}
	return w.Memory.Beat(ctx, owner, d)
}

func (w *wire) Request(ctx context.Context, owner string, data []byte) ([]byte, error) {
	if before := w.before.Swap(nil); before != nil {
		(*before)()
		return w.Memory.Request(context.WithoutCancel(ctx), owner, data)
	}
	if cut := w.cut.Load(); cut != nil && (*cut == "" || *cut == owner) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.Memory.Request(ctx, owner, data)
}

func TestStateOfAnotherProcess(t *testing.T) {
	t.Run("an owner that hangs is an error after 5 s", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			w := &wire{Memory: runlog.NewMemory()}
			begin(t, process(t, w.Memory, hang), counting, "x")
			r := open(t, process(t, w, hang), "x")
			synctest.Wait()
			n, err := stateOf(t, r)
			require.NoError(t, err)
			assert.Zero(t, n)
			w.cut.Store(new(string))
			began := time.Now()
			_, err = stateOf(t, r)
			require.ErrorIs(t, err, orchestrator.ErrNoState)
			require.ErrorContains(t, err, fmt.Sprintf("engine %q works on it and does not reply", infoOf(t, r).Owner))
			assert.Equal(t, 5*time.Second, time.Since(began))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.ErrorIs(t, r.State(ctx, new(int)), context.DeadlineExceeded, "the caller's own limit")
		})
	})
	t.Run("an owner that is dead is an error at once", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			first := process(t, s, hang)
			begin(t, first, counting, "x")
			require.NoError(t, first.Close(t.Context()))
			began := time.Now()
			_, err := stateOf(t, open(t, process(t, s, hang), "x"))
			require.ErrorIs(t, err, orchestrator.ErrNoState)
			require.ErrorContains(t, err, "no engine works on it")
			assert.Zero(t, time.Since(began))
		})
	})
	t.Run("what an engine says that has lost the run does not count", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			w, mute, v := &wire{Memory: runlog.NewMemory()}, &wire{}, newValve()
			mute.Memory = w.Memory
			begin(t, process(t, mute, v), counting, "x") // its state is 0
			calls := 0
			second := process(t, w.Memory, agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				if calls++; calls == 3 {
					return hang(ctx, req)
				}
				return echo(ctx, req)
			}))
			r := open(t, process(t, w, echo), "x")
			w.before.Store(new(func() {
				mute.silent.Store(true)
				pause(lease.Lease)
				_, err := second.Resume(t.Context())
				require.NoError(t, err)
				synctest.Wait()
			}))
			n, err := stateOf(t, r)
			require.NoError(t, err)
			assert.Equal(t, 2, n)
			close(v.open)
		})
	})
	t.Run("a run that ends while it is asked has the state of its end", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			w, v := &wire{Memory: runlog.NewMemory()}, newValve()
			first := begin(t, process(t, w.Memory, v), counting, "x")
			synctest.Wait()
			w.before.Store(new(func() {
				close(v.open)
				require.NoError(t, first.Wait(t.Context()))
			}))
			n, err := stateOf(t, open(t, process(t, w, hang), "x"))
			require.NoError(t, err)
			assert.Equal(t, 3, n)
		})
	})
	t.Run("an engine that has the run no more says so at once", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			owner := infoOf(t, begin(t, process(t, s, hang), counting, "x")).Owner
			synctest.Wait()
			began := time.Now()
			require.NoError(t, s.Append(t.Context(), []runlog.Record{{
				Run: "y", Kind: runlog.Started, Name: counting.Name, Data: fmt.Appendf(nil, `{"owner":%q}`, owner),
			}}))
			r := open(t, process(t, s, hang), "y")
			_, err := stateOf(t, r)
			require.ErrorIs(t, err, orchestrator.ErrNoState)
			require.ErrorContains(t, err, fmt.Sprintf("engine %q has stopped it", owner))
			assert.Zero(t, time.Since(began))
		})
	})
	t.Run("the error of a state comes as it is", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			bad := flow("bad", func(c *orchestrator.Context) (string, error) {
				c.Expose(func() any { return make(chan int) })
				return ask(c, "a", "")
			})
			here := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s}), bad, "x")
			synctest.Wait()
			want := here.State(t.Context(), new(int))
			require.Error(t, want)
			require.EqualError(t, open(t, process(t, s, hang), "x").State(t.Context(), new(int)), want.Error())
		})
	})
	t.Run("a run that is being resumed has the state behind its log", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			calls := 0
			first := process(t, s, agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				if calls++; calls == 3 {
					<-ctx.Done()
				}
				return agent.Response{Text: req.Prompt}, ctx.Err()
			}))
			begin(t, first, counting, "x")
			synctest.Wait()
			require.NoError(t, first.Close(t.Context()))
			slow := &slowLog{Memory: s}
			second := process(t, slow, hang)
			go func() { _, _ = second.Resume(t.Context()) }()
			pause(time.Second) // it reads the log
			n, err := stateOf(t, open(t, second, "x"))
			require.NoError(t, err)
			assert.Equal(t, 2, n)
		})
	})
	t.Run("a run that another engine resumes first has the state that it has there", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			first := process(t, s, hang)
			begin(t, first, counting, "x")
			require.NoError(t, first.Close(t.Context()))
			slow := process(t, &slowLog{Memory: s}, hang)
			go func() { _, _ = slow.Resume(t.Context()) }()
			pause(time.Second) // it reads the log
			calls := 0
			fast := process(t, s, agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				if calls++; calls == 2 {
					return hang(ctx, req)
				}
				return echo(ctx, req)
			}))
			_, err := fast.Resume(t.Context())
			require.NoError(t, err)
			n, err := stateOf(t, open(t, slow, "x"))
			require.NoError(t, err)
			assert.Equal(t, 1, n)
		})
	})
	t.Run("a store without a Messenger says so", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			m := runlog.NewMemory()
			s := struct {
				runlog.Store
				runlog.Owners
			}{m, m}
			begin(t, process(t, s, hang), counting, "x")
			r := open(t, process(t, s, hang), "x")
			_, err := stateOf(t, r)
			require.ErrorIs(t, err, orchestrator.ErrNoState)
			require.ErrorContains(t, err, "Messenger")
			for _, err := range r.Progress(t.Context()) {
				require.ErrorIs(t, err, orchestrator.ErrStopped)
				require.ErrorContains(t, err, "Messenger")
			}
		})
	})
	t.Run("a stuck run has no state", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s, b := runlog.NewMemory(), newBuggy()
			require.Error(t, begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), b.Flow, "x").Wait(t.Context()))
			r := open(t, process(t, s, hang), "x")
			_, err := stateOf(t, r)
			require.ErrorIs(t, err, orchestrator.ErrNoState)
			assert.Empty(t, said(t, r))
		})
	})
}

// slowLog takes 5 seconds to read a log.
type slowLog struct{ *runlog.Memory }

func (s *slowLog) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	pause(5 * time.Second)
	return s.Memory.Records(ctx, run, from)
}

// teller reports texts when it is watched, one each d, until its ctx ends or n are told.
func teller(name string, n int, d time.Duration) agent.Agent {
	return agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		for i := 0; i < n && ctx.Err() == nil; i++ {
			pause(d)
			for ctx.Err() == nil && !agent.Watched(ctx) {
				pause(time.Millisecond)
			}
			agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: fmt.Sprint(name, i)})
		}
		return agent.Response{}, ctx.Err()
	})
}

func TestProgressOfAnotherProcess(t *testing.T) {
	t.Run("it comes within 100 ms, that of children too, and what was not read yet comes behind the end", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			child := flow("child", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "") })
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return child.Child(c, none{}) })
			tells := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				for !agent.Watched(ctx) {
					pause(time.Millisecond)
				}
				for i := range 100 {
					if i == 50 {
						pause(time.Hour)
					}
					agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: time.Now().Format(time.RFC3339Nano)})
					pause(time.Millisecond)
				}
				return agent.Response{}, nil
			})
			begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": tells}, Store: s}), parent, "x")
			n := 0
			for p, err := range open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x").Progress(t.Context()) {
				require.NoError(t, err)
				assert.Equal(t, "x/0/0", p.Key)
				told, err := time.Parse(time.RFC3339Nano, p.Text)
				require.NoError(t, err)
				assert.LessOrEqual(t, time.Since(told), 100*time.Millisecond)
				n++
			}
			assert.Equal(t, 100, n)
		})
	})
	t.Run("a slow reader delays nothing and misses some", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			r := begin(t, process(t, s, teller("t", 200, 10*time.Millisecond)), counting, "x")
			read := 0
			for _, err := range open(t, process(t, s, hang), "x").Progress(t.Context()) {
				require.NoError(t, err)
				if read == 0 {
					require.NoError(t, r.Wait(t.Context()))
				}
				read++
			}
			assert.Greater(t, read, 256, "what it had not read when the run ended came then")
			assert.Less(t, read, 270)
		})
	})
	t.Run("it continues with the engine that resumes the run of a dead one", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			w, dead := &wire{Memory: runlog.NewMemory()}, &wire{}
			dead.Memory = w.Memory
			r := begin(t, process(t, dead, teller("first ", 1000, time.Second)), counting, "x")
			var texts []string
			for p, err := range open(t, local(t, orchestrator.Config{Store: w, Fleet: observing}), "x").Progress(t.Context()) {
				require.NoError(t, err)
				if texts = append(texts, p.Text); len(texts) == 2 {
					w.cut.Store(new(infoOf(t, r).Owner))
					dead.silent.Store(true)
					_, err := process(t, w.Memory, teller("second ", 2, time.Second)).Resume(t.Context())
					require.NoError(t, err)
				}
			}
			assert.Equal(t, []string{"first 0", "first 1", "second 0", "second 1", "second 0", "second 1", "second 0", "second 1"}, texts)
		})
	})
	for _, where := range []string{"here", "in another process"} {
		t.Run("it continues when an outage is over, "+where, func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				t.Helper()
				w := &wire{Memory: runlog.NewMemory()}
				e := process(t, w, teller("t", 2, time.Second))
				_, err := e.Resume(t.Context())
				require.NoError(t, err)
				begin(t, e, counting, "x")
				reader := e
				if where != "here" {
					reader = process(t, w.Memory, hang)
				}
				n := 0
				for _, err := range open(t, reader, "x").Progress(t.Context()) {
					require.NoError(t, err)
					if n++; n == 1 {
						w.broken.Store(true)
						time.AfterFunc(70*time.Second, func() { w.broken.Store(false) })
					}
				}
				assert.Equal(t, 2+3*2, n, "the first call is made again")
			})
		})
	}
	t.Run("no engine resumes the run: an error when the lease is over", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			first := process(t, s, teller("t", 1000, time.Second))
			begin(t, first, counting, "x")
			var last error
			var began time.Time
			n := 0
			for _, err := range open(t, local(t, orchestrator.Config{Store: s, Fleet: observing}), "x").Progress(t.Context()) {
				if last = err; err != nil {
					break
				}
				if n++; n == 3 {
					began = time.Now()
					require.NoError(t, first.Close(t.Context()))
				}
			}
			require.ErrorIs(t, last, orchestrator.ErrStopped)
			require.ErrorContains(t, last, "no engine works on it")
			assert.InDelta(t, 30, time.Since(began).Seconds(), 2)
		})
	})
	t.Run("an owner that hangs from the beginning is an error after 5 s", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			w := &wire{Memory: runlog.NewMemory()}
			w.cut.Store(new(string))
			begin(t, process(t, w.Memory, hang), counting, "x")
			began := time.Now()
			var last error
			for _, err := range open(t, process(t, w, hang), "x").Progress(t.Context()) {
				last = err
			}
			require.ErrorIs(t, last, orchestrator.ErrStopped)
			require.ErrorContains(t, last, "does not reply")
			assert.Equal(t, 5*time.Second, time.Since(began))
		})
	})
	t.Run("a reader that left is forgotten", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			var watched atomic.Bool
			changes := 0
			looks := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				for ctx.Err() == nil {
					if now := agent.Watched(ctx); watched.Swap(now) != now {
						changes++
					}
					agent.Report(ctx, agent.Progress{Text: "here"})
					pause(10 * time.Millisecond)
				}
				return agent.Response{}, ctx.Err()
			})
			begin(t, process(t, s, looks), counting, "x")
			began := time.Now()
			for _, err := range open(t, process(t, s, hang), "x").Progress(t.Context()) {
				require.NoError(t, err)
				if time.Since(began) > time.Minute {
					break
				}
			}
			assert.True(t, watched.Load())
			pause(11 * time.Second)
			assert.False(t, watched.Load())
			assert.Equal(t, 2, changes, "it was watched all the time")
		})
	})
	t.Run("what a model gave a tool may be no JSON", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			begin(t, process(t, s, agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				for !agent.Watched(ctx) {
					pause(time.Millisecond)
				}
				call := &providers.ToolCall{ID: "1", Name: "search", Input: json.RawMessage("{no")}
				agent.Report(ctx, agent.Progress{Kind: agent.ProgressTool, Tool: call})
				<-ctx.Done()
				return agent.Response{}, ctx.Err()
			})), counting, "x")
			for p, err := range open(t, process(t, s, hang), "x").Progress(t.Context()) {
				require.NoError(t, err)
				assert.Equal(t, &providers.ToolCall{ID: "1", Name: "search"}, p.Tool)
				break
			}
		})
	})
}
