package langchain_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

func delta(text string) string { return `{"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` }

const (
	finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	counted  = `{"choices":[],` + usage + `}`
)

// streamed asks for a stream and returns what OnText was told.
func streamed(t *testing.T, spec providers.Spec, req providers.Request) (providers.Response, []string, error) {
	t.Helper()
	var told []string
	req.OnText = func(chunk string) error {
		told = append(told, chunk)
		return nil
	}
	resp, err := open(t, spec).Generate(t.Context(), req)
	return resp, told, err
}

func TestStream(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	stream := events(delta("hel"), delta("lo "), delta(long), finished, counted, "[DONE]")
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			s, spec := serveAs(t, vendor, stream)
			resp, told, err := streamed(t, spec, hi)
			require.NoError(t, err)
			assert.Equal(t, []string{"hel", "lo ", long}, told)
			assert.Equal(t, "hello "+long, resp.Text)
			assert.Equal(t, providers.StopEnd, resp.Stop)
			assert.Equal(t, providers.Usage{Calls: 1, Input: 11, Output: 7, CacheRead: 4, Unpriced: 1}, resp.Usage)
			assert.Equal(t, true, s.sent(t)["stream"])
			assert.Equal(t, map[string]any{"include_usage": true}, s.sent(t)["stream_options"])
		})
	}
}

func TestStreamRefusal(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			_, spec := serveAs(t, vendor, events(`{"choices":[{"delta":{"refusal":"I will "}}]}`, `{"choices":[{"delta":{"refusal":"not"}}]}`, finished))
			resp, told, err := streamed(t, spec, hi)
			require.NoError(t, err)
			assert.Equal(t, "I will not", resp.Text)
			assert.Equal(t, providers.StopFilter, resp.Stop)
			assert.Empty(t, told)
		})
	}
}

func TestStreamThatIsNone(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			_, spec := serveAs(t, vendor, reply(200, hello))
			resp, told, err := streamed(t, spec, hi)
			require.NoError(t, err)
			assert.Equal(t, "hello", resp.Text)
			assert.Equal(t, []string{"hello"}, told)
		})
	}
}

func TestNoStreamWithTools(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			s, spec := serveAs(t, vendor, reply(200, hello))
			req := hi
			req.Tools = []providers.Tool{{Name: "add"}}
			_, told, err := streamed(t, spec, req)
			require.NoError(t, err)
			assert.Equal(t, []string{"hello"}, told)
			assert.NotContains(t, s.sent(t), "stream")
		})
	}
}

func TestStreamFailures(t *testing.T) {
	tests := []struct {
		name   string
		handle http.HandlerFunc
		kind   providers.Kind
		text   string
	}{
		{"no finish reason", events(delta("par"), "[DONE]"), providers.Transient, "without a finish reason"},
		{"cut off", cut("text/event-stream", "data: "+delta("par")+"\n\n"), providers.Transient, "EOF"},
		{"rate limit in it", events(delta("par"), failure("slow down", "rate_limit_exceeded")), providers.RateLimited, "slow down"},
		{"error in it", events(delta("par"), `{"error":{"message":"boom","code":502}}`), providers.Transient, "boom"},
		{"quota in it", events(failure("pay", "insufficient_quota")), providers.Permanent, "pay"},
		{"no JSON", events("{"), providers.Transient, "read event"},
		{"page", reply(200, "<html>", "Content-Type", "text/html"), providers.Transient, "without a finish reason"},
		{"empty", reply(200, "", "Content-Type", "text/event-stream"), providers.Transient, "without a finish reason"},
		{"refused", reply(429, failure("slow down", "x"), "Retry-After", "7"), providers.RateLimited, "slow down"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, vendor := range vendors {
				t.Run(vendor, func(t *testing.T) {
					_, spec := serveAs(t, vendor, tt.handle)
					_, _, err := streamed(t, spec, hi)
					e := fault(t, err)
					assert.Equal(t, tt.kind, e.Kind)
					assert.Contains(t, e.Message, tt.text)
				})
			}
		})
	}
}

func TestOnTextEndsTheCall(t *testing.T) {
	stop := errors.New("enough")
	for name, handle := range map[string]http.HandlerFunc{"stream": events(delta("a"), delta("b"), finished), "whole": reply(200, hello)} {
		t.Run(name, func(t *testing.T) {
			for _, vendor := range vendors {
				t.Run(vendor, func(t *testing.T) {
					_, spec := serveAs(t, vendor, handle)
					req, told := hi, 0
					req.OnText = func(string) error { told++; return stop }
					_, err := open(t, spec).Generate(t.Context(), req)
					require.ErrorIs(t, err, stop)
					assert.Equal(t, providers.Canceled, fault(t, err).Kind)
					assert.Equal(t, 1, told)
				})
			}
		})
	}
}

func TestOnTextMayPanic(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			_, spec := serveAs(t, vendor, events(delta("a"), finished))
			req := hi
			req.OnText = func(string) error { panic("the caller's own") }
			assert.PanicsWithValue(t, "the caller's own", func() { _, _ = open(t, spec).Generate(t.Context(), req) })
		})
	}
}

func TestStreamCanceled(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+delta("a")+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			_, spec := serveAs(t, vendor, endless)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			req := hi
			req.OnText = func(string) error { cancel(); return nil }
			_, err := open(t, spec).Generate(ctx, req)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, providers.Canceled, fault(t, err).Kind)
		})
	}
}
