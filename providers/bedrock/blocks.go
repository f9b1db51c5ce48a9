package bedrock

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
)

type object map[string]any

// message is one turn as both dialects send it.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// blocks are the parts of a message in one dialect.
type blocks struct {
	name   string
	text   func(text string) any
	call   func(id, name string, input any) any
	result func(id, text string) any
}

// messages returns req's conversation without the system messages. What one side
// says before the other does is one message, and nothing is blank: the models
// refuse both.
func (b blocks) messages(req providers.Request) []message {
	var out []message
	for _, m := range req.Messages {
		if m.Role == providers.System || blank(m) {
			continue
		}
		role := "user"
		if m.Role == providers.Assistant {
			role = "assistant"
		}
		if n := len(out); n == 0 || out[n-1].Role != role {
			out = append(out, message{Role: role})
		}
		last := &out[len(out)-1]
		last.Content = append(last.Content, b.of(m)...)
	}
	return out
}

// of returns m's parts as the model wrote them: the text where its thoughts have
// it, or in front of the first call.
func (b blocks) of(m providers.Message) []any {
	if m.Role == providers.ToolRole {
		return []any{b.result(callID(m.ToolID), m.Text)}
	}
	var kept strings.Builder
	before := make([][]json.RawMessage, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		before[i] = b.thoughts(c.Extra)
		for _, raw := range before[i] {
			text, _ := textOf(raw)
			kept.WriteString(text)
		}
	}
	asWritten := kept.String() == m.Text // else somebody has changed the text
	var out []any
	for i, c := range m.ToolCalls {
		for _, raw := range before[i] {
			if _, isText := textOf(raw); asWritten || !isText {
				out = append(out, raw)
			}
		}
		if i == 0 && !asWritten {
			out = append(out, b.texts(m.Text)...)
		}
		out = append(out, b.call(callID(c.ID), c.Name, toolInput(c.Input)))
	}
	if len(m.ToolCalls) == 0 {
		return b.texts(m.Text)
	}
	return out
}

// texts returns text as a part, or nothing if it is blank.
func (b blocks) texts(text string) []any {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []any{b.text(text)}
}

// textOf returns the text of a part, in both dialects.
func textOf(raw json.RawMessage) (text string, ok bool) {
	var part struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &part) != nil || part.Text == nil {
		return "", false
	}
	return *part.Text, true
}

// extra returns the parts in front of a call as its Extra, if there is a thought
// among them: with the name of the dialect, for no other understands them.
func (b blocks) extra(before []json.RawMessage) json.RawMessage {
	if !slices.ContainsFunc(before, func(raw json.RawMessage) bool { _, isText := textOf(raw); return !isText }) {
		return nil
	}
	data, err := json.Marshal(map[string][]json.RawMessage{b.name: before})
	if err != nil {
		panic("bedrock: JSON that is none") // impossible: it has been read
	}
	return data
}

// thoughts returns what extra has kept, nothing of what others have.
func (b blocks) thoughts(extra json.RawMessage) []json.RawMessage {
	var kept map[string]json.RawMessage
	var out []json.RawMessage
	if json.Unmarshal(extra, &kept) != nil || json.Unmarshal(kept[b.name], &out) != nil {
		return nil
	}
	return out
}
