package crew

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

// ended is a Client that says when its call is over.
type ended chan struct{}

func (ended) Begin() bool { return true }

func (c ended) Done(bool) jobs.Job {
	close(c)
	return nil
}

func (ended) Left(*agent.Error) jobs.Job { return nil }

func (ended) Late() jobs.Job { return nil }

// newCall returns a call, and what is closed when it is over.
func newCall(limits agent.Limits) (*Call, ended) {
	over := make(ended)
	c := &Call{Client: over, Party: &Party{}}
	c.Info.Agent, c.Request = "ann", &agent.Request{Limits: limits}
	return c, over
}

// newCrew returns a Crew with one place. Its agent waits for its context, unless it has a
// Timeout: then it returns at once.
func newCrew(pool *jobs.Pool) *Crew {
	obeys := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		if req.Limits.Timeout > 0 {
			return agent.Response{}, nil
		}
		<-ctx.Done()
		return agent.Response{}, ctx.Err()
	})
	return New(Config{Agents: agent.Roster{"ann": obeys}, Parallel: 1, Pool: pool})
}

// TestTheLineIsLeftBeforePlacesAreGivenBack stops a Cancel in its middle, where the call
// that has the place is over, and another one is not canceled yet.
func TestTheLineIsLeftBeforePlacesAreGivenBack(t *testing.T) {
	var pool jobs.Pool
	w := newCrew(&pool)
	first, over := newCall(agent.Limits{})
	head, headOver := newCall(agent.Limits{})
	other, otherOver := newCall(agent.Limits{})
	require.True(t, w.Start(first))
	pool.Do(first)
	require.False(t, w.Start(head))
	require.False(t, w.Start(other))
	other.mu.Lock()
	canceled := make(chan struct{})
	go func() {
		defer close(canceled)
		w.Cancel(first, other, head)
	}()
	<-over
	w.places.mu.Lock()
	assert.Zero(t, w.places.turns.Len())
	assert.Zero(t, w.places.held, "the place went to a call that is being canceled")
	w.places.mu.Unlock()
	other.mu.Unlock()
	<-canceled
	<-headOver
	<-otherOver
	pool.Close()
	require.ErrorIs(t, head.Err, context.Canceled)
}

// TestTheTimerOfACallStopsWithIt looks at what would keep a call in memory until its
// Timeout, long after it is over.
func TestTheTimerOfACallStopsWithIt(t *testing.T) {
	var pool jobs.Pool
	w := newCrew(&pool)
	c, over := newCall(agent.Limits{Timeout: 24 * time.Hour})
	require.True(t, w.Start(c))
	pool.Do(c)
	<-over
	pool.Close()
	assert.False(t, c.timer.Stop(), "it is stopped already")
}

// TestAnAgentThatIsLeftCannotReturnHalfway stops a crew in the middle of leaving an agent
// behind: until that is done, its return has to wait.
func TestAnAgentThatIsLeftCannotReturnHalfway(t *testing.T) {
	var pool jobs.Pool
	w := newCrew(&pool)
	c, _ := newCall(agent.Limits{Grace: 1})
	require.True(t, w.Start(c))
	c.Cancel()
	w.mu.Lock()
	pool.Do(overdue{c})
	for c.Underway() {
		runtime.Gosched()
	}
	for range 1000 {
		if c.mu.TryLock() {
			c.mu.Unlock()
			t.Error("it could return now, before its place was given back")
			break
		}
		runtime.Gosched()
	}
	w.mu.Unlock()
	pool.Count() // the crew uncounts the goroutine of the call, which has none here
	pool.Close()
}
