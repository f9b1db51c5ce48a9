package flowtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// Two hours of sleep, timeouts, backoff and an answer that does not come take no
// time, and the test demands the exact minute. So does each of its sweep's runs.
func TestTwoHours(t *testing.T) {
	long := orchestrator.Flow[int, int]{Name: "long", Do: func(c *orchestrator.Context, _ int) (int, error) {
		if err := c.Sleep(100 * time.Minute); err != nil {
			return 0, err
		}
		resp, err := c.Call("writer", agent.Request{Limits: agent.Limits{Timeout: 20 * time.Minute}})
		if err != nil {
			return 0, err
		}
		_, err = orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: 10 * time.Minute})
		if !errors.Is(err, orchestrator.ErrTimeout) {
			return 0, fmt.Errorf("want no answer in time, got %w", err)
		}
		return len(resp.Text), c.WithBudget(orchestrator.Budget{Wall: 5 * time.Minute}).Sleep(time.Hour)
	}}
	k := flowtest.New(long, 0, func(tb testing.TB) agent.Roster {
		busy := agent.Transient(errors.New("busy"), 5*time.Minute)
		return agent.Roster{"writer": flowtest.NewScript(tb, flowtest.Fail(1, busy, "five!"))}
	})
	k.Config.Retry.Wait = time.Second
	out, log, err := k.Run(t)
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.Equal(t, 5, out)
	assert.Equal(t, 2*time.Hour, log[len(log)-1].At.Sub(log[0].At).Truncate(time.Minute), "100 asleep, 5 until the second attempt, 10 asking, 5 under the budget")
	k.Sweep(t)
}

// race tells in which order three agents answered.
func race(seen map[string]bool) *flowtest.Case[int, string] {
	f := orchestrator.Flow[int, string]{Name: "race", Do: func(c *orchestrator.Context, _ int) (string, error) {
		q := orchestrator.NewQueue[string](c)
		for _, name := range []string{"a", "b", "c"} {
			q.Go(name, func(c *orchestrator.Context) (string, error) {
				resp, err := c.Call("writer", agent.Request{Prompt: name})
				return resp.Text, err
			})
		}
		var order []string
		for r, ok := q.Next(); ok; r, ok = q.Next() {
			order = append(order, r.Key)
		}
		seen[strings.Join(order, "")] = true // what no flow may do: it is how this test looks on
		return strings.Join(order, ""), nil
	}}
	return flowtest.New(f, 0, func(tb testing.TB) agent.Roster {
		return agent.Roster{"writer": flowtest.NewScript(tb).On("", "fine")}
	})
}

func TestDeterminismTriesManyOrders(t *testing.T) {
	seen := map[string]bool{}
	race(seen).Determinism(t)
	assert.Greater(t, len(seen), 2, "of 6: %v", seen)
}

func TestRunIsTheSameEveryTime(t *testing.T) {
	seen := map[string]bool{}
	for range 5 {
		_, _, err := race(seen).Run(t)
		require.NoError(t, err)
	}
	assert.Len(t, seen, 1)
}

// A sweep is one whole run, and one for each of six faults at each length that the log
// can have; for a kill alone within what the flow writes in one go.
func TestSweepStopsEverywhere(t *testing.T) {
	runs := 0
	f := orchestrator.Flow[int, string]{Name: "short", Do: func(c *orchestrator.Context, _ int) (string, error) {
		_, _ = c.Call("writer", agent.Request{})
		c.Emit("step", nil)
		c.Emit("step", nil)
		c.Emit("step", nil)
		resp, err := c.Call("writer", agent.Request{})
		return resp.Text, err
	}}
	k := flowtest.New(f, 0, func(tb testing.TB) agent.Roster {
		runs++
		return agent.Roster{"writer": flowtest.NewScript(tb).On("", "fine")}
	})
	_, log, err := k.Run(t)
	require.NoError(t, err)
	require.Len(t, log, 7, "started, called, step, step, step, called, ended")
	runs = 0
	k.Sweep(t)
	assert.Equal(t, 1+6*6+2, runs)
	runs, k.Quick = 0, true
	k.Sweep(t)
	assert.Equal(t, 1+4, runs, "before started, called, called, ended")
}

func TestCaseIsStartedAsItSays(t *testing.T) {
	f := orchestrator.Flow[string, string]{Name: "in", Version: 4, Do: func(c *orchestrator.Context, in string) (string, error) {
		return in + " " + c.RunID() + " " + fmt.Sprint(c.Left().Calls), nil
	}}
	k := flowtest.New(f, "tea", func(testing.TB) agent.Roster { return nil })
	k.Options = orchestrator.StartOptions{ID: "mine", Budget: orchestrator.Budget{Calls: 7}}
	out, log, err := k.Run(t)
	require.NoError(t, err)
	assert.Equal(t, "tea case 7", out, "the ID is the case's own")
	assert.Equal(t, []string{runlog.Started, runlog.Ended}, []string{log[0].Kind, log[1].Kind})
	assert.Contains(t, string(log[0].Data), `"version":4`)
}

