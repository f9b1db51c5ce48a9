package bedrock

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
)

// converse asks the models of all vendors in Bedrock's own words.
type converse struct{}

func (converse) operations() (whole, stream string) { return "converse", "converse-stream" }

func (converse) plan(req providers.Request) plan { return planOf(req, abilities{forced: true}) }

type converseRequest struct {
	System          []object  `json:"system,omitempty"`
	Messages        []message `json:"messages"`
	InferenceConfig struct {
		MaxTokens   int      `json:"maxTokens,omitempty"`
		Temperature *float64 `json:"temperature,omitempty"`
	} `json:"inferenceConfig"`
	ToolConfig *converseTools `json:"toolConfig,omitempty"`
}

type converseTools struct {
	Tools      []object `json:"tools"`
	ToolChoice object   `json:"toolChoice,omitempty"`
}

func (converse) request(req providers.Request, p plan) ([]byte, error) {
	body := converseRequest{Messages: converseBlocks.messages(req), ToolConfig: converseToolsOf(p)}
	body.InferenceConfig.MaxTokens = req.MaxTokens
	body.InferenceConfig.Temperature = req.Temperature
	for _, text := range system(req, p) {
		body.System = append(body.System, object{"text": text})
	}
	return json.Marshal(body)
}

func converseToolsOf(p plan) *converseTools {
	if len(p.tools) == 0 {
		return nil
	}
	out := &converseTools{}
	for _, t := range p.tools {
		spec := object{"name": t.Name, "inputSchema": object{"json": inputOf(t)}}
		if t.Description != "" {
			spec["description"] = t.Description
		}
		out.Tools = append(out.Tools, object{"toolSpec": spec})
	}
	switch p.choice {
	case "":
	case "required":
		out.ToolChoice = object{"any": object{}}
	default:
		out.ToolChoice = object{"tool": object{"name": p.choice}}
	}
	return out
}

var converseBlocks = blocks{
	name: "converse",
	text: func(text string) any { return object{"text": text} },
	call: func(id, name string, input any) any {
		return object{"toolUse": object{"toolUseId": id, "name": name, "input": input}}
	},
	result: func(id, text string) any {
		if strings.TrimSpace(text) == "" {
			text = "(no text)" // a blank one is refused
		}
		return object{"toolResult": object{"toolUseId": id, "content": []object{{"text": text}}}}
	},
}

type converseAnswer struct {
	Output struct {
		Message struct {
			Content []json.RawMessage `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason string        `json:"stopReason"`
	Usage      converseUsage `json:"usage"`
}

// converseUsage counts as Anthropic does: cached tokens are not part of the input.
type converseUsage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
}

func (u converseUsage) usage() providers.Usage {
	return usageOf(u.Input, u.Output, u.CacheRead, u.CacheWrite)
}

func (converse) answer(r *reply, body []byte) error {
	var a converseAnswer
	err := json.Unmarshal(body, &a)
	r.usage = a.Usage.usage()
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	r.stop = stopOf(a.StopReason)
	var before []json.RawMessage // of the next call
	for _, raw := range a.Output.Message.Content {
		var b struct {
			Text             string
			ReasoningContent json.RawMessage
			ToolUse          *struct {
				ID    string `json:"toolUseId"`
				Name  string
				Input json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		r.text.WriteString(b.Text)
		switch {
		case b.ToolUse != nil:
			r.calls = append(r.calls, providers.ToolCall{
				ID: b.ToolUse.ID, Name: b.ToolUse.Name, Input: inputOr(b.ToolUse.Input), Extra: converseBlocks.extra(before),
			})
			before = nil
		case b.Text != "", b.ReasoningContent != nil:
			before = append(before, raw)
		}
	}
	return nil
}

func (converse) event(r *reply, kind string, data []byte) (string, error) {
	if kind != "contentBlockDelta" && kind != "messageStop" && kind != "metadata" {
		return "", nil
	}
	var e struct {
		Delta      struct{ Text string }
		StopReason string
		Usage      converseUsage
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return "", fmt.Errorf("read event: %w", err)
	}
	switch kind {
	case "messageStop":
		r.stop = stopOf(e.StopReason)
	case "metadata":
		r.usage = e.Usage.usage()
	}
	return e.Delta.Text, nil
}
