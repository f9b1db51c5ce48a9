package wire_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

// only answers requests to one path, and says of all others that they are not there.
func (v vendor) only(path, missing string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			reply(404, missing)(w, r)
			return
		}
		reply(200, v.body(hello))(w, r)
	}
}

// missingPaths are what servers say about a path that they do not have.
var missingPaths = []string{
	`{"type":"error","error":{"type":"not_found_error","message":"Not found"}}`, `{"detail":"Not Found"}`, "404 page not found", "",
	`{"error":{"message":"Invalid URL (POST /chat/completions)","type":"invalid_request_error"}}`, "<pre>Cannot POST /messages</pre>",
}

// A base URL works with and without the version, and what was found is remembered.
func TestBaseURLWithAndWithoutVersion(t *testing.T) {
	tests := []struct{ vendor, base, path string }{
		{"anthropic", "", "/v1/messages"},
		{"anthropic", "/v1", "/v1/messages"},
		{"anthropic", "/v1/", "/v1/messages"},
		{"anthropic", "/gw/anthropic", "/gw/anthropic/v1/messages"},
		{"anthropic", "/gw/anthropic/", "/gw/anthropic/messages"},
		{"corp", "", "/chat/completions"},
		{"corp", "", "/v1/chat/completions"},
		{"corp", "/v1", "/v1/chat/completions"},
		{"corp", "/gw/", "/gw/v1/chat/completions"},
		{"openai", "", "/v1/chat/completions"},
		{"ollama", "", "/v1/chat/completions"},
		{"openrouter", "/api", "/api/v1/chat/completions"},
		{"google", "/v1beta/openai", "/v1beta/openai/chat/completions"},
		{"google", "/gw", "/gw/v1/chat/completions"},
		{"deepseek", "/v1", "/v1/chat/completions"},
		{"glm", "/api/paas/v4", "/api/paas/v4/chat/completions"},
	}
	for _, tt := range tests {
		for _, missing := range missingPaths {
			t.Run(tt.vendor+" "+tt.base+" at "+tt.path, func(t *testing.T) {
				for _, v := range vendors {
					if v.name != tt.vendor {
						continue
					}
					s, spec := v.serve(t, v.only(tt.path, missing))
					spec.BaseURL = s.URL + tt.base
					m := open(t, spec)
					for range 2 {
						resp, err := m.Generate(t.Context(), hi)
						require.NoError(t, err)
						assert.Equal(t, "hello", resp.Text)
					}
					assert.LessOrEqual(t, s.hits(), 3, "the second call knows the way")
					assert.NotContains(t, strings.Join(s.urls, " "), "v1/v1")
				}
			})
		}
	}
}

// Some servers say that the method is wrong where they mean the path.
func TestBaseURLWhereTheMethodIsBlamed(t *testing.T) {
	for _, v := range vendors {
		if v.name != "corp" {
			continue
		}
		s, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/chat/completions" {
				reply(200, v.body(hello))(w, r)
				return
			}
			reply(405, "Method Not Allowed")(w, r)
		})
		spec.BaseURL = s.URL
		resp, err := open(t, spec).Generate(t.Context(), hi)
		require.NoError(t, err)
		assert.Equal(t, "hello", resp.Text)
	}
}

// Calls that find the way at the same time do not lose it.
func TestBaseURLOfManyCalls(t *testing.T) {
	for _, v := range vendors {
		if v.name != "corp" {
			continue
		}
		s, spec := v.serve(t, v.only("/v1/chat/completions", ""))
		spec.BaseURL = s.URL
		m := open(t, spec)
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				_, err := m.Generate(t.Context(), hi)
				assert.NoError(t, err)
			})
		}
		calls.Wait()
	}
}

// A path that is not there is named, without the host and the query, and the base URL is
// the hint. A model that is not there is no reason to look elsewhere.
func TestMissingPathsAreNamed(t *testing.T) {
	tests := []struct {
		vendor, base, missing, text string
		hits                        int
	}{
		{"anthropic", "/v1", missingPaths[0], "/v1/messages: Not found: check the base URL", 1},
		{"anthropic", "/x", missingPaths[0], "/x/v1/messages and /x/messages: Not found: check the base URL", 2},
		{"corp", "/x", missingPaths[1], "/x/chat/completions and /x/v1/chat/completions: ", 2},
		{"corp", "/v1", "<html>" + secret, "/v1/chat/completions: Not Found: check the base URL", 1},
		{"corp", "/" + secret, "", "/[redacted]/chat/completions and /[redacted]/v1/chat/completions: Not Found: check the base URL", 2},
		{"corp", "/x", `{"error":{"message":"The model m does not exist","code":"model_not_found"}}`, "/x/chat/completions: The model m does not exist", 1},
		{"anthropic", "/x", `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, "/x/v1/messages: model: claude-9", 1},
		{"azure", "", `{"error":{"code":"404","message":"Resource not found"}}`, "/openai/v1/chat/completions: Resource not found: check the base URL", 1},
	}
	for _, tt := range tests {
		t.Run(tt.vendor+tt.base, func(t *testing.T) {
			for _, v := range vendors {
				if v.name != tt.vendor {
					continue
				}
				s, spec := v.serve(t, reply(404, tt.missing))
				spec.BaseURL = s.URL + tt.base
				m := open(t, spec)
				for n := range 2 {
					_, err := m.Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, []error{providers.Permanent, providers.NotFound}, []error{e.Kind, e.Reason})
					assert.Contains(t, e.Message, tt.text)
					assert.NotContains(t, e.Message, strings.TrimPrefix(s.URL, "http://"))
					assert.Equal(t, tt.hits, s.hits()/(n+1), "both places are looked at in each call")
				}
			}
		})
	}
}
