package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/providers"
)

// Tool is a function that a model may ask to be called. [NewTool] makes one of a Go
// type; one made by hand has a JSON Schema of an object as Input, or nil for a tool
// without input.
type Tool struct {
	providers.Tool

	// Call does the work. It is safe for concurrent use, returns when ctx is done
	// and leaves nothing running. input is an object that fits the schema Input. A
	// schema that Go cannot read, for its patterns or references, is not checked:
	// then Call checks its input.
	//
	// The model gets the text, cut at [MaxToolResult], or "error: " and the text of
	// the error or panic: an error tells the model what to do better, and does not
	// end the agent's call.
	//
	// InfoFrom(ctx) is the agent's, but for its Key: that is the call's key, a slash
	// and the ID of the tool call. It is the same when the tools of the same turn are
	// called again after a crash, so a tool with side effects uses it to act once. It
	// compares the input too: a model that is asked again may give the ID to another
	// call.
	Call func(ctx context.Context, input json.RawMessage) (string, error)
}

// MaxToolResult is how many bytes of a tool's result a model gets. The rest is cut
// off, and a note says so.
const MaxToolResult = 64 << 10

// NewTool returns a tool whose input is a struct. Its schema is made of In by the rules
// of package encoding/json: a field is required unless it has omitempty or omitzero;
// the tag jsonschema:"…" describes it, enum:"low,high" lists a string's values, and
// min:"0" and max:"10" bound a number. What a model writes is converted where that
// loses nothing, as a number in quotes.
//
// The model chooses a tool by its description. NewTool returns an error for a name
// that vendors do not accept (1 to 64 letters, digits, underscores and dashes), for a
// nil function, and for a type that is not an object in JSON or has no schema.
func NewTool[In any](name, description string, call func(ctx context.Context, in In) (string, error)) (Tool, error) {
	shape, err := answer.For[In]()
	if err != nil {
		return Tool{}, fmt.Errorf("agent: tool %q: %w", name, err)
	}
	t := Tool{Tool: providers.Tool{Name: name, Description: description, Input: shape.JSON()}}
	if call != nil {
		t.Call = func(ctx context.Context, input json.RawMessage) (string, error) {
			found, err := shape.Check(input)
			if err != nil {
				return "", err
			}
			in, err := answer.Decode[In](found)
			if err != nil {
				return "", err
			}
			return call(ctx, in)
		}
	}
	var kind struct {
		Type any `json:"type"` // a string, or a list of them
	}
	if err := errors.Join(t.check(), json.Unmarshal(t.Input, &kind)); err != nil {
		return Tool{}, fmt.Errorf("agent: tool %q: %w", name, err)
	}
	if kind.Type != "object" {
		return Tool{}, fmt.Errorf("agent: tool %q: its input is %v, want a struct", name, reflect.TypeFor[In]())
	}
	return t, nil
}

// toolName matches what all vendors accept.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// check returns every fault of t joined into one error, or nil.
func (t Tool) check() error {
	var errs []error
	if !toolName.MatchString(t.Name) {
		errs = append(errs, errors.New("its name is not 1 to 64 letters, digits, underscores and dashes"))
	}
	if t.Call == nil {
		errs = append(errs, errors.New("Call is nil"))
	}
	if t.Input != nil && (!json.Valid(t.Input) || !isObject(t.Input)) {
		errs = append(errs, errors.New("the schema Input is not a JSON object"))
	}
	return errors.Join(errs...)
}

// isObject reports whether valid JSON is an object.
func isObject(data json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
}
