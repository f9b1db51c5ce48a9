package langchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
)

// checkRequest returns every fault of req joined into one error, or nil. It
// quotes no texts.
func checkRequest(req providers.Request) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(req.Messages) == 0 {
		bad("no messages")
	}
	for i, m := range req.Messages {
		if err := checkMessage(m); err != nil {
			bad("message %d: %w", i+1, err)
		}
	}
	for i, t := range req.Tools {
		if t.Name == "" {
			bad("tool %d has no name", i+1)
		}
		if t.Input != nil && !json.Valid(t.Input) {
			bad("input schema of tool %q is not JSON", t.Name)
		}
	}
	if req.Output != nil && !json.Valid(req.Output) {
		bad("output schema is not JSON")
	}
	if !choiceExists(req) {
		bad("tool choice %q needs a tool that the request does not have", req.ToolChoice)
	}
	if req.MaxTokens < 0 {
		bad("MaxTokens is %d, want 0 or more", req.MaxTokens)
	}
	if t := req.Temperature; t != nil && !(*t >= 0 && *t <= 2) { // NaN is refused too
		bad("temperature is %v, want 0 to 2", *t)
	}
	return errors.Join(errs...)
}

func checkMessage(m providers.Message) error {
	switch m.Role {
	case providers.System, providers.User:
	case providers.Assistant:
		for _, c := range m.ToolCalls {
			if c.Input != nil && !json.Valid(c.Input) {
				return fmt.Errorf("input of tool call %q is not JSON", c.ID)
			}
		}
	case providers.ToolRole:
		if m.ToolID == "" {
			return errors.New("a tool's result has no ToolID")
		}
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	return nil
}

func choiceExists(req providers.Request) bool {
	switch req.ToolChoice {
	case "", "none":
		return true
	case "required":
		return len(req.Tools) > 0
	}
	return slices.ContainsFunc(req.Tools, func(t providers.Tool) bool { return t.Name == req.ToolChoice })
}

// messages returns req's messages in langchaingo's words.
func messages(req providers.Request) []llms.MessageContent {
	roles := map[providers.Role]llms.ChatMessageType{
		providers.System:    llms.ChatMessageTypeSystem,
		providers.User:      llms.ChatMessageTypeHuman,
		providers.Assistant: llms.ChatMessageTypeAI,
		providers.ToolRole:  llms.ChatMessageTypeTool,
	}
	out := make([]llms.MessageContent, len(req.Messages))
	for i, m := range req.Messages {
		out[i] = llms.MessageContent{Role: roles[m.Role], Parts: parts(m)}
	}
	return out
}

func parts(m providers.Message) []llms.ContentPart {
	if m.Role == providers.ToolRole {
		return []llms.ContentPart{llms.ToolCallResponse{ToolCallID: m.ToolID, Content: m.Text}}
	}
	var out []llms.ContentPart
	if m.Text != "" || m.Role != providers.Assistant {
		out = append(out, llms.TextPart(m.Text))
	}
	for _, c := range m.ToolCalls {
		out = append(out, llms.ToolCall{
			ID: c.ID, Type: "function",
			FunctionCall: &llms.FunctionCall{Name: c.Name, Arguments: arguments(c.Input)},
		})
	}
	return out
}

// arguments returns the text that toolInput has read.
func arguments(input json.RawMessage) string {
	var text string
	switch {
	case input == nil:
		return "{}"
	case json.Unmarshal(input, &text) == nil && string(input) != "null":
		return text
	}
	return string(input)
}

// options returns what langchaingo can say; the rest is in patch.
func options(req providers.Request) []llms.CallOption {
	if len(req.Tools) == 0 {
		return nil
	}
	tools := make([]llms.Tool, len(req.Tools))
	for i, t := range req.Tools {
		input := t.Input
		if input == nil {
			input = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		tools[i] = llms.Tool{
			Type:     "function",
			Function: &llms.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: input},
		}
	}
	return []llms.CallOption{llms.WithTools(tools)}
}
