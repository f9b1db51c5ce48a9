package openai

import (
	"encoding/json"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// responses is a call in the format of Responses. The vendor stores nothing: the
// conversation has its reasoning, encrypted for the vendor.
type responses struct {
	*call
	items []json.RawMessage // complete items
}

type responsesRequest struct {
	Model       string          `json:"model"`
	Input       []any           `json:"input"`
	Tools       []responsesTool `json:"tools,omitempty"`
	ToolChoice  any             `json:"tool_choice,omitempty"`
	Text        *textFormat     `json:"text,omitempty"`
	MaxTokens   int             `json:"max_output_tokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"top_p,omitempty"`
	Reasoning   *effort         `json:"reasoning,omitempty"`
	Include     []string        `json:"include,omitempty"`
	CacheKey    string          `json:"prompt_cache_key,omitempty"`
	Store       bool            `json:"store"`
	Stream      bool            `json:"stream"`
}

type effort struct {
	Effort string `json:"effort"`
}

type textFormat struct {
	Format responsesFormat `json:"format"`
}

type responsesFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict bool            `json:"strict,omitempty"`
}

type responsesTool struct {
	Type string `json:"type"`
	toolFunction
	Strict bool `json:"strict"` // the default is true, which changes the schema
}

// item is one of a conversation.
type item struct {
	Type      string `json:"type,omitempty"`
	Role      string `json:"role,omitempty"`
	Content   any    `json:"content,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Output    any    `json:"output,omitempty"`
}

// Ask implements [wire.Talk].
func (r *responses) Ask(a *wire.Answer) (string, []byte, error) {
	r.prepare(a)
	r.items = nil
	req, m := r.req, r.model
	body := responsesRequest{
		Model: m.spec.Model, Input: r.input(), MaxTokens: req.MaxTokens, Stream: true,
		Temperature: r.temperature(), TopP: r.topP(), CacheKey: r.cacheKey(),
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, responsesTool{Type: "function", toolFunction: toolFunction{t.Name, t.Description, wire.InputOf(t)}})
	}
	switch choice := req.ToolChoice; {
	case choice == "" || len(req.Tools) == 0:
	case choice == "none" || choice == "required":
		body.ToolChoice = choice
	default:
		body.ToolChoice = item{Type: "function", Name: choice}
	}
	switch r.typed.kind {
	case "":
	case "json_object":
		body.Text = &textFormat{responsesFormat{Type: r.typed.kind}}
	default:
		body.Text = &textFormat{responsesFormat{r.typed.kind, "answer", r.typed.schema, r.typed.strict}}
	}
	if r.asked = r.effort(); r.asked != "" {
		body.Reasoning = &effort{r.asked}
	}
	if (m.reasons() || body.Reasoning != nil) && !m.memory.Knows("include") {
		body.Include = []string{"reasoning.encrypted_content"}
	}
	data, err := wire.Body(body, req)
	r.sent = data
	return r.url("responses"), data, err
}

func (r *responses) input() []any {
	out := []any{}
	for _, m := range r.req.Messages {
		switch {
		case m.Role == providers.ToolRole && len(m.Parts) > 0:
			out = append(out, item{Type: "function_call_output", CallID: wire.ID(m.ToolID), Output: withText(m, inputText, inputParts)})
		case m.Role == providers.ToolRole:
			out = append(out, result{"function_call_output", wire.ID(m.ToolID), m.Text})
		case wire.Blank(m):
		case m.Role == providers.Assistant:
			out = append(out, r.assistant(m)...)
		case len(m.Parts) > 0:
			out = append(out, item{Role: string(m.Role), Content: withText(m, inputText, inputParts)})
		default:
			out = append(out, item{Role: string(m.Role), Content: m.Text})
		}
	}
	if r.typed.prompt != "" {
		out = append([]any{item{Role: "system", Content: r.typed.prompt}}, out...)
	}
	return out
}

// result is the result of a tool, which may be empty.
type result struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

// assistant returns what the model said, with its reasoning at its place. The reasoning
// includes the text beside it: if the message's text was changed, it is alone.
func (r *responses) assistant(m providers.Message) []any {
	before := make([][]json.RawMessage, len(m.ToolCalls)) // items before each tool call
	var text strings.Builder
	for i, c := range m.ToolCalls {
		if !r.seenAgain(c, &before[i]) {
			before[i] = nil
		}
		for _, raw := range before[i] {
			text.WriteString(textOf(raw))
		}
	}
	whole := m.Text != "" && text.String() == m.Text
	var out []any
	if m.Text != "" && !whole {
		out = append(out, item{Role: "assistant", Content: m.Text})
	}
	for i, c := range m.ToolCalls {
		for _, raw := range before[i] {
			if whole || typeOf(raw) != "message" {
				out = append(out, raw)
			}
		}
		out = append(out, item{Type: "function_call", CallID: wire.ID(c.ID), Name: c.Name, Arguments: wire.Arguments(c.Input)})
	}
	return out
}

func inputText(text string) any {
	return struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"input_text", text}
}

type inputFile struct {
	Type  string `json:"type"`
	Image string `json:"image_url,omitempty"`
	Name  string `json:"filename,omitempty"`
	Data  string `json:"file_data,omitempty"`
	URL   string `json:"file_url,omitempty"`
}

func inputParts(parts []providers.Part) []any {
	var out []any
	for _, p := range parts {
		switch {
		case p.Kind == providers.TextPart:
			out = append(out, inputText(p.Text))
		case p.Kind == providers.ImagePart:
			out = append(out, inputFile{Type: "input_image", Image: dataURL(p)})
		case p.URL != "":
			out = append(out, inputFile{Type: "input_file", URL: p.URL})
		case p.Media == "text/plain":
			out = append(out, inputText(named(p)+string(p.Data)))
		default:
			out = append(out, inputFile{Type: "input_file", Name: nameOf(p), Data: dataURL(p)})
		}
	}
	return out
}
