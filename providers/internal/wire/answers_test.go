package wire_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

func TestAnswer(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			spec.Price = &providers.Price{Input: 2_000_000, Output: 3_000_000, CacheRead: 1_000_000} // nano-USD 2, 3 and 1 a token
			got, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			want := v.used()
			want.Calls, want.Cost = 1, 7*2+4*1+7*3
			assert.Equal(t, providers.Response{Text: "hello", Stop: providers.StopEnd, Model: v.name + ":" + v.model, Usage: want}, got)
			assert.Equal(t, []string{v.path + v.request}, s.urls)
			for _, header := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
				sent := s.headers[0].Get(header)
				if header == v.header {
					assert.Equal(t, secret, strings.TrimPrefix(sent, "Bearer "), header)
				} else {
					assert.Empty(t, sent, header)
				}
			}
		})
	}
}

func TestStop(t *testing.T) {
	call := []providers.ToolCall{{ID: "c", Name: "f", Input: json.RawMessage(`{"a":1}`)}}
	tests := []struct {
		name string
		said said
		want providers.Stop
		text string
	}{
		{"end", said{text: "a", stop: providers.StopEnd}, providers.StopEnd, "a"},
		{"length", said{text: "a", stop: providers.StopLength}, providers.StopLength, "a"},
		{"length before any text", said{stop: providers.StopLength}, providers.StopLength, ""},
		{"filter", said{stop: providers.StopFilter}, providers.StopFilter, ""},
		{"refusal", said{refusal: "I will not", stop: providers.StopEnd}, providers.StopFilter, "I will not"},
		{"tools", said{text: "a", calls: call, stop: providers.StopTools}, providers.StopTools, "a"},
		{"cut tool call", said{calls: call, stop: providers.StopLength}, providers.StopLength, ""},
		{"tools called stop", said{calls: call, stop: providers.StopEnd}, providers.StopTools, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range vendors {
				t.Run(v.name, func(t *testing.T) {
					_, spec := v.serve(t, reply(200, v.body(tt.said)))
					got, err := open(t, spec).Generate(t.Context(), hi)
					require.NoError(t, err)
					assert.Equal(t, tt.want, got.Stop)
					assert.Equal(t, tt.text, got.Text)
					assert.Equal(t, int64(11), got.Usage.Input)
				})
			}
		})
	}
}

func TestWordsForStopping(t *testing.T) {
	tests := map[string]providers.Stop{
		`"stop"`: providers.StopEnd, `"STOP"`: providers.StopEnd, `"end_turn"`: providers.StopEnd, `"stop_sequence"`: providers.StopEnd,
		`"length"`: providers.StopLength, `"MAX_TOKENS"`: providers.StopLength, `"model_context_window_exceeded"`: providers.StopLength,
		`"SAFETY"`: providers.StopFilter, `"RECITATION"`: providers.StopFilter, `"PROHIBITED_CONTENT"`: providers.StopFilter,
		`"sensitive"`: providers.StopFilter, `"content_filter: blocked"`: providers.StopFilter, `"refusal"`: providers.StopFilter,
		`"tired"`: providers.StopUnknown, `null`: providers.StopUnknown, `""`: providers.StopUnknown, `"pause_turn"`: providers.StopUnknown,
	}
	for word, want := range tests {
		t.Run(word, func(t *testing.T) {
			for _, v := range vendors {
				t.Run(v.name, func(t *testing.T) {
					body := strings.NewReplacer(`"finish_reason":"stop"`, `"finish_reason":`+word, `"stop_reason":"end_turn"`, `"stop_reason":`+word).Replace(v.body(hello))
					_, spec := v.serve(t, reply(200, body))
					got, err := open(t, spec).Generate(t.Context(), hi)
					require.NoError(t, err)
					assert.Equal(t, want, got.Stop)
				})
			}
		})
	}
}

func TestBrokenOffAnswerIsNone(t *testing.T) {
	v := vendors[3] // GLM says so with status 200
	_, spec := v.serve(t, reply(200, strings.Replace(v.body(hello), `"stop"`, `"network_error"`, 1)))
	_, err := open(t, spec).Generate(t.Context(), hi)
	assert.Equal(t, providers.Transient, fault(t, err).Kind)
}

func TestImpossibleUsageIsUnknown(t *testing.T) {
	for _, tokens := range []string{"-5", "9000000000000000000"} {
		t.Run(tokens, func(t *testing.T) {
			for _, v := range vendors {
				t.Run(v.name, func(t *testing.T) {
					body := strings.NewReplacer(`"prompt_tokens":11`, `"prompt_tokens":`+tokens, `"input_tokens":7`, `"input_tokens":`+tokens).Replace(v.body(hello))
					_, spec := v.serve(t, reply(200, body))
					spec.Price = &providers.Price{Input: providers.USD}
					got, err := open(t, spec).Generate(t.Context(), hi)
					require.NoError(t, err)
					assert.Equal(t, providers.Usage{Calls: 1, Unpriced: 1}, got.Usage)
				})
			}
		})
	}
}

func TestNoUsageIsUnknown(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			quiet := hello
			quiet.silent = true
			_, spec := v.serve(t, reply(200, v.body(quiet)))
			spec.Price = &providers.Price{Input: providers.USD}
			got, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, providers.Usage{Calls: 1, Unpriced: 1}, got.Usage)
		})
	}
}

func TestCacheWritesCountAsInput(t *testing.T) {
	v := claudes
	_, spec := v.serve(t, reply(200, strings.Replace(v.body(hello), `"cache_creation_input_tokens":0`, `"cache_creation_input_tokens":100`, 1)))
	got, err := open(t, spec).Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, providers.Usage{Calls: 1, Input: 111, Output: 7, CacheRead: 4, CacheWrite: 100, Unpriced: 1}, got.Usage)
}

func TestConcurrentCalls(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			m := open(t, spec)
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					_, err := m.Generate(t.Context(), hi)
					assert.NoError(t, err)
				})
			}
			wg.Wait()
			assert.Equal(t, 16, s.hits())
		})
	}
}
