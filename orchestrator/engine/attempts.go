package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Attempts are the failed attempts of one call, in their order.
type Attempts []Attempt

// Attempt is a failed attempt of a call. The sum of Usage over all attempts, the last one
// included, is what the call used; it is counted there only.
type Attempt struct {
	N       int             `json:"n"`                 // number of the attempt, from 1; it starts again after a resume
	Elapsed time.Duration   `json:"elapsed,omitempty"` // time that the attempt took; 0: it took none, or is not known for an agent that was left behind
	Message string          `json:"message"`           // text of its error, cut to 500 bytes
	Codes   []agent.Code    `json:"codes,omitempty"`   // codes of its error; nil: none
	Usage   providers.Usage `json:"usage,omitzero"`    // usage that the agent reported; zero: none
}

// mostMessage is how many bytes of an error's text an Attempt has.
const mostMessage = 500

// attemptOf returns the attempt number n, which failed with err.
func attemptOf(n int, err *agent.Error) Attempt {
	err = normalizeError(err)
	return Attempt{N: n, Message: text.Shorten(err.Message, mostMessage), Codes: err.Codes}
}

// failed notes that the attempt that has just ended failed with t.Err, and what it used.
func (t *Task) failed(used providers.Usage) {
	a := attemptOf(t.attempts, t.Err)
	a.Elapsed, a.Usage = time.Since(cmp.Or(t.again, t.begun)), used
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Failed == nil {
		t.Failed = &Attempts{}
	}
	*t.Failed = append(*t.Failed, a)
}

// FailedBy returns the failed attempts of a call whose agent was left behind with the error
// left. It is safe for concurrent use.
func (t *Task) FailedBy(left *agent.Error) *Attempts {
	t.mu.Lock()
	defer t.mu.Unlock()
	var before Attempts
	if t.Failed != nil {
		before = slices.Clone(*t.Failed)
	}
	before = append(before, attemptOf(len(before)+1, left))
	return &before
}
