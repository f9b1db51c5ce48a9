package clitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Model is a server of OpenAI's chat completions. Each answer uses 100 tokens in and 50
// out. Its key is sk-test.
type Model struct {
	*httptest.Server
	Calls  atomic.Int64
	Status atomic.Int64 // of HTTP; 0: OK
}

// strict are parameters that today's models refuse.
var strict = []string{"temperature", "top_p", "max_tokens", "stream_options"}

// NewModel starts a server that answers a request's body with answer. Like today's models,
// it refuses parameters for sampling, and requests without streaming. A refused request
// does not count as a call.
func NewModel(t *testing.T, answer func(body string) string) *Model {
	t.Helper()
	m := &Model{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Contains(t, string(body), `"stream":true`)
		for _, param := range strict {
			if strings.Contains(string(body), `"`+param+`":`) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, `{"error":{"message":"Unsupported parameter: '%s' is not supported with this model.","param":%q}}`, param, param)
				return
			}
		}
		m.Calls.Add(1)
		assert.Equal(t, "/v1/chat/completions", r.URL.Path)
		assert.Equal(t, "Bearer sk-test", r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		if status := m.Status.Load(); status != 0 {
			w.WriteHeader(int(status))
			_, _ = io.WriteString(w, `{"error":{"message":"wrong key","type":"invalid_request_error"}}`)
			return
		}
		reply := map[string]any{
			"id": "1", "object": "chat.completion", "model": "m",
			"choices": []any{map[string]any{
				"index": 0, "finish_reason": "stop",
				"message": map[string]any{"role": "assistant", "content": answer(string(body))},
			}},
			"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
		}
		assert.NoError(t, json.NewEncoder(w).Encode(reply))
	}))
	t.Cleanup(m.Close)
	return m
}

// Flags are the flags that select the server as the model "acme:m".
func (m *Model) Flags() []string {
	return []string{"-model", "acme:m", "-base-url", m.URL + "/v1", "-key-env", "ACME_KEY", "-price", "1,2"}
}

// Env has the server's key.
func (m *Model) Env() map[string]string { return map[string]string{"ACME_KEY": "sk-test"} }
