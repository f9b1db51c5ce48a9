package wire_test

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
	chunks := []string{"hel", "lo ", strings.Repeat("x", 100_000)} // longer than a scanner reads
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, events(v.pieces(chunks, providers.StopEnd)...))
			resp, told, err := streamed(t, spec, hi)
			require.NoError(t, err)
			assert.Equal(t, chunks, told)
			assert.Equal(t, strings.Join(chunks, ""), resp.Text)
			assert.Equal(t, providers.StopEnd, resp.Stop)
			assert.Equal(t, v.charged(), resp.Usage)
			assert.Equal(t, true, s.sent(t)["stream"])
			if !v.claude && !v.responses {
				assert.Equal(t, map[string]any{"include_usage": true}, s.sent(t)["stream_options"])
			}
		})
	}
}

func TestStreamStops(t *testing.T) {
	for _, stop := range []providers.Stop{providers.StopLength, providers.StopFilter} {
		t.Run(string(stop), func(t *testing.T) {
			for _, v := range everyone {
				t.Run(v.name, func(t *testing.T) {
					_, spec := v.serve(t, events(v.pieces([]string{"par"}, stop)...))
					resp, told, err := streamed(t, spec, hi)
					require.NoError(t, err)
					assert.Equal(t, stop, resp.Stop)
					assert.Equal(t, "par", resp.Text)
					assert.Equal(t, []string{"par"}, told)
				})
			}
		})
	}
}

func TestStreamRefusal(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			if v.claude || v.responses {
				t.Skip("there a refusal is a reason to stop")
			}
			_, spec := v.serve(t, events(`{"choices":[{"delta":{"refusal":"I will "}}]}`, `{"choices":[{"delta":{"refusal":"not"}}]}`, v.finish(providers.StopEnd)))
			resp, told, err := streamed(t, spec, hi)
			require.NoError(t, err)
			assert.Equal(t, "I will not", resp.Text)
			assert.Equal(t, providers.StopFilter, resp.Stop)
			assert.Empty(t, told)
		})
	}
}

