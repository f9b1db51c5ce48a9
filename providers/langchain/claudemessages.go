package langchain

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/convene-go/convene/providers"
)

// claudeMessage is one turn of a request.
type claudeMessage struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // claudeBlock, or json.RawMessage of what the vendor sees again
}

// claudeMessages returns the turns: messages of one role in a row are one, so that
// the results of parallel calls stand together. langchaingo keeps only the first
// part of an assistant's message and loses digits of numbers, so it is not asked.
func claudeMessages(ex *exchange) []claudeMessage {
	out := []claudeMessage{}
	for _, m := range ex.req.Messages {
		role, blocks := "user", []any(nil)
		switch m.Role {
		case providers.Assistant:
			role, blocks = "assistant", assistantBlocks(ex, m)
		case providers.ToolRole:
			blocks = []any{claudeBlock{Type: "tool_result", ToolUseID: wireID(m.ToolID), Content: &m.Text}}
		case providers.User:
			blocks = textBlock(m.Text)
		case providers.System: // these are the instructions
		}
		if len(blocks) == 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].Role == role {
			out[last].Content = append(out[last].Content, blocks...)
			continue
		}
		out = append(out, claudeMessage{Role: role, Content: blocks})
	}
	return out
}

// textBlock returns text as a block, which must not be empty.
func textBlock(text string) []any {
	if text == "" {
		return nil
	}
	return []any{claudeBlock{Type: "text", Text: text}}
}

// assistantBlocks returns what the assistant said, with its thoughts where they
// were. They have the text between them: if that is not the message's any more,
// they stand alone.
func assistantBlocks(ex *exchange, m providers.Message) []any {
	before := make([][]json.RawMessage, len(m.ToolCalls)) // by tool call
	var text strings.Builder
	for i, c := range m.ToolCalls {
		if json.Unmarshal(ex.seenAgain(c), &before[i]) != nil {
			before[i] = nil
		}
		for _, raw := range before[i] {
			text.WriteString(textOf(raw))
		}
	}
	whole := m.Text != "" && text.String() == m.Text
	var out []any
	if !whole {
		out = textBlock(m.Text)
	}
	for i, c := range m.ToolCalls {
		for _, raw := range before[i] {
			if whole || kindOfBlock(raw) != "text" {
				out = append(out, raw)
			}
		}
		out = append(out, claudeBlock{Type: "tool_use", ID: wireID(c.ID), Name: c.Name, Input: objectInput(c.Input)})
	}
	return out
}

func textOf(raw json.RawMessage) string {
	var b claudeBlock
	if json.Unmarshal(raw, &b) != nil || b.Type != "text" {
		return ""
	}
	return b.Text
}

// objectInput returns a call's input as the object that it has to be.
func objectInput(input json.RawMessage) json.RawMessage {
	input = bytes.TrimSpace(input)
	switch {
	case !isSet(input):
		return json.RawMessage("{}")
	case input[0] == '{':
		return input
	}
	return append(append([]byte(`{"input":`), input...), '}')
}