func TestCaseThatDoesNotStart(t *testing.T) {
	f := orchestrator.Flow[int, int]{Name: "f", Agents: []string{"writer"}, Do: func(*orchestrator.Context, int) (int, error) { return 1, nil }}
	k := flowtest.New(f, 0, func(testing.TB) agent.Roster { return agent.Roster{"writer": agent.Func(nil)} })
	k.Options.Budget.Calls = 1
	out, _, err := k.Run(t)
	require.NoError(t, err)
	assert.Equal(t, 1, out)
	bad := flowtest.New(orchestrator.Flow[any, int]{Name: "f", Do: func(*orchestrator.Context, any) (int, error) { return 1, nil }}, any(make(chan int)), func(testing.TB) agent.Roster { return nil })
	_, log, err := bad.Run(t)
	require.ErrorContains(t, err, "no JSON form")
	assert.Empty(t, log)
}

func TestScriptAnswerWithoutJSON(t *testing.T) {
	_, err := call(t, flowtest.NewScript(t, make(chan int)), "x/0", 1, "")
	assert.ErrorContains(t, err, "no JSON form")
}

// A call that is made again after a crash is answered when the first one would have
// been; a second attempt is another wait.
func TestDelayOfACallThatIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := flowtest.NewScript(t, flowtest.Delay(time.Hour, "late"))
		begun := time.Now()
		ctx, crash := context.WithTimeout(agent.WithInfo(t.Context(), agent.Info{Key: "x/0", Attempt: 1}), 40*time.Minute)
		defer crash()
		_, err := s.Call(ctx, agent.Request{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		got, err := call(t, s, "x/0", 1, "")
		require.NoError(t, err)
		assert.Equal(t, "late", got.Text)
		assert.Equal(t, time.Hour, time.Since(begun))
		_, err = call(t, s, "x/0", 2, "")
		require.NoError(t, err)
		assert.Equal(t, 2*time.Hour, time.Since(begun))
	})
}

func TestAnswersNest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		oops := errors.New("oops")
		s := flowtest.NewScript(t, flowtest.Fail(1, oops, flowtest.Delay(time.Minute, flowtest.Delay(time.Minute, "at last"))))
		_, err := call(t, s, "x/0", 1, "")
		require.ErrorIs(t, err, oops)
		begun := time.Now()
		got, err := call(t, s, "x/0", 2, "")
		require.NoError(t, err)
		assert.Equal(t, "at last", got.Text)
		assert.Equal(t, 2*time.Minute, time.Since(begun))
	})
}

func TestScriptIsSafeForConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := flowtest.NewScript(t).On("", "fine")
		done := make(chan error)
		for i := range 20 {
			go func() {
				ctx := agent.WithInfo(t.Context(), agent.Info{Key: fmt.Sprint("x/", i)})
				_, err := s.Call(ctx, agent.Request{Prompt: "p"})
				done <- err
			}()
		}
		for range 20 {
			require.NoError(t, <-done)
		}
		assert.Len(t, s.Requests(), 20)
	})
}

// The report of what was not asked for comes only where nothing else has failed: it
// would hide the cause.
func TestUnusedAnswersOfATestThatFailed(t *testing.T) {
	r := &recorder{TB: t}
	flowtest.NewScript(r, "one")
	r.Errorf("the cause")
	assert.Equal(t, []string{"the cause"}, r.end())
}

func TestBubbleOfATestThatEnds(t *testing.T) {
	ran := false
	flowtest.Bubble(t, func(t *testing.T) {
		begun := time.Now()
		<-time.After(time.Hour)
		assert.Equal(t, time.Hour, time.Since(begun))
		ran = true
	})
	assert.True(t, ran)
}

// tight is a store of four methods, or with blobs, that counts.
type tight struct {
	runlog.Store
	appended *int
}

func (s tight) Append(ctx context.Context, recs []runlog.Record) error {
	*s.appended += len(recs)
	return s.Store.Append(ctx, recs)
}

// TestStore has cases on stores of their own, with and without blobs for large answers.
func TestStore(t *testing.T) {
	large := strings.Repeat("x", 100_000)
	for name, open := range map[string]func(s runlog.Store, mem *runlog.Memory) runlog.Store{
		"four methods": func(s runlog.Store, _ *runlog.Memory) runlog.Store { return s },
		"with blobs": func(s runlog.Store, mem *runlog.Memory) runlog.Store {
			return struct {
				runlog.Store
				runlog.Blobs
			}{s, mem}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := orchestrator.Flow[int, int]{Name: "f", Do: func(c *orchestrator.Context, _ int) (int, error) {
				resp, err := c.Call("writer", agent.Request{Prompt: "p"})
				return len(resp.Text), err
			}}
			k := flowtest.New(f, 0, func(tb testing.TB) agent.Roster {
				return agent.Roster{"writer": flowtest.NewScript(tb, large)}
			})
			opened, closed, appended := 0, 0, 0
			k.Store = func(tb testing.TB) runlog.Store {
				opened++
				tb.Cleanup(func() { closed++ })
				mem := runlog.NewMemory()
				return open(tight{mem, &appended}, mem)
			}
			out, log, err := k.Run(t)
			require.NoError(t, err)
			assert.Equal(t, len(large), out)
			assert.Len(t, log, 3, "started, called, ended")
			assert.Equal(t, 3, appended)
			assert.Contains(t, string(log[1].Data), large)
			assert.Equal(t, 1, opened)
			k.Sweep(t)
			assert.Equal(t, 1+1+4*6, opened, "one whole, and six faults behind none to three records")
			k.Determinism(t)
			assert.Equal(t, 1+1+4*6+2*16, opened, "a run and its replay")
			assert.Equal(t, opened, closed)
		})
	}
}
