package langchain_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/langchain"
)

// cut promises more than it sends.
func cut(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestRefusals(t *testing.T) {
	quota := failure("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota")
	long := failure("This model's maximum context length is 128000 tokens, your messages resulted in 142900", "context_length_exceeded")
	tests := []struct {
		name    string
		handle  http.HandlerFunc
		kind    providers.Kind
		after   time.Duration
		tooLong bool
		text    string
	}{
		{name: "401 with the key", handle: reply(401, failure("Incorrect API key provided: "+secret, "invalid_api_key")), kind: providers.Permanent, text: "Incorrect API key provided: [redacted]"},
		{name: "402", handle: reply(402, ""), kind: providers.Permanent, text: "Payment Required"},
		{name: "403", handle: reply(403, failure("no", "x")), kind: providers.Permanent, text: "no"},
		{name: "404 as ollama says it", handle: reply(404, `{"error":"model \"m\" not found"}`), kind: providers.Permanent, text: `model "m" not found`},
		{name: "408", handle: reply(408, ""), kind: providers.Transient, text: "Request Timeout"},
		{name: "429 seconds", handle: reply(429, failure("slow down", "x"), "Retry-After", "7"), kind: providers.RateLimited, after: 7 * time.Second, text: "slow down"},
		{name: "429 milliseconds", handle: reply(429, `{}`, "retry-after-ms", "1500"), kind: providers.RateLimited, after: 1500 * time.Millisecond, text: "Too Many Requests"},
		{name: "429 date", handle: reply(429, `{}`, "Date", "Fri, 02 Jan 2026 03:04:05 GMT", "Retry-After", "Fri, 02 Jan 2026 03:05:35 GMT"), kind: providers.RateLimited, after: 90 * time.Second},
		{name: "429 and no more", handle: reply(429, ""), kind: providers.RateLimited, text: "Too Many Requests"},
		{name: "429 quota", handle: reply(429, quota, "Retry-After", "7"), kind: providers.Permanent, text: "exceeded your current quota"},
		{name: "429 for this request alone", handle: reply(429, failure("Request too large for m: Limit 1, Requested 2", "rate_limit_exceeded")), kind: providers.RateLimited, tooLong: true},
		{name: "500", handle: reply(500, failure("boom", "server_error")), kind: providers.Transient, text: "boom"},
		{name: "500 with bad words", handle: reply(500, failure("rate limit of 142900 tokens, 401", "x")), kind: providers.Transient},
		{name: "502 page", handle: reply(502, "<html><body>bad", "Content-Type", "text/html"), kind: providers.Transient, text: "Bad Gateway"},
		{name: "503 with a time", handle: reply(503, "", "Retry-After", "3"), kind: providers.Transient, after: 3 * time.Second},
		{name: "529", handle: reply(529, failure("Overloaded", "x")), kind: providers.Transient, text: "Overloaded"},
		{name: "400", handle: reply(400, failure("bad field", "x")), kind: providers.Invalid, text: "bad field"},
		{name: "400 too long", handle: reply(400, long), kind: providers.Invalid, tooLong: true, text: "maximum context"},
		{name: "413", handle: reply(413, ""), kind: providers.Invalid, tooLong: true},
		{name: "422", handle: reply(422, `{"message":"odd"}`), kind: providers.Invalid, text: "odd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, vendor := range vendors {
				t.Run(vendor, func(t *testing.T) {
					s, spec := serveAs(t, vendor, tt.handle)
					_, err := open(t, spec).Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, tt.kind, e.Kind)
					assert.Equal(t, tt.after, e.RetryAfter)
					assert.Equal(t, tt.tooLong, e.TooLong)
					assert.Contains(t, e.Message, tt.text)
					assert.NotZero(t, e.Status)
					assert.Equal(t, 1, s.hits(), "one attempt")
				})
			}
		})
	}
}

func TestUnusableAnswers(t *testing.T) {
	charged := providers.Usage{Calls: 1, Input: 11, Output: 7, CacheRead: 4, Unpriced: 1}
	tests := []struct {
		name   string
		handle http.HandlerFunc
		kind   providers.Kind
		usage  providers.Usage
	}{
		{"cut", cut("application/json", hello[:40]), providers.Transient, providers.Usage{}},
		{"empty", reply(200, ""), providers.Transient, providers.Usage{}},
		{"page", reply(200, "<html>hello</html>"), providers.Transient, providers.Usage{}},
		{"no content", reply(204, ""), providers.Transient, providers.Usage{}},
		{"empty object", reply(200, "{}"), providers.Transient, providers.Usage{}},
		{"null", reply(200, "null"), providers.Transient, providers.Usage{}},
		{"choices null", reply(200, `{"choices":null,`+usage+`}`), providers.Transient, charged},
		{"choices empty", reply(200, `{"choices":[],`+usage+`}`), providers.Transient, charged},
		{"choices of null", reply(200, `{"choices":[null],`+usage+`}`), providers.Transient, charged},
		{"call without one", reply(200, `{"choices":[{"message":{"role":"assistant"},"finish_reason":"function_call"}]}`), providers.Transient, providers.Usage{}},
		{"nothing said", reply(200, strings.Replace(hello, `"hello"`, `""`, 1)), providers.Transient, charged},
		{"error with status 200", reply(200, failure("slow down", "429")), providers.RateLimited, providers.Usage{}},
		{"broken JSON with a key", reply(200, `{"choices":"`+secret+`"}`), providers.Transient, providers.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, vendor := range vendors {
				t.Run(vendor, func(t *testing.T) {
					_, spec := serveAs(t, vendor, tt.handle)
					_, err := open(t, spec).Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, tt.kind, e.Kind)
					assert.Equal(t, tt.usage, e.Usage)
				})
			}
		})
	}
}

