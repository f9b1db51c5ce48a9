package langchain

import (
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/providers"
)

// patch rewrites the body of a chat completion, for what langchaingo says wrongly
// or cannot say. Values that it does not replace keep their bytes: the order of a
// schema's fields is the order in which a model fills them in.
func patch(data []byte, v vendor, req providers.Request) ([]byte, error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	changes := map[string]any{
		"temperature":           nil, // unset, langchaingo sends 0, which some models refuse
		"max_tokens":            nil,
		"max_completion_tokens": nil,
	}
	if req.Temperature != nil {
		changes["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		changes[v.maxTokens] = req.MaxTokens
	}
	if req.Output != nil {
		changes["response_format"] = object{
			"type":        "json_schema",
			"json_schema": object{"name": "answer", "schema": req.Output},
		}
	}
	if choice := toolChoice(req); choice != nil {
		changes["tool_choice"] = choice
	}
	if streams(req) {
		changes["stream"] = true
		changes["stream_options"] = object{"include_usage": true}
	}
	if extras := extrasOf(req); len(extras) > 0 {
		msgs, err := withExtras(body["messages"], extras)
		if err != nil {
			return nil, err
		}
		changes["messages"] = msgs
	}
	for name, value := range changes {
		if value == nil {
			delete(body, name)
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		body[name] = raw
	}
	return json.Marshal(body)
}

type object map[string]any

// streams says whether req is to be streamed. With tools it is not: vendors cut
// calls into pieces in several ways.
func streams(req providers.Request) bool { return req.OnText != nil && len(req.Tools) == 0 }

func toolChoice(req providers.Request) any {
	switch {
	case req.ToolChoice == "" || len(req.Tools) == 0:
		return nil
	case req.ToolChoice == "none" || req.ToolChoice == "required":
		return req.ToolChoice
	}
	return object{"type": "function", "function": object{"name": req.ToolChoice}}
}

// extrasOf returns what vendors want to see again, by tool call.
func extrasOf(req providers.Request) map[string]json.RawMessage {
	extras := map[string]json.RawMessage{}
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			if len(c.Extra) > 0 {
				extras[c.ID] = c.Extra
			}
		}
	}
	return extras
}

func withExtras(data json.RawMessage, extras map[string]json.RawMessage) ([]map[string]json.RawMessage, error) {
	var msgs []map[string]json.RawMessage
	if err := json.Unmarshal(data, &msgs); err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	for _, m := range msgs {
		if m["tool_calls"] == nil {
			continue
		}
		var calls []map[string]json.RawMessage
		if err := json.Unmarshal(m["tool_calls"], &calls); err != nil {
			return nil, fmt.Errorf("read tool calls: %w", err)
		}
		for _, c := range calls {
			var id string
			if json.Unmarshal(c["id"], &id) == nil && extras[id] != nil {
				c["extra_content"] = extras[id]
			}
		}
		raw, err := json.Marshal(calls)
		if err != nil {
			return nil, fmt.Errorf("write tool calls: %w", err)
		}
		m["tool_calls"] = raw
	}
	return msgs, nil
}
