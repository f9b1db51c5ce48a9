package orchestrator

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// MaxTries is the number of tries of one piece of work that a team never exceeds, whatever
// its [Retrier] says.
const MaxTries = 100

// Working says who works at what, for a [Retrier].
type Working struct {
	Role  string // role in the team, such as "specialist", "task" or "merge"
	ID    string // name of the agent or of the work; "": there is only one
	Group string // name of what it belongs to, such as a department; "": none
	Max   int    // number of tries that the configuration allows it, the first included; 0: not said
}

// Try is one try that was not good enough.
type Try struct {
	Agent    string   // name of the agent that made it
	Err      error    // reason why there is no work; nil: there is some
	Score    *float64 // score of the work, on the team's scale; nil: it has none
	Decision string   // decision of the gate; "": none was made
	Feedback string   // advice for the next try; "": none
}

// Again is what follows tries that were not good enough.
type Again struct {
	Retry    bool          // true: there is another try; false: the work ends with the best so far
	After    time.Duration // wait before the try; 0 or less: none
	Agent    string        // name of the agent that makes it, which the flow declares; "": the usual one
	Feedback string        // advice in the place of what all tries were told; "": that
	Fresh    bool          // true: the agent is told nothing of earlier tries but Feedback
}

// Retrier is a rule of a team: it decides whether work is tried again, how and by whom.
//
// It gets who works, and all tries so far, oldest first and at least one. Only the last
// values of a Try may be known: teams whose work outlives a run keep no more. It must say no
// at some time: a team stops after [MaxTries], and at the time and the money of its run. An
// Agent that the flow does not declare is a fault of the rule: a Retrier that names agents
// is a [Declarer].
//
// Next is a pure function: it is called after each try that was not good enough, and again
// when a run is resumed, with equal arguments.
type Retrier interface {
	Next(of Working, tries []Try) Again
}

// RetrierFunc is a function as a [Retrier].
type RetrierFunc func(of Working, tries []Try) Again

// Next returns f(of, tries).
func (f RetrierFunc) Next(of Working, tries []Try) Again { return f(of, tries) }

// Attempts is the [Retrier] by number. The zero value allows what Working.Max says, without
// waits.
//
// In [Config] it says how an engine retries the calls of agents that failed transiently.
// There, 0 has other meanings: see Config.Retry.
type Attempts struct {
	Max     int           `json:"max"`     // number of tries, the first included; 0: Working.Max
	Wait    time.Duration `json:"wait"`    // wait before the second try; 0: none
	Factor  float64       `json:"factor"`  // ratio of each further wait to the one before; less than 1, or no number, counts as 1
	Longest time.Duration `json:"longest"` // longest wait, also of one that an error asks for; 0: no limit
	Fresh   bool          `json:"fresh"`   // true: no try is told of earlier ones
	Final   bool          `json:"final"`   // true: an error that is not [Retryable] ends the tries; false: none does
}

// Next allows another try as long as there are fewer than a.Max. The wait is at least as
// long as the last error asks for (agent.Error.RetryAfter), but not longer than a.Longest.
func (a Attempts) Next(of Working, tries []Try) Again {
	most := a.Max
	if most == 0 {
		most = of.Max
	}
	last := tries[len(tries)-1].Err
	if len(tries) >= min(most, MaxTries) || a.Final && last != nil && !Retryable(last) {
		return Again{}
	}
	wait := backoff(len(tries)+1, a.Wait, a.Factor, a.Longest)
	if last != nil && agent.ErrorOf(last).RetryAfter > wait {
		wait = agent.ErrorOf(last).RetryAfter
		if a.Longest > 0 {
			wait = min(wait, a.Longest)
		}
	}
	return Again{Retry: true, After: wait, Fresh: a.Fresh}
}

// backoff is the wait before an attempt, counted from 1: none before the first, base
// before the second, and factor times as much before each further one, at most most (0:
// no bound).
func backoff(attempt int, base time.Duration, factor float64, most time.Duration) time.Duration {
	if attempt <= 1 || base <= 0 {
		return 0
	}
	bound := float64(math.MaxInt64 / 2)
	if most > 0 {
		bound = float64(most)
	}
	if !(factor >= 1) { // NaN counts as 1, too
		factor = 1
	}
	wait := float64(base) * math.Pow(factor, float64(attempt-2))
	return time.Duration(min(wait, bound))
}

// Validate returns what is wrong with a, or nil.
func (a Attempts) Validate() error {
	var faults []error
	if a.Max < 0 || a.Max > MaxTries {
		faults = append(faults, fmt.Errorf("Max is %d, want 0 to %d", a.Max, MaxTries))
	}
	if a.Wait < 0 {
		faults = append(faults, fmt.Errorf("Wait is %v, want 0 or more", a.Wait))
	}
	if !(a.Factor >= 0 && a.Factor <= 1000) { // NaN is refused too
		faults = append(faults, fmt.Errorf("Factor is %v, want 0 to 1000", a.Factor))
	}
	if a.Longest < 0 {
		faults = append(faults, fmt.Errorf("Longest is %v, want 0 or more", a.Longest))
	}
	return errors.Join(faults...)
}

// ofCalls returns a as an engine follows it.
func (a Attempts) ofCalls() engine.Retry {
	return engine.Retry{Attempts: a.Max, Initial: a.Wait, Max: a.Longest, Factor: a.Factor}
}

// faultOfCalls returns why an engine cannot follow a, or nil.
func (a Attempts) faultOfCalls() error {
	switch {
	case a.Fresh || a.Final:
		return errors.New("Fresh and Final are for the tries of teams, want neither")
	case a.Max < 0 || min(a.Wait, a.Longest) < 0:
		return fmt.Errorf("it is %+v, want no negative figure", a)
	case a.Factor != 0 && !(a.Factor >= 1 && a.Factor <= 1000): // NaN is refused too
		return fmt.Errorf("Factor is %v, want 1 to 1000", a.Factor)
	}
	return nil
}

// Retryable reports whether another try may succeed after err. It may not if the agent says
// that the error is permanent or the request wrong, or if the agent refused. Nor may it if
// there is no such agent, its own budget is used up, or the flow broke a rule.
func Retryable(err error) bool {
	for _, final := range []error{
		agent.Code("permanent"), agent.Code("invalid"), agent.ErrRefused, ErrNoAgent, ErrBudget, ErrFlow,
	} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}