// hang answers when the client has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestCallersDeadline(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			_, spec := serveAs(t, vendor, hang)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := open(t, spec).Generate(ctx, hi)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, providers.Canceled, fault(t, err).Kind)
		})
	}
}

func TestAttemptTimeout(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			_, spec := serveAs(t, vendor, hang)
			spec.Timeout = "20ms"
			_, err := open(t, spec).Generate(t.Context(), hi)
			e := fault(t, err)
			assert.Equal(t, providers.Transient, e.Kind)
			assert.Equal(t, "no answer within 20ms", e.Message)
		})
	}
}

func TestCanceledBeforeHeaders(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(why)
		<-r.Context().Done()
	})
	m := open(t, providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL})
	for range 2 { // the second time it is not sent
		_, err := m.Generate(ctx, hi)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		assert.Equal(t, providers.Canceled, fault(t, err).Kind)
	}
	assert.Equal(t, 1, s.hits())
}

func TestCanceledInTheBody(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, hello[:40])
				_ = http.NewResponseController(w).Flush()
				cancel()
				<-r.Context().Done()
			})
			_, err := open(t, providers.Spec{Provider: vendor, Model: "m", BaseURL: s.URL}).Generate(ctx, hi)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, providers.Canceled, fault(t, err).Kind)
		})
	}
}

func TestHostileBodyIsNotRead(t *testing.T) {
	piece := strings.Repeat("x", 1<<20)
	flood := func(contentType, begin string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, begin)
			for range 64 {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}
	}
	for name, handle := range map[string]http.HandlerFunc{
		"answer": flood("application/json", `{"choices":[{"message":{"content":"`),
		"line":   flood("text/event-stream", `data: {"choices":[{"delta":{"content":"`),
		"announced": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "67108864")
			flood("application/json", "")(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, handle)
			spec := providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL}
			m, err := langchain.Opener{MaxBody: 4 << 20}.Open(spec)
			require.NoError(t, err)
			req := hi
			req.OnText = func(string) error { return nil }
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = m.Generate(t.Context(), req)
			runtime.ReadMemStats(&after)
			e := fault(t, err)
			assert.Equal(t, providers.Permanent, e.Kind)
			assert.Contains(t, e.Message, "longer than the limit")
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(48<<20), "bytes allocated")
		})
	}
}

func TestHostileErrorBodyIsCut(t *testing.T) {
	s := serve(t, reply(500, strings.Repeat("x", 8<<20), "Content-Type", "text/plain"))
	_, err := open(t, providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL}).Generate(t.Context(), hi)
	e := fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Len(t, e.Message, 303)
}

func TestRedirectCarriesNoKey(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			other, spec := serveAs(t, vendor, reply(200, hello))
			for _, status := range []int{301, 302, 307, 308} {
				s := serve(t, reply(status, "", "Location", other.URL+"/v1/chat/completions"))
				spec.BaseURL = s.URL
				_, err := open(t, spec).Generate(t.Context(), hi)
				e := fault(t, err)
				assert.Equal(t, providers.Permanent, e.Kind)
				assert.Equal(t, status, e.Status)
			}
			assert.Zero(t, other.hits())
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = open(t, providers.Spec{Provider: "openai", Model: "m", BaseURL: "http://" + addr}).Generate(t.Context(), hi)
	e := fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Contains(t, e.Message, "refused")
}

type brokenTransport struct{}

func (brokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("proxy says no to " + r.Header.Get("Authorization"))
}

func TestTransportOfTheHost(t *testing.T) {
	o := langchain.Opener{Keys: langchain.Keys{"openai": secret}, Transport: brokenTransport{}}
	m, err := o.Open(providers.Spec{Provider: "openai", Model: "m"})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), hi)
	e := fault(t, err)
	assert.Equal(t, "proxy says no to Bearer [redacted]", e.Message)
}

func TestErrorsDoNotQuoteThePrompt(t *testing.T) {
	s := serve(t, reply(400, failure("cannot read: the merger is announced on Friday", "x")))
	req := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "the merger is announced on Friday"}}}
	_, err := open(t, providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL}).Generate(t.Context(), req)
	assert.Equal(t, "cannot read: [prompt]", fault(t, err).Message)
}
