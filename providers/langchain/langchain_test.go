package langchain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/internal/network"
	"github.com/convene-go/convene/providers/internal/stubtest"
	"github.com/convene-go/convene/providers/langchain"
	"github.com/convene-go/convene/providers/modeltest"
)

const secret = "sk-secret-key-0123456789"

// named gives a model a name.
func named(m providers.Model) providers.Model {
	return providers.Metered{Model: m, Spec: providers.Spec{Provider: "langchain", Model: "m"}}
}

// Through both adapters a model keeps the promises of all models.
func TestBothAdapters(t *testing.T) {
	modeltest.Run(t, func(t testing.TB, p modeltest.Play) modeltest.Subject {
		s := stubtest.Open(t, p)
		s.Model = named(langchain.Model(langchain.LLM(s.Model)))
		return s
	})
}

// cannot are the promises that langchaingo's client for OpenAI breaks, and why.
var cannot = map[string]string{
	"Answers/Refusal":          "a refusal has no place in its answer",
	"Requests/NoTemperature":   "it sends a temperature of 0 for none",
	"Streams/CutIsNoAnswer":    "half a stream is a whole answer to it",
	"Failures/RateLimited":     "it keeps no header",
	"Failures/EmptyIsPaid":     "its errors have no usage",
	"Failures/CutIsPaid":       "its errors have no usage",
	"Failures/GarbledIsPaid":   "its errors have no usage",
	"Failures/PageIsPermanent": "it reads no label",
}

// A model of langchaingo is as good as its client lets it be.
func TestModelOfLangchaingo(t *testing.T) {
	modeltest.Run(t, func(t testing.TB, p modeltest.Play) modeltest.Subject {
		for name, why := range cannot {
			if strings.HasSuffix(t.Name(), "/"+name) {
				t.Skip(why)
			}
		}
		s := serve(t, p)
		m, err := openai.New(openai.WithToken(secret), openai.WithModel("m"), openai.WithBaseURL(s.URL), openai.WithHTTPClient(s.Client()))
		require.NoError(t, err)
		return modeltest.Subject{Model: named(langchain.Model(m, secret)), Sent: s.sent, Secrets: []string{secret}}
	})
}

// stub speaks chat completions.
type stub struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func (s *stub) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

func serve(t testing.TB, p modeltest.Play) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		play(w, r, p, string(body))
	}))
	t.Cleanup(s.Close)
	return s
}

var statuses = map[modeltest.Situation]int{
	modeltest.RateLimited: 429, modeltest.Quota: 402, modeltest.Unauthorized: 401, modeltest.TooLong: 400, modeltest.BadRequest: 400,
	modeltest.Overloaded: 503, modeltest.Broken: 500,
}

func play(w http.ResponseWriter, r *http.Request, p modeltest.Play, body string) {
	text, calls := p.Reply(body)
	if status := statuses[p.Situation]; status != 0 {
		message := p.Text + " " + secret
		if p.Situation == modeltest.TooLong {
			message = "maximum context length: " + message
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message}})
		return
	}
	reason := "stop"
	var toolCalls []any
	for _, c := range calls {
		toolCalls = append(toolCalls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": string(c.Input)}})
		reason = "tool_calls"
	}
	switch p.Situation { //nolint:exhaustive // all others answer
	case modeltest.Length:
		reason = "length"
	case modeltest.Slow:
		<-r.Context().Done()
	}
	u := p.Usage
	usage := map[string]any{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output, "prompt_tokens_details": map[string]any{"cached_tokens": u.CacheRead}}
	if strings.Contains(body, `"stream":true`) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, c := range modeltest.Chunks(text) {
			if i > 0 && p.Situation == modeltest.Stall {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
			data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"content": c}}}})
			_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		}
		data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{}, "finish_reason": reason}}, "usage": usage})
		_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", data)
		return
	}
	data, _ := json.Marshal(map[string]any{"usage": usage, "choices": []any{map[string]any{
		"message": map[string]any{"role": "assistant", "content": text, "tool_calls": toolCalls}, "finish_reason": reason,
	}}})
	w.Header().Set("Content-Type", "application/json")
	if p.Situation == modeltest.Cut {
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(data)
}

