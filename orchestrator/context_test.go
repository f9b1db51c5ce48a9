package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

func TestEmit(t *testing.T) {
	for _, kind := range []string{
		"", runlog.Started, runlog.Resumed, runlog.Called, runlog.Slept, runlog.Asked, runlog.Withdrawn,
		runlog.Expired, runlog.Answered, runlog.Canceled, runlog.Changed, runlog.Ended,
	} {
		t.Run("refuses the kind "+kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := flow("emits", func(c *orchestrator.Context) (none, error) {
					c.Emit(kind, nil)
					return none{}, nil
				})
				_, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
				require.ErrorIs(t, err, orchestrator.ErrFlow)
				assert.ErrorContains(t, err, "Emit")
			})
		})
	}
	t.Run("in branches, each once over resumes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newPlain()
			f := flow("emits", func(c *orchestrator.Context) (none, error) {
				_, err := orchestrator.Values(orchestrator.Map(c, []string{"x", "y"}, 0, func(c *orchestrator.Context, item string) (none, error) {
					c.Emit("begins", item)
					_, err := ask(c, "a", item)
					c.Emit("ends", item)
					return none{}, err
				}))
				return none{}, err
			})
			e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s})
			require.NoError(t, err)
			begin(t, e, f, "x")
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
			require.NoError(t, begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), f, "x").Wait(t.Context()))
			count := map[string]int{}
			for _, rec := range logOf(t, s, "x") {
				if rec.Kind == "begins" || rec.Kind == "ends" {
					count[rec.Kind+" "+rec.Branch+" "+string(rec.Data)]++
				}
			}
			assert.Equal(t, map[string]int{`begins 0 "x"`: 1, `begins 1 "y"`: 1, `ends 0 "x"`: 1, `ends 1 "y"`: 1}, count)
		})
	})
}

func TestState(t *testing.T) {
	type count struct{ N int }
	state := func(t *testing.T, r *orchestrator.Run) (int, error) {
		t.Helper()
		var got count
		err := r.State(t.Context(), &got)
		return got.N, err
	}
	t.Run("the last function counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := newValve()
			f := flow("exposes", func(c *orchestrator.Context) (string, error) {
				c.Expose(func() any { return count{1} })
				c.Expose(func() any { return count{2} })
				return ask(c, "a", "")
			})
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}}), f, "x")
			synctest.Wait()
			n, err := state(t, r)
			require.NoError(t, err)
			assert.Equal(t, 2, n)
			close(v.open)
		})
	})
	t.Run("none while the run goes on elsewhere or nowhere", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newPlain()
			f := flow("exposes", func(c *orchestrator.Context) (string, error) {
				c.Expose(func() any { return count{1} })
				return ask(c, "a", "")
			})
			first, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s})
			require.NoError(t, err)
			begin(t, first, f, "x")
			synctest.Wait()
			there, err := local(t, orchestrator.Config{Store: s}).Open(t.Context(), "x")
			require.NoError(t, err)
			_, err = state(t, there)
			require.ErrorIs(t, err, orchestrator.ErrNoState, "elsewhere")
			require.NoError(t, first.Close(t.Context()))
			_, err = state(t, there)
			require.ErrorIs(t, err, orchestrator.ErrNoState, "nowhere")
			i, err := there.Info(t.Context())
			require.NoError(t, err)
			assert.Equal(t, orchestrator.Suspended, i.Status)
		})
	})
	t.Run("the flow is held up while it is read", func(t *testing.T) { // in real time: a lock stops the time of a bubble
		a := newValve()
		n, differs, looks := 1, false, true
		f := flow("exposes", func(c *orchestrator.Context) (string, error) {
			c.Expose(func() any {
				before := n
				if looks {
					looks = false
					close(a.open) // now the flow would go on
					for range 10_000 {
						runtime.Gosched()
					}
				}
				differs = differs || n != before
				return count{n}
			})
			c.Emit("ready", nil)
			_, err := ask(c, "a", "")
			n++
			return "", err
		})
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": a}}), f, "x")
		for rec, err := range r.Events(t.Context(), 0) {
			require.NoError(t, err)
			if rec.Kind == "ready" {
				got, err := state(t, r)
				require.NoError(t, err)
				assert.Equal(t, 1, got)
			}
		}
		require.NoError(t, r.Wait(t.Context()))
		got, err := state(t, r)
		require.NoError(t, err)
		assert.Equal(t, 2, got, "at the end")
		assert.False(t, differs)
	})
	t.Run("a panic of the function is an error of its reader", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := newValve()
			f := flow("exposes", func(c *orchestrator.Context) (string, error) {
				var m map[string]int
				c.Expose(func() any { return m["a"] / len(m) })
				text, err := ask(c, "a", "done")
				m = map[string]int{"a": 2}
				return text, err
			})
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}}), f, "x")
			synctest.Wait()
			_, err := state(t, r)
			require.ErrorIs(t, err, orchestrator.ErrFlow)
			require.ErrorContains(t, err, "Expose")
			close(v.open)
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err, "the run goes on")
			assert.Equal(t, "done", got)
		})
	})
	t.Run("a panic at the end stops the run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := flow("exposes", func(c *orchestrator.Context) (none, error) {
				c.Expose(func() any { panic("ouch") })
				return none{}, nil
			})
			_, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
			require.ErrorIs(t, err, orchestrator.ErrFlow)
		})
	})
	t.Run("a function that uses the Context stops the run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := newValve()
			f := flow("exposes", func(c *orchestrator.Context) (string, error) {
				c.Expose(func() any { return c.Elapsed() })
				return ask(c, "a", "")
			})
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}}), f, "x")
			synctest.Wait()
			var got time.Duration
			_ = r.State(t.Context(), &got)
			close(v.open)
			require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrFlow)
		})
	})
}

