package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
	"github.com/convene-go/convene/providers/internal/failtest"
	"github.com/convene-go/convene/providers/modeltest"
	"github.com/convene-go/convene/providers/openai"
)

const secret = "sk-secret-key-0123456789"

// keys are the keys of all vendors that have one.
var keys = providers.Keys{"openai": secret, "azure": secret, "google": secret, "glm": secret, "anthropic": secret, "corp": secret, "deepseek": secret, "openrouter": secret}

// opener opens models as a host does: those of Anthropic by their own package.
type opener struct {
	Keys      providers.Keys
	Transport http.RoundTripper
	MaxBody   int64
	Idle      time.Duration
}

func (o opener) Open(s providers.Spec) (providers.Model, error) {
	return providers.Openers{
		"":                  openai.Opener{Keys: o.Keys, Transport: o.Transport, MaxBody: o.MaxBody, Idle: o.Idle}.Open,
		providers.Anthropic: anthropic.Opener{Keys: o.Keys, Transport: o.Transport, MaxBody: o.MaxBody, Idle: o.Idle}.Open,
	}.Open(s)
}

// stub is a server that speaks a vendor's wire format and keeps what it was sent.
type stub struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	urls    []string
	bodies  []string
}

// serve starts a stub. The handler need not read the request, but may.
func serve(t testing.TB, handle http.HandlerFunc) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s.mu.Lock()
		s.headers = append(s.headers, r.Header.Clone())
		s.urls = append(s.urls, r.URL.String())
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) hits() int { return len(s.requests()) }

// requests returns the bodies that came.
func (s *stub) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// sent returns the only request's body.
func (s *stub) sent(t *testing.T) map[string]any {
	t.Helper()
	bodies := s.requests()
	require.Len(t, bodies, 1)
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(bodies[0]), &body))
	return body
}

// vendor is one vendor of the stubs.
type vendor struct {
	name, model string
	path        string // behind the stub's address, of its base URL
	request     string // behind the base URL, of a request
	header      string // that holds the key; "": none
	claude      bool
	responses   bool
}

// vendors are what every case is run on.
var vendors = []vendor{
	{name: "openai", model: "gpt-m", path: "/v1", request: "/chat/completions", header: "Authorization"},
	{name: "azure", model: "deployed", request: "/openai/v1/chat/completions", header: "Api-Key"},
	{name: "google", model: "gemini-m", path: "/v1beta/openai", request: "/chat/completions", header: "Authorization"},
	{name: "glm", model: "glm-m", path: "/api/paas/v4", request: "/chat/completions", header: "Authorization"},
	{name: "deepseek", model: "deepseek-m", request: "/chat/completions", header: "Authorization"},
	{name: "openrouter", model: "vendor/m", path: "/api/v1", request: "/chat/completions", header: "Authorization"},
	{name: "ollama", model: "llama:8b", path: "/v1", request: "/chat/completions"},
	{name: "corp", model: "m", path: "/v1", request: "/chat/completions", header: "Authorization"},
	{name: "anthropic", model: "claude-sonnet-4-5", path: "/v1", request: "/messages", header: "X-Api-Key", claude: true},
}

// everyone are the vendors, and OpenAI by Responses.
var everyone = append(slices.Clip(vendors), vendor{
	name: "openai", model: "gpt-r", path: "/v1", request: "/responses", header: "Authorization", responses: true,
})

func (v vendor) spec(s *stub) providers.Spec {
	spec := providers.Spec{Provider: v.name, Model: v.model, BaseURL: s.URL + v.path}
	if v.responses {
		spec.API = "responses"
	}
	return spec
}

// serve starts a stub, and returns the Spec of v's model that is there.
func (v vendor) serve(t testing.TB, handle http.HandlerFunc) (*stub, providers.Spec) {
	t.Helper()
	s := serve(t, handle)
	return s, v.spec(s)
}

// said is an answer.
type said struct {
	text    string
	calls   []providers.ToolCall
	stop    providers.Stop
	refusal string
	silent  bool             // about usage
	used    *providers.Usage // nil: vendor.used
}

// used is what every answer has used: of Output the vendors that say so have 2
// tokens of reasoning.
func (v vendor) used() providers.Usage {
	u := providers.Usage{Input: 11, Output: 7, CacheRead: 4, Reasoning: 2}
	if v.claude {
		u.Reasoning = 0
	}
	return u
}

// charged is used, counted as one call without a price.
func (v vendor) charged() providers.Usage {
	u := v.used()
	u.Calls, u.Unpriced = 1, 1
	return u
}

// usage is used in v's words: Anthropic counts cached tokens apart, Gemini leaves
// thoughts out of the completion.
func (v vendor) usage() string { return v.usageOf(v.used()) }

func (v vendor) counts(s said) string {
	if s.used != nil {
		return v.usageOf(*s.used)
	}
	return v.usage()
}

