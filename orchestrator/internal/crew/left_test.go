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

func TestAgentsThatReturnTooLateAreLeftBehind(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a second after a cancel, where the limits do not say": func(t *testing.T) {
			s := newStage(1)
			a := s.open(1, deaf)[0]
			pass(time.Hour)
			s.cancel(a)
			heardAt(t, a, engine.DefaultGrace, "begin", "left")
			isLeft(t, a, context.Canceled)
			s.end(a)
		},
		"Grace after a cancel": func(t *testing.T) {
			s := newStage(0)
			a := s.call(deaf, agent.Limits{Grace: time.Minute})
			s.start(a)
			s.cancel(a)
			heardAt(t, a, time.Minute, "begin", "left")
			isLeft(t, a, context.Canceled)
			s.end(a)
		},
		"a second cancel does not prolong it": func(t *testing.T) {
			s := newStage(1)
			a := s.call(deaf, agent.Limits{Grace: time.Minute})
			s.start(a)
			s.cancel(a)
			pass(40 * time.Second)
			s.cancel(a)
			heardAt(t, a, 20*time.Second, "begin", "left")
			s.cancel(a)
			pass(time.Hour)
			assert.Equal(t, []string{"begin", "left"}, a.heard())
			s.end(a)
		},
		"Grace after the Timeout": func(t *testing.T) {
			s := newStage(1)
			a := s.call(deaf, agent.Limits{Timeout: time.Hour, Grace: time.Minute})
			s.start(a)
			heardAt(t, a, time.Hour+time.Minute, "begin", "left")
			isLeft(t, a, context.DeadlineExceeded)
			s.end(a)
		},
		"Grace after the Total, which is nearer": func(t *testing.T) {
			s := newStage(1)
			a := s.call(deaf, agent.Limits{Timeout: time.Hour, Total: time.Minute})
			s.start(a)
			heardAt(t, a, time.Minute+engine.DefaultGrace, "begin", "left")
			isLeft(t, a, context.DeadlineExceeded)
			s.end(a)
		},
		"a cancel comes before the Timeout": func(t *testing.T) {
			s := newStage(1)
			a := s.call(deaf, agent.Limits{Timeout: time.Hour})
			s.start(a)
			pass(time.Minute)
			s.cancel(a)
			heardAt(t, a, engine.DefaultGrace, "begin", "left")
			isLeft(t, a, context.Canceled)
			s.end(a)
		},
		"a later attempt has its own Timeout": func(t *testing.T) {
			s := newStage(1)
			a := s.call(deaf, agent.Limits{Timeout: 10 * time.Second, Grace: 5 * time.Second})
			tries := 0
			a.finish = func() error {
				if tries++; tries == 1 {
					a.may = make(chan struct{})
					return agent.Transient(errors.New("busy"), time.Minute)
				}
				return nil
			}
			s.start(a)
			pass(9 * time.Second)
			s.end(a)
			heardAt(t, a, time.Minute+10*time.Second+5*time.Second, "begin", "left")
			isLeft(t, a, context.DeadlineExceeded)
			s.end(a)
			assert.Equal(t, 2, tries)
			assert.Equal(t, int64(14), a.Reported().Calls)
		},
		"a call that waits for its place has its time before it": func(t *testing.T) {
			s := newStage(1)
			a := s.open(1, obedient)[0]
			b := s.call(deaf, agent.Limits{Timeout: time.Minute})
			s.start(b)
			pass(time.Hour)
			assert.Empty(t, b.heard())
			s.end(a)
			heardAt(t, b, time.Minute+engine.DefaultGrace, "begin", "left")
			s.end(b)
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

func TestAgentsThatReturnInTimeAreNotLeftBehind(t *testing.T) {
	for name, limits := range map[string]agent.Limits{
		"without limits": {},
		"with a Timeout": {Timeout: time.Minute},
		"with a Total":   {Total: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(1)
				a := s.call(deaf, limits)
				s.start(a)
				s.cancel(a)
				pass(engine.DefaultGrace - 1)
				s.end(a)
				assert.Equal(t, []string{"begin", "done"}, a.heard())
				assert.Empty(t, s.Linger(t.Context()))
				pass(24 * time.Hour)
				assert.Equal(t, []string{"begin", "done"}, a.heard(), "no timer tells it again")
				assert.True(t, s.isOver(t))
			})
		})
	}
}

