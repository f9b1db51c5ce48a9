package openai

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// chat is a call in the format of Chat Completions.
type chat struct {
	*call
	read chatReader
}

type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	Tools               []chatTool     `json:"tools,omitempty"`
	ToolChoice          any            `json:"tool_choice,omitempty"`
	ResponseFormat      any            `json:"response_format,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	Seed                *int64         `json:"seed,omitempty"`
	Effort              string         `json:"reasoning_effort,omitempty"`
	Thinking            *kind          `json:"thinking,omitempty"`
	CacheKey            string         `json:"prompt_cache_key,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type kind struct {
	Type string `json:"type"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatMessage is one message of a request.
type chatMessage struct {
	Role      string     `json:"role"`
	Content   any        `json:"content"` // a text, or parts
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
	ToolID    string     `json:"tool_call_id,omitempty"`
	thoughts
}

// thoughts are the fields of servers for a model's reasoning. Each is sent back under the
// name under which it came.
type thoughts struct {
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	Reasoning        *string           `json:"reasoning,omitempty"`
	Details          []json.RawMessage `json:"reasoning_details,omitempty"`
}

type chatCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function chatFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// beside has the fields of a tool call that must be sent back.
type beside struct {
	Extra json.RawMessage `json:"extra_content,omitempty"`
	thoughts
}

// Ask implements [wire.Talk].
func (c *chat) Ask(a *wire.Answer) (string, []byte, error) {
	c.prepare(a)
	c.read = chatReader{}
	req, m := c.req, c.model
	body := chatRequest{
		Model: m.spec.Model, Messages: c.messages(), ToolChoice: chatChoice(req), ResponseFormat: c.format(),
		Temperature: c.temperature(), TopP: c.topP(), Stream: true, CacheKey: c.cacheKey(),
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, chatTool{"function", toolFunction{t.Name, t.Description, wire.InputOf(t)}})
	}
	field := m.vendor.maxTokens
	if other, refused := m.memory.Instead(field); refused {
		field = other
	}
	if field == "max_tokens" {
		body.MaxTokens = req.MaxTokens
	} else {
		body.MaxCompletionTokens = req.MaxTokens
	}
	if c.sampling("stop") {
		body.Stop = req.Stop
	}
	if !m.memory.Knows("seed") {
		body.Seed = req.Seed
	}
	if !m.memory.Knows("stream_options") {
		body.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	body.Effort = c.effort()
	c.asked = body.Effort
	if m.vendor.thinking && body.Effort != "" && !m.memory.Knows("thinking") {
		body.Thinking = &kind{"enabled"}
		if body.Effort == "none" {
			body.Thinking, body.Effort = &kind{"disabled"}, ""
		}
	}
	data, err := wire.Body(body, req)
	c.sent = data
	return c.url("chat/completions"), data, err
}

func (c *chat) format() any {
	t := c.typed
	switch t.kind {
	case "":
		return nil
	case "json_object":
		return kind{t.kind}
	}
	return struct {
		Type   string     `json:"type"`
		Schema namedShape `json:"json_schema"`
	}{t.kind, namedShape{"answer", t.schema, t.strict}}
}

type namedShape struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict,omitempty"`
}

func chatChoice(req providers.Request) any {
	switch {
	case req.ToolChoice == "" || len(req.Tools) == 0:
		return nil
	case req.ToolChoice == "none" || req.ToolChoice == "required":
		return req.ToolChoice
	}
	return struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}{"function", struct {
		Name string `json:"name"`
	}{req.ToolChoice}}
}

func (c *chat) messages() []chatMessage {
	out := make([]chatMessage, 0, len(c.req.Messages)+1)
	var shown []any // images of results, which a result cannot have
	for _, m := range c.req.Messages {
		if m.Role != providers.ToolRole && len(shown) > 0 {
			out = append(out, chatMessage{Role: "user", Content: shown})
			shown = nil
		}
		if m.Role == providers.Assistant && m.Text == "" && len(m.ToolCalls) == 0 {
			continue // it is empty, which some servers refuse
		}
		to := chatMessage{Role: string(m.Role), Content: m.Text}
		switch {
		case m.Role == providers.ToolRole:
			to.ToolID = wire.ID(m.ToolID)
			if len(m.Parts) > 0 {
				shown = append(shown, chatText("Shown by the result of "+to.ToolID+":"))
				shown = append(shown, chatParts(m.Parts)...)
			}
		case m.Role == providers.Assistant:
			c.addCalls(&to, m.ToolCalls)
		case len(m.Parts) > 0:
			to.Content = withText(m, chatText, chatParts)
		}
		out = append(out, to)
	}
	if len(shown) > 0 {
		out = append(out, chatMessage{Role: "user", Content: shown})
	}
	return c.prompted(out)
}

// withText returns a message's text and parts.
func withText(m providers.Message, text func(string) any, parts func([]providers.Part) []any) []any {
	var out []any
	if m.Text != "" {
		out = append(out, text(m.Text))
	}
	return append(out, parts(m.Parts)...)
}

// prompted adds the instructions for a schema to the first system message.
func (c *chat) prompted(out []chatMessage) []chatMessage {
	if c.typed.prompt == "" {
		return out
	}
	if len(out) > 0 && out[0].Role == string(providers.System) {
		out[0].Content = fmt.Sprint(out[0].Content, "\n\n", c.typed.prompt)
		return out
	}
	return slices.Insert(out, 0, chatMessage{Role: string(providers.System), Content: c.typed.prompt})
}

func (c *chat) addCalls(to *chatMessage, calls []providers.ToolCall) {
	v := c.model.vendor
	for i, t := range calls {
		var b beside
		seen := c.seenAgain(t, &b)
		if i == 0 {
			to.thoughts = b.thoughts
		}
		if !seen && c.stamp && i == 0 { // the first of parallel calls has the thought
			b.Extra = json.RawMessage(v.unsigned)
			if v.unsigned == "" {
				to.ReasoningContent = new("")
			}
		}
		to.ToolCalls = append(to.ToolCalls, chatCall{
			ID: wire.ID(t.ID), Type: "function", Extra: b.Extra,
			Function: chatFunction{Name: t.Name, Arguments: wire.Arguments(t.Input)},
		})
	}
}