func (v vendor) usageOf(u providers.Usage) string {
	switch {
	case v.responses:
		return fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d}}`,
			u.Input, u.CacheRead, u.Output, u.Reasoning)
	case v.claude:
		return fmt.Sprintf(`{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}`,
			u.Input-u.CacheRead-u.CacheWrite, u.CacheRead, u.CacheWrite, u.Output)
	case v.name == "google":
		return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
			u.Input, u.Output-u.Reasoning, u.Input+u.Output, u.CacheRead)
	}
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.Input, u.Output, u.Input+u.Output, u.CacheRead, u.Reasoning)
}

var (
	chatReasons = map[providers.Stop]string{
		providers.StopEnd: "stop", providers.StopLength: "length", providers.StopTools: "tool_calls", providers.StopFilter: "content_filter",
	}
	claudeReasons = map[providers.Stop]string{
		providers.StopEnd: "end_turn", providers.StopLength: "max_tokens", providers.StopTools: "tool_use", providers.StopFilter: "refusal",
	}
)

// body returns an answer in v's words.
func (v vendor) body(s said) string {
	if v.claude {
		return v.claudeBody(s)
	}
	if v.responses {
		return v.responsesBody(s)
	}
	message := map[string]any{"role": "assistant", "content": s.text}
	if s.text == "" {
		message["content"] = nil
	}
	if s.refusal != "" {
		message["refusal"] = s.refusal
	}
	var calls []any
	for _, c := range s.calls {
		call := map[string]any{"type": "function", "function": map[string]any{"name": c.Name, "arguments": string(c.Input)}}
		if c.ID != "" {
			call["id"] = c.ID
		}
		if c.Extra != nil {
			call["extra_content"] = c.Extra
		}
		calls = append(calls, call)
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	body := map[string]any{"id": "c", "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": chatReasons[s.stop]}}}
	if !s.silent {
		body["usage"] = json.RawMessage(v.counts(s))
	}
	return written(body)
}

func (v vendor) claudeBody(s said) string {
	blocks := []any{}
	if text := s.text + s.refusal; text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": text})
	}
	for _, c := range s.calls {
		if c.Extra != nil {
			blocks = append(blocks, map[string]any{"type": "thinking", "thinking": "", "signature": string(c.Extra)})
		}
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Input})
	}
	reason := claudeReasons[s.stop]
	if s.refusal != "" {
		reason = "refusal"
	}
	body := map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "content": blocks, "stop_reason": reason, "stop_sequence": nil}
	if !s.silent {
		body["usage"] = json.RawMessage(v.counts(s))
	}
	return written(body)
}

// pieces returns the data of the events of a streamed answer.
func (v vendor) pieces(chunks []string, stop providers.Stop) []string {
	return v.piecesOf(chunks, said{stop: stop})
}

func (v vendor) piecesOf(chunks []string, s said) []string {
	if v.claude {
		out := []string{
			`{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":` + v.counts(s) + `}}`,
			`{"type":"ping"}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		}
		for _, c := range chunks {
			out = append(out, v.delta(c))
		}
		out = append(out, `{"type":"content_block_stop","index":0}`)
		for i, c := range s.calls {
			out = append(out, claudeCall(1+2*i, c)...)
		}
		return append(out, v.finish(s.stop), `{"type":"message_stop"}`)
	}
	var out []string
	for _, c := range chunks {
		out = append(out, v.delta(c))
	}
	if v.responses {
		s.text = strings.Join(chunks, "")
		for _, c := range s.calls {
			out = append(out, `{"type":"response.function_call_arguments.delta","delta":`+written(string(c.Input))+`}`)
		}
		return append(append([]string{`{"type":"response.created","response":{"status":"in_progress"}}`}, out...), v.finished(s))
	}
	out = append(out, v.callPieces(s.calls)...)
	return append(out, v.finish(s.stop), `{"choices":[],"usage":`+v.counts(s)+`}`, "[DONE]")
}

// claudeCall returns the events of a tool call, and of the thought before it.
func claudeCall(index int, c providers.ToolCall) []string {
	var out []string
	if c.Extra != nil {
		out = append(out, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}}`, index),
			fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":%s}}`, index, written(string(c.Extra))),
			fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
	}
	out = append(out, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, index+1, c.ID, c.Name))
	for _, piece := range modeltest.Chunks(string(c.Input)) {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, index+1, written(piece)))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index+1))
}

// callPieces returns the events of tool calls, whose pieces come in turn.
func (v vendor) callPieces(calls []providers.ToolCall) []string {
	var out []string
	for i, c := range calls {
		extra := ""
		if c.Extra != nil {
			extra = `,"extra_content":` + string(c.Extra)
		}
		id := ""
		if c.ID != "" {
			id = fmt.Sprintf(`"id":%q,`, c.ID)
		}
		out = append(out, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,%s"type":"function","function":{"name":%q,"arguments":""}%s}]}}]}`, i, id, c.Name, extra))
	}
	for at := range 4 {
		for i, c := range calls {
			if pieces := modeltest.Chunks(string(c.Input)); at < len(pieces) {
				out = append(out, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}}]}`, i, written(pieces[at])))
			}
		}
	}
	return out
}

