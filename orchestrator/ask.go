package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Ask calls an agent for a T in JSON. The schema is T's; an answer that does not
// fit is sent back with the fault (Limits.Repairs: once), then it is ErrMalformed.
// The Response is the last one, its Usage and Elapsed those of all.
func Ask[T any](c *Context, name string, req agent.Request) (T, agent.Response, error) {
	var zero T
	shape, err := answer.For[T]()
	if err != nil {
		return zero, agent.Response{}, agent.ErrorOf(fmt.Errorf("ask %q for a %T: %w: %w", name, zero, ErrFlow, err))
	}
	if req.Output == nil {
		req.Output = shape.JSON()
	}
	return AskWith(c, name, req, func(resp agent.Response) (T, error) {
		found, err := shape.Find(resp.Data, resp.Text)
		if err != nil {
			return zero, err
		}
		return answer.Decode[T](found)
	})
}

// AskWith is [Ask] with a reading of one's own: where more is wanted than that the
// answer fits a schema, or less. read is a pure function; its error is what the
// agent is told when it is asked again. Request.Output is sent as it is. While the
// agent answers in slices (Response.More), it is called to go on.
func AskWith[T any](c *Context, name string, req agent.Request, read func(agent.Response) (T, error)) (T, agent.Response, error) {
	var zero T
	var all agent.Response
	for repairs := max(repairsOf(req.Limits), 0); ; repairs-- {
		resp, err := c.Call(name, req)
		resp.Usage, resp.Elapsed = resp.Usage.Add(all.Usage), resp.Elapsed+all.Elapsed
		all = resp
		if err != nil {
			return zero, resp, err
		}
		if resp.More { // a slice of its work is over: it goes on, which is no repair
			req = goOn(req, resp)
			repairs++
			continue
		}
		v, err := read(resp)
		if err == nil {
			return v, resp, nil
		}
		if repairs == 0 {
			return zero, resp, agent.ErrorOf(fmt.Errorf("ask %q: %w: %w", name, ErrMalformed, err))
		}
		req = repair(req, resp, err)
	}
}

func repairsOf(l agent.Limits) int {
	if l.Repairs == 0 {
		return 1
	}
	return l.Repairs
}

// goOn is req behind what was said so far.
func goOn(req agent.Request, resp agent.Response) agent.Request {
	said := resp.Messages
	if said == nil {
		text := resp.Text
		if resp.Data != nil {
			text = string(resp.Data)
		}
		said = []providers.Message{{Role: providers.User, Text: req.Prompt}, {Role: providers.Assistant, Text: text}}
	}
	req.History = slices.Concat(req.History, said)
	req.Prompt, req.Input = "", nil
	return req
}

// repair is req again, with the answer that did not fit and what was wrong with it.
func repair(req agent.Request, resp agent.Response, fault error) agent.Request {
	input := req.Input
	req = goOn(req, resp)
	if resp.Messages == nil {
		req.Input = input // it is in no message yet
	}
	req.Prompt = "Your answer cannot be used: " + fault.Error() +
		". Answer again, with one JSON value that fits what was asked for, and nothing else."
	return req
}

// decodeAs is data as a T that fits its schema.
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
