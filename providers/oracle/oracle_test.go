package oracle_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

const secret = "sk-oracle-0123456789"

// stub answers everything with one stream and keeps what it was sent.
type stub struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	paths  []string
}

func serve(t *testing.T, contentType, answer string) *stub {
	t.Helper()
	return serveBy(t, func(string) (int, string, string) { return http.StatusOK, contentType, answer })
}

// serveBy answers by the path that is asked.
func serveBy(t *testing.T, answer func(path string) (status int, contentType, body string)) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		s.paths = append(s.paths, r.URL.EscapedPath())
		s.mu.Unlock()
		status, contentType, said := answer(r.URL.Path)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, said)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

// events is a stream of these.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(d), &e) // [DONE] has none
		if e.Type != "" {
			b.WriteString("event: " + e.Type + "\n")
		}
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

const (
	weatherSchema = `{"type":"object","properties":{"place":{"type":"string"}},"required":["place"],"additionalProperties":false}`
	answerSchema  = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`
	png           = "cG5n" // base64 of png
)

// conversation has all that a request may have: instructions, an image, parallel
// calls with their results, tools, a schema.
func conversation() providers.Request {
	return providers.Request{
		Messages: []providers.Message{
			{Role: providers.System, Text: "Be brief."},
			{Role: providers.User, Text: "What is it?", Parts: []providers.Part{{Kind: providers.ImagePart, Media: "image/png", Data: []byte("png")}}},
			{Role: providers.Assistant, Text: "Let me see.", ToolCalls: []providers.ToolCall{
				{ID: "call_a", Name: "weather", Input: json.RawMessage(`{"place":"Oslo"}`)},
				{ID: "call_b", Name: "weather", Input: json.RawMessage(`{"place":"Rome"}`)},
			}},
			{Role: providers.ToolRole, ToolID: "call_a", Text: "rain"},
			{Role: providers.ToolRole, ToolID: "call_b", Text: "sun"},
		},
		Tools:      []providers.Tool{{Name: "weather", Description: "Tells the weather.", Input: json.RawMessage(weatherSchema)}},
		ToolChoice: "required",
		Output:     json.RawMessage(answerSchema),
		MaxTokens:  500,
	}
}

// thorough are instructions that are long enough to be cached.
var thorough = strings.Repeat("Be thorough. ", 400)

// cachedConversation is the conversation with instructions that are cached.
func cachedConversation() providers.Request {
	req := conversation()
	req.Messages[0].Text = thorough
	return req
}

// generate asks m and returns what was sent.
func generate(t *testing.T, s *stub, m providers.Model, req providers.Request) (providers.Response, string) {
	t.Helper()
	resp, err := m.Generate(t.Context(), req)
	require.NoError(t, err)
	return resp, s.last()
}

// sameJSON wants two requests to say the same, but for some fields.
func sameJSON(t *testing.T, want, got string, without ...string) {
	t.Helper()
	var w, g map[string]any
	require.NoError(t, json.Unmarshal([]byte(want), &w))
	require.NoError(t, json.Unmarshal([]byte(got), &g))
	for _, name := range without {
		delete(w, name)
		delete(g, name)
	}
	assert.Equal(t, w, g)
}

// known wants an SDK's type to know all that is in a request: what it does not know
// is not there when it is written again.
func known[T any](t *testing.T, request string, without ...string) {
	t.Helper()
	var p T
	require.NoError(t, json.Unmarshal([]byte(request), &p))
	again, err := json.Marshal(p)
	require.NoError(t, err)
	sameJSON(t, request, string(again), without...)
}
