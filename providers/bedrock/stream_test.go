package bedrock_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

// streamed asks f's model at s for a stream, and returns what OnText was told.
func (f family) streamed(t *testing.T, s *stub, req providers.Request) (providers.Response, []string, error) {
	t.Helper()
	var told []string
	req.OnText = func(chunk string) error {
		told = append(told, chunk)
		return nil
	}
	resp, err := f.open(t, s).Generate(t.Context(), req)
	return resp, told, err
}

func TestStream(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, f.streams("end_turn", "hel", "lo ", long))
			resp, told, err := f.streamed(t, s, hi)
			require.NoError(t, err)
			assert.Equal(t, []string{"hel", "lo ", long}, told)
			want := usage
			want.Calls, want.Unpriced = 1, 1
			assert.Equal(t, providers.Response{Text: "hello " + long, Stop: providers.StopEnd, Model: "bedrock:" + f.model, Usage: want}, resp)
			assert.Equal(t, []string{"/model/" + f.escaped + f.stream}, s.paths)
			assert.Equal(t, "application/json", s.headers[0].Get("X-Amzn-Bedrock-Accept"))
			assert.Empty(t, s.headers[0].Get("Accept"))
		})
	}
}

func TestStreamStop(t *testing.T) {
	for reason, want := range map[string]providers.Stop{"max_tokens": providers.StopLength, "refusal": providers.StopFilter} {
		t.Run(reason, func(t *testing.T) {
			for name, f := range families {
				t.Run(name, func(t *testing.T) {
					resp, _, err := f.streamed(t, serve(t, f.streams(reason, "a")), hi)
					require.NoError(t, err)
					assert.Equal(t, want, resp.Stop)
					assert.Equal(t, "a", resp.Text)
					assert.Equal(t, int64(5), resp.Usage.Output)
				})
			}
		})
	}
}

// The last event may have all the counts.
func TestStreamCountsAtTheEnd(t *testing.T) {
	f := families["claude"]
	s := serve(t, events(f.delta("a"),
		chunk(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},`+f.counts(usage)+`}`)))
	resp, _, err := f.streamed(t, s, hi)
	require.NoError(t, err)
	want := usage
	want.Calls, want.Unpriced = 1, 1
	assert.Equal(t, want, resp.Usage)
}

func TestStreamThatIsNone(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			resp, told, err := f.streamed(t, serve(t, reply(200, f.hello())), hi)
			require.NoError(t, err)
			assert.Equal(t, "hello", resp.Text)
			assert.Equal(t, []string{"hello"}, told)
		})
	}
}

func TestStreamWithTools(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.hello()))
			req := hi
			req.Tools = []providers.Tool{add}
			_, told, err := f.streamed(t, s, req)
			require.NoError(t, err)
			assert.Equal(t, []string{"hello"}, told)
			assert.Equal(t, []string{"/model/" + f.escaped + f.stream}, s.paths)
		})
	}
}

func TestRefusalIsNotTold(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			req := hi
			req.Tools = []providers.Tool{add}
			resp, told, err := f.streamed(t, serve(t, reply(200, f.says(`"refusal"`, f.text("I will not")))), req)
			require.NoError(t, err)
			assert.Equal(t, "I will not", resp.Text)
			assert.Empty(t, told)
		})
	}
}

func TestStreamFailures(t *testing.T) {
	tests := []struct {
		name   string
		handle func(family) http.HandlerFunc
		kind   providers.Kind
		text   string
	}{
		{"cut in an event", func(f family) http.HandlerFunc {
			return events(f.delta("par"), f.delta("tial")[:40])
		}, providers.Transient, "read stream"},
		{"changed on the way", func(f family) http.HandlerFunc {
			changed := f.delta("par")
			changed[len(changed)-5] ^= 1 // the last byte in front of the checksum
			return events(changed, slices.Concat(f.end("end_turn", usage)...))
		}, providers.Transient, "checksum"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, f := range families {
				t.Run(name, func(t *testing.T) {
					s := serve(t, tt.handle(f))
					_, _, err := f.streamed(t, s, hi)
					e := fault(t, err)
					assert.Equal(t, tt.kind, e.Kind)
					assert.Contains(t, e.Message, tt.text)
					assert.Equal(t, 1, s.hits(), "one attempt")
				})
			}
		})
	}
}

func TestAnthropicErrorInAStream(t *testing.T) {
	f := families["claude"]
	frames := append(f.start(usage), f.delta("par"), chunk(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
	_, _, err := f.streamed(t, serve(t, events(frames...)), hi)
	e := fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Contains(t, e.Message, "Overloaded")
	assert.Equal(t, int64(13), e.Usage.Input, "it was charged")
}

func TestOnTextMayPanic(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, f.streams("end_turn", "a"))
			req := hi
			req.OnText = func(string) error { panic("the caller's own") }
			assert.PanicsWithValue(t, "the caller's own", func() { _, _ = f.open(t, s).Generate(t.Context(), req) })
		})
	}
}

// A stream is one under every label, and so is an answer in one piece.
func TestLabels(t *testing.T) {
	for name, f := range families {
		frames := slices.Concat(f.start(usage)...)
		frames = append(frames, f.delta("hello")...)
		frames = append(frames, slices.Concat(f.end("end_turn", usage)...)...)
		for _, label := range []string{"application/json", "text/plain", "application/vnd.amazon.eventstream", "application/octet-stream"} {
			for shape, body := range map[string]string{"stream": string(frames), "answer": f.hello()} {
				t.Run(name+" "+shape+" as "+label, func(t *testing.T) {
					resp, _, err := f.streamed(t, serve(t, reply(200, body, "Content-Type", label)), hi)
					require.NoError(t, err)
					assert.Equal(t, "hello", resp.Text)
				})
			}
		}
	}
}
