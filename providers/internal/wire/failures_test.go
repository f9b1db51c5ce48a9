package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
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
	const (
		toPay = "You exceeded your current quota, please check your plan and billing details."
		long  = "prompt is too long: 240112 tokens > 200000 maximum"
	)
	tests := []struct {
		name    string
		status  int
		words   trouble
		message string
		headers []string
		kind    providers.Kind
		after   time.Duration
		tooLong bool
		text    string
	}{
		{name: "401 with the key", status: 401, words: unknown, message: "Incorrect API key provided: " + secret, kind: providers.Permanent, text: "Incorrect API key provided: [redacted]"},
		{name: "402", status: 402, words: spent, message: "pay", kind: providers.Permanent, text: "pay"},
		{name: "403", status: 403, words: unknown, message: "no", kind: providers.Permanent, text: "no"},
		{name: "404", status: 404, words: odd, message: "model not found", kind: providers.Permanent, text: "model not found"},
		{name: "408", status: 408, words: broken, message: "slow", kind: providers.Transient, text: "slow"},
		{name: "429 seconds", status: 429, words: limited, message: "slow down", headers: []string{"Retry-After", "7"}, kind: providers.RateLimited, after: 7 * time.Second, text: "slow down"},
		{name: "429 milliseconds", status: 429, words: limited, message: "slow down", headers: []string{"retry-after-ms", "1500"}, kind: providers.RateLimited, after: 1500 * time.Millisecond},
		{name: "429 date", status: 429, words: limited, message: "slow down", headers: []string{"Date", "Fri, 02 Jan 2026 03:04:05 GMT", "Retry-After", "Fri, 02 Jan 2026 03:05:35 GMT"}, kind: providers.RateLimited, after: 90 * time.Second},
		{name: "429 in words", status: 429, words: limited, message: "Please retry in 36.5s.", kind: providers.RateLimited, after: 36500 * time.Millisecond},
		{name: "429 and no more", status: 429, words: limited, message: "slow down", kind: providers.RateLimited, text: "slow down"},
		{name: "429 quota", status: 429, words: spent, message: toPay, headers: []string{"Retry-After", "7"}, kind: providers.Permanent, text: "exceeded your current quota"},
		{name: "429 for this request alone", status: 429, words: limited, message: "Request too large for m: Limit 1, Requested 2", kind: providers.RateLimited, tooLong: true},
		{name: "500", status: 500, words: broken, message: "boom", kind: providers.Transient, text: "boom"},
		{name: "500 with bad words", status: 500, words: broken, message: "insufficient_quota: rate limit of 142900 tokens, 401", kind: providers.Transient},
		{name: "503 with a time", status: 503, words: overload, message: "later", headers: []string{"Retry-After", "3"}, kind: providers.Transient, after: 3 * time.Second},
		{name: "529", status: 529, words: overload, message: "Overloaded", kind: providers.Transient, text: "Overloaded"},
		{name: "400", status: 400, words: odd, message: "bad field", kind: providers.Invalid, text: "bad field"},
		{name: "400 too long", status: 400, words: tooLong, message: long, kind: providers.Invalid, tooLong: true, text: "too long"},
		{name: "413", status: 413, words: odd, message: "big", kind: providers.Invalid, tooLong: true},
		{name: "422", status: 422, words: odd, message: "odd", kind: providers.Invalid, text: "odd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range everyone {
				t.Run(v.name, func(t *testing.T) {
					if tt.name == "429 quota" && v.claude {
						tt.message = "You have reached your specified API usage limits."
						tt.text = "usage limits"
					}
					s, spec := v.serve(t, reply(tt.status, v.failure(tt.status, tt.words, tt.message), tt.headers...))
					_, err := open(t, spec).Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, tt.kind, e.Kind)
					assert.Equal(t, tt.after, e.RetryAfter)
					assert.Equal(t, tt.tooLong, e.TooLong)
					assert.Contains(t, e.Message, tt.text)
					assert.Equal(t, tt.status, e.Status)
					assert.Equal(t, providers.Usage{}, e.Usage)
					assert.Equal(t, 1, s.hits(), "one attempt")
				})
			}
		})
	}
}

