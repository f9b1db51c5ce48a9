package crew_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

func TestPlaces(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"calls wait first in, first out": func(t *testing.T) {
			s := newStage(2)
			calls := s.open(5, obedient)
			assert.Equal(t, []int64{0, 1}, s.order())
			assert.Empty(t, calls[2].heard())
			s.end(calls[1])
			assert.Equal(t, []int64{0, 1, 2}, s.order())
			s.end(calls[0], calls[2])
			assert.Equal(t, []int64{0, 1, 2, 3, 4}, s.order())
			s.end(calls[3], calls[4])
			for _, c := range calls {
				assert.Equal(t, []string{"begin", "done"}, c.heard())
				assert.Nil(t, c.Err)
				assert.Equal(t, int64(7), c.Reported().Calls)
			}
			assert.True(t, s.isOver(t))
		},
		"a call that waits for its place again, and is canceled, is told once": func(t *testing.T) {
			s := newStage(1)
			c := s.call(obedient, agent.Limits{})
			c.finish = func() error { return agent.Transient(errors.New("busy"), time.Second) }
			close(c.may)
			s.start(c)
			other := s.open(1, obedient)[0]
			assert.Equal(t, []string{"begin"}, other.heard(), "it has the place meanwhile")
			pass(10 * time.Second)
			s.cancel(c)
			assert.Equal(t, []string{"begin", "done"}, c.heard())
			next := s.open(1, obedient)[0]
			s.end(other)
			assert.Equal(t, []string{"begin"}, next.heard())
			s.end(next)
			assert.True(t, s.isOver(t))
		},
		"no limit, no line": func(t *testing.T) {
			s := newStage(0)
			calls := s.open(50, obedient)
			assert.Equal(t, 50, s.busy())
			s.cancel(calls[:25]...)
			s.end(calls[25:]...)
			for _, c := range calls {
				assert.Equal(t, []string{"begin", "done"}, c.heard())
			}
		},
		"Start says who has the call made": func(t *testing.T) {
			s := newStage(1)
			a, b := s.call(obedient, agent.Limits{}), s.call(obedient, agent.Limits{})
			assert.True(t, s.Start(&a.Call))
			assert.False(t, s.Start(&b.Call), "the place is taken although a has not begun")
			synctest.Wait()
			assert.Empty(t, a.heard(), "the caller has it called")
			s.pool.Do(&a.Call)
			s.end(a)
			assert.Equal(t, []string{"begin"}, b.heard(), "the crew does so")
			s.end(b)
		},
		"a place that nobody waits for is free for the next": func(t *testing.T) {
			s := newStage(1)
			for range 3 {
				c := s.call(obedient, agent.Limits{})
				s.start(c)
				assert.Equal(t, 1, s.busy())
				s.end(c)
				assert.Equal(t, []string{"begin", "done"}, c.heard())
			}
		},
		"a call that is not made gives its place to the next": func(t *testing.T) {
			s := newStage(1)
			a, b, c := s.call(obedient, agent.Limits{}), s.call(obedient, agent.Limits{}), s.call(obedient, agent.Limits{})
			b.refuse = true
			s.start(a, b, c)
			s.end(a)
			assert.Equal(t, []string{"begin", "not called"}, b.heard())
			assert.Equal(t, []string{"begin"}, c.heard())
			assert.Equal(t, 1, s.busy())
			s.end(c)
			assert.Zero(t, s.busy())
			assert.True(t, s.isOver(t))
		},
		"an agent that nobody knows is an error of its call": func(t *testing.T) {
			s := newStage(1)
			a, b := s.call(obedient, agent.Limits{}), s.call(obedient, agent.Limits{})
			a.Info.Agent = "nobody"
			s.start(a, b)
			require.ErrorIs(t, a.Err, engine.ErrNoAgent)
			assert.Equal(t, []string{"begin", "done"}, a.heard())
			assert.Equal(t, []string{"begin"}, b.heard())
			s.end(b)
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

func TestWhatFollowsACall(t *testing.T) {
	for name, refuse := range map[string]bool{"a call that was made": false, "a call that was not": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(0)
			c := s.call(obedient, agent.Limits{})
			close(c.may)
			followed := false
			c.refuse, c.next = refuse, jobs.Func(func() { followed = true })
			require.True(t, s.Start(&c.Call))
			job := c.Work()
			require.NotNil(t, job, "it is for the goroutine of the call")
			require.False(t, followed)
			assert.Nil(t, job.Work())
			assert.True(t, followed)
		})
	}
}

