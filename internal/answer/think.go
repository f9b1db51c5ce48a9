package answer

import (
	"regexp"
	"strings"
)

// thinkTags open what some models write before their answer, with their ends.
var thinkTags = regexp.MustCompile(`(?i)^<(think|thinking|reasoning)>`)

// WithoutThinking returns an answer without what the model thought aloud first: blocks
// between <think>, <thinking> or <reasoning> and its end tag at the beginning of the
// text. A block without its end was cut off: then there is no answer, and the result is
// "". Anything else is returned as it is.
func WithoutThinking(text string) string {
	for rest := text; ; text = rest {
		rest = strings.TrimSpace(rest)
		tag := thinkTags.FindStringSubmatch(rest)
		if tag == nil {
			return text
		}
		end := thinkEnds[strings.ToLower(tag[1])].FindStringIndex(rest)
		if end == nil {
			return ""
		}
		rest = strings.TrimSpace(rest[end[1]:])
	}
}

var thinkEnds = map[string]*regexp.Regexp{
	"think":     regexp.MustCompile(`(?i)</think>`),
	"thinking":  regexp.MustCompile(`(?i)</thinking>`),
	"reasoning": regexp.MustCompile(`(?i)</reasoning>`),
}
