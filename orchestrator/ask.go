package orchestrator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Ask asks an agent for a T in JSON. The agent gets the schema of T (unless
// Request.Output has one); an answer that does not fit it is sent back with the fault
// (Limits.Repairs: once), then it is ErrMalformed. The Response is the last one, its
// Usage and Elapsed are those of all.
//
// Extra fields are dropped, and Response.Dropped has their names. One
// wrapping around the answer is undone: an object with a single field of another name, a
// list of one, a string with JSON in it. Where a number has the bounds 0 and M, "x/M" and
// "x %" are read as numbers.
func Ask[T any](c *Context, name string, req agent.Request) (T, agent.Response, error) {
	shape, err := answer.For[T]()
	if err != nil {
		var zero T
		return zero, agent.Response{}, agent.ErrorOf(fmt.Errorf("ask %q for a %T: %w: %w", name, zero, ErrFlow, err))
	}
	return askFor[T](c, name, req, shape)
}

// askFor asks for a T that fits shape.
func askFor[T any](c *Context, name string, req agent.Request, shape *answer.Shape) (T, agent.Response, error) {
	if req.Output == nil {
		req.Output = shape.JSON()
	}
	var dropped []string
	v, resp, err := AskWith(c, name, req, func(resp agent.Response) (v T, err error) {
		v, dropped, err = answer.ReadLoose[T](shape, resp.Data, resp.Text)
		return v, err
	})
	if err == nil {
		resp.Dropped = dropped
	}
	return v, resp, err
}

// AskWith is like [Ask], but read parses the response. read is a pure function; its
// error is what the agent is told when it is asked again. Request.Output is sent as it
// is. An agent that answers in slices (Response.More) is called until its work ends.
func AskWith[T any](c *Context, name string, req agent.Request, read func(agent.Response) (T, error)) (T, agent.Response, error) {
	var zero T
	var before agent.Response // its Usage, Elapsed and Fallbacks are those of the calls so far
	input, repairs := req.Input, cmp.Or(req.Limits.Repairs, 1)
	for {
		resp, err := c.Call(name, req)
		resp.Usage, resp.Elapsed = resp.Usage.Add(before.Usage), resp.Elapsed+before.Elapsed
		resp.Fallbacks = slices.Concat(before.Fallbacks, resp.Fallbacks)
		if err != nil {
			return zero, resp, err
		}
		before = resp
		if resp.More {
			req = agent.Continue(req, resp)
			continue
		}
		v, err := read(resp)
		if err == nil {
			return v, resp, nil
		}
		if repairs <= 0 {
			return zero, resp, agent.ErrorOf(fmt.Errorf("ask %q: %w: %w", name, ErrMalformed, err))
		}
		repairs--
		req = agent.Continue(req, resp)
		req.Input = input // agents that read Input get it again; an LLM does not show it twice
		req.Prompt = "Your answer cannot be used: " + err.Error() +
			". Answer again, with one JSON value that fits what was asked for, and nothing else."
	}
}

// Question is what a run asks the world outside: a human, a webhook.
//
// Its fields:
//   - Key: required, the name of the question in its run
//   - Text: question in words; "": none
//   - Options: answers to choose from; nil: any answer
//   - OptionsOf: field of the answer that is one of Options; "": the answer itself
//   - Data: JSON for the program that shows the question; nil: none
//   - Timeout: time until the question expires with ErrTimeout; 0: never
//   - Only: who may answer, compared with AnswerOptions.By; nil: anybody
//   - Person: only a person who was asked may answer: no agent, and nobody early
//   - Rejected: reason why an answer was dropped, set by Await; "": none was
//   - Secret: Data and the answer must not be shown: lists and exports have neither; false: they may be
//   - Hash: hash of what is asked, set by the engine in Info.Questions; "": not asked
type Question = engine.Question

// Await asks q and waits for its answer (Run.Answer), which must be a T. It is shown in
// Info.Questions as long as it waits. After q.Timeout it is ErrTimeout; branches that wait
// for the same Key at once must use the same Timeout.
//
// Options bind an answer that is a string, and the field of it that q.OptionsOf names. Two
// of them stand for true and false, in this order, if the answer is a bool.
//
// An answer is bound to what was asked: the Key, Text, Options and Data of q, and the type
// T. Asking the same twice in a run gives the same answer. Anything else under the same
// Key is another question with an answer of its own; while the one before waits in another
// branch, it is ErrMalformed. When the run is resumed and q is not what was asked, that is
// ErrDiverged; with Config.Requests.AcceptChanged it is asked anew.
//
// An answer that came early and does not fit q is dropped, and the question stays open.
func Await[T any](c *Context, q Question) (T, error) {
	var zero T
	shape, err := answer.For[T]()
	if err != nil {
		return zero, agent.ErrorOf(fmt.Errorf("await a %T: %w: %w", zero, ErrFlow, err))
	}
	if err := fault(&q, shape.JSON()); err != nil {
		return zero, agent.ErrorOf(fmt.Errorf("%w: question %q: %w", ErrMalformed, q.Key, err))
	}
	if c.mute != nil {
		return zero, c.mute
	}
	var until time.Time
	if q.Timeout > 0 {
		until = c.Now().Add(q.Timeout)
	}
	for q.Rejected, q.Hash = "", ""; ; q.Rejected = unquoted(&q, err).Error() {
		ask, encErr := engine.Encode(engine.Ask{Question: q, Schema: shape.JSON()})
		if encErr != nil {
			return zero, agent.ErrorOf(fmt.Errorf("%w: question %q: %w", ErrMalformed, q.Key, encErr))
		}
		op := c.branch.Op(engine.Await, q.Key)
		op.Ask, op.Until, op.Reject = ask, until, q.Rejected
		done := c.branch.Do(c.use, op)
		if done.Err != nil {
			return zero, done.Err
		}
		var v T
		if v, err = accept[T](&engine.Ask{Question: q, Schema: shape.JSON()}, shape, done.Response.Data); err == nil {
			return v, nil
		}
	}
}

// accept reads an answer that is on record. What came after its question was checked when
// it was given, but for a change of who may answer. Early answers are checked here.
func accept[T any](q *engine.Ask, shape *answer.Shape, data json.RawMessage) (v T, err error) {
	given := engine.AnswerOf(data)
	if given.Early {
		given.Answer, err = admit(q, given)
	} else {
		err = allowed(&q.Question, &given)
	}
	if err != nil {
		return v, err
	}
	return answer.Read[T](shape, given.Answer, "")
}
