package clitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// StrictModels are models that refuse what today's models of that kind refuse.
var StrictModels = []string{"openai:gpt-6-sol", "openai:o4-mini", "deepseek:deepseek-reasoner", "anthropic:claude-opus-5-5"}

// Strict is the server of one of the [StrictModels]. It refuses, with its vendor's
// messages, parameters for sampling; tools beside effort by chat completions, where
// Responses have them; steps of effort that the model does not have; a tool loop without
// the reasoning that must be sent back; a forced tool where the model thinks; and a long
// answer that is not streamed. A refused request does not count as a call. Each answer
// streams, thinks first, and uses 100 tokens in and 50 out.
type Strict struct {
	*httptest.Server
	Calls   atomic.Int64
	Refused atomic.Int64

	model  string
	answer func(body string) string
}

// NewStrict starts the server of a model, which answers a request's body with answer. If
// there are tools, it calls the first one before that.
func NewStrict(t testing.TB, model string, answer func(body string) string) *Strict {
	t.Helper()
	s := &Strict{model: model, answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var body request
		assert.NoError(t, json.Unmarshal(data, &body), string(data))
		assert.Contains(t, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), "sk-test")
		if param, why := s.refuses(r.URL.Path, body); why != "" {
			s.Refused.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q,"param":%q,"code":"unsupported_parameter"}}`, why, param)
			return
		}
		s.Calls.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range s.events(r.URL.Path, body, string(data)) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Flags are the flags that select the server.
func (s *Strict) Flags() []string {
	base := s.URL
	if s.vendor() != "deepseek" {
		base += "/v1"
	}
	return []string{"-model", s.model, "-base-url", base, "-key-env", "ACME_KEY", "-price", "1,2"}
}

// Env has the server's key.
func (s *Strict) Env() map[string]string { return map[string]string{"ACME_KEY": "sk-test"} }

func (s *Strict) vendor() string {
	vendor, _, _ := strings.Cut(s.model, ":")
	return vendor
}

// request has the fields of a request in any format that are checked.
type request struct {
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	MaxTokens   int      `json:"max_tokens"`
	Stop        []string `json:"stop"`
	Effort      string   `json:"reasoning_effort"`
	Stream      bool     `json:"stream"`
	Store       *bool    `json:"store"`
	Thinking    any      `json:"thinking"`
	Tools       []struct {
		Name     string                `json:"name"`
		Function struct{ Name string } `json:"function"`
	} `json:"tools"`
	ToolChoice     json.RawMessage       `json:"tool_choice"`
	ResponseFormat struct{ Type string } `json:"response_format"`
	Messages       []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Reasoning *string         `json:"reasoning_content"`
		ToolCalls []any           `json:"tool_calls"`
	} `json:"messages"`
	Input []struct {
		Type string `json:"type"`
	} `json:"input"`
}

// tool is the tool to be called, "" if there is none or it was called.
func (r request) tool(raw string) string {
	if len(r.Tools) == 0 || strings.Contains(raw, `"tool_result"`) || strings.Contains(raw, `"function_call_output"`) || strings.Contains(raw, `"tool_call_id"`) {
		return ""
	}
	return r.Tools[0].Name + r.Tools[0].Function.Name
}

// refuses says which parameter of a request the model refuses and why; "": none.
func (s *Strict) refuses(path string, r request) (param, why string) {
	unsupported := func(param string) (string, string) {
		return param, fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", param)
	}
	const unstreamed = 21_333 // tokens
	switch {
	case r.Temperature != nil:
		return unsupported("temperature")
	case r.TopP != nil:
		return unsupported("top_p")
	case !r.Stream && r.MaxTokens > unstreamed:
		return "stream", "Streaming is required for operations that may take longer than 10 minutes."
	}
	switch s.model {
	case "openai:gpt-6-sol":
		return r.refusedByGPT(path)
	case "openai:o4-mini":
		switch {
		case r.MaxTokens > 0:
			return unsupported("max_tokens")
		case len(r.Stop) > 0:
			return unsupported("stop")
		case !slices.Contains([]string{"", "low", "medium", "high"}, r.Effort):
			return "reasoning_effort", fmt.Sprintf("Unsupported value: 'reasoning_effort' does not support '%s' with this model. Supported values are: 'low', 'medium', and 'high'.", r.Effort)
		}
	case "deepseek:deepseek-reasoner":
		if r.ResponseFormat.Type == "json_schema" {
			return "", "This response_format type is unavailable now"
		}
		for _, m := range r.Messages {
			if len(m.ToolCalls) > 0 && m.Reasoning == nil {
				return "", "The `reasoning_content` in the thinking mode must be passed back to the API."
			}
		}
	default:
		return r.refusedByClaude()
	}
	return "", ""
}

func (r request) refusedByGPT(path string) (param, why string) {
	if strings.HasSuffix(path, "/chat/completions") {
		if r.MaxTokens > 0 {
			return "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
		}
		if len(r.Tools) > 0 && r.Effort != "none" {
			return "reasoning_effort", "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
		}
	}
	thought := false
	for _, item := range r.Input {
		if item.Type == "function_call" && !thought {
			return "input", "Item of type 'function_call' was provided without its required 'reasoning' item."
		}
		thought = thought || item.Type == "reasoning"
	}
	return "", ""
}

func (r request) refusedByClaude() (param, why string) {
	var choice struct{ Type string }
	if len(r.ToolChoice) > 0 && json.Unmarshal(r.ToolChoice, &choice) == nil && choice.Type != "auto" && choice.Type != "none" {
		return "tool_choice", "Thinking may not be enabled when tool_choice forces tool use."
	}
	if r.Thinking != nil {
		return "thinking", "thinking: Extra inputs are not permitted"
	}
	for _, m := range r.Messages {
		var blocks []struct{ Type string }
		if m.Role != "assistant" || json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		if len(blocks) > 0 && blocks[0].Type == "tool_use" {
			return "messages", "Expected `thinking` or `redacted_thinking`, but found `tool_use`."
		}
	}
	return "", ""
}

// events are those of the answer.
func (s *Strict) events(path string, r request, raw string) []string {
	tool, text := r.tool(raw), ""
	if tool == "" {
		text = s.answer(raw)
	}
	switch {
	case s.vendor() == "anthropic":
		return claudeEvents(tool, text)
	case strings.HasSuffix(path, "/responses"):
		return responsesEvents(tool, text)
	}
	return chatEvents(tool, text)
}

func chatEvents(tool, text string) []string {
	delta, stop := fmt.Sprintf(`{"content":%s}`, quote(text)), "stop"
	if tool != "" {
		delta, stop = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":%q,"arguments":"{}"}}]}`, tool), "tool_calls"
	}
	return []string{
		`{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`, `{"choices":[{"index":0,"delta":` + delta + `}]}`,
		fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, stop),
		`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150}}`, "[DONE]",
	}
}

func responsesEvents(tool, text string) []string {
	item := fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%s}]}`, quote(text))
	if tool != "" {
		item = fmt.Sprintf(`{"type":"function_call","call_id":"call_1","name":%q,"arguments":"{}"}`, tool)
	}
	return []string{`{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"E"},` +
		item + `],"usage":{"input_tokens":100,"output_tokens":50}}}`}
}

func claudeEvents(tool, text string) []string {
	start, delta, stop := `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%s}`, quote(text)), "end_turn"
	if tool != "" {
		start, delta, stop = fmt.Sprintf(`{"type":"tool_use","id":"toolu_1","name":%q,"input":{}}`, tool), `{"type":"input_json_delta","partial_json":"{}"}`, "tool_use"
	}
	return []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":100,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S=="}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":` + start + `}`,
		`{"type":"content_block_delta","index":1,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":1}`,
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":50}}`, stop),
		`{"type":"message_stop"}`,
	}
}

func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""` // impossible
	}
	return string(data)
}
