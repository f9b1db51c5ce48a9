package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
)

type ctxKey struct{}

// under is a callContext of an attempt, with its end.
func under(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	c := &callContext{parent: parent, info: &agent.Info{Run: "r", Agent: "a"}}
	if limit != 0 {
		c.until = time.Now().Add(limit)
	}
	return c, func() {
		_ = c.Err() // a deadline that is over counts from when it is looked at
		c.end()
	}
}

func standard(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	parent = agent.WithInfo(parent, agent.Info{Run: "r", Agent: "a"})
	if limit == 0 {
		return context.WithCancel(parent)
	}
	return context.WithTimeout(parent, limit)
}

// TestLikeContext does random things to a callContext and to what package context has
// in its place, and compares all that can be seen whenever all is quiet.
func TestLikeContext(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		program := rapid.SliceOfN(rapid.IntRange(0, 1<<16), 1, 24).Draw(rt, "program")
		ours, theirs := trace(t, program, under), trace(t, program, standard)
		require.Equal(rt, theirs, ours)
	})
}

// trace does what program says with a context that make makes.
func trace(t *testing.T, program []int, make func(context.Context, time.Duration) (context.Context, context.CancelFunc)) (log []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		say := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
		parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), ctxKey{}, "value"))
		if program[0]%3 == 0 {
			var cancel context.CancelFunc
			parent, cancel = context.WithTimeout(parent, time.Duration(program[0]%7)*time.Second)
			defer cancel()
		}
		limit := time.Duration(program[0]%5) * time.Second
		c, cancel := make(parent, limit)
		defer cancel()
		all := []context.Context{c}
		var stops []func() bool
		var cancels []context.CancelFunc
		var called atomic.Int64
		for _, p := range program[1:] {
			i := p / 16 % len(all)
			switch p % 16 {
			case 0:
				cancel()
			case 1:
				cancelParent(errors.New("the parent's cause"))
			case 2, 3:
				<-time.NewTimer(time.Duration(p/16%4) * time.Second).C
			case 4, 5:
				d, stop := context.WithCancel(all[i])
				all, cancels = append(all, d), append(cancels, stop)
			case 6, 7:
				d, stop := context.WithTimeout(all[i], time.Duration(p/16%6)*time.Second)
				all, cancels = append(all, d), append(cancels, stop)
			case 8:
				all = append(all, context.WithValue(all[i], ctxKey{}, p))
			case 9:
				all = append(all, context.WithoutCancel(all[i]))
			case 10, 11:
				stops = append(stops, context.AfterFunc(all[i], func() { called.Add(1) }))
			case 12:
				if len(stops) > 0 {
					synctest.Wait()
					say("stopped %v", stops[p/16%len(stops)]())
				}
			case 13:
				if len(cancels) > 0 {
					cancels[p/16%len(cancels)]()
				}
			default:
				_ = all[i].Done()
			}
			for _, c := range all {
				_ = c.Done() // the first one may need a moment to be closed
			}
			synctest.Wait()
			say("called %d", called.Load())
			for _, c := range all {
				at, ok := c.Deadline()
				done := false
				select {
				case <-c.Done():
					done = true
				default:
				}
				say("%v %v %v %v %v %v %v", time.Until(at), ok, c.Err(), context.Cause(c) != nil, done, c.Value(ctxKey{}), agent.InfoFrom(c).Key)
			}
		}
		for _, stop := range slices.Concat(cancels, []context.CancelFunc{cancel, func() { cancelParent(nil) }}) {
			stop()
		}
	})
	return log
}

func TestCallContext(t *testing.T) {
	t.Run("contexts of package context derived from it start no goroutine", func(t *testing.T) {
		c, cancel := under(t.Context(), time.Hour)
		before := runtime.NumGoroutine()
		for range 100 {
			one, stop := context.WithCancel(c)
			defer stop()
			two, stop := context.WithTimeout(one, time.Minute)
			defer stop()
			defer context.AfterFunc(two, func() {})()
		}
		assert.LessOrEqual(t, runtime.NumGoroutine(), before, "those of other tests may have ended meanwhile")
		cancel()
	})
	t.Run("one that nothing asks for has no timer, no channel and no tie", func(t *testing.T) {
		c := &callContext{parent: t.Context(), until: time.Now().Add(time.Hour)}
		require.NoError(t, c.Err())
		c.end()
		require.ErrorIs(t, c.Err(), context.Canceled)
		assert.Nil(t, c.std)
		<-c.Done()
	})
	t.Run("what was stopped is not called", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &callContext{parent: t.Context()}
			called := [3]int{}
			var stops [3]func() bool
			for i := range called {
				stops[i] = context.AfterFunc(c, func() { called[i]++ })
			}
			assert.True(t, stops[1]())
			assert.False(t, stops[1]())
			c.end()
			synctest.Wait()
			assert.Equal(t, [3]int{1, 0, 1}, called)
			assert.False(t, stops[0]())
			assert.False(t, context.AfterFunc(c, func() { called[0]++ })(), "it is called at once")
			synctest.Wait()
			assert.Equal(t, 2, called[0])
		})
	})
	t.Run("its end is its first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &callContext{parent: t.Context(), until: time.Now().Add(time.Second)}
			done := c.Done()
			c.end()
			<-time.NewTimer(time.Minute).C
			<-done
			require.ErrorIs(t, c.Err(), context.Canceled)
			assert.False(t, c.overdue())
		})
	})
	t.Run("the deadline is over also where nothing waited for it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &callContext{parent: t.Context(), until: time.Now().Add(time.Second)}
			<-time.NewTimer(time.Second).C
			require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
			assert.True(t, c.overdue())
			<-c.Done()
		})
	})
	t.Run("a parent's deadline is not the attempt's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			parent, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			c := &callContext{parent: parent}
			<-time.NewTimer(2 * time.Second).C
			require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
			assert.False(t, c.overdue())
		})
	})
	t.Run("its end stops its timer and unties it from its parent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &callContext{parent: t.Context(), until: time.Now().Add(time.Hour)}
			_ = c.Done()
			before := time.Now()
			c.end()
			require.ErrorIs(t, c.std.Err(), context.Canceled)
			assert.Equal(t, before, time.Now())
		})
	})
}
