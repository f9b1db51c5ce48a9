package workers

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCut(t *testing.T) {
	assert.Equal(t, "äöü", cut("äöü", 3))
	assert.Equal(t, "äö…", cut("äöüß", 3), "characters, not bytes")
	assert.Equal(t, "a…", cut("a  bcd", 4), "no space before the end")
	assert.Equal(t, "…", cut("ab", 1))
}

func TestOneLine(t *testing.T) {
	assert.Equal(t, "a b c", oneLine("  a\n\tb\u00a0\x00 c\r", 10))
	assert.Equal(t, "a\uFFFDb", oneLine("a\xffb", 10))
}

func TestParagraphs(t *testing.T) {
	assert.Equal(t, "a  b\n\nc\n\td", paragraphs("\n\n a  b \r\n \n\n\nc\x1b\n\td\n\n"))
	assert.Equal(t, "a\uFFFD", paragraphs("a\xff"))
	assert.Empty(t, paragraphs(" \n\x00\n"))
}

func TestTerms(t *testing.T) {
	assert.Equal(t, []string{"ai", "healthcare"}, terms("AI in Healthcare: the AI of healthcare?", 10))
	assert.Equal(t, []string{"ai"}, terms("AI in Healthcare", 1))
	assert.Equal(t, []string{"to", "be", "or", "not"}, terms("To be or not to be", 10), "better than none")
	assert.Equal(t, []string{"हिन्दी", "日本語"}, terms("हिन्दी 日本語", 10))
	assert.Empty(t, terms("?!", 10))
}

func TestOverlap(t *testing.T) {
	assert.InDelta(t, 0.5, overlap([]string{"triage", "nurses"}, "Triage, by a nurse"), 0, "one of two")
	assert.InDelta(t, 1, overlap([]string{"triage"}, "TRIAGE-based"), 0)
	assert.Zero(t, overlap([]string{"age"}, "triage"), "whole words")
	assert.Zero(t, overlap(nil, "triage"))
}
