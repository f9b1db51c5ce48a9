package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
)

// checkRequest returns every fault of req joined into one error, or nil. It
// quotes no texts.
func checkRequest(req providers.Request) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.ContainsFunc(req.Messages, func(m providers.Message) bool { return m.Role != providers.System && !blank(m) }) {
		bad("no message says anything")
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

func blank(m providers.Message) bool {
	return m.Role != providers.ToolRole && strings.TrimSpace(m.Text) == "" && len(m.ToolCalls) == 0
}

// system returns the system messages of req and what p adds.
func system(req providers.Request, p plan) []string {
	var out []string
	for _, m := range req.Messages {
		if m.Role == providers.System && !blank(m) {
			out = append(out, m.Text)
		}
	}
	return append(out, p.words...)
}

// toolInput returns the input of a call that is shown to a model again: they want
// objects, which those of other vendors, or broken ones, need not be.
func toolInput(input json.RawMessage) any {
	var fields map[string]json.RawMessage
	switch {
	case input == nil:
		return struct{}{}
	case json.Unmarshal(input, &fields) == nil && fields != nil:
		return input
	}
	return map[string]json.RawMessage{"input": input}
}

// inputOr returns the input of a call that a model made.
func inputOr(input json.RawMessage) json.RawMessage {
	if len(input) == 0 || string(input) == "null" {
		return json.RawMessage("{}")
	}
	return input
}

// noInput is the schema of tools without one.
var noInput = json.RawMessage(`{"type":"object","properties":{}}`)

func inputOf(t providers.Tool) json.RawMessage {
	if t.Input == nil {
		return noInput
	}
	return t.Input
}

var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// callID returns the ID of a call as Bedrock takes it. Those of other vendors may
// have any form: they are replaced, by the same one each time.
func callID(id string) string {
	if plainID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}
