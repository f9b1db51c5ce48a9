package engine

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
)

// within is what came of ExecuteWithin in a bubble.
type within struct {
	task *Task
	left *agent.Error
	took time.Duration
}

// stopsAt is a channel that is closed after a time.
func stopsAt(after time.Duration) <-chan struct{} {
	stop := make(chan struct{})
	time.AfterFunc(after, func() { close(stop) })
	return stop
}

// executeWithin makes a call in a bubble of its own. A bubble ends only when all of its
// goroutines have: free, which an agent may wait for, is closed behind the call.
func executeWithin(t *testing.T, limits agent.Limits, stop func() <-chan struct{}, a func(free <-chan struct{}) agent.Agent, retry Retry) (w within) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		w.task = limited(limits)
		begun := time.Now()
		w.left = w.task.ExecuteWithin(t.Context(), stop(), agent.Roster{"a": a(free)}, retry)
		w.took = time.Since(begun)
		close(free)
		if w.left != nil { // only then is a goroutine left, whose agent returns some time
			<-time.NewTimer(time.Hour).C
		}
	})
	return w
}

func always(a agent.Func) func(<-chan struct{}) agent.Agent {
	return func(<-chan struct{}) agent.Agent { return a }
}

func isDeaf(free <-chan struct{}) agent.Agent { return deaf(free) }

// deafFor is an agent that ignores its context, and answers after d.
func deafFor(d time.Duration) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) {
		<-time.NewTimer(d).C
		return agent.Response{Text: "slow"}, nil
	}
}

func noStop() <-chan struct{} { return nil }

func in(d time.Duration) func() <-chan struct{} {
	return func() <-chan struct{} { return stopsAt(d) }
}

func TestExecuteWithin(t *testing.T) {
	minute := agent.Limits{Timeout: time.Minute, Attempts: 1}
	patient := agent.Limits{Timeout: time.Minute, Grace: 10 * time.Second, Attempts: 1}
	for name, tt := range map[string]struct {
		limits agent.Limits
		stop   func() <-chan struct{}
		agent  func(free <-chan struct{}) agent.Agent
		took   time.Duration
		err    error // failure of the call; nil: it has an answer
		left   bool
	}{
		"an answer": {minute, noStop, always(deafFor(time.Second)), time.Second, nil, false},
		"an answer after a very long time without limits":  {agent.Limits{}, noStop, always(deafFor(1000 * time.Hour)), 1000 * time.Hour, nil, false},
		"an agent that obeys its limit":                    {minute, noStop, always(obeys), time.Minute, ErrTimeout, false},
		"an agent that obeys stop":                         {minute, in(5 * time.Second), always(obeys), 5 * time.Second, context.Canceled, false},
		"an agent that obeys stop, without limits":         {agent.Limits{}, in(5 * time.Second), always(obeys), 5 * time.Second, context.Canceled, false},
		"an agent that is deaf for less than its Grace":    {patient, noStop, always(deafFor(69 * time.Second)), 69 * time.Second, nil, false},
		"an agent that is deaf to stop for less than that": {patient, in(time.Second), always(deafFor(10 * time.Second)), 10 * time.Second, nil, false},
		"an agent that never returns":                      {patient, noStop, isDeaf, 70 * time.Second, ErrTimeout, true},
		"an agent that is deaf to stop":                    {patient, in(5 * time.Second), isDeaf, 15 * time.Second, ErrCanceled, true},
		"an agent that is deaf to stop, without limits":    {agent.Limits{}, in(time.Hour), isDeaf, time.Hour + DefaultGrace, ErrCanceled, true},
		"stop after the limit":                             {patient, in(65 * time.Second), isDeaf, 75 * time.Second, ErrCanceled, true},
		"stop after the agent was left behind":             {patient, in(time.Hour), isDeaf, 70 * time.Second, ErrTimeout, true},
		"stop after the answer":                            {patient, in(time.Hour), always(deafFor(time.Second)), time.Second, nil, false},
		"Total over many attempts":                         {agent.Limits{Total: time.Minute, Attempts: 9, Timeout: 25 * time.Second}, noStop, always(obeys), time.Minute, ErrTimeout, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := executeWithin(t, tt.limits, tt.stop, tt.agent, Retry{Initial: 1, Max: 1})
			assert.Equal(t, tt.took, w.took.Round(time.Millisecond))
			if tt.left {
				require.ErrorIs(t, w.left, tt.err)
				require.ErrorIs(t, w.left, ErrLeft)
				return
			}
			require.Nil(t, w.left)
			assert.False(t, w.task.Ended.IsZero())
			assert.False(t, w.task.Underway())
			if tt.err == nil {
				require.Nil(t, w.task.Err)
				assert.Equal(t, "slow", w.task.Response.Text)
				return
			}
			require.ErrorIs(t, w.task.Err, tt.err)
			assert.NotErrorIs(t, w.task.Err, ErrLeft)
		})
	}
}

func TestExecuteWithinStoppedBefore(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	before := func() <-chan struct{} { return closed }
	for range 50 {
		w := executeWithin(t, agent.Limits{}, before, always(obeys), Retry{})
		require.Nil(t, w.left)
		require.ErrorIs(t, w.task.Err, context.Canceled)
		assert.Zero(t, w.took)
		w = executeWithin(t, agent.Limits{}, before, isDeaf, Retry{})
		if w.left == nil { // the stop came first
			require.ErrorContains(t, w.task.Err, "before the call began")
			assert.Zero(t, w.took)
			continue
		}
		require.ErrorIs(t, w.left, ErrCanceled)
		assert.Equal(t, DefaultGrace, w.took)
	}
}

