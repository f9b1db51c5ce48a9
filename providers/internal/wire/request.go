package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/schema"
)

// Check returns every fault of req joined into one error, or nil. It quotes no
// texts.
func Check(req providers.Request) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case len(req.Messages) == 0:
		bad("no messages")
	case !slices.ContainsFunc(req.Messages, asks):
		bad("all messages are the system's, or blank: want one of the user")
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
	if !choiceExists(req) {
		bad("tool choice %q needs a tool that the request does not have", req.ToolChoice)
	}
	if req.MaxTokens < 0 {
		bad("MaxTokens is %d, want 0 or more", req.MaxTokens)
	}
	if t := req.Temperature; t != nil && !(*t >= 0 && *t <= 2) { // NaN is refused too
		bad("temperature is %v, want 0 to 2", *t)
	}
	errs = append(errs, providers.CheckParams(req.Params), providers.CheckParts(req.Messages))
	return errors.Join(errs...)
}

// Blank says whether m has no content, which some vendors refuse.
func Blank(m providers.Message) bool {
	return m.Role != providers.ToolRole && strings.TrimSpace(m.Text) == "" && len(m.ToolCalls) == 0 && len(m.Parts) == 0
}

// asks says whether a model can answer to m.
func asks(m providers.Message) bool {
	return m.Role != providers.System && !Blank(m)
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

// toolInput returns the arguments of a call. Invalid JSON, which models sometimes write,
// becomes a JSON string that contains it: so it can be stored, is refused by the tool's
// schema, and can be shown to the model again.
func toolInput(arguments string) json.RawMessage {
	if arguments == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	data, err := json.Marshal(arguments)
	if err != nil {
		panic("wire: a string that is no JSON") // impossible
	}
	return data
}

// Arguments returns the text that toolInput has converted.
func Arguments(input json.RawMessage) string {
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

// ID returns the ID of a tool call in a form that every vendor takes: a conversation may
// have begun with another one, whose IDs are longer or have other characters.
func ID(id string) string {
	if commonID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// noInput is the schema of tools without one.
var noInput = json.RawMessage(`{"type":"object","properties":{}}`)

// InputOf returns the schema of a tool's input.
func InputOf(t providers.Tool) json.RawMessage {
	if t.Input == nil {
		return noInput
	}
	return t.Input
}

// ObjectInput returns a call's input as the object that some vendors require: inputs of
// other vendors, or broken ones, may be something else.
func ObjectInput(input json.RawMessage) json.RawMessage {
	input = bytes.TrimSpace(input)
	switch {
	case !IsSet(input):
		return json.RawMessage("{}")
	case input[0] == '{':
		return input
	}
	return slices.Concat([]byte(`{"input":`), input, []byte("}"))
}

// Prompted are the words that tell a model which schema its answer must fit.
func Prompted(schema json.RawMessage) string {
	return fmt.Sprintf("Answer with one JSON value that fits this JSON Schema, and with nothing else:\n%s", schema)
}

// IsSet says whether raw holds a value that is not null.
func IsSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// extra is what must be sent back to one provider: a thought with its signature, which
// another provider would refuse.
type extra struct {
	Provider string          `json:"provider"`
	Content  json.RawMessage `json:"content"`
}

// Remember returns what a tool call must send back to a provider, nil if there is
// nothing.
func Remember(provider string, content json.RawMessage) json.RawMessage {
	if !IsSet(content) {
		return nil
	}
	data, err := json.Marshal(extra{provider, content})
	if err != nil {
		panic("wire: what was read as JSON is none") // impossible
	}
	return data
}

// SeenAgain returns what Remember was given for c, if it is that provider's.
func SeenAgain(provider string, c providers.ToolCall) json.RawMessage {
	var e extra
	if len(c.Extra) == 0 || json.Unmarshal(c.Extra, &e) != nil || e.Provider != provider {
		return nil
	}
	return e.Content
}

// Body writes body as JSON, with the Extra of a request merged over it.
func Body(body any, req providers.Request) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil || len(req.Extra) == 0 {
		return data, err
	}
	return schema.Merge(data, req.Extra)
}

// Cached says what of req is worth caching: long instructions, with the tools before them,
// and in a loop of tools the whole conversation. Less is below the vendors' minimum, or
// saves next to nothing.
func Cached(req providers.Request) (instructions, talk bool) {
	const long = 4000 // bytes
	size, said := 0, 0
	for _, t := range req.Tools {
		size += len(t.Description) + len(t.Input)
	}
	first := Leading(req.Messages)
	for i, m := range req.Messages {
		if i < first {
			size += len(m.Text)
		} else {
			said += len(m.Text)
		}
	}
	return size >= long, len(req.Tools) > 0 && size+said >= long
}
