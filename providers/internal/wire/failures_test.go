package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/failtest"
)

// troubles are what the vendors call failures.
var troubles = map[failtest.Word]trouble{
	failtest.Limited: limited, failtest.Spent: spent, failtest.BadKey: unknown, failtest.Forbidden: unknown, failtest.Missing: odd,
	failtest.TooLong: tooLong, failtest.Odd: odd, failtest.Broken: broken, failtest.Overloaded: overload,
}

// failing is v's, for the table of all formats.
func (v vendor) failing() failtest.Format {
	name := v.name
	if v.responses {
		name += " by Responses"
	}
	return failtest.Format{
		Name: name, Secrets: []string{secret}, Path: v.path + v.request, Used: v.used(), Type: "text/event-stream",
		Open: func(t testing.TB, o failtest.Options) providers.Model {
			t.Helper()
			spec := v.spec(&stub{Server: &httptest.Server{URL: o.URL}})
			spec.Timeout = o.Timeout
			m, err := opener{Keys: keys, Transport: o.Transport, MaxBody: o.MaxBody}.Open(spec)
			require.NoError(t, err)
			return m
		},
		Refuse: func(status int, w failtest.Word, message string) (string, []string) {
			return v.failure(status, troubles[w], message), nil
		},
		Whole: func(text string) string { return v.body(said{text: text, stop: providers.StopEnd}) },
		Parts: func(text string) []string {
			pieces, at := v.pieces([]string{text}, providers.StopEnd), 0
			for pieces[at] != v.delta(text) {
				at++
			}
			parts := []string{"", eventOf(pieces[at]), ""}
			for i, piece := range pieces {
				if i != at {
					parts[2*min(max(i-at, 0), 1)] += eventOf(piece)
				}
			}
			return parts
		},
		Fault: func(w failtest.Word, message string) string { return eventOf(v.eventFailure(troubles[w], message)) },
	}
}

func eventOf(data string) string { return "event: x\ndata: " + data + "\n\n" }

func TestFailures(t *testing.T) {
	var formats []failtest.Format
	for _, v := range everyone {
		formats = append(formats, v.failing())
	}
	failtest.Run(t, formats)
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

// instead has something else in the place of the answer, and the usage after it.
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
