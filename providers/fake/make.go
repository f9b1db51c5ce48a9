package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/providers"
)

// FromSchema answers with data that fits the request's Output, the same for the
// same schema: every property, one item in a list, the first value of an enum, else
// a short text, 1, or true, within the schema's bounds. A request without Output,
// or with a schema for which no data is found, fails the test.
func FromSchema() Answer {
	return Answer{From: func(req providers.Request) (Answer, error) {
		if req.Output == nil {
			return Answer{}, errors.New("the request has no Output to make data for")
		}
		data, err := dataFor(req.Output)
		if err != nil {
			return Answer{}, fmt.Errorf("data for the request's Output: %w; script the answer instead", err)
		}
		return Answer{Text: string(data)}, nil
	}}
}

// CallTools calls each named tool once, or all that the request offers if none is
// named. The arguments are made from the tools' schemas as in [FromSchema]; the IDs are
// call-1, call-2 and so on through the conversation. A tool that is not offered fails
// the test.
func CallTools(names ...string) Answer {
	names = slices.Clone(names)
	return Answer{From: func(req providers.Request) (Answer, error) {
		tools, err := offered(req, names)
		if err != nil {
			return Answer{}, err
		}
		n := 0
		for _, m := range req.Messages {
			n += len(m.ToolCalls)
		}
		var a Answer
		for i, tool := range tools {
			input := json.RawMessage(`{}`)
			if tool.Input != nil {
				if input, err = dataFor(tool.Input); err != nil {
					return Answer{}, fmt.Errorf("arguments of tool %s: %w; script the call instead", tool.Name, err)
				}
			}
			a.ToolCalls = append(a.ToolCalls, providers.ToolCall{ID: fmt.Sprintf("call-%d", n+i+1), Name: tool.Name, Input: input})
		}
		return a, nil
	}}
}

// offered returns the named tools of req, or all.
func offered(req providers.Request, names []string) ([]providers.Tool, error) {
	if len(names) == 0 {
		if len(req.Tools) == 0 {
			return nil, errors.New("the request offers no tools to call")
		}
		return req.Tools, nil
	}
	var tools []providers.Tool
	for _, n := range names {
		i := slices.IndexFunc(req.Tools, func(t providers.Tool) bool { return t.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("the request does not offer the tool %q", n)
		}
		tools = append(tools, req.Tools[i])
	}
	return tools, nil
}
