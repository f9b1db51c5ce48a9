package answer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/internal/answer"
)

func TestWithoutThinking(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"DC35 nothing to take away", " plain <think>x</think> ", " plain <think>x</think> "},
		{"DC35 think", "<think>{\"a\":1}</think>\n\n{\"a\":2}\n", `{"a":2}`},
		{"DC35 thinking, in another case, behind white space", "\n <Thinking>hm\nhm</THINKING>Yes.", "Yes."},
		{"DC35 reasoning", "<reasoning></reasoning>Yes.", "Yes."},
		{"DC35 one after another", "<think>a</think> <reasoning>b</reasoning> c", "c"},
		{"DC35 another tag does not end it", "<think>a</reasoning>b</think>c", "c"},
		{"DC35 later ones stay", "<think>a</think>b <think>c</think>", "b <think>c</think>"},
		{"DC35 cut off", "<think>so far {\"a\":1}", ""},
		{"DC35 nothing but thought", "<think>a</think>", ""},
		{"DC35 a word that begins alike", "<thinker>a</thinker>", "<thinker>a</thinker>"},
		{"DC35 empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, answer.WithoutThinking(tt.in)) })
	}
}

func FuzzWithoutThinking(f *testing.F) {
	f.Add("<think>a</think>", "b")
	f.Fuzz(func(t *testing.T, thought, said string) {
		got := answer.WithoutThinking(said)
		assert.True(t, strings.HasSuffix(strings.TrimSpace(said), strings.TrimSpace(got)), "only the beginning goes")
		assert.Equal(t, got, answer.WithoutThinking(got), "once is enough")
		if !strings.Contains(strings.ToLower(thought), "</think>") {
			assert.Equal(t, strings.TrimSpace(got), strings.TrimSpace(answer.WithoutThinking("<think>"+thought+"</think>"+said)))
		}
	})
}
