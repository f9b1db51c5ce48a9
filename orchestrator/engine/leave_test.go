package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// play is a call that is played before an observer: what its agent does, and what the
// observer does. The agent acts at full seconds, Total ends a quarter after one, and the
// observer acts half a second after one. Grace is some milliseconds longer than a number of
// seconds. So no two of them act at the same time.
type play struct {
	limits agent.Limits
	takes  []time.Duration // time that each attempt takes by itself
	fails  int             // number of attempts that fail transiently, before one answers
	obeys  bool            // the agent returns when its context is done
	acts   []act
}

// act is what an observer does at a time.
type act struct {
	at   time.Duration
	what string // "cancel", "overdue" or "underway"
}

const never = time.Duration(math.MaxInt64)

// attempt is one attempt in the timeline of a play.
type attempt struct{ start, due, end time.Duration }

// timeline says when each attempt begins, is due and ends, and when Execute returns.
func (p *play) timeline(canceled time.Duration) (all []attempt, over time.Duration) {
	total := never
	if p.limits.Total > 0 {
		total = p.limits.Total
	}
	for i := range p.limits.Attempts {
		a := attempt{start: over, due: total, end: over + p.takes[i]}
		if p.limits.Timeout > 0 {
			a.due = min(total, a.start+p.limits.Timeout)
		}
		natural := a.end
		if p.obeys {
			a.end = min(a.end, a.due, max(canceled, a.start))
		}
		all, over = append(all, a), a.end
		if i >= p.fails && a.end == natural || min(total, canceled) <= over {
			break
		}
	}
	return all, over
}

// expected is what the observer of a play hears, by the timeline.
func (p *play) expected() (log []string) {
	say := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	canceled := never
	if i := slices.IndexFunc(p.acts, func(a act) bool { return a.what == "cancel" }); i >= 0 {
		canceled = p.acts[i].at
	}
	all, over := p.timeline(canceled)
	told, left := false, false
	for _, a := range p.acts {
		away := !left && (a.at < over || a.at == over && !told)
		switch a.what {
		case "cancel":
			say("cancel %t", away && !told)
			told = true
		case "underway":
			say("underway %t", away)
		default:
			why, since := "timeout", never
			for _, one := range all {
				if one.start <= a.at && a.at <= one.end {
					since = one.due
				}
			}
			if told {
				why, since = "canceled", canceled
			}
			switch wait := p.limits.Grace - (a.at - since); {
			case !away:
				say("nothing")
			case since == never:
				say("again in %v", p.limits.Grace)
			case wait > 0:
				say("again in %v", wait)
			default:
				left = true
				say("left: %s", why)
			}
		}
	}
	say("over at %v after %d attempts, late %t", over, len(all), left)
	return log
}

// perform is what the observer of a play hears.
func (p *play) perform(t *testing.T) (log []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		say := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
		task, begun, n := limited(p.limits), time.Now(), 0
		late := goes(t, task, p.agent(&n), Retry{Initial: 1, Max: 1})
		for _, a := range p.acts {
			pass(a.at - time.Since(begun))
			switch a.what {
			case "cancel":
				say("cancel %t", task.Cancel())
			case "underway":
				say("underway %t", task.Underway())
			default:
				switch left, again := task.Overdue(); {
				case left != nil:
					say("left: %s", left.Codes[0])
				case again > 0:
					say("again in %v", again.Round(time.Millisecond))
				default:
					say("nothing")
				}
			}
			synctest.Wait()
		}
		late0 := <-late
		say("over at %v after %d attempts, late %t", task.Ended.Sub(begun).Round(time.Millisecond), n, late0)
	})
	return log
}

// agent plays the agent. n counts its attempts.
func (p *play) agent(n *int) agent.Func {
	return func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		i := *n
		*n++
		var done <-chan struct{}
		if p.obeys {
			done = ctx.Done()
		}
		timer := time.NewTimer(p.takes[i])
		defer timer.Stop()
		select {
		case <-timer.C:
			if i >= p.fails {
				return agent.Response{Text: "done"}, nil
			}
		case <-done:
		}
		return agent.Response{}, agent.Transient(errors.New("busy"), 0)
	}
}

var plays = rapid.Custom(func(t *rapid.T) *play {
	seconds := func(from, to int, name string) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Second
	}
	p := &play{obeys: rapid.Bool().Draw(t, "obeys"), fails: rapid.IntRange(0, 4).Draw(t, "fails")}
	p.limits = agent.Limits{Timeout: seconds(0, 5, "timeout"), Grace: seconds(1, 4, "grace") + 7*time.Millisecond, Attempts: rapid.IntRange(1, 4).Draw(t, "attempts")}
	if total := seconds(0, 12, "total"); total > 0 {
		p.limits.Total = total + time.Second/4
	}
	for range p.limits.Attempts {
		p.takes = append(p.takes, seconds(1, 12, "takes"))
		if p.takes[len(p.takes)-1] == p.limits.Timeout {
			p.takes[len(p.takes)-1] += time.Second // both at once would be up to chance
		}
	}
	for range rapid.IntRange(0, 12).Draw(t, "acts") {
		what := rapid.SampledFrom([]string{"cancel", "overdue", "overdue", "overdue", "underway"}).Draw(t, "what")
		p.acts = append(p.acts, act{seconds(0, 20, "at") + time.Second/2, what})
	}
	slices.SortStableFunc(p.acts, func(a, b act) int { return int(a.at - b.at) })
	return p
})

// TestLeaveAgainstTimeline has an observer cancel a call and ask whether it is overdue at
// random times, and compares what it hears with a timeline that is computed beforehand.
func TestLeaveAgainstTimeline(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plays.Draw(rt, "play")
		require.Equal(rt, p.expected(), p.perform(t), "%+v", p)
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