// responsesBody returns an answer in the format of Responses.
func (v vendor) responsesBody(s said) string {
	output := []any{}
	if s.text != "" {
		output = append(output, map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": s.text}}})
	}
	if s.refusal != "" {
		output = append(output, map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "refusal", "refusal": s.refusal}}})
	}
	for _, c := range s.calls {
		if c.Extra != nil {
			output = append(output, map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": string(c.Extra)})
		}
		output = append(output, map[string]any{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": string(c.Input)})
	}
	body := map[string]any{"id": "resp_1", "status": "completed", "error": nil, "incomplete_details": nil, "output": output}
	switch s.stop { //nolint:exhaustive // all others complete
	case providers.StopLength:
		body["status"], body["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	case providers.StopFilter:
		body["status"], body["incomplete_details"] = "incomplete", map[string]any{"reason": "content_filter"}
	}
	if !s.silent {
		body["usage"] = json.RawMessage(v.counts(s))
	}
	return written(body)
}

// finished returns the last event of a stream of Responses.
func (v vendor) finished(s said) string {
	kind := "response.completed"
	if s.stop == providers.StopLength || s.stop == providers.StopFilter {
		kind = "response.incomplete"
	}
	return `{"type":"` + kind + `","response":` + v.responsesBody(s) + `}`
}

func (v vendor) delta(text string) string {
	if v.responses {
		return `{"type":"response.output_text.delta","delta":` + written(text) + `}`
	}
	if v.claude {
		return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + written(text) + `}}`
	}
	return `{"choices":[{"index":0,"delta":{"content":` + written(text) + `}}]}`
}

func (v vendor) finish(stop providers.Stop) string {
	if v.responses {
		return v.finished(said{stop: stop})
	}
	if v.claude {
		return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":null}}`, claudeReasons[stop])
	}
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, chatReasons[stop])
}

// trouble is an error in the words of OpenAI, Anthropic, Google, and GLM's codes.
type trouble struct{ openai, anthropic, google, glm string }

var (
	limited  = trouble{"rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "1302"}
	spent    = trouble{"insufficient_quota", "billing_error", "insufficient_quota", "1113"}
	unknown  = trouble{"invalid_api_key", "authentication_error", "UNAUTHENTICATED", "1002"}
	tooLong  = trouble{"context_length_exceeded", "invalid_request_error", "INVALID_ARGUMENT", "1261"}
	odd      = trouble{"invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT", "1214"}
	broken   = trouble{"server_error", "api_error", "INTERNAL", "500"}
	overload = trouble{"overloaded", "overloaded_error", "UNAVAILABLE", "503"}
)

// failure returns the body of an error in v's words.
func (v vendor) failure(status int, w trouble, message string) string {
	switch v.name {
	case "anthropic":
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_1"}`, w.anthropic, written(message))
	case "google":
		return fmt.Sprintf(`[{"error":{"code":%d,"message":%s,"status":%q}}]`, status, written(message), w.google)
	case "glm":
		return fmt.Sprintf(`{"error":{"code":%q,"message":%s}}`, w.glm, written(message))
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%q,"param":null,"code":%q}}`, written(message), w.openai, w.openai)
}

// eventFailure returns the data of an error in the middle of a stream.
func (v vendor) eventFailure(w trouble, message string) string {
	switch {
	case v.responses:
		return fmt.Sprintf(`{"type":"response.failed","status":"failed","error":{"code":%q,"message":%s},"response":{"status":"failed","error":{"code":%[1]q,"message":%[2]s}}}`, w.openai, written(message))
	case v.name == "google":
		return fmt.Sprintf(`{"error":{"message":%s,"status":%q}}`, written(message), w.google)
	}
	return v.failure(0, w, message)
}

func written(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

var reply = failtest.Reply

// events answers with a stream of the given data.
func events(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			_, _ = io.WriteString(w, "event: x\ndata: "+d+"\n\n")
		}
	}
}

var (
	hello = said{text: "hello", stop: providers.StopEnd}
	hi    = providers.Request{Messages: []providers.Message{
		{Role: providers.System, Text: "be brief"},
		{Role: providers.User, Text: "hi"},
	}}
)

func open(t testing.TB, spec providers.Spec) providers.Model {
	t.Helper()
	m, err := opener{Keys: keys}.Open(spec)
	require.NoError(t, err)
	return m
}

// printed is values with every verb that a log may have.
func printed(values ...any) string {
	var out []string
	for _, v := range values {
		for _, format := range []string{"%v", "%+v", "%#v", "%d", "%t"} {
			out = append(out, fmt.Sprintf(format, v))
		}
	}
	return strings.Join(out, "\n")
}

// fault returns err as what every error must be: typed, naming the model, and
// without the key however it is printed.
func fault(t *testing.T, err error) *providers.Error {
	t.Helper()
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Model, ":")
	require.ErrorIs(t, err, e.Kind)
	for _, text := range []string{err.Error(), e.Message, printed(err, *e, e), fmt.Sprint(errors.Unwrap(err))} {
		if strings.Contains(text, secret) {
			t.Errorf("the key is in %q", text)
		}
	}
	return e
}
