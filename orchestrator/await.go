package orchestrator

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Question is what a run asks the world outside: a human, a webhook.
type Question struct {
	Key     string          `json:"key"` // required, unique in the run
	Text    string          `json:"text,omitempty"`
	Options []string        `json:"options,omitempty"` // for choosing; nil: free
	Data    json.RawMessage `json:"data,omitempty"`    // for the program that shows it
	Timeout time.Duration   `json:"timeout,omitempty"` // then ErrTimeout; 0: none

	// Rejected is why an answer that came before the question was dropped; "": none
	// was. Await sets it.
	Rejected string `json:"rejected,omitempty"`
}

// Await asks q and waits for its answer (Run.Answer), which must be a T. It is
// shown in Info.Questions as long as it waits. An answer that came before the
// question is kept for it; one that is no T is dropped then, and the question stays
// open. Asking a Key twice in a run gives the same answer. After q.Timeout it is
// ErrTimeout; branches that wait for the same Key at once must use the same Timeout.
func Await[T any](c *Context, q Question) (T, error) {
	var zero T
	if q.Key == "" {
		return zero, agent.ErrorOf(fmt.Errorf("%w: Question.Key is empty", ErrMalformed))
	}
	shape, err := answer.For[T]()
	if err != nil {
		return zero, agent.ErrorOf(fmt.Errorf("await a %T: %w: %w", zero, ErrFlow, err))
	}
	var until time.Time
	if q.Timeout > 0 {
		until = c.Now().Add(q.Timeout)
	}
	for q.Rejected = ""; ; {
		ask, err := engine.Encode(engine.Ask{Question: engine.Question(q), Schema: shape.JSON()})
		if err != nil {
			return zero, agent.ErrorOf(fmt.Errorf("%w: question %q: %w", ErrMalformed, q.Key, err))
		}
		op := c.branch.Op(engine.Await, q.Key)
		op.Ask, op.Until, op.Reject = ask, until, q.Rejected
		done := c.branch.Do(c.use, op)
		if done.Err != nil {
			return zero, done.Err
		}
		v, err := decodeAs[T](done.Response.Data)
		if err == nil {
			return v, nil
		}
		q.Rejected = err.Error()
	}
}
