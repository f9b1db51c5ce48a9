package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
)

// limited is a Task of agent "a" with limits.
func limited(limits agent.Limits) *Task {
	return &Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{Limits: limits}}
}

// deaf is an agent that ignores its context and returns when free is closed.
func deaf(free <-chan struct{}) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) {
		<-free
		return agent.Response{Text: "late"}, nil
	}
}

// obeys is an agent that returns when its context is done.
func obeys(ctx context.Context, _ agent.Request) (agent.Response, error) {
	<-ctx.Done()
	return agent.Response{}, ctx.Err()
}

// goes executes the task in the background. done has the result of Returned.
func goes(t *testing.T, task *Task, a agent.Agent, retry Retry) (done <-chan bool) {
	t.Helper()
	late := make(chan bool, 1)
	go func() {
		task.Execute(t.Context(), agent.Roster{"a": a}, retry)
		late <- task.Returned()
	}()
	synctest.Wait()
	return late
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func TestPatience(t *testing.T) {
	for name, tt := range map[string]struct {
		limits agent.Limits
		want   time.Duration
	}{
		"none without a limit of time":    {agent.Limits{Attempts: 3, Slice: time.Hour}, 0},
		"none for a Grace without limits": {agent.Limits{Grace: time.Minute}, 0},
		"none for limits below zero":      {agent.Limits{Timeout: -1, Total: -1}, 0},
		"Timeout and the default Grace":   {agent.Limits{Timeout: time.Minute}, time.Minute + DefaultGrace},
		"Timeout and Grace":               {agent.Limits{Timeout: time.Minute, Grace: 5 * time.Second}, 65 * time.Second},
		"Total and Grace":                 {agent.Limits{Total: time.Hour, Grace: time.Minute}, 61 * time.Minute},
		"Total, where it is shorter":      {agent.Limits{Timeout: time.Hour, Total: time.Minute}, time.Minute + DefaultGrace},
		"Timeout, where it is shorter":    {agent.Limits{Timeout: time.Minute, Total: time.Hour}, time.Minute + DefaultGrace},
		"Total beside a negative Timeout": {agent.Limits{Timeout: -1, Total: time.Hour}, time.Hour + DefaultGrace},
		"Timeout beside a negative Total": {agent.Limits{Timeout: time.Hour, Total: -1}, time.Hour + DefaultGrace},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, limited(tt.limits).Patience())
		})
	}
}

func TestCancelSaysWhetherGraceBegins(t *testing.T) {
	t.Run("the first one", func(t *testing.T) {
		task := limited(agent.Limits{})
		assert.True(t, task.Cancel())
		assert.False(t, task.Cancel())
	})
	t.Run("not once the agent has returned", func(t *testing.T) {
		task := limited(agent.Limits{})
		assert.False(t, task.Returned())
		assert.False(t, task.Cancel())
	})
	t.Run("not once the agent was left behind, whose context it still ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			var seen context.Context
			task := limited(agent.Limits{Timeout: time.Second})
			late := goes(t, task, agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				seen = ctx
				return deaf(free)(ctx, req)
			}), Retry{})
			pass(task.Patience())
			left, _ := task.Overdue()
			require.NotNil(t, left)
			assert.False(t, task.Cancel())
			require.Error(t, seen.Err())
			close(free)
			assert.True(t, <-late)
		})
	})
}

