package langchain

import (
	"encoding/json"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
)

// wire is what langchaingo leaves out of an answer, or loses with an error.
type wire struct {
	Choices []*struct {
		Message struct {
			Refusal   string `json:"refusal"`
			ToolCalls []struct {
				Extra json.RawMessage `json:"extra_content"`
			} `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Usage wireUsage  `json:"usage"`
	Error vendorSays `json:"error"`
}

// wireUsage counts as OpenAI does: cached tokens are part of the prompt's.
type wireUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// readWire reads as much of body as is readable.
func readWire(body []byte) wire {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		w.Error = vendorSays{} // of a half-read value nothing is sure but what was counted
	}
	return w
}

// usage returns the counts. Those that nobody can have meant are left out, which
// makes the call one without a known cost.
func (u wireUsage) usage() providers.Usage {
	return providers.Usage{Input: sane(u.Prompt), Output: sane(u.Completion), CacheRead: sane(u.Details.Cached)}
}

func sane(tokens int64) int64 {
	if tokens < 0 || tokens > 1<<40 {
		return 0
	}
	return tokens
}

func (w wire) refusal() string {
	if len(w.Choices) == 0 || w.Choices[0] == nil {
		return ""
	}
	return w.Choices[0].Message.Refusal
}

// extras returns what the vendor wants to see again, by place of the tool call.
func (w wire) extras() []json.RawMessage {
	if len(w.Choices) == 0 || w.Choices[0] == nil {
		return nil
	}
	var out []json.RawMessage
	for _, c := range w.Choices[0].Message.ToolCalls {
		out = append(out, c.Extra)
	}
	return out
}

// toolCalls returns calls in our words. Calls without an ID get one that is
// unique in the conversation, of which turn is the next message's place.
func toolCalls(calls []llms.ToolCall, extras []json.RawMessage, turn int) []providers.ToolCall {
	var out []providers.ToolCall
	for i, c := range calls {
		if c.FunctionCall == nil {
			continue
		}
		call := providers.ToolCall{ID: c.ID, Name: c.FunctionCall.Name, Input: toolInput(c.FunctionCall.Arguments)}
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d_%d", turn, i)
		}
		if i < len(extras) && isSet(extras[i]) {
			call.Extra = extras[i]
		}
		out = append(out, call)
	}
	return out
}

// toolInput returns the arguments of a call. What is not JSON, for models write
// that, becomes a JSON string that holds it: so it can be stored, is refused by
// the tool's schema, and can be shown to the model again.
func toolInput(arguments string) json.RawMessage {
	if arguments == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	data, err := json.Marshal(arguments)
	if err != nil {
		panic("langchain: a string that is no JSON") // impossible
	}
	return data
}

// stopOf translates a finish reason. Servers say stop with tool calls too.
func stopOf(reason string, resp providers.Response) providers.Stop {
	switch reason {
	case "length":
		return providers.StopLength
	case "content_filter":
		return providers.StopFilter
	}
	switch {
	case len(resp.ToolCalls) > 0:
		return providers.StopTools
	case reason == "stop":
		return providers.StopEnd
	}
	return providers.StopUnknown
}