func TestCanceledCallsLeaveTheLine(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"they are told at once, and reach no agent": func(t *testing.T) {
			s := newStage(1)
			calls := s.open(4, obedient)
			s.cancel(calls[1], calls[3])
			for _, c := range []*client{calls[1], calls[3]} {
				assert.Equal(t, []string{"begin", "done"}, c.heard())
				require.ErrorIs(t, c.Err, context.Canceled)
				assert.Zero(t, c.Reported(), "nothing was used")
			}
			assert.Equal(t, 1, s.busy())
			assert.Empty(t, calls[2].heard())
			s.end(calls[0])
			assert.Equal(t, []string{"begin"}, calls[2].heard())
			s.end(calls[2])
			assert.True(t, s.isOver(t))
		},
		"they have no place to give back": func(t *testing.T) {
			s := newStage(1)
			calls := s.open(4, obedient)
			s.cancel(calls[1:3]...)
			assert.Empty(t, calls[3].heard(), "the only place is taken")
			more := s.open(1, obedient)
			assert.Empty(t, more[0].heard())
			assert.Equal(t, 1, s.busy())
			s.end(calls[0], calls[3], more[0])
		},
		"the place of one that is canceled with them is for who still waits": func(t *testing.T) {
			s := newStage(1)
			calls := s.open(3, obedient)
			s.cancel(calls[0], calls[1])
			assert.Equal(t, []string{"begin"}, calls[2].heard())
			require.ErrorIs(t, calls[1].Err, context.Canceled)
			assert.Equal(t, 1, s.busy())
			s.end(calls[2])
			next := s.open(2, obedient)
			assert.Equal(t, []string{"begin"}, next[0].heard())
			assert.Empty(t, next[1].heard())
			s.end(next...)
		},
		"a second cancel changes nothing": func(t *testing.T) {
			s := newStage(1)
			calls := s.open(3, obedient)
			s.cancel(calls[1])
			s.cancel(calls[1])
			s.cancel(calls...)
			s.cancel(calls...)
			for _, c := range calls {
				assert.Equal(t, []string{"begin", "done"}, c.heard())
			}
			assert.True(t, s.isOver(t))
		},
		"a client may refuse one of them": func(t *testing.T) {
			s := newStage(1)
			a := s.open(1, obedient)[0]
			b := s.call(obedient, agent.Limits{})
			b.refuse = true
			s.start(b)
			s.cancel(b)
			assert.Equal(t, []string{"begin", "not called"}, b.heard())
			s.end(a)
		},
		"one that has its place and has not begun reaches no agent": func(t *testing.T) {
			s := newStage(1)
			a, b := s.call(obedient, agent.Limits{}), s.call(obedient, agent.Limits{})
			require.True(t, s.Start(&a.Call))
			s.start(b)
			s.cancel(a)
			assert.Empty(t, a.heard())
			s.pool.Do(&a.Call)
			synctest.Wait()
			assert.Equal(t, []string{"begin", "done"}, a.heard())
			require.ErrorIs(t, a.Err, context.Canceled)
			assert.Equal(t, []string{"begin"}, b.heard())
			s.end(b)
		},
		"what is over stays so": func(t *testing.T) {
			s := newStage(1)
			a := s.open(1, obedient)[0]
			s.end(a)
			s.cancel(a)
			pass(time.Hour)
			assert.Equal(t, []string{"begin", "done"}, a.heard())
			assert.Nil(t, a.Err)
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}