// panicking is a model of langchaingo that panics.
type panicking struct{ llms.Model }

func (panicking) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	panic("choices[0]")
}

func TestPanicsAreErrors(t *testing.T) {
	hi := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}}
	_, err := langchain.Model(panicking{}).Generate(t.Context(), hi)
	require.ErrorIs(t, err, providers.Transient)
}

func TestBlockedNetwork(t *testing.T) {
	defer (&network.Block{Owner: "TestBlockedNetwork"}).Start()()
	hi := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}}
	_, err := langchain.Model(panicking{}).Generate(t.Context(), hi)
	require.ErrorIs(t, err, network.ErrBlocked)
}

// Code for langchaingo gets its own words.
func TestLLM(t *testing.T) {
	m := fake.New(t, fake.Answer{Text: "hello", Usage: providers.Usage{Input: 3, Output: 2}}, fake.Answer{Err: &providers.Error{Kind: providers.RateLimited}})
	l := langchain.LLM(m)
	text, err := llms.GenerateFromSinglePrompt(t.Context(), l, "hi", llms.WithTemperature(0.5), llms.WithStopWords([]string{"END"}), llms.WithJSONMode(), llms.WithToolChoice("auto"))
	require.NoError(t, err)
	assert.Equal(t, "hello", text)
	sent := m.Requests()[0]
	assert.Equal(t, "hi", sent.Messages[0].Text)
	assert.Equal(t, []string{"END"}, sent.Stop)
	assert.InDelta(t, 0.5, *sent.Temperature, 0)
	assert.JSONEq(t, `{"type":"object"}`, string(sent.Output))

	_, err = l.GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hi")})
	var coded *llms.Error
	require.ErrorAs(t, err, &coded)
	assert.Equal(t, llms.ErrCodeRateLimit, coded.Code)
	require.ErrorIs(t, err, providers.RateLimited)

	_, err = l.GenerateContent(t.Context(), nil, llms.WithFunctions([]llms.FunctionDefinition{{Name: "f"}}))
	require.ErrorAs(t, err, &coded)
	assert.Equal(t, llms.ErrCodeInvalidRequest, coded.Code)
}

func TestImages(t *testing.T) {
	m := fake.New(t, fake.Answer{Text: "seen"})
	back := langchain.Model(langchain.LLM(m))
	parts := []providers.Part{
		{Kind: providers.ImagePart, Media: "image/png", Data: []byte("png")},
		{Kind: providers.ImagePart, URL: "https://example.com/a.png"},
		{Kind: providers.DocumentPart, Media: "application/pdf", Data: []byte("pdf")},
	}
	_, err := back.Generate(t.Context(), providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "look", Parts: parts}}})
	require.NoError(t, err)
	assert.Equal(t, parts, m.Requests()[0].Messages[0].Parts)
}

func TestErrorsOfLangchaingo(t *testing.T) {
	tests := []struct {
		err    error
		kind   providers.Kind
		reason providers.Reason
	}{
		{&llms.Error{Code: llms.ErrCodeRateLimit, Message: "slow"}, providers.RateLimited, ""},
		{&llms.Error{Code: llms.ErrCodeQuotaExceeded, Message: "pay"}, providers.Permanent, providers.Quota},
		{&llms.Error{Code: llms.ErrCodeAuthentication, Message: "no"}, providers.Permanent, providers.Unauthorized},
		{&llms.Error{Code: llms.ErrCodeContentFilter, Message: "no"}, providers.Invalid, providers.Refused},
		{errors.New("API returned unexpected status code: 529: busy"), providers.Transient, providers.Overloaded},
		{errors.New("connection reset"), providers.Transient, providers.Unavailable},
	}
	for _, tt := range tests {
		_, err := langchain.Model(failing{tt.err}).Generate(t.Context(), providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}})
		var e *providers.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, tt.kind, e.Kind, tt.err)
		assert.Equal(t, tt.reason, e.Reason, tt.err)
	}
}

type failing struct{ err error }

func (f failing) Call(context.Context, string, ...llms.CallOption) (string, error) { return "", f.err }

func (f failing) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	return nil, f.err
}
