package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/providers"
)

// callTools makes the tool calls of one turn, at the same time, and adds their
// results in order. Its error is that of ctx.
func (l *loop) callTools(ctx context.Context, calls []providers.ToolCall) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("before %d tool calls: %w", len(calls), err)
	}
	results := make([]providers.Message, len(calls)) // results[i] is written only by call i
	var all sync.WaitGroup
	for i, c := range calls {
		if i >= maxCalls {
			results[i] = result(c, "", fmt.Errorf("not called: one turn asks for %d calls, and at most %d are made", len(calls), maxCalls))
			continue
		}
		results[i] = result(c, "", errors.New("the tool ended its goroutine"))
		all.Go(func() { results[i] = l.callTool(ctx, c) })
	}
	all.Wait()
	l.talk = append(l.talk, results...)
	l.spent.ToolCalls += int64(len(calls))
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("during %d tool calls: %w", len(calls), err)
	}
	return nil
}

// callTool makes one tool call and reports it to watchers.
func (l *loop) callTool(ctx context.Context, c providers.ToolCall) providers.Message {
	begun := time.Now()
	i := InfoFrom(ctx)
	i.Key += "/" + c.ID
	text, err := l.runTool(WithInfo(ctx, i), c)
	p := Progress{Kind: ProgressTool, Turn: l.turn, Tool: &c, Text: text, Usage: providers.Usage{ToolCalls: 1}, Elapsed: time.Since(begun)}
	if err != nil {
		p.Text, p.Err = "", bounded(err.Error())
	}
	Report(ctx, p)
	return result(c, text, err)
}

// runTool finds the tool, checks the input and calls.
func (l *loop) runTool(ctx context.Context, c providers.ToolCall) (text string, err error) {
	at := slices.IndexFunc(l.llm.Tools, func(t Tool) bool { return t.Name == c.Name })
	if at < 0 {
		var names []string
		for _, t := range l.llm.Tools {
			names = append(names, t.Name)
		}
		return "", fmt.Errorf("there is no tool %.100q; there are: %s", c.Name, strings.Join(names, ", "))
	}
	tool := l.llm.Tools[at]
	input, err := fit(tool, inputOf(c))
	if err != nil {
		return "", fmt.Errorf("the input does not fit: %w", err)
	}
	defer func() {
		if v := recover(); v != nil {
			InfoFrom(ctx).Log.Error("a tool panicked", "tool", tool.Name, "panic", v, "stack", string(debug.Stack()))
			text, err = "", fmt.Errorf("the tool panicked: %v", v)
		}
	}()
	text, err = tool.Call(ctx, input)
	return bounded(text), err
}

// fit returns the input of a tool call as its schema wants it.
func fit(t Tool, input json.RawMessage) (json.RawMessage, error) {
	if !isObject(input) {
		return nil, errors.New("it is not a JSON object")
	}
	if t.Input == nil {
		return input, nil
	}
	shape, err := answer.FromSchema(t.Input)
	if err != nil {
		return input, nil //nolint:nilerr // what cannot be checked here is for the tool, as the comment of Tool says
	}
	found, err := shape.Check(input)
	return found.JSON, err
}

// result is the message that shows the model what came of a tool call.
func result(c providers.ToolCall, text string, err error) providers.Message {
	switch {
	case err != nil:
		text = bounded("error: " + err.Error())
	case text == "":
		text = "(the tool returned nothing)" // some vendors refuse an empty message
	}
	return providers.Message{Role: providers.ToolRole, ToolID: c.ID, Text: text}
}

// bounded is valid UTF-8 of a length that a model gets.
func bounded(s string) string { return text.Cut(strings.ToValidUTF8(s, "?"), MaxToolResult) }

// recordable returns calls as they are read back from a log, with IDs that are
// nowhere else in the conversation. Input that is not JSON becomes a JSON string,
// which no tool accepts.
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
		fixed[i].ID, fixed[i].Input = id, inputOf(c)
	}
	return fixed
}

// inputOf is the input of a call as compact JSON; no input is an empty object.
func inputOf(c providers.ToolCall) json.RawMessage {
	switch data := compact(c.Input); {
	case len(data) == 0 || string(data) == "null":
		return json.RawMessage("{}")
	case !json.Valid(data):
		return JSON(string(c.Input))
	default:
		return data
	}
}
