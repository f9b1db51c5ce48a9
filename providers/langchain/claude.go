package langchain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
)

// claude is Anthropic's format: messages of content blocks.
type claude struct{}

func (claude) patch(ex *exchange, body fields) (object, error) {
	req, can := ex.req, ex.model.claude
	changes := object{
		"messages":    claudeMessages(ex),
		"system":      orNothing(instructions(ex)),
		"max_tokens":  can.maxTokens, // it has to be said
		"temperature": nil,           // unset, langchaingo sends 0
	}
	if req.MaxTokens > 0 {
		changes["max_tokens"] = req.MaxTokens
	}
	if req.Temperature != nil && can.sampling {
		changes["temperature"] = *req.Temperature
	}
	if ex.typed.format != nil {
		changes["output_config"] = object{"format": ex.typed.format}
	}
	if ex.typed.tool != "" {
		tools, err := withAnswerTool(body["tools"], ex.typed)
		if err != nil {
			return nil, err
		}
		changes["tools"] = tools
	}
	if choice := claudeChoice(ex); choice != nil {
		changes["tool_choice"] = choice
	}
	if ex.streams() {
		changes["stream"] = true
	}
	return changes, nil
}

func orNothing(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// instructions returns the system messages, for which there is one place.
func instructions(ex *exchange) string {
	var texts []string
	for _, m := range ex.req.Messages {
		if m.Role == providers.System && m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	if ex.typed.prompt != "" {
		texts = append(texts, ex.typed.prompt)
	}
	return strings.Join(texts, "\n\n")
}

func withAnswerTool(data json.RawMessage, t typed) ([]any, error) {
	var tools []any
	if data != nil {
		var given []json.RawMessage
		if err := json.Unmarshal(data, &given); err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
		for _, tool := range given {
			tools = append(tools, tool)
		}
	}
	return append(tools, object{
		"name": t.tool, "description": "Gives the final answer. Its input is the answer.", "input_schema": t.schema,
	}), nil
}

// claudeChoice returns the wanted choice of tools. With the answer's tool among
// them one has to be called: it, or another one if that is allowed.
func claudeChoice(ex *exchange) any {
	choice := ex.req.ToolChoice
	switch {
	case ex.typed.tool != "" && (choice == "none" || len(ex.req.Tools) == 0):
		return object{"type": "tool", "name": ex.typed.tool}
	case ex.typed.tool != "":
		return object{"type": "any"}
	case choice == "" || len(ex.req.Tools) == 0:
		return nil
	case choice == "none":
		return object{"type": "none"}
	case choice == "required":
		return object{"type": "any"}
	}
	return object{"type": "tool", "name": choice}
}

// claudeBlock is a content block. Those of a request have what their type needs.
type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   *string         `json:"content,omitempty"`
}

// claudeAnswer is what is read of an answer.
type claudeAnswer struct {
	Content []json.RawMessage `json:"content"`
	Reason  *string           `json:"stop_reason"`
	Usage   claudeUsage       `json:"usage"`
	Error   vendorSays        `json:"error"`
}

// claudeUsage counts cached tokens apart from the input's.
type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) usage() providers.Usage {
	out := counted(providers.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
	out.Input += out.CacheRead + out.CacheWrite
	return out
}

func (claude) read(ex *exchange, body []byte) wire {
	var a claudeAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return wire{usage: a.Usage.usage(), err: err} // nothing else is sure
	}
	w := wire{usage: a.Usage.usage(), fault: a.Error}
	var text strings.Builder
	var before []json.RawMessage // of the next tool call
	for _, raw := range a.Content {
		var b claudeBlock
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
			before = append(before, raw)
		case "thinking", "redacted_thinking":
			before = append(before, raw)
		case "tool_use":
			w.calls = append(w.calls, providers.ToolCall{
				ID: cmp.Or(b.ID, ex.newID(len(w.calls))), Name: b.Name,
				Input: blockInput(b.Input), Extra: ex.remember(thoughts(before)),
			})
			before = nil
		}
	}
	if len(a.Content) != 1 || text.Len() == 0 {
		w.plain = plainAnswer(a.Reason, text.String())
	}
	return w
}

// blockInput returns the input of a call, which need not be an object.
func blockInput(raw json.RawMessage) json.RawMessage {
	if !isSet(raw) {
		return json.RawMessage("{}")
	}
	return slices.Clone(raw)
}

// thoughts returns blocks as what has to be seen again, nil if there is no thought
// among them.
func thoughts(blocks []json.RawMessage) json.RawMessage {
	if !slices.ContainsFunc(blocks, func(raw json.RawMessage) bool { return kindOfBlock(raw) != "text" }) {
		return nil
	}
	data, err := json.Marshal(blocks)
	if err != nil {
		panic("langchain: what was read as JSON is none") // impossible
	}
	return data
}

func kindOfBlock(raw json.RawMessage) string {
	var b claudeBlock
	if json.Unmarshal(raw, &b) != nil {
		return ""
	}
	return b.Type
}

// plainAnswer returns an answer of one block of text, the only one that
// langchaingo reads as it should: it fails at kinds of blocks that it does not
// know, at none, and at inputs of tools that are no objects.
func plainAnswer(reason *string, text string) []byte {
	data, err := json.Marshal(object{"content": []object{{"type": "text", "text": text}}, "stop_reason": reason})
	if err != nil {
		panic("langchain: strings that are no JSON") // impossible
	}
	return data
}

func (claude) stream() assembler { return &claudeStream{} }
