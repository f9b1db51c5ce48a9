package claude

import (
	"encoding/json"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// message is one turn of a request.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // *block, or json.RawMessage of what the vendor sees again
}

// block is a content block. In a request it has the fields of its type.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   any             `json:"content,omitempty"` // a text, or blocks
	Source    *source         `json:"source,omitempty"`
	Title     string          `json:"title,omitempty"`
	Cache     *control        `json:"cache_control,omitempty"`
}

type source struct {
	Type  string `json:"type"`
	Media string `json:"media_type,omitempty"`
	Data  any    `json:"data,omitempty"` // a text, or bytes as base64
	URL   string `json:"url,omitempty"`
}

// messages returns the turns: consecutive messages of one role become one, so that the
// results of parallel calls are together.
func (t *Talk) messages() []message {
	out := []message{}
	t.midway = false
	talk := t.req.Messages[wire.Leading(t.req.Messages):] // after the instructions
	for i, m := range talk {
		role, blocks := "user", []any(nil)
		if m.Role == providers.System && !wire.Blank(m) && !t.takesSystem(out, talk[i+1:]) {
			m = wire.Reminder(m)
		}
		switch m.Role {
		case providers.Assistant:
			role, blocks = "assistant", t.assistant(m)
		case providers.ToolRole:
			blocks = []any{toolResult(m)}
		case providers.User:
			blocks = append(textBlock(m.Text), parts(m.Parts)...)
		case providers.System:
			role, blocks = "system", textBlock(m.Text)
			t.midway = t.midway || len(blocks) > 0
		}
		if len(blocks) == 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].Role == role {
			out[last].Content = append(out[last].Content, blocks...)
			continue
		}
		out = append(out, message{Role: role, Content: blocks})
	}
	return out
}

// takesSystem says whether a system message is allowed between the messages before and
// next: models that take one require a user's turn before it, and an assistant's or
// nothing after it.
func (t *Talk) takesSystem(before []message, next []providers.Message) bool {
	last := len(before) - 1
	if !t.Model.Midway || t.Memory.Knows(midway) || last < 0 || before[last].Role == "assistant" {
		return false
	}
	for _, m := range next {
		if m.Role != providers.System && !wire.Blank(m) {
			return m.Role == providers.Assistant
		}
	}
	return true
}

func toolResult(m providers.Message) *block {
	b := &block{Type: "tool_result", ToolUseID: wire.ID(m.ToolID), Content: m.Text}
	if len(m.Parts) > 0 {
		b.Content = append(textBlock(m.Text), parts(m.Parts)...)
	}
	return b
}

// textBlock returns text as a block, nothing for a blank text.
func textBlock(text string) []any {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []any{&block{Type: "text", Text: text}}
}

// parts returns images and documents as blocks.
func parts(parts []providers.Part) []any {
	var out []any
	for _, p := range parts {
		switch {
		case p.Kind == providers.TextPart:
			out = append(out, textBlock(p.Text)...)
		case p.URL != "":
			out = append(out, &block{Type: string(p.Kind), Title: p.Name, Source: &source{Type: "url", URL: p.URL}})
		case p.Media == "text/plain":
			out = append(out, &block{Type: "document", Title: p.Name, Source: &source{Type: "text", Media: p.Media, Data: string(p.Data)}})
		default:
			out = append(out, &block{Type: string(p.Kind), Title: p.Name, Source: &source{Type: "base64", Media: p.Media, Data: p.Data}})
		}
	}
	for _, b := range out {
		if b := b.(*block); b.Type == "image" { //nolint:errcheck // they all are
			b.Title = ""
		}
	}
	return out
}

// assistant returns what the assistant said, with its thoughts at their places. They
// include the text between them: if the message's text was changed, they are alone.
func (t *Talk) assistant(m providers.Message) []any {
	before := make([][]json.RawMessage, len(m.ToolCalls)) // blocks before each tool call
	var text strings.Builder
	for i, c := range m.ToolCalls {
		if t.forget || json.Unmarshal(wire.SeenAgain(t.Provider, c), &before[i]) != nil {
			before[i] = nil
		}
		for _, raw := range before[i] {
			text.WriteString(textOf(raw))
		}
	}
	whole := m.Text != "" && text.String() == m.Text
	if len(m.ToolCalls) == 0 {
		return textBlock(m.Text)
	}
	var out []any
	for i, c := range m.ToolCalls {
		for _, raw := range before[i] {
			if whole || typeOf(raw) != "text" {
				out = append(out, raw)
			}
		}
		if i == 0 && !whole { // after the thoughts, which come first
			out = append(out, textBlock(m.Text)...)
		}
		out = append(out, &block{Type: "tool_use", ID: wire.ID(c.ID), Name: c.Name, Input: wire.ObjectInput(c.Input)})
	}
	return out
}

func textOf(raw json.RawMessage) string {
	var b block
	if json.Unmarshal(raw, &b) != nil || b.Type != "text" {
		return ""
	}
	return b.Text
}

func typeOf(raw json.RawMessage) string {
	var b block
	if json.Unmarshal(raw, &b) != nil {
		return ""
	}
	return b.Type
}

// control marks the end of the part to cache.
type control struct {
	Type string `json:"type"`
}

// cache marks the prefix that the next turn repeats: long instructions, and in a loop of
// tools the whole conversation. Tools come before the instructions, whose mark covers
// them.
func (t *Talk) cache(body *request) {
	if t.NoCache || t.Memory.Knows("cache_control") {
		return
	}
	mark := &control{"ephemeral"}
	instructions, talk := wire.Cached(t.req)
	if system, _ := body.System.(string); instructions && system != "" {
		body.System = []*block{{Type: "text", Text: system, Cache: mark}}
	}
	if !talk || len(body.Messages) == 0 {
		return
	}
	content := body.Messages[len(body.Messages)-1].Content
	if b, ok := content[len(content)-1].(*block); ok {
		b.Cache = mark
	}
}
