// Package agent says what an agent is: a value that answers requests. It knows
// nothing of flows and engines; authors of agents need only this package.
package agent

import "context"

// An Agent answers requests. It runs outside of flow code, so it may use clock,
// disk, network and goroutines. Call is safe for concurrent use, returns when ctx
// is done, leaves no goroutine running, and does not change req.
//
// An agent that has not returned [Limits.Grace] after ctx was done is left behind:
// its call has failed, and of what it returns later only the Usage is counted.
//
// A call that was under way when the process died is made again with the same
// InfoFrom(ctx).Key. An agent with side effects uses the Key to act once.
//
// Errors reach the flow as *[Error]. Only those marked by [Transient], or a
// *providers.Error of a transient kind, are retried. A Response beside an error is
// dropped but for its Usage. A panic becomes an error.
type Agent interface {
	Call(ctx context.Context, req Request) (Response, error)
}

// Func makes an [Agent] of a function.
type Func func(ctx context.Context, req Request) (Response, error)

// Call calls f.
func (f Func) Call(ctx context.Context, req Request) (Response, error) { return f(ctx, req) }

// Roster holds the agents of a host by name. Engines copy it.
type Roster map[string]Agent
