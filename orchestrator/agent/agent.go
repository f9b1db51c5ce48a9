// Package agent says what an agent is: somebody who answers. It knows nothing of
// flows and engines; whoever writes or adapts an agent needs only this package.
package agent

import "context"

// An Agent answers requests. It runs outside of flow code: clock, disk, network
// and goroutines are its own business. Call is safe for concurrent use, returns
// when ctx is done, leaves nothing running, and changes nothing in req.
//
// A call that was under way when the process died is made again with the same
// InfoFrom(ctx).Key: an agent with effects in the world uses it to act once.
//
// Errors cross to the flow as *[Error]; only those marked by [Transient], or a
// *providers.Error of a transient kind, are tried again. A Response beside an
// error is dropped but for its Usage. A panic becomes an error.
type Agent interface {
	Call(ctx context.Context, req Request) (Response, error)
}

// Func makes an [Agent] of a function.
type Func func(ctx context.Context, req Request) (Response, error)

// Call calls f.
func (f Func) Call(ctx context.Context, req Request) (Response, error) { return f(ctx, req) }

// Roster are the agents of a host by name. Engines copy it.
type Roster map[string]Agent
