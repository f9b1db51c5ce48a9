package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// narrow is a store that takes no record and no blob of more than most bytes. Each Append
// takes 10 ms.
type narrow struct {
	plain
	most  *atomic.Int64
	never error
}

func newNarrow(most int64) narrow {
	n := narrow{newPlain(), new(atomic.Int64), runlog.ErrTooLarge}
	n.most.Store(most)
	return n
}

func (s narrow) Append(ctx context.Context, recs []runlog.Record) error {
	pause(10 * time.Millisecond)
	for _, rec := range recs {
		if int64(len(rec.Data)) > s.most.Load() {
			return fmt.Errorf("narrow: %w: record %d", s.never, rec.Seq)
		}
	}
	return s.plain.Append(ctx, recs)
}

func (s narrow) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	if int64(len(data)) > s.most.Load() {
		return "", fmt.Errorf("narrow: %w: a blob", s.never)
	}
	return s.plain.PutBlob(ctx, run, data)
}

// silent is a store that takes no answers, and does not say that it never will.
type silent struct{ *runlog.Memory }

func (s silent) Append(ctx context.Context, recs []runlog.Record) error {
	if has(recs, runlog.Called, "") {
		return doubles.ErrDouble
	}
	return s.Memory.Append(ctx, recs)
}

// bill answers with so many bytes, at a price.
func bill(bytes int, calls *atomic.Int64) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		calls.Add(1)
		return agent.Response{Text: strings.Repeat("x", bytes), Usage: providers.Usage{Calls: 1, Cost: 5, Output: 7}}, nil
	})
}

