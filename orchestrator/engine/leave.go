package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// An agent that ignores its context is left behind: its call ends for the flow with
// [ErrLeft], and whatever the agent says later is only counted. Every engine asks the
// same questions for that, at times of its own choice:
//
//	first := t.Patience()           // 0: only a Cancel makes the agent late
//	left, again := t.Overdue()      // at that time: left behind, or when to ask again
//	late := t.Returned()            // when Execute has returned: was it left behind?
//
// Exactly one of Overdue and Returned wins. An engine whose goroutine waits for the call
// uses ExecuteWithin, which does all that.

// place is where the agent of a call is.
type place uint8

const (
	underway place = iota
	returned
	leftBehind
)

// Patience is how long after the start of the call to ask Overdue for the first time.
// 0 means that the call has no limit of time: only a Cancel makes it overdue.
func (t *Task) Patience() time.Duration {
	limit, total := t.Request.Limits.Timeout, t.Request.Limits.Total
	if total > 0 && (limit <= 0 || total < limit) {
		limit = total
	}
	if limit <= 0 {
		return 0
	}
	return limit + t.Grace()
}

// Overdue leaves the agent behind if its time to return is over: Grace after the first
// Cancel, or Grace after the limit of the attempt under way. It returns the error that
// ends the call then, with the code [ErrLeft]. Otherwise again is how long to wait before
// the next Overdue; 0 means that the agent has returned or was left behind before. It is
// safe for concurrent use.
func (t *Task) Overdue() (left *agent.Error, again time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.place != underway {
		return nil, 0
	}
	why, since := ErrCanceled, t.canceledAt
	if since.IsZero() {
		why, since = ErrTimeout, t.Due()
	}
	again = t.Grace()
	if !since.IsZero() { // else the call is between two attempts
		again -= time.Since(since)
	}
	if again > 0 {
		return nil, again
	}
	t.place = leftBehind
	left = agent.ErrorOf(fmt.Errorf("%w: agent %q did not return within %v and was left behind: it ignores its ctx", why, t.Info.Agent, t.Grace()))
	left.Codes = append(left.Codes, ErrLeft)
	return left, 0
}

// Returned notes that Execute has returned. It reports whether the agent was left behind
// before: then the call is over, and only [Task.Reported] is of interest. It is safe for
// concurrent use.
func (t *Task) Returned() (late bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.place == underway {
		t.place = returned
	}
	return t.place == leftBehind
}

// Underway reports whether the agent has neither returned nor been left behind. It is
// safe for concurrent use.
func (t *Task) Underway() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.place == underway
}

// ExecuteWithin is [Task.Execute] for an engine whose goroutine waits for the call. It
// returns nil when the agent has returned: Response, Err and Ended are set. An agent that
// ignores its context is left behind: then it returns the error of the call, and the Task
// must not be used any more. Closing stop cancels the call; a nil stop never does.
func (t *Task) ExecuteWithin(ctx context.Context, stop <-chan struct{}, roster agent.Roster, retry Retry) (left *agent.Error) {
	done := make(chan struct{})
	var execution sync.WaitGroup // nobody waits for it when the agent is left behind
	execution.Go(func() {
		defer close(done) // a deferred call also runs if the agent ends the goroutine
		t.Execute(ctx, roster, retry)
	})
	timer := time.NewTimer(t.Patience())
	defer timer.Stop()
	if t.Patience() == 0 {
		timer.Stop()
	}
	for {
		select {
		case <-done:
			t.Returned()
			return nil
		case <-stop:
			stop = nil
			if t.Cancel() {
				timer.Reset(t.Grace())
			}
		case <-timer.C:
			left, again := t.Overdue()
			if left != nil {
				return left
			}
			if again > 0 {
				timer.Reset(again)
			}
		}
	}
}