func TestWhoWasLeftBehind(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"gives its place to the next at once": func(t *testing.T) {
			s := newStage(1)
			calls := s.open(2, deaf)
			s.cancel(calls[0])
			heardAt(t, calls[1], engine.DefaultGrace, "begin")
			assert.Equal(t, 2, s.busy(), "one of them has no place")
			s.end(calls...)
		},
		"has no second place to give": func(t *testing.T) {
			s := newStage(1)
			calls := s.open(3, deaf)
			s.cancel(calls[0])
			pass(engine.DefaultGrace)
			s.end(calls[0])
			assert.Equal(t, []string{"begin", "left", "late"}, calls[0].heard())
			assert.Empty(t, calls[2].heard())
			s.end(calls[1])
			assert.Equal(t, []string{"begin"}, calls[2].heard())
			s.end(calls[2])
		},
		"says what it used when it returns": func(t *testing.T) {
			s := newStage(0)
			a := s.open(1, deaf)[0]
			s.cancel(a)
			pass(engine.DefaultGrace)
			assert.Zero(t, a.Reported())
			s.end(a)
			assert.Equal(t, []string{"begin", "left", "late"}, a.heard())
			assert.Equal(t, int64(7), a.Reported().Calls)
		},
		"does not keep the pool from closing": func(t *testing.T) {
			s := newStage(1)
			calls := s.open(2, deaf)
			s.end(calls[1])
			s.cancel(calls...)
			closed := make(chan struct{})
			go func() {
				s.pool.Close()
				close(closed)
			}()
			began := time.Now()
			<-closed
			assert.Equal(t, engine.DefaultGrace, time.Since(began), "it waits until the agent is left behind")
			s.end(calls[0])
			assert.Equal(t, []string{"begin", "left", "late"}, calls[0].heard())
		},
		"is waited for again when it has returned": func(t *testing.T) {
			s := newStage(1)
			a := s.open(1, deaf)[0]
			s.cancel(a)
			pass(engine.DefaultGrace)
			end := make(chan struct{})
			a.next = jobs.Func(func() { <-end })
			s.end(a)
			assert.False(t, s.isOver(t), "what follows Late is under way")
			close(end)
			assert.True(t, s.isOver(t))
		},
		"may end its goroutine": func(t *testing.T) {
			s := newStage(1)
			calls := s.open(2, deaf)
			calls[0].finish = exits
			s.cancel(calls[0])
			pass(engine.DefaultGrace)
			s.end(calls[0])
			assert.Equal(t, []string{"begin", "left", "late"}, calls[0].heard())
			assert.Equal(t, []string{"begin"}, calls[1].heard())
			assert.Empty(t, s.Linger(t.Context()))
			s.end(calls[1])
			assert.True(t, s.isOver(t))
		},
		"may return while its client is told": func(t *testing.T) {
			s := newStage(1)
			a := s.open(1, deaf)[0]
			late := make(chan struct{})
			a.heed = func(what string) {
				if what == "late" {
					close(late)
					return
				}
				close(a.may)
				<-late
			}
			s.cancel(a)
			pass(engine.DefaultGrace)
			assert.Equal(t, []string{"begin", "late", "left"}, a.heard())
			assert.Empty(t, s.Linger(t.Context()), "it is not waited for")
			assert.True(t, s.isOver(t))
		},
		"has what follows Left done": func(t *testing.T) {
			s := newStage(1)
			a := s.open(1, deaf)[0]
			did := 0
			a.next = jobs.Func(func() { did++ })
			s.cancel(a)
			pass(engine.DefaultGrace)
			assert.Equal(t, 1, did)
			s.end(a)
			assert.Equal(t, 2, did)
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

func TestAgentsThatBreak(t *testing.T) {
	for name, finish := range map[string]func() error{
		"panicked: boom":      func() error { panic("boom") },
		"ended its goroutine": exits,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(1)
				calls := s.open(2, deaf)
				calls[0].finish = finish
				followed := false
				calls[0].next = jobs.Func(func() { followed = true })
				s.end(calls[0])
				assert.Equal(t, []string{"begin", "done"}, calls[0].heard())
				require.ErrorContains(t, calls[0].Err, name)
				assert.True(t, followed, "on another goroutine, if this one has ended")
				assert.Equal(t, []string{"begin"}, calls[1].heard())
				s.end(calls[1])
				assert.True(t, s.isOver(t))
			})
		})
	}
}
