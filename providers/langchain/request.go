package langchain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
)

// checkRequest returns every fault of req joined into one error, or nil. It
// quotes no texts.
func (m *model) checkRequest(req providers.Request) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case len(req.Messages) == 0:
		bad("no messages")
	case !slices.ContainsFunc(req.Messages, asks):
		bad("all messages are the system's, or say nothing: want one of the user")
	}
	for i, msg := range req.Messages {
		if err := checkMessage(msg); err != nil {
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
	if err := m.checkChoice(req); err != nil {
		errs = append(errs, err)
	}
	if req.MaxTokens < 0 {
		bad("MaxTokens is %d, want 0 or more", req.MaxTokens)
	}
	if t := req.Temperature; t != nil && !(*t >= 0 && *t <= 2) { // NaN is refused too
		bad("temperature is %v, want 0 to 2", *t)
	}
	return errors.Join(errs...)
}

// asks says whether a model can answer to m.
func asks(m providers.Message) bool {
	empty := m.Role == providers.Assistant && m.Text == "" && len(m.ToolCalls) == 0
	return m.Role != providers.System && !empty
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

func (m *model) checkChoice(req providers.Request) error {
	forced := req.ToolChoice != "" && req.ToolChoice != "none"
	switch {
	case !forced:
		return nil
	case req.ToolChoice == "required" && len(req.Tools) == 0,
		req.ToolChoice != "required" && !slices.ContainsFunc(req.Tools, func(t providers.Tool) bool { return t.Name == req.ToolChoice }):
		return fmt.Errorf("tool choice %q needs a tool that the request does not have", req.ToolChoice)
	case m.isClaude() && !m.claude.force:
		return fmt.Errorf("tool choice %q: this model lets nobody force a tool, want none or %q", req.ToolChoice, "none")
	}
	return nil
}

// toolInput returns the arguments of a call. What is not JSON, for models write
// that, becomes a JSON string that holds it: so it can be stored, is refused by
// the tool's schema, and can be shown to the model again.
func toolInput(arguments string) json.RawMessage {
	if arguments == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	data, err := json.Marshal(arguments)
	if err != nil {
		panic("langchain: a string that is no JSON") // impossible
	}
	return data
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

var commonID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// wireID returns the ID of a tool call as every vendor takes it: a conversation
// may have begun with another one, whose IDs are longer or hold other characters.
func wireID(id string) string {
	if commonID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// standIn is the conversation that langchaingo is given: the dialect writes the
// true one over it.
var standIn = []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "")}

// options returns what langchaingo can say; the rest is in the dialect's patch.
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