// A test's FailNow in flow code, or any runtime.Goexit, ends the run and nothing else.
func TestGoexitOfAFlow(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(c *orchestrator.Context) (string, error)
	}{
		{"at once", func(*orchestrator.Context) (string, error) { runtime.Goexit(); return "", nil }},
		{"behind a call", func(c *orchestrator.Context) (string, error) {
			_, _ = ask(c, "a", "")
			runtime.Goexit()
			return "", nil
		}},
		{"in a branch", func(c *orchestrator.Context) (string, error) {
			orchestrator.Map(c, []int{1}, 0, func(c *orchestrator.Context, _ int) (string, error) {
				_, _ = ask(c, "a", "")
				runtime.Goexit()
				return "", nil
			})
			return "", nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: newPlain()})
				err := errors.New("Run did not come back")
				var host sync.WaitGroup
				host.Go(func() { _, err = flow("exits", tt.do).Run(t.Context(), e, none{}) })
				host.Wait()
				require.ErrorIs(t, err, orchestrator.ErrFlow)
				require.ErrorContains(t, err, "Goexit")
				_, err = pair.Run(t.Context(), e, none{})
				require.NoError(t, err, "other runs go on")
			})
		})
	}
}

// Effects in deferred functions are not made when a run is only stopped.
func TestStopRunsDeferredFunctionsWithoutEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		var deferred []string
		note := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			asked = append(asked, req.Prompt)
			if req.Prompt == "work" {
				return hang(ctx, req)
			}
			return agent.Response{}, nil
		})
		f := flow("tidies", func(c *orchestrator.Context) (string, error) {
			defer func() { deferred = append(deferred, "outer") }()
			defer func() {
				_, _ = ask(c.WithoutCancel(), "a", "tidy")
				deferred = append(deferred, "behind the effect")
			}()
			return ask(c, "a", "work")
		})
		s := newPlain()
		c := orchestrator.Config{Agents: agent.Roster{"a": note}, Store: s}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		begin(t, e, f, "x")
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		assert.Equal(t, []string{"work"}, asked)
		assert.Equal(t, []string{"outer"}, deferred)

		r := begin(t, local(t, c), f, "x")
		synctest.Wait()
		require.NoError(t, r.Cancel(t.Context(), ""))
		require.NoError(t, r.Wait(t.Context()))
		assert.Equal(t, []string{"work", "work", "tidy"}, asked, "a cancel is an end, and tidying up is part of it")
	})
}

func TestMapKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("keys", func(c *orchestrator.Context) ([]string, error) {
			var keys []string
			for _, r := range orchestrator.Map(c, []string{"a", "b", "c"}, 2, func(*orchestrator.Context, string) (none, error) { return none{}, nil }) {
				keys = append(keys, r.Key)
			}
			return keys, nil
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
		require.NoError(t, err)
		assert.Equal(t, []string{"0", "1", "2"}, got)
	})
}

// An agent's log is the host's; the library itself has a line for the start of a run, one
// for its end, and what a run stopped of.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			agent.InfoFrom(ctx).Log.Info("the agent says")
			return agent.Response{}, nil
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Log: slog.New(slog.NewTextHandler(&out, nil))})
		_, err := pair.Run(t.Context(), e, none{})
		require.NoError(t, err)
		assert.Equal(t, 4, bytes.Count(out.Bytes(), []byte("\n")), "a start, two calls, an end, nothing else: %s", out.String())
		_, err = flow("panics", func(*orchestrator.Context) (none, error) { panic("ouch") }).Run(t.Context(), e, none{})
		require.Error(t, err)
		assert.Contains(t, out.String(), "ouch")
	})
}

func TestRosterIsCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := agent.Roster{"a": echo}
		e := local(t, orchestrator.Config{Agents: agents})
		delete(agents, "a")
		_, err := pair.Run(t.Context(), e, none{})
		require.NoError(t, err)
	})
}
