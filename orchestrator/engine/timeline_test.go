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

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
)

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