func TestRecordsThatAStoreNeverTakes(t *testing.T) {
	for _, size := range []int{30 << 10, 100 << 10} { // in the record, and beside it
		for _, never := range []error{runlog.ErrTooLarge, runlog.ErrRefused} {
			want := map[error]error{runlog.ErrTooLarge: orchestrator.ErrTooLarge, runlog.ErrRefused: orchestrator.ErrUnstorable}[never]
			t.Run(fmt.Sprintf("N11 an answer of %d bytes fails its call, once: %v", size, never), func(t *testing.T) {
				flowtest.Bubble(t, func(t *testing.T) {
					t.Helper()
					s := newNarrow(20 << 10)
					s.never = never
					var calls atomic.Int64
					var got error
					f := flow("one", func(c *orchestrator.Context) (string, error) {
						_, got = ask(c, "large", "x")
						return ask(c, "a", "on")
					})
					e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo, "large": bill(size, &calls)}, Store: s, Flows: []orchestrator.AnyFlow{f}})
					_, err := e.Resume(t.Context())
					require.NoError(t, err)
					r := begin(t, e, f, "x")
					out, err := f.Result(t.Context(), r)
					require.NoError(t, err)
					assert.Equal(t, "on", out)
					require.ErrorIs(t, got, want)
					require.ErrorContains(t, got, "narrow:", "the store's words are in it")
					assert.Equal(t, int64(1), calls.Load(), "it was paid for once")
					i := infoOf(t, r)
					assert.Equal(t, orchestrator.Completed, i.Status)
					assert.Equal(t, providers.Usage{Calls: 2, Cost: 5, Output: 7}, i.Spent)
					assert.Zero(t, i.Lost)
				})
			})
		}
	}
	t.Run("N11 no other run waits for it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			var calls atomic.Int64
			f := flow("large", func(c *orchestrator.Context) (none, error) {
				_, err := ask(c, "large", "x")
				assert.ErrorIs(t, err, orchestrator.ErrTooLarge)
				return none{}, nil
			})
			e := local(t, orchestrator.Config{
				Agents: agent.Roster{"a": after(time.Second), "large": bill(30<<10, &calls)},
				Store:  newNarrow(20 << 10), Fleet: orchestrator.Fleet{Outage: 5 * time.Second},
			})
			var runs []*orchestrator.Run
			n := roundtest.Of(300, 3000)
			for i := range n {
				if i%100 == 0 {
					runs = append(runs, begin(t, e, f, fmt.Sprint("large", i)))
				}
				runs = append(runs, begin(t, e, pair, fmt.Sprint(i)))
			}
			for _, r := range runs {
				require.NoError(t, r.Wait(t.Context()))
				i := infoOf(t, r)
				assert.LessOrEqual(t, i.Changed.Sub(i.Started), 4*time.Second, "two seconds for its calls, and the commits of all")
			}
			assert.Equal(t, int64(n/100), calls.Load())
		})
	})
	t.Run("N11 a result is no call: the run is stuck", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			for _, size := range []int{30 << 10, 100 << 10} {
				s := newNarrow(20 << 10)
				a := newPerCall(after(time.Second))
				f := flow("result", func(c *orchestrator.Context) (string, error) {
					_, err := ask(c, "a", "x")
					return strings.Repeat("x", size), err
				})
				c := orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Flows: []orchestrator.AnyFlow{f}}
				e := local(t, c)
				_, err := e.Resume(t.Context())
				require.NoError(t, err)
				r := begin(t, e, f, "x")
				for range 3 {
					err = r.Wait(t.Context())
					require.ErrorIs(t, err, orchestrator.ErrFlow)
					require.ErrorIs(t, err, orchestrator.ErrTooLarge)
					i := infoOf(t, r)
					assert.Equal(t, orchestrator.Stuck, i.Status)
					assert.Contains(t, i.Err, `record "ended"`)
					assert.Contains(t, i.Err, "narrow: runlog: too large")
					assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Stuck}, kinds(logOf(t, s, "x")))
					require.NoError(t, r.Retry(t.Context()))
					synctest.Wait()
				}
				s.most.Store(1 << 20)
				require.NoError(t, r.Retry(t.Context()))
				got, err := f.Result(t.Context(), r)
				require.NoError(t, err)
				assert.Len(t, got, size)
				assert.Empty(t, a.repeated())
			}
		})
	})
	t.Run("N11 nor is what a flow emits", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := newNarrow(20 << 10)
			a := newPerCall(after(time.Second))
			f := flow("emits", func(c *orchestrator.Context) (string, error) {
				c.Emit("small", 1)
				if _, err := ask(c, "a", "1"); err != nil {
					return "", err
				}
				c.Emit("small", 2)
				c.Emit("large", strings.Repeat("x", 30<<10))
				c.Emit("small", 3)
				return ask(c, "a", "2")
			})
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s})
			r := begin(t, e, f, "x")
			require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrTooLarge)
			assert.Equal(t, orchestrator.Stuck, infoOf(t, r).Status)
			log := strings.Join(kinds(logOf(t, s, "x")), " ")
			assert.True(t, strings.HasPrefix(log, "started small called small"), log)
			assert.Contains(t, log, "stuck")
			assert.NotContains(t, log, "large")
			s.most.Store(1 << 20)
			require.NoError(t, r.Retry(t.Context()))
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, "2", got)
			log = strings.Join(kinds(logOf(t, s, "x")), " ")
			assert.Equal(t, 3, strings.Count(log, "small"), log)
			assert.Equal(t, 1, strings.Count(log, "large"), log)
			assert.Equal(t, 2, strings.Count(log, "called"), log)
		})
	})
	t.Run("N11 a start is refused, and leaves nothing", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			in := orchestrator.Flow[string, string]{Name: "in", Do: func(_ *orchestrator.Context, in string) (string, error) { return in[:1], nil }}
			for _, size := range []int{30 << 10, 100 << 10} {
				s := newNarrow(20 << 10)
				e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
				begun := time.Now()
				_, err := in.Start(t.Context(), e, strings.Repeat("x", size), orchestrator.StartOptions{ID: "x"})
				require.ErrorIs(t, err, orchestrator.ErrTooLarge)
				require.NotErrorIs(t, err, orchestrator.ErrFlow)
				assert.LessOrEqual(t, time.Since(begun), 100*time.Millisecond)
				_, err = e.Open(t.Context(), "x")
				require.ErrorIs(t, err, orchestrator.ErrNoRun)
				got, err := in.Run(t.Context(), e, "y", orchestrator.StartOptions{ID: "x"})
				require.NoError(t, err)
				assert.Equal(t, "y", got)
			}
		})
	})
	t.Run("N11 a child is a call", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			child := orchestrator.Flow[string, string]{Name: "child", Do: func(c *orchestrator.Context, in string) (string, error) { return ask(c, "a", in[:1]) }}
			f := flow("parent", func(c *orchestrator.Context) (string, error) {
				_, err := child.Child(c, strings.Repeat("x", 30<<10))
				if !errors.Is(err, orchestrator.ErrTooLarge) {
					return "", fmt.Errorf("the child: %w", err)
				}
				return child.Child(c, "y")
			})
			got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: newNarrow(20 << 10)}), none{})
			require.NoError(t, err)
			assert.Equal(t, "y", got)
		})
	})
	t.Run("N11 a request that cannot be recorded fails its call, which is not made", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			a := &counted{Agent: echo}
			f := flow("asks", func(c *orchestrator.Context) (string, error) {
				if _, err := ask(c, "a", strings.Repeat("x", 30<<10)); !errors.Is(err, orchestrator.ErrTooLarge) {
					return "", fmt.Errorf("the large request: %w", err)
				}
				return ask(c, "a", "small")
			})
			c := orchestrator.Config{Agents: agent.Roster{"a": a}, Store: newNarrow(20 << 10), Requests: orchestrator.Requests{Record: true}}
			got, err := f.Run(t.Context(), local(t, c), none{})
			require.NoError(t, err)
			assert.Equal(t, "small", got)
			assert.Equal(t, int64(1), a.calls.Load())
		})
	})
	t.Run("N11 an outage is followed by a rest", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			a := &counted{Agent: after(time.Second)}
			s := silent{runlog.NewMemory()}
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Fleet: orchestrator.Fleet{Outage: time.Second}})
			_, err := e.Resume(t.Context())
			require.NoError(t, err)
			begin(t, e, pair, "x")
			pause(time.Minute)
			assert.LessOrEqual(t, a.calls.Load(), int64(10), "each takes 7 s and more")
			assert.GreaterOrEqual(t, a.calls.Load(), int64(5))
		})
	})
}