// What single vendors, or the proxies before them, say in their own way.
func TestRefusalsInOtherWords(t *testing.T) {
	const perMinute = `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: free_tier_requests, limit: 20, model: m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}]`
	tests := []struct {
		name, vendor string
		handle       http.HandlerFunc
		kind         providers.Kind
		after        time.Duration
		tooLong      bool
		text         string
	}{
		{name: "page", vendor: "openai", handle: reply(502, "<html><body>bad", "Content-Type", "text/html"), kind: providers.Transient, text: "Bad Gateway"},
		{name: "nothing", vendor: "openai", handle: reply(402, ""), kind: providers.Permanent, text: "Payment Required"},
		{name: "empty object", vendor: "openai", handle: reply(429, "{}"), kind: providers.RateLimited, text: "Too Many Requests"},
		{name: "text", vendor: "ollama", handle: reply(404, `{"error":"model \"m\" not found"}`), kind: providers.Permanent, text: `model "m" not found`},
		{name: "error alone", vendor: "corp", handle: reply(422, `{"message":"odd"}`), kind: providers.Invalid, text: "odd"},
		{name: "reset in words", vendor: "openai", handle: reply(429, `{"error":{"message":"Rate limit reached. Please try again in 6m0s."}}`), kind: providers.RateLimited, after: 6 * time.Minute},
		{name: "reset in seconds", vendor: "azure", handle: reply(429, `{"error":{"code":"429","message":"Please retry after 26 seconds."}}`), kind: providers.RateLimited, after: 26 * time.Second},
		{name: "limit of a minute", vendor: "google", handle: reply(429, perMinute), kind: providers.RateLimited, after: 17 * time.Second},
		{name: "limit of 0", vendor: "google", handle: reply(429, strings.Replace(perMinute, "limit: 20", "limit: 0", 1)), kind: providers.Permanent},
		{name: "no key", vendor: "google", handle: reply(400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`), kind: providers.Permanent},
		{name: "too long", vendor: "google", handle: reply(400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`), kind: providers.Invalid, tooLong: true},
		{name: "too long", vendor: "glm", handle: reply(400, `{"error":{"code":"1261","message":"Prompt is over"}}`), kind: providers.Invalid, tooLong: true},
		{name: "too long", vendor: "ollama", handle: reply(400, `{"error":{"message":"the input length exceeds the context length","type":"api_error"}}`), kind: providers.Invalid, tooLong: true},
		{name: "too long", vendor: "anthropic", handle: reply(400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000\"}}"), kind: providers.Invalid, tooLong: true},
		{name: "no plan", vendor: "glm", handle: reply(429, `{"error":{"code":"1309","message":"expired"}}`), kind: providers.Permanent},
		{name: "no right", vendor: "glm", handle: reply(434, `{"error":{"code":"1220","message":"no"}}`), kind: providers.Permanent},
		{name: "no credit", vendor: "anthropic", handle: reply(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`), kind: providers.Permanent},
	}
	for _, tt := range tests {
		t.Run(tt.vendor+" "+tt.name, func(t *testing.T) {
			for _, v := range everyone {
				if v.name != tt.vendor {
					continue
				}
				_, spec := v.serve(t, tt.handle)
				_, err := open(t, spec).Generate(t.Context(), hi)
				e := fault(t, err)
				assert.Equal(t, tt.kind, e.Kind)
				assert.Equal(t, tt.after, e.RetryAfter)
				assert.Equal(t, tt.tooLong, e.TooLong)
				assert.Contains(t, e.Message, tt.text)
			}
		})
	}
}

func TestUnusableAnswers(t *testing.T) {
	tests := []struct {
		name    string
		handle  func(v vendor) http.HandlerFunc
		kind    providers.Kind
		charged bool
	}{
		{"cut", func(v vendor) http.HandlerFunc { return cut("application/json", v.body(hello)[:40]) }, providers.Transient, false},
		{"empty", whole(200, ""), providers.Transient, false},
		{"page", whole(200, "<html>hello</html>"), providers.Transient, false},
		{"no content", whole(204, ""), providers.Transient, false},
		{"empty object", whole(200, "{}"), providers.Transient, false},
		{"null", whole(200, "null"), providers.Transient, false},
		{"list", whole(200, "[]"), providers.Transient, false},
		{"two answers", func(v vendor) http.HandlerFunc { return reply(200, v.body(hello)+v.body(hello)) }, providers.Transient, false},
		{"nothing said", func(v vendor) http.HandlerFunc { return reply(200, v.body(said{stop: providers.StopEnd})) }, providers.Transient, true},
		{"answer null", instead(`null`), providers.Transient, true},
		{"answer empty", instead(`[]`), providers.Transient, true},
		{"answer of null", instead(`[null]`), providers.Transient, true},
		{"answer of a text", instead(`"hello"`), providers.Transient, true},
		{"error with status 200", func(v vendor) http.HandlerFunc {
			return reply(200, v.eventFailure(limited, "slow down"))
		}, providers.RateLimited, false},
		{"error beside an answer", func(v vendor) http.HandlerFunc {
			return reply(200, strings.Replace(v.body(hello), "{", `{"error":{"message":"boom","type":"api_error"},`, 1))
		}, providers.Transient, true},
		{"broken JSON with a key", whole(200, `{"choices":"`+secret+`"}`), providers.Transient, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range everyone {
				t.Run(v.name, func(t *testing.T) {
					_, spec := v.serve(t, tt.handle(v))
					_, err := open(t, spec).Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, tt.kind, e.Kind)
					var want providers.Usage
					if tt.charged {
						want = v.charged()
					}
					assert.Equal(t, want, e.Usage)
				})
			}
		})
	}
}

func whole(status int, body string) func(vendor) http.HandlerFunc {
	return func(vendor) http.HandlerFunc { return reply(status, body) }
}

// instead has something else where the answer is, and the usage behind it.
func instead(answer string) func(vendor) http.HandlerFunc {
	return func(v vendor) http.HandlerFunc {
		if v.claude {
			return reply(200, `{"usage":`+v.usage()+`,"content":`+answer+`,"stop_reason":"end_turn"}`)
		}
		return reply(200, `{"usage":`+v.usage()+`,"choices":`+answer+`}`)
	}
}

// langchaingo panics at this one.
func TestFunctionCallWithoutOne(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, reply(200, `{"choices":[{"message":{"role":"assistant"},"finish_reason":"function_call"}]}`))
			_, err := open(t, spec).Generate(t.Context(), hi)
			assert.Equal(t, providers.Transient, fault(t, err).Kind)
		})
	}
}

// hang answers when the client has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestCallersDeadline(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, hang)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := open(t, spec).Generate(ctx, hi)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, providers.Canceled, fault(t, err).Kind)
		})
	}
}

func TestAttemptTimeout(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, hang)
			spec.Timeout = "20ms"
			_, err := open(t, spec).Generate(t.Context(), hi)
			e := fault(t, err)
			assert.Equal(t, providers.Transient, e.Kind)
			assert.Equal(t, "no answer within 20ms", e.Message)
		})
	}
}

func TestCanceledBeforeHeaders(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			s, spec := v.serve(t, func(_ http.ResponseWriter, r *http.Request) {
				cancel(why)
				<-r.Context().Done()
			})
			m := open(t, spec)
			for range 2 { // the second time it is not sent
				_, err := m.Generate(ctx, hi)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, why)
				assert.Equal(t, providers.Canceled, fault(t, err).Kind)
			}
			assert.Equal(t, 1, s.hits())
		})
	}
}

func TestCanceledInTheBody(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			_, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, v.body(hello)[:40])
				_ = http.NewResponseController(w).Flush()
				cancel(why)
				<-r.Context().Done()
			})
			_, err := open(t, spec).Generate(ctx, hi)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, why)
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
			for range 256 {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}
	}
	for name, handle := range map[string]func(v vendor) http.HandlerFunc{
		"answer": func(v vendor) http.HandlerFunc { return flood("application/json", v.body(hello)[:60]) },
		"line":   func(v vendor) http.HandlerFunc { return flood("text/event-stream", "data: "+v.delta("x")[:40]) },
		"announced": func(vendor) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "268435456")
				flood("application/json", "")(w, r)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range everyone {
				t.Run(v.name, func(t *testing.T) {
					_, spec := v.serve(t, handle(v))
					m, err := opener{Keys: keys, MaxBody: 1 << 20}.Open(spec)
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
					assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "bytes allocated")
				})
			}
		})
	}
}

func TestHostileErrorIsCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, handle := range map[string]func(v vendor) http.HandlerFunc{
		"page":          func(vendor) http.HandlerFunc { return reply(500, long, "Content-Type", "text/plain") },
		"inside of 200": func(v vendor) http.HandlerFunc { return reply(200, v.eventFailure(broken, long)) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range everyone {
				t.Run(v.name, func(t *testing.T) {
					_, spec := v.serve(t, handle(v))
					_, err := open(t, spec).Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, providers.Transient, e.Kind)
					assert.Len(t, e.Message, 303)
				})
			}
		})
	}
}

func TestRedirectCarriesNoKey(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			other, spec := v.serve(t, reply(200, v.body(hello)))
			for _, status := range []int{301, 302, 307, 308} {
				s := serve(t, reply(status, "", "Location", other.URL+v.path+v.request))
				spec.BaseURL = s.URL
				_, err := open(t, spec).Generate(t.Context(), hi)
				e := fault(t, err)
				assert.Equal(t, providers.Permanent, e.Kind)
				assert.Equal(t, status, e.Status)
				assert.Equal(t, "redirects are not followed", e.Message)
			}
			assert.Zero(t, other.hits())
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	refuse := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}}
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			m, err := opener{Keys: keys, Transport: refuse}.Open(providers.Spec{Provider: v.name, Model: v.model, BaseURL: "http://h"})
			require.NoError(t, err)
			_, err = m.Generate(t.Context(), hi)
			e := fault(t, err)
			assert.Equal(t, providers.Transient, e.Kind)
			assert.Contains(t, e.Message, "refused")
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		})
	}
}

type brokenTransport struct{}

func (brokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, transportError{"proxy says no to " + r.Header.Get("Authorization") + r.Header.Get("Api-Key") + r.Header.Get("X-Api-Key")}
}

type transportError struct{ text string }

func (e transportError) Error() string { return e.text }

func TestTransportOfTheHost(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			o := opener{Keys: keys, Transport: brokenTransport{}}
			spec := providers.Spec{Provider: v.name, Model: v.model, BaseURL: "http://h"}
			m, err := o.Open(spec)
			require.NoError(t, err)
			_, err = m.Generate(t.Context(), hi)
			e := fault(t, err)
			assert.Equal(t, providers.Transient, e.Kind)
			assert.Contains(t, e.Message, "proxy says no to")
			require.ErrorAs(t, err, new(transportError))
		})
	}
}

func TestErrorsDoNotQuoteThePrompt(t *testing.T) {
	const prompt = "the prompt is too long and its credit balance is insufficient_quota"
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, reply(400, v.failure(400, odd, "cannot read: "+prompt)))
			req := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: prompt}}}
			_, err := open(t, spec).Generate(t.Context(), req)
			e := fault(t, err)
			assert.Equal(t, "cannot read: [prompt]", e.Message)
			assert.NotContains(t, errors.Unwrap(e).Error(), prompt)
			assert.Equal(t, providers.Invalid, e.Kind, "of the prompt's words nothing follows")
			assert.False(t, e.TooLong)
		})
	}
}
