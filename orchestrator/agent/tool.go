package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/providers"
)

// Tool is a function that a model may ask to be called. [NewTool] makes one of a Go
// type; one made by hand has a JSON Schema of an object as Input, or nil for a tool
// without input.
type Tool struct {
	providers.Tool

	// Call does the work. It is safe for concurrent use, returns when ctx is done
	// and leaves nothing running. input is an object that fits the schema Input,
	// unless Go cannot read that, for its patterns or references: then Call checks it.
	//
	// The model gets the text, cut at [MaxToolResult], or "error: " and the text of the
	// error or panic: it tells the model what to do better, and does not end the call.
	// [Show] has it see images too.
	//
	// InfoFrom(ctx) is the agent's, but for its Key: that is the call's key, a slash
	// and the ID of the tool call. It is the same when the tools of a turn are called
	// again after a crash, so a tool with side effects uses it to act once. It compares
	// the input too: a model that is asked again may give the ID to another call.
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
			in, err := answer.Decode[In](input)
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

// maxCalls is how many tool calls of one turn are made.
const maxCalls = 128

// callTools makes the tool calls of one turn, at the same time, and adds their
// results in order. Its error is that of ctx.
func (l *loop) callTools(ctx context.Context, calls []providers.ToolCall) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("before %d tool calls: %w", len(calls), err)
	}
	work, left, end := l.slice(ctx)
	defer end()
	uses := make([]*toolUse, len(calls))
	for i, c := range calls {
		uses[i] = &toolUse{call: c, turn: l.turn, begun: time.Now(), came: make(chan providers.Message, 1)}
		if i >= maxCalls {
			uses[i].came <- result(c, "", fmt.Errorf("not called: one turn asks for %d calls, and at most %d are made", len(calls), maxCalls))
			continue
		}
		var one sync.WaitGroup // it is waited for by its result
		one.Go(func() { l.callTool(work, uses[i]) })
	}
	for _, u := range uses {
		l.say(u.wait(ctx, left))
	}
	l.spent.ToolCalls += int64(len(calls))
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("during %d tool calls: %w", len(calls), err)
	}
	return nil
}

// callTool makes one tool call.
func (l *loop) callTool(work context.Context, u *toolUse) {
	i := InfoFrom(work)
	i.Key += "/" + u.call.ID
	said, err := "", errors.New("the tool ended its goroutine")
	defer func() {
		if err != nil && errors.Is(context.Cause(work), errSlice) {
			err = fmt.Errorf("%w: %w", errSlice, err)
		}
		u.settle(work, said, err)
	}()
	said, err = l.runTool(context.WithValue(WithInfo(work, i), useKey{}, u), u.call)
}

// runTool finds the tool, checks the input and calls.
func (l *loop) runTool(ctx context.Context, c providers.ToolCall) (said string, err error) {
	at := slices.IndexFunc(l.llm.Tools, func(t Tool) bool { return t.Name == c.Name })
	if at < 0 {
		var names []string
		for _, t := range l.llm.Tools {
			names = append(names, t.Name)
		}
		return "", fmt.Errorf("there is no tool %.100q; there are: %s", c.Name, strings.Join(names, ", "))
	}
	tool := l.llm.Tools[at]
	if !isObject(c.Input) {
		return "", errors.New("the input does not fit: it is not a JSON object")
	}
	if shape, unreadable := answer.FromSchema(tool.Input); unreadable == nil { // else the tool checks its input
		if c.Input, err = shape.Find(c.Input, ""); err != nil {
			return "", fmt.Errorf("the input does not fit: %w", err)
		}
	}
	defer func() {
		if v := recover(); v != nil {
			InfoFrom(ctx).Log.Error("a tool panicked", "tool", tool.Name, "panic", v, "stack", string(debug.Stack()))
			said, err = "", fmt.Errorf("the tool panicked: %v", v)
		}
	}()
	return tool.Call(ctx, c.Input)
}

// result is the message that shows the model what came of a tool call.
func result(c providers.ToolCall, said string, err error) providers.Message {
	if err != nil {
		said = "error: " + err.Error()
	}
	said = cmp.Or(bounded(said), "(the tool returned nothing)") // some vendors refuse an empty message
	return providers.Message{Role: providers.ToolRole, ToolID: c.ID, Text: said}
}

// bounded is valid UTF-8 of a length that a model gets.
func bounded(s string) string { return text.Cut(strings.ToValidUTF8(s, "?"), MaxToolResult) }

// recordable returns calls as they are read back from a log, with IDs that are
// nowhere else in the conversation. No input is an empty object; what is not JSON
// becomes a JSON string, which no tool accepts.
func recordable(calls []providers.ToolCall, talk []providers.Message) []providers.ToolCall {
	if len(calls) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, m := range talk {
		for _, c := range m.ToolCalls {
			used[c.ID] = true
		}
	}
	fixed := slices.Clone(calls)
	for i, c := range fixed {
		base := cmp.Or(c.ID, "call")
		id := base
		for n := 2; used[id]; n++ {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		used[id] = true
		input := compact(c.Input)
		if len(input) == 0 || string(input) == "null" {
			input = json.RawMessage("{}")
		} else if !json.Valid(input) {
			input = JSON(string(input))
		}
		fixed[i].ID, fixed[i].Input = id, input
	}
	return fixed
}
