package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers/mcp"
)

const secret = "tok-3c0ffee5"

// service is an MCP server over HTTP, with what a test puts before it.
type service struct {
	*httptest.Server
	h      *host
	mu     sync.Mutex
	mcp    http.Handler
	before func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	keys   []string                                          // the Authorization of each request
}

func newService(t *testing.T, o *sdk.StreamableHTTPOptions) *service {
	t.Helper()
	s := &service{h: newHost(nil)}
	s.h.add("work", says(&sdk.TextContent{Text: "fine"}))
	s.restart(o)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		serve, before := s.mcp, s.before
		s.keys = append(s.keys, r.Header.Get("Authorization"))
		s.mu.Unlock()
		if before == nil || !before(w, r) {
			serve.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// restart forgets all sessions.
func (s *service) restart(o *sdk.StreamableHTTPOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mcp = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.h.Server }, o)
}

func (s *service) put(before func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *service) http() mcp.HTTP {
	return mcp.HTTP{URL: s.URL + "/mcp?key=q-" + secret, Header: http.Header{"Authorization": {"Bearer " + secret}}}
}

func TestHTTP(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts sdk.StreamableHTTPOptions
	}{{"streams", sdk.StreamableHTTPOptions{}}, {"JSON", sdk.StreamableHTTPOptions{JSONResponse: true}}, {"no sessions", sdk.StreamableHTTPOptions{Stateless: true}}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t, &tt.opts)
			got, err := all(t, open(t, s.http()))["work"].Call(t.Context(), json.RawMessage(`{}`))
			require.NoError(t, err)
			assert.Equal(t, "fine", got)
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, key := range s.keys {
				assert.Equal(t, "Bearer "+secret, key)
			}
		})
	}
}

func TestHTTPIsCanceled(t *testing.T) {
	s := newService(t, nil)
	begun, told := make(chan struct{}), make(chan struct{})
	s.h.add("hang", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(begun)
		<-ctx.Done()
		close(told)
		return nil, ctx.Err()
	})
	tools := all(t, open(t, s.http()))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	_, err := tools["hang"].Call(ctx, json.RawMessage(`{}`))
	require.ErrorIs(t, err, context.Canceled)
	<-told
	_, err = tools["work"].Call(t.Context(), json.RawMessage(`{}`))
	assert.NoError(t, err)
}

func TestHTTPServerThatIsRestarted(t *testing.T) {
	for name, gone := range map[string]func(s *service){
		"as the protocol wants": func(s *service) { s.restart(nil) },
		"with another answer": func(s *service) {
			s.restart(nil)
			var old atomic.Value
			s.put(func(w http.ResponseWriter, r *http.Request) bool {
				id := r.Header.Get("Mcp-Session-Id")
				if id == "" || old.CompareAndSwap(nil, id) == false && old.Load() != id {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}`)
				return true
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, nil)
			tool := all(t, open(t, s.http()))["work"]
			gone(s)
			_, err := tool.Call(t.Context(), json.RawMessage(`{}`))
			require.Error(t, err)
			got, err := tool.Call(t.Context(), json.RawMessage(`{}`))
			require.NoError(t, err, "in a new session")
			assert.Equal(t, "fine", got)
		})
	}
}

func TestHTTPErrors(t *testing.T) {
	status := func(code int, body string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	tests := []struct {
		name string
		put  func(w http.ResponseWriter, r *http.Request) bool
		says string
	}{
		{"busy", status(503, "later"), "Service Unavailable"},
		{"no key", status(401, "the key "+secret+" is wrong"), "Unauthorized"},
		{"too long", func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			chunk := []byte(strings.Repeat(" ", 1<<20))
			for range 20 {
				if _, err := w.Write(chunk); err != nil {
					break
				}
			}
			return true
		}, "longer than 16777216 bytes"},
		{"an event that is too long", func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			chunk := []byte(strings.Repeat("x", 1<<20))
			for range 20 {
				if _, err := w.Write(chunk); err != nil {
					break
				}
			}
			return true
		}, "exceeded 16777216 bytes"},
		{"nonsense", func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>")
			return true
		}, "decode"},
		{"an end without an answer", func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			return true
		}, "without response"},
		{"a cut line", func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, "EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t, nil)
			srv := open(t, s.http())
			tool := all(t, srv)["work"]
			s.put(func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodPost && tt.put(w, r) })
			_, err := tool.Call(t.Context(), json.RawMessage(`{}`))
			require.ErrorContains(t, err, tt.says)
			for _, text := range []string{fmt.Sprintf("%v %+v %#v", err, err, agent.ErrorOf(err)), fmt.Sprintf("%v %+v %#v", srv, srv, srv)} {
				assert.NotContains(t, text, secret)
			}
			s.put(nil)
			_, err = tool.Call(t.Context(), json.RawMessage(`{}`))
			assert.NoError(t, err, "when it works again")
		})
	}
}

func TestHTTPThatIsRefused(t *testing.T) {
	for _, url := range []string{"", "localhost:1", "ftp://localhost/mcp", "http://", "%"} {
		_, err := mcp.Open(t.Context(), mcp.HTTP{URL: url})
		assert.ErrorContains(t, err, "HTTP.URL is not an absolute http or https URL", url)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	h := mcp.HTTP{URL: closed.URL + "/mcp?key=" + secret}
	_, err := mcp.Open(t.Context(), h)
	require.ErrorContains(t, err, "mcp: connect: ")
	assert.True(t, agent.ErrorOf(err).Transient)
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, agent.ErrorOf(err)), secret)
}

func TestHTTPRedirects(t *testing.T) {
	s := newService(t, nil)
	var rounds atomic.Int32
	var leaked atomic.Value
	leaked.Store("")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		leaked.Store(r.Header.Get("Authorization") + string(body))
	}))
	defer other.Close()
	s.put(func(w http.ResponseWriter, r *http.Request) bool {
		to := ""
		switch r.URL.Path {
		case "/here":
			to = s.URL + "/mcp"
		case "/there":
			to = other.URL + "/mcp"
		case "/round":
			rounds.Add(1)
			to = s.URL + "/round"
		default:
			return false
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return true
	})
	h := s.http()
	h.URL = s.URL + "/here"
	assert.Len(t, all(t, open(t, h)), 1, "on the same host")
	h.URL = s.URL + "/there"
	_, err := mcp.Open(t.Context(), h)
	require.ErrorContains(t, err, "redirects to another host")
	assert.Empty(t, leaked.Load())
	h.URL = s.URL + "/round"
	_, err = mcp.Open(t.Context(), h)
	require.ErrorContains(t, err, "redirects more than 5 times")
	assert.Zero(t, rounds.Load()%6, "each request is sent on 5 times")

	h.URL, h.Client = s.URL+"/there", &http.Client{} // which follows
	_, err = mcp.Open(t.Context(), h)
	require.Error(t, err)
	assert.NotContains(t, leaked.Load(), secret, "the header goes to no other host")
}

func TestHTTPClientOfTheHost(t *testing.T) {
	s := newService(t, nil)
	var carried atomic.Int32
	h := s.http()
	h.Client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		carried.Add(1)
		return http.DefaultTransport.RoundTrip(r)
	})}
	assert.Len(t, all(t, open(t, h)), 1)
	assert.Positive(t, carried.Load())
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", h, h, h, h)} {
		assert.NotContains(t, text, secret)
		assert.Contains(t, text, s.URL)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
