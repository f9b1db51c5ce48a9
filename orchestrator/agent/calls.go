package agent

import (
	"bytes"
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
	"unicode/utf8"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/providers"
)

// callTools makes the tool calls of one turn, at the same time, and adds their
// results in order. Its error is that of ctx; then some may be missing.
func (l *loop) callTools(ctx context.Context, calls []providers.ToolCall) error {
	if len(calls) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("before %d tool calls: %w", len(calls), err)
	}
	results := make([]providers.Message, len(calls)) // results[i] is written only by call i
	var all sync.WaitGroup
	for i, c := range calls {
		results[i] = result(c, "", errors.New("the tool ended its goroutine"))
		if i >= maxCalls {
			results[i] = result(c, "", fmt.Errorf("not called: these are %d calls in one turn, and at most %d are made", len(calls), maxCalls))
			continue
		}
		all.Go(func() { results[i] = l.callTool(ctx, c) })
	}
	all.Wait()
	l.calls += len(calls)
	l.spent.ToolCalls += int64(len(calls))
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("during %d tool calls: %w", len(calls), err)
	}
	l.talk = append(l.talk, results...)
	return nil
}

// callTool makes one tool call and tells whoever watches.
func (l *loop) callTool(ctx context.Context, c providers.ToolCall) providers.Message {
	begun := time.Now()
	i := InfoFrom(ctx)
	i.Key += "/" + c.ID
	text, err := l.perform(WithInfo(ctx, i), c)
	p := Progress{Kind: ProgressTool, Turn: l.turn, Tool: &c, Text: text, Usage: providers.Usage{ToolCalls: 1}, Elapsed: time.Since(begun)}
	if err != nil {
		p.Text, p.Err = "", bounded(err.Error())
	}
	Report(ctx, p)
	return result(c, text, err)
}

// perform finds the tool, checks the input and calls.
func (l *loop) perform(ctx context.Context, c providers.ToolCall) (text string, err error) {
	at := slices.IndexFunc(l.llm.Tools, func(t Tool) bool { return t.Name == c.Name })
	if at < 0 {
		return "", fmt.Errorf("there is no tool %.100q; %s", c.Name, l.names())
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

func (l *loop) names() string {
	if len(l.llm.Tools) == 0 {
		return "there are none"
	}
	var names []string
	for _, t := range l.llm.Tools {
		names = append(names, t.Name)
	}
	return "there are: " + bounded(strings.Join(names, ", "))
}

// fit is the input of a tool call as its schema wants it.
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

// result is what the model gets to see of a tool call.
func result(c providers.ToolCall, text string, err error) providers.Message {
	switch {
	case err != nil:
		text = bounded("error: " + err.Error())
	case text == "":
		text = "(the tool returned nothing)" // some vendors refuse an empty message
	}
	return providers.Message{Role: providers.ToolRole, ToolID: c.ID, Text: text}
}

// bounded is text that is not too long, and valid UTF-8.
func bounded(text string) string {
	n := min(len(text), MaxToolResult)
	if n < len(text) {
		for back := 0; back < utf8.UTFMax && !utf8.RuneStart(text[n]); back++ {
			n--
		}
	}
	short := strings.ToValidUTF8(text[:n], "?")
	if n < len(text) {
		return fmt.Sprintf("%s\n[cut off: these are the first %d of %d bytes]", short, n, len(text))
	}
	return short
}

// settle makes calls such that they can be kept and answered: with IDs that are
// nowhere else in the conversation, and with input that is JSON. What a model wrote
// as input and is none becomes a JSON string, which no tool takes.
func settle(calls []providers.ToolCall, talk []providers.Message) []providers.ToolCall {
	if len(calls) == 0 {
		return nil
	}
	taken := map[string]bool{}
	for _, m := range talk {
		for _, c := range m.ToolCalls {
			taken[c.ID] = true
		}
	}
	settled := slices.Clone(calls)
	for i, c := range settled {
		base := cmp.Or(c.ID, "call")
		id := base
		for n := 2; taken[id]; n++ {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		taken[id] = true
		settled[i].ID, settled[i].Input = id, inputOf(c)
	}
	return settled
}

// inputOf is the input of a call in the form that it has when it is read back from
// a log.
func inputOf(c providers.ToolCall) json.RawMessage {
	var compact bytes.Buffer
	if err := json.Compact(&compact, c.Input); err != nil && len(c.Input) > 0 {
		return JSON(string(c.Input))
	}
	if data := compact.Bytes(); len(data) > 0 && string(data) != "null" {
		return data
	}
	return json.RawMessage("{}")
}