func TestOverdue(t *testing.T) {
	t.Run("a canceled agent has its Grace, and a second Cancel does not prolong it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			task := limited(agent.Limits{Grace: 10 * time.Second})
			late := goes(t, task, deaf(free), Retry{})
			pass(time.Hour)
			require.True(t, task.Cancel())
			pass(4 * time.Second)
			task.Cancel()
			left, again := task.Overdue()
			assert.Nil(t, left)
			assert.Equal(t, 6*time.Second, again)
			pass(again - 1)
			left, again = task.Overdue()
			assert.Nil(t, left)
			assert.Equal(t, time.Duration(1), again)
			pass(again)
			left, again = task.Overdue()
			require.EqualError(t, left, `canceled: agent "a" did not return within 10s and was left behind: it ignores its ctx`)
			assert.Zero(t, again)
			assert.Equal(t, []agent.Code{ErrCanceled, ErrLeft}, left.Codes)
			require.ErrorIs(t, left, context.Canceled)
			assert.False(t, left.Transient)
			close(free)
			assert.True(t, <-late)
		})
	})
	t.Run("an attempt over its limit has its Grace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			task := limited(agent.Limits{Timeout: time.Minute})
			late := goes(t, task, deaf(free), Retry{})
			left, again := task.Overdue()
			assert.Nil(t, left)
			assert.Equal(t, task.Patience(), again, "asked at the start, it says what Patience does")
			pass(task.Patience())
			left, again = task.Overdue()
			require.EqualError(t, left, `timeout: agent "a" did not return within 1s and was left behind: it ignores its ctx`)
			assert.Zero(t, again)
			assert.Equal(t, []agent.Code{ErrTimeout, ErrLeft}, left.Codes)
			assert.False(t, left.Transient)
			left, again = task.Overdue()
			assert.Nil(t, left, "it is left behind once")
			assert.Zero(t, again)
			close(free)
			assert.True(t, <-late)
			assert.Equal(t, "late", task.Response.Text)
		})
	})
	t.Run("a Cancel after the limit begins a Grace of its own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			task := limited(agent.Limits{Timeout: time.Minute, Grace: time.Minute})
			late := goes(t, task, deaf(free), Retry{})
			pass(90 * time.Second)
			assert.True(t, task.Cancel())
			_, again := task.Overdue()
			assert.Equal(t, time.Minute, again)
			close(free)
			assert.False(t, <-late)
		})
	})
	t.Run("between two attempts it asks again after Grace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			task := limited(agent.Limits{Timeout: time.Second, Grace: 3 * time.Second, Attempts: 2})
			late := goes(t, task, agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				return agent.Response{}, agent.Transient(errors.New("busy"), time.Hour)
			}), Retry{})
			for range 3 {
				pass(time.Minute)
				left, again := task.Overdue()
				assert.Nil(t, left)
				assert.Equal(t, 3*time.Second, again)
				assert.True(t, task.Underway())
			}
			assert.False(t, <-late)
			assert.False(t, task.Underway())
		})
	})
	t.Run("an agent that has returned is not overdue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			task := limited(agent.Limits{Timeout: time.Second})
			assert.False(t, <-goes(t, task, agent.Func(obeys), Retry{Attempts: 1}))
			pass(time.Hour)
			left, again := task.Overdue()
			assert.Nil(t, left)
			assert.Zero(t, again)
			assert.False(t, task.Returned(), "asked twice it says the same")
		})
	})
}

// TestLeftOrReturned has an agent return at the moment in which many ask whether it is
// overdue: one of both wins, and all agree on which.
func TestLeftOrReturned(t *testing.T) {
	outcomes := map[bool]int{}
	for round := range 200 {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			task := limited(agent.Limits{Grace: time.Second})
			late := goes(t, task, deaf(free), Retry{})
			task.Cancel()
			pass(time.Second)
			left := make(chan *agent.Error, 4)
			for i := range cap(left) {
				if i == round%cap(left) {
					close(free)
				}
				if round%2 == 0 {
					synctest.Wait()
				}
				go func() {
					err, again := task.Overdue()
					assert.Zero(t, again)
					left <- err
				}()
			}
			n := 0
			for range cap(left) {
				if <-left != nil {
					n++
				}
			}
			wasLate := <-late
			assert.Equal(t, wasLate, n == 1, "late %t, left behind %d times", wasLate, n)
			assert.LessOrEqual(t, n, 1)
			assert.Equal(t, wasLate, task.Returned())
			assert.False(t, task.Underway())
			outcomes[wasLate]++
		})
	}
	assert.Len(t, outcomes, 2, "both happen")
}