func TestExecuteWithinOfAgentsThatFail(t *testing.T) {
	t.Run("a panic", func(t *testing.T) {
		w := executeWithin(t, agent.Limits{}, noStop, always(func(context.Context, agent.Request) (agent.Response, error) { panic("ouch") }), Retry{})
		require.Nil(t, w.left)
		require.EqualError(t, w.task.Err, `agent "a" panicked: ouch`)
		assert.Equal(t, []agent.Code{"panic"}, w.task.Err.Codes)
		assert.Contains(t, w.task.Err.Stack, "within_test.go")
	})
	t.Run("the end of the goroutine", func(t *testing.T) {
		w := executeWithin(t, agent.Limits{Timeout: time.Hour}, in(time.Hour), always(func(context.Context, agent.Request) (agent.Response, error) {
			runtime.Goexit()
			return agent.Response{}, nil
		}), Retry{})
		require.Nil(t, w.left)
		require.ErrorContains(t, w.task.Err, "ended its goroutine")
		assert.Zero(t, w.took)
		assert.False(t, w.task.Ended.IsZero())
	})
	t.Run("a panic after stop", func(t *testing.T) {
		w := executeWithin(t, agent.Limits{}, in(time.Second), always(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			<-ctx.Done()
			panic(ctx.Err())
		}), Retry{})
		require.Nil(t, w.left)
		require.ErrorContains(t, w.task.Err, "panicked: context canceled")
		assert.Equal(t, time.Second, w.took)
	})
	t.Run("an unknown agent", func(t *testing.T) {
		w := executeWithin(t, agent.Limits{Timeout: time.Hour}, noStop, func(<-chan struct{}) agent.Agent { return nil }, Retry{})
		require.Nil(t, w.left)
		require.ErrorIs(t, w.task.Err, ErrNoAgent)
		assert.Zero(t, w.took)
	})
	t.Run("a stop in the wait between two attempts", func(t *testing.T) {
		w := executeWithin(t, agent.Limits{}, in(time.Minute), always(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{}, agent.Transient(errors.New("busy"), time.Hour)
		}), Retry{})
		require.Nil(t, w.left)
		require.EqualError(t, w.task.Err, "busy")
		assert.Equal(t, time.Minute, w.took)
	})
	t.Run("the end of the caller's context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			task := limited(agent.Limits{})
			require.Nil(t, task.ExecuteWithin(ctx, nil, agent.Roster{"a": agent.Func(obeys)}, Retry{}))
			require.ErrorIs(t, task.Err, context.DeadlineExceeded)
		})
	})
}

// TestExecuteWithinLeavesNoGoroutine counts goroutines outside of a bubble, while a deaf
// agent still executes.
func TestExecuteWithinLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	free, entered := make(chan struct{}), make(chan struct{})
	var deafAgents []*Task
	for range 10 {
		stop := make(chan struct{})
		task := limited(agent.Limits{Grace: time.Millisecond, Timeout: time.Hour})
		go func() {
			<-entered
			close(stop)
		}()
		left := task.ExecuteWithin(t.Context(), stop, agent.Roster{"a": agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			entered <- struct{}{}
			return deaf(free)(ctx, req)
		})}, Retry{})
		require.ErrorIs(t, left, ErrLeft)
		deafAgents = append(deafAgents, task)
	}
	goroutines := func(most int) {
		for range 10_000 {
			if runtime.NumGoroutine() <= most {
				return
			}
			<-time.NewTimer(time.Millisecond).C
		}
		assert.Failf(t, "too many goroutines", "%d, want %d", runtime.NumGoroutine(), most)
	}
	goroutines(before + len(deafAgents))
	close(free)
	goroutines(before)
	for _, task := range deafAgents {
		assert.True(t, task.Returned(), "left behind for good")
	}
}

// TestExecuteWithinAgainstTimeline compares what ExecuteWithin does with the timeline of a
// random call: it waits for an agent that returns in time, and for no other.
func TestExecuteWithinAgainstTimeline(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plays.Draw(rt, "play")
		canceled, stop := never, noStop
		if rapid.Bool().Draw(rt, "stops") {
			canceled = time.Duration(rapid.IntRange(0, 20).Draw(rt, "stop"))*time.Second + time.Second/2
			stop = in(canceled)
		}
		n := 0
		w := executeWithin(t, p.limits, stop, func(<-chan struct{}) agent.Agent { return p.agent(&n) }, Retry{Initial: 1, Max: 1})
		took, grace := w.took.Round(time.Millisecond), p.limits.Grace
		all, over := p.timeline(canceled)
		switch {
		case w.left == nil:
			require.Equal(rt, over, took, "it returns when the agent does")
			require.Len(rt, all, n)
			if canceled != never {
				require.LessOrEqual(rt, took, canceled+grace)
			}
			for _, a := range all {
				require.False(rt, a.due != never && a.end >= a.due+2*grace, "attempt %+v was deaf for more than two Graces", a)
			}
		case errors.Is(w.left, ErrCanceled):
			require.Equal(rt, canceled+grace, took, "Grace begins with the stop")
			require.Greater(rt, over, took)
		default:
			require.ErrorIs(rt, w.left, ErrTimeout)
			require.Less(rt, took, canceled)
			now := all[len(all)-1]
			for _, a := range all {
				if a.start <= took && took <= a.end {
					now = a
				}
			}
			require.GreaterOrEqual(rt, took, now.due+grace, "not before Grace is over")
			require.Less(rt, took, now.due+2*grace, "and not a Grace later")
			require.Greater(rt, now.end, took)
		}
	})
}
