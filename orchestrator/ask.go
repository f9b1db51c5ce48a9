package orchestrator

import (
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Ask asks an agent for a T in JSON. The agent gets the schema of T (unless
// Request.Output has one); an answer that does not fit it is sent back with the fault
// (Limits.Repairs: once), then it is ErrMalformed. The Response is the last one, its
// Usage and Elapsed are those of all.
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
	return AskWith(c, name, req, func(resp agent.Response) (T, error) {
		found, err := shape.Find(resp.Data, resp.Text)
		if err != nil {
			var zero T
			return zero, err
		}
		return answer.Decode[T](found)
	})
}

// AskWith is like [Ask], but read parses the response. read is a pure function; its
// error is what the agent is told when it is asked again. Request.Output is sent as it
// is. An agent that answers in slices (Response.More) is called until its work ends.
func AskWith[T any](c *Context, name string, req agent.Request, read func(agent.Response) (T, error)) (T, agent.Response, error) {
	var zero T
	var all agent.Response // Usage and Elapsed of the calls so far
	input, repairs := req.Input, req.Limits.Repairs
	if repairs == 0 {
		repairs = 1
	}
	for {
		resp, err := c.Call(name, req)
		resp.Usage, resp.Elapsed = resp.Usage.Add(all.Usage), resp.Elapsed+all.Elapsed
		all = resp
		if err != nil {
			return zero, resp, err
		}
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
		req.Input = input // for agents that read it; an LLM does not show it twice
		req.Prompt = "Your answer cannot be used: " + err.Error() +
			". Answer again, with one JSON value that fits what was asked for, and nothing else."
	}
}

// decodeAs returns data as a T that fits its schema.
func decodeAs[T any](data json.RawMessage) (T, error) {
	var zero T
	shape, err := answer.For[T]()
	if err != nil {
		return zero, err
	}
	found, err := shape.Check(data)
	if err != nil {
		return zero, err
	}
	return answer.Decode[T](found)
}