// Thoughts and what is not known yet are no text.
func TestStreamOfBlocks(t *testing.T) {
	_, spec := claudes.serve(t, events(
		`{"type":"message_start","message":{"usage":{"input_tokens":7,"cache_read_input_tokens":4,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"secret thoughts"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"novelty","x":1}}`,
		`{"type":"novelty"}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"he"}}`,
		claudes.delta("llo"),
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7,"input_tokens":null}}`,
		`{"type":"message_stop"}`,
		`never read`,
	))
	resp, told, err := streamed(t, spec, hi)
	require.NoError(t, err)
	assert.Equal(t, []string{"he", "llo"}, told)
	assert.Equal(t, providers.Response{Text: "hello", Stop: providers.StopEnd, Model: spec.String(), Usage: claudes.charged()}, resp)
}

func TestStreamThatIsNone(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, reply(200, v.body(hello)))
			resp, told, err := streamed(t, spec, hi)
			require.NoError(t, err)
			assert.Equal(t, "hello", resp.Text)
			assert.Equal(t, []string{"hello"}, told)
		})
	}
}

func TestStreamWithTools(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			req := hi
			req.Tools = []providers.Tool{clock}
			_, told, err := streamed(t, spec, req)
			require.NoError(t, err)
			assert.Equal(t, []string{"hello"}, told)
			assert.Equal(t, true, s.sent(t)["stream"])
		})
	}
}

func TestStreamFailures(t *testing.T) {
	tests := []struct {
		name   string
		handle func(v vendor) http.HandlerFunc
		kind   providers.Kind
		text   string
	}{
		{"no finish reason", func(v vendor) http.HandlerFunc { return events(v.delta("par")) }, providers.Transient, "without a finish reason"},
		{"cut off", func(v vendor) http.HandlerFunc { return cut("text/event-stream", "data: "+v.delta("par")+"\n\n") }, providers.Transient, "EOF"},
		{"cut in an event", func(v vendor) http.HandlerFunc { return cut("text/event-stream", "data: "+v.delta("par")[:30]) }, providers.Transient, "EOF"},
		{"rate limit in it", func(v vendor) http.HandlerFunc {
			return events(v.delta("par"), v.eventFailure(limited, "slow down"))
		}, providers.RateLimited, "slow down"},
		{"overload in it", func(v vendor) http.HandlerFunc {
			return events(v.delta("par"), v.eventFailure(overload, "busy"), v.eventFailure(overload, "busy"))
		}, providers.Transient, "busy"},
		{"quota in it", func(v vendor) http.HandlerFunc { return events(v.eventFailure(spent, "pay: insufficient_quota")) }, providers.Permanent, "pay"},
		{"no JSON", func(vendor) http.HandlerFunc { return events("{") }, providers.Transient, "read event"},
		{"page", func(vendor) http.HandlerFunc { return reply(200, "<html>", "Content-Type", "text/html") }, providers.Transient, "without a finish reason"},
		{"empty", func(vendor) http.HandlerFunc { return reply(200, "", "Content-Type", "text/event-stream") }, providers.Transient, "without a finish reason"},
		{"nothing in it", func(v vendor) http.HandlerFunc { return events(v.pieces(nil, providers.StopEnd)...) }, providers.Transient, "neither text nor tool calls"},
		{"refused", func(v vendor) http.HandlerFunc {
			return reply(429, v.failure(429, limited, "slow down"), "Retry-After", "7")
		}, providers.RateLimited, "slow down"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range everyone {
				t.Run(v.name, func(t *testing.T) {
					_, spec := v.serve(t, tt.handle(v))
					resp, _, err := streamed(t, spec, hi)
					e := fault(t, err)
					assert.Equal(t, tt.kind, e.Kind)
					assert.Contains(t, e.Message, tt.text)
					assert.Equal(t, providers.Response{}, resp)
				})
			}
		})
	}
}

func TestFailedStreamIsCharged(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			pieces := v.pieces([]string{"a"}, providers.StopEnd)
			pieces[len(pieces)-1] = v.eventFailure(broken, "boom")
			if v.responses {
				pieces[len(pieces)-1] = `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"},"usage":` + v.usage() + `}}`
			}
			_, spec := v.serve(t, events(pieces...))
			_, _, err := streamed(t, spec, hi)
			assert.Equal(t, v.charged(), fault(t, err).Usage)
		})
	}
}

func TestOnTextEndsTheCall(t *testing.T) {
	stop := errors.New("enough")
	for name, handle := range map[string]func(v vendor) http.HandlerFunc{
		"stream": func(v vendor) http.HandlerFunc { return events(v.pieces([]string{"a", "b"}, providers.StopEnd)...) },
		"whole":  func(v vendor) http.HandlerFunc { return reply(200, v.body(hello)) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range everyone {
				t.Run(v.name, func(t *testing.T) {
					_, spec := v.serve(t, handle(v))
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
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, events(v.pieces([]string{"a"}, providers.StopEnd)...))
			req := hi
			req.OnText = func(string) error { panic("the caller's own") }
			assert.PanicsWithValue(t, "the caller's own", func() { _, _ = open(t, spec).Generate(t.Context(), req) })
		})
	}
}

func TestStreamCanceled(t *testing.T) {
	why := errors.New("enough")
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: "+v.delta("a")+"\n\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			req := hi
			req.OnText = func(string) error { cancel(why); return nil }
			_, err := open(t, spec).Generate(ctx, req)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, why)
			assert.Equal(t, providers.Canceled, fault(t, err).Kind)
		})
	}
}

func TestStreamOutOfTime(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: "+v.delta("a")+"\n\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			spec.Timeout = (50 * time.Millisecond).String()
			_, _, err := streamed(t, spec, hi)
			e := fault(t, err)
			assert.Equal(t, providers.Transient, e.Kind)
			assert.Equal(t, "no answer within 50ms (after 1 bytes of the answer)", e.Message)
		})
	}
}
