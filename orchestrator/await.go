package orchestrator

import (
	"fmt"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Question is what a run asks the world outside: a human, a webhook. Key is
// required, and unique in the run.
type Question = engine.Question

// Await asks q and waits for its answer (Run.Answer), which must be a T. It is
// shown in Info.Questions as long as it waits. An answer that came before the
// question is kept for it; one that is not a T is then ErrMalformed. Asking a Key
// twice in a run gives the same answer. After q.Timeout it is ErrTimeout.
func Await[T any](c *Context, q Question) (T, error) {
	var zero T
	if q.Key == "" {
		return zero, agent.ErrorOf(fmt.Errorf("%w: Question.Key is empty", ErrMalformed))
	}
	shape, err := answer.For[T]()
	if err != nil {
		return zero, agent.ErrorOf(fmt.Errorf("await a %T: %w: %w", zero, ErrFlow, err))
	}
	ask, err := engine.Encode(engine.Ask{Question: q, Schema: shape.JSON()})
	if err != nil {
		return zero, agent.ErrorOf(fmt.Errorf("%w: question %q: %w", ErrMalformed, q.Key, err))
	}
	op := engine.Op{Kind: engine.Await, Name: q.Key, Ask: ask}
	if q.Timeout > 0 {
		op.Until = c.Now().Add(q.Timeout)
	}
	done := c.branch.Do(c.use, op)
	if done.Err != nil {
		return zero, done.Err
	}
	v, err := decodeAs[T](done.Response.Data)
	if err != nil {
		return zero, agent.ErrorOf(fmt.Errorf("%w: answer to the question %q: %w", ErrMalformed, q.Key, err))
	}
	return v, nil
}
