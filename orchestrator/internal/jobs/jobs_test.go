package jobs_test

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

// step is a job that another one follows.
type step struct {
	do   func()
	next jobs.Job
}

func (s step) Work() jobs.Job {
	s.do()
	return s.next
}

// closing closes p on a goroutine of its own, and returns what is closed when Close has
// returned.
func closing(p *jobs.Pool) <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.Close()
	}()
	synctest.Wait()
	return closed
}

func isClosed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// goroutine is the number of the calling goroutine, as its stack trace has it.
func goroutine() string {
	trace := make([]byte, 64)
	trace = trace[:runtime.Stack(trace, false)]
	return string(trace[:slices.Index(trace, '[')])
}

func TestDoRunsAJobOnAGoroutineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p jobs.Pool
		var mu sync.Mutex // held by the caller: a job on its goroutine would never get it
		mu.Lock()
		done := 0
		for range 3 {
			p.Do(jobs.Func(func() {
				mu.Lock()
				defer mu.Unlock()
				done++
			}))
		}
		mu.Unlock()
		p.Close()
		assert.Equal(t, 3, done)
	})
}

func TestDoOfNothingIsNothing(t *testing.T) {
	var p jobs.Pool
	p.Do(nil)
	p.Close()
	p.Do(nil)
	p.Close()
}

func TestFuncIsFollowedByNothing(t *testing.T) {
	did := false
	require.Nil(t, jobs.Func(func() { did = true }).Work())
	assert.True(t, did)
}

func TestWhatFollowsStaysOnTheGoroutine(t *testing.T) {
	var p jobs.Pool
	var on, order []string
	var chain jobs.Job
	for _, name := range []string{"c", "b", "a"} {
		chain = step{func() { on, order = append(on, goroutine()), append(order, name) }, chain}
	}
	p.Do(chain)
	p.Close()
	require.Equal(t, []string{"a", "b", "c"}, order)
	assert.Len(t, slices.Compact(on), 1, "one goroutine for all")
	assert.NotEqual(t, goroutine(), on[0])
}

func TestCloseWaits(t *testing.T) {
	t.Run("for a job and what follows from it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p jobs.Pool
			first, second := make(chan struct{}), make(chan struct{})
			p.Do(step{func() { <-first }, jobs.Func(func() { <-second })})
			closed := closing(&p)
			assert.False(t, isClosed(closed))
			close(first)
			assert.False(t, isClosed(closed), "the next job of the chain is under way")
			close(second)
			assert.True(t, isClosed(closed))
		})
	})
	t.Run("for the last of many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p jobs.Pool
			end := make(chan struct{})
			for range 5 {
				p.Do(jobs.Func(func() { <-end }))
			}
			closed := closing(&p)
			for range 5 {
				assert.False(t, isClosed(closed))
				end <- struct{}{}
			}
			assert.True(t, isClosed(closed))
		})
	})
	t.Run("for jobs that jobs start while it waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p jobs.Pool
			begin, end := make(chan struct{}), make(chan struct{})
			p.Do(jobs.Func(func() {
				<-begin
				p.Do(jobs.Func(func() { <-end }))
			}))
			closed := closing(&p)
			close(begin)
			assert.False(t, isClosed(closed))
			close(end)
			assert.True(t, isClosed(closed))
		})
	})
	t.Run("for a goroutine that the job itself ends", func(t *testing.T) {
		var p jobs.Pool
		p.Do(step{runtime.Goexit, jobs.Func(func() { t.Error("it goes on") })})
		p.Close()
	})
	t.Run("in several callers at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p jobs.Pool
			end := make(chan struct{})
			p.Do(jobs.Func(func() { <-end }))
			one, other := closing(&p), closing(&p)
			assert.False(t, isClosed(one))
			assert.False(t, isClosed(other))
			close(end)
			assert.True(t, isClosed(one))
			assert.True(t, isClosed(other))
		})
	})
}

func TestNothingStartsAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p jobs.Pool
		p.Do(jobs.Func(func() {}))
		p.Close()
		p.Do(jobs.Func(func() { t.Error("it started") }))
		synctest.Wait()
		p.Close() // again: nothing is counted
	})
}

func TestUncountedGoroutines(t *testing.T) {
	t.Run("Close does not wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p jobs.Pool
			end := make(chan struct{})
			p.Do(jobs.Func(func() {
				p.Uncount()
				<-end
				p.Count()
			}))
			assert.True(t, isClosed(closing(&p)))
			close(end)
		})
	})
	t.Run("Close that waits learns of it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p jobs.Pool
			leave, end := make(chan struct{}), make(chan struct{})
			p.Do(jobs.Func(func() {
				<-leave
				p.Uncount()
				<-end
				p.Count()
			}))
			closed := closing(&p)
			assert.False(t, isClosed(closed))
			close(leave)
			assert.True(t, isClosed(closed))
			close(end)
		})
	})
	t.Run("Close waits for one that is counted again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p jobs.Pool
			end := make(chan struct{})
			p.Do(jobs.Func(func() {
				p.Uncount()
				p.Count()
				<-end
			}))
			closed := closing(&p)
			assert.False(t, isClosed(closed))
			close(end)
			assert.True(t, isClosed(closed))
		})
	})
	t.Run("what follows from one that comes back late is done, and waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p jobs.Pool
			back, end := make(chan struct{}), make(chan struct{})
			p.Do(jobs.Func(func() {
				p.Uncount()
				<-back
				p.Count()
				p.Do(jobs.Func(func() { <-end }))
			}))
			require.True(t, isClosed(closing(&p)))
			close(back)
			synctest.Wait()
			again := closing(&p)
			assert.False(t, isClosed(again))
			close(end)
			assert.True(t, isClosed(again))
		})
	})
}

// TestCloseLosesNothing has random trees of jobs run beside a Close: all that was started
// is done when it returns.
func TestCloseLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		widths := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 5).Draw(t, "widths")
		var p jobs.Pool
		var did atomic.Int64
		var tree func(depth int) jobs.Job
		tree = func(depth int) jobs.Job {
			if depth == len(widths) {
				return nil
			}
			return step{func() {
				did.Add(1)
				for range widths[depth] {
					p.Do(tree(depth + 1))
				}
			}, tree(depth + 1)}
		}
		p.Do(tree(0))
		p.Close()
		want, level := int64(0), int64(1)
		for _, width := range widths {
			want += level
			level *= int64(width) + 1
		}
		if did.Load() != want {
			t.Fatalf("%d jobs were done when Close returned, want %d", did.Load(), want)
		}
	})
}
