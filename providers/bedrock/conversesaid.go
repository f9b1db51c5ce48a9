package bedrock

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// messages returns the conversation after the instructions. Consecutive messages of one
// side become one message, and none is blank: the models refuse both.
func (c *converse) messages() ([]message, error) {
	var out []message
	talk := c.req.Messages[wire.Leading(c.req.Messages):]
	for _, m := range wire.InOrder(talk) {
		if wire.Blank(m) {
			continue
		}
		role := "user"
		if m.Role == providers.Assistant {
			role = "assistant"
		}
		content, err := c.content(m)
		if err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].Role != role {
			out = append(out, message{Role: role})
		}
		last := &out[len(out)-1]
		last.Content = append(last.Content, content...)
	}
	return out, nil
}

func (c *converse) content(m providers.Message) ([]any, error) {
	parts, err := partsOf(m.Parts)
	switch {
	case err != nil:
		return nil, err
	case m.Role == providers.Assistant:
		return c.assistant(m), nil
	case m.Role == providers.ToolRole:
		text := m.Text
		if strings.TrimSpace(text) == "" {
			text = "(no text)" // a blank one is refused
		}
		content := append([]any{object{"text": text}}, parts...)
		return []any{object{"toolResult": object{"toolUseId": wire.ID(m.ToolID), "content": content}}}, nil
	}
	return append(textOf(m.Text), parts...), nil
}

// textOf returns text as a part, or nothing if it is blank.
func textOf(text string) []any {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []any{object{"text": text}}
}

// partsOf returns images and documents, which Bedrock takes only as bytes.
func partsOf(parts []providers.Part) ([]any, error) {
	var out []any
	for i, p := range parts {
		_, format, _ := strings.Cut(p.Media, "/")
		if format == "plain" {
			format = "txt"
		}
		switch source := (object{"bytes": p.Data}); {
		case p.Kind == providers.TextPart:
			out = append(out, textOf(p.Text)...)
		case p.URL != "":
			return nil, errors.New("a part has a URL, which Bedrock does not load: want Data")
		case p.Kind == providers.ImagePart:
			out = append(out, object{"image": object{"format": format, "source": source}})
		default:
			name := fmt.Sprintf("document-%d", i+1) // names may have few other characters
			out = append(out, object{"document": object{"format": format, "name": name, "source": source}})
		}
	}
	return out, nil
}

// assistant returns what the model said: the text at its place between the thoughts, or
// before the first call.
func (c *converse) assistant(m providers.Message) []any {
	var kept strings.Builder
	before := make([][]json.RawMessage, len(m.ToolCalls))
	for i, call := range m.ToolCalls {
		if c.forget || json.Unmarshal(wire.SeenAgain(remembered, call), &before[i]) != nil {
			before[i] = nil
		}
		for _, raw := range before[i] {
			text, _ := textIn(raw)
			kept.WriteString(text)
		}
	}
	asWritten := kept.String() == m.Text // false: the text was changed since
	var out []any
	for i, call := range m.ToolCalls {
		for _, raw := range before[i] {
			if _, isText := textIn(raw); asWritten || !isText {
				out = append(out, raw)
			}
		}
		if i == 0 && !asWritten {
			out = append(out, textOf(m.Text)...)
		}
		out = append(out, object{"toolUse": object{"toolUseId": wire.ID(call.ID), "name": call.Name, "input": wire.ObjectInput(call.Input)}})
	}
	if len(m.ToolCalls) == 0 {
		return textOf(m.Text)
	}
	return out
}

// textIn returns the text of a part.
func textIn(raw json.RawMessage) (text string, ok bool) {
	var part struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &part) != nil || part.Text == nil {
		return "", false
	}
	return *part.Text, true
}
