package answer

import (
	"regexp"
	"strings"
)

// thought is what some models write before their answer: up to its end tag, or to the
// end of the text where it was cut off.
var thought = regexp.MustCompile(`(?is)^(?:<think>.*?(?:</think>|$)|<thinking>.*?(?:</thinking>|$)|<reasoning>.*?(?:</reasoning>|$))`)

// WithoutThinking returns an answer without what the model thought aloud first: blocks
// between <think>, <thinking> or <reasoning> and its end tag at the beginning of the
// text. A block without its end was cut off: then there is no answer, and the result is
// "". Anything else is returned as it is.
func WithoutThinking(text string) string {
	for {
		rest := strings.TrimSpace(text)
		aloud := thought.FindString(rest)
		if aloud == "" {
			return text
		}
		text = strings.TrimSpace(rest[len(aloud):])
	}
}
