package wire_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

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
		{"quota in it", func(v vendor) http.HandlerFunc { return events(v.eventFailure(spent, "pay: insufficient_quota")) }, providers.Permanent, "pay"},
		{"no JSON", func(vendor) http.HandlerFunc { return events("{") }, providers.Transient, "read event"},
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

// What servers do to streams that is no fault of the answer.
func TestOddStreams(t *testing.T) {
	good := func(v vendor) string {
		return "data: " + strings.Join(v.pieces([]string{"hel", "lo"}, providers.StopEnd), "\n\ndata: ") + "\n\n"
	}
	for name, change := range map[string]func(text string) string{
		"a byte order mark": func(text string) string { return "\xef\xbb\xbf" + text },
		"lines of Windows":  func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
		"no spaces":         func(text string) string { return strings.ReplaceAll(text, "data: ", "data:") },
		"no empty lines":    func(text string) string { return strings.ReplaceAll(text, "\n\n", "\n") },
		"comments":          func(text string) string { return ": hi\n\n" + strings.ReplaceAll(text, "\n\n", "\n\n: ping\n\n") },
		"no end of a line":  strings.TrimSpace,
		"counts with a decimal point": func(text string) string {
			return regexp.MustCompile(`(_tokens":\d+)`).ReplaceAllString(text, "$1.0")
		},
		"counts as texts": func(text string) string {
			return regexp.MustCompile(`(_tokens":)(\d+)`).ReplaceAllString(text, `$1"$2"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range everyone {
				_, spec := v.serve(t, reply(200, change(good(v)), "Content-Type", "text/event-stream"))
				resp, told, err := streamed(t, spec, hi)
				require.NoError(t, err, v.name)
				assert.Equal(t, "hello", resp.Text, v.name)
				assert.Equal(t, "hello", strings.Join(told, ""), v.name)
				assert.Equal(t, v.charged(), resp.Usage, v.name)
			}
		})
	}
}

// An answer or an error that is called a stream and is none, and an event that is
// called an error.
func TestStreamsThatAreNone(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name+v.request, func(t *testing.T) {
			_, spec := v.serve(t, reply(200, v.body(hello), "Content-Type", "text/event-stream"))
			resp, _, err := streamed(t, spec, hi)
			require.NoError(t, err)
			assert.Equal(t, "hello", resp.Text)
			_, spec = v.serve(t, reply(200, v.eventFailure(limited, "slow down"), "Content-Type", "text/event-stream"))
			_, _, err = streamed(t, spec, hi)
			require.ErrorIs(t, err, providers.RateLimited)
			assert.ErrorContains(t, err, "slow down")
			if !v.claude && !v.responses {
				_, spec = v.serve(t, reply(200, "event: error\ndata: {\"message\":\"it broke\"}\n\n", "Content-Type", "text/event-stream"))
				_, _, err = streamed(t, spec, hi)
				assert.ErrorContains(t, err, "it broke")
			}
		})
	}
}
