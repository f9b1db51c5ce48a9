package langchain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/langchain"
)

const secret = "sk-secret-key-0123456789"

// stub is a server that speaks a vendor's wire format and keeps what it was sent.
type stub struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	paths   []string
	bodies  []string
}

// serve starts a stub. The handler need not read the request.
func serve(t *testing.T, handle http.HandlerFunc) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.headers = append(s.headers, r.Header.Clone())
		s.paths = append(s.paths, r.URL.Path)
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) hits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// sent returns the only request's body.
func (s *stub) sent(t *testing.T) map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.bodies, 1)
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(s.bodies[0]), &body))
	return body
}

// reply answers with a status and a body; headers are name, value, ...
func reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func failure(message, code string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"code":%q}}`, message, code, code)
}

// events answers with a stream of the given data.
func events(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			_, _ = io.WriteString(w, "data: "+d+"\n\n")
		}
	}
}

const usage = `"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":4}}`

const hello = `{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],` + usage + `}`

var hi = providers.Request{Messages: []providers.Message{
	{Role: providers.System, Text: "be brief"},
	{Role: providers.User, Text: "hi"},
}}

// vendors are what every case is run on.
var vendors = []string{"openai", "ollama", "corp"}

// serveAs starts a stub, and returns the Spec of a model of vendor that is there.
func serveAs(t *testing.T, vendor string, handle http.HandlerFunc) (*stub, providers.Spec) {
	t.Helper()
	s := serve(t, handle)
	return s, providers.Spec{Provider: vendor, Model: "m", BaseURL: s.URL + "/v1"}
}

func open(t *testing.T, spec providers.Spec) providers.Model {
	t.Helper()
	m, err := langchain.Open(langchain.Keys{"openai": secret, "corp": secret})(spec)
	require.NoError(t, err)
	return m
}

// fault returns err as what every error must be: typed, naming the model, and
// without the key.
func fault(t *testing.T, err error) *providers.Error {
	t.Helper()
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Model, ":m")
	for _, text := range []string{err.Error(), e.Message, fmt.Sprintf("%v %+v", err, *e), fmt.Sprint(errors.Unwrap(err))} {
		if strings.Contains(text, secret) {
			t.Errorf("the key is in %q", text)
		}
	}
	return e
}
