package bedrock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
)

// claude asks Anthropic's models by InvokeModel.
type claude struct{ generation }

func (claude) operations() (whole, stream string) { return "invoke", "invoke-with-response-stream" }

func (c claude) plan(req providers.Request) plan {
	return planOf(req, abilities{forced: c.forced, answers: true, none: true})
}

type claudeRequest struct {
	Version     string        `json:"anthropic_version"`
	MaxTokens   int           `json:"max_tokens"`
	System      string        `json:"system,omitempty"`
	Messages    []message     `json:"messages"`
	Temperature *float64      `json:"temperature,omitempty"`
	Tools       []claudeTool  `json:"tools,omitempty"`
	ToolChoice  *claudeChoice `json:"tool_choice,omitempty"`
}

type claudeTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type claudeChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

func (c claude) request(req providers.Request, p plan) ([]byte, error) {
	body := claudeRequest{
		Version:    "bedrock-2023-05-31",
		MaxTokens:  cmp.Or(req.MaxTokens, c.maxTokens),
		System:     strings.Join(system(req, p), "\n\n"),
		Messages:   claudeBlocks.messages(req),
		ToolChoice: claudeChoiceOf(p),
	}
	if c.temperature {
		body.Temperature = req.Temperature
	}
	for _, t := range p.tools {
		body.Tools = append(body.Tools, claudeTool{t.Name, t.Description, inputOf(t)})
	}
	return json.Marshal(body)
}

func claudeChoiceOf(p plan) *claudeChoice {
	switch p.choice {
	case "":
		return nil
	case "none":
		return &claudeChoice{Type: "none"}
	case "required":
		return &claudeChoice{Type: "any"}
	}
	return &claudeChoice{Type: "tool", Name: p.choice}
}

var claudeBlocks = blocks{
	name: "claude",
	text: func(text string) any { return object{"type": "text", "text": text} },
	call: func(id, name string, input any) any {
		return object{"type": "tool_use", "id": id, "name": name, "input": input}
	},
	result: func(id, text string) any {
		return object{"type": "tool_result", "tool_use_id": id, "content": text}
	},
}

// claudeAnswer is an answer of Anthropic's.
type claudeAnswer struct {
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      claudeUsage       `json:"usage"`
	Error      *claudeError      `json:"error"`
}

// claudeUsage counts as Anthropic does: cached tokens are not part of the input.
type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) usage() providers.Usage {
	return usageOf(u.Input, u.Output, u.CacheRead, u.CacheWrite)
}

type claudeError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (claude) answer(r *reply, body []byte) error {
	var a claudeAnswer
	err := json.Unmarshal(body, &a)
	r.usage = a.Usage.usage()
	switch {
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case a.Error != nil:
		return vendorError{a.Error.Type, a.Error.Message}
	}
	r.stop = stopOf(a.StopReason)
	var before []json.RawMessage // of the next call
	for _, raw := range a.Content {
		var b struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		switch b.Type {
		case "text":
			r.text.WriteString(b.Text)
			before = append(before, raw)
		case "thinking", "redacted_thinking":
			before = append(before, raw)
		case "tool_use":
			r.calls = append(r.calls, providers.ToolCall{ID: b.ID, Name: b.Name, Input: inputOr(b.Input), Extra: claudeBlocks.extra(before)})
			before = nil
		}
	}
	return nil
}

// claudeEvent is a piece of an answer: its fields are those of the types that are
// read.
type claudeEvent struct {
	Type    string       `json:"type"`
	Message claudeAnswer `json:"message"`
	Delta   struct {
		Text       string `json:"text"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage claudeUsage  `json:"usage"` // of the answer so far
	Error *claudeError `json:"error"`
}

func (claude) event(r *reply, kind string, data []byte) (string, error) {
	if kind != "chunk" {
		return "", nil
	}
	var chunk struct {
		Bytes []byte `json:"bytes"`
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return "", fmt.Errorf("read event: %w", err)
	}
	var e claudeEvent
	if err := json.Unmarshal(chunk.Bytes, &e); err != nil {
		return "", fmt.Errorf("read event: %w", err)
	}
	switch e.Type {
	case "message_start":
		r.usage = e.Message.Usage.usage()
	case "message_delta":
		r.stop = stopOf(e.Delta.StopReason)
		if u := e.Usage.usage(); u.Input > 0 {
			r.usage = u
		} else {
			r.usage.Output = u.Output
		}
	case "error":
		if e.Error != nil {
			return "", vendorError{e.Error.Type, e.Error.Message}
		}
	}
	return e.Delta.Text, nil
}
