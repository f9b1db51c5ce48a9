package prose

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCut(t *testing.T) {
	assert.Equal(t, "äöü", Cut("äöü", 3))
	assert.Equal(t, "äö…", Cut("äöüß", 3), "characters, not bytes")
	assert.Equal(t, "a…", Cut("a  bcd", 4), "no space before the end")
	assert.Equal(t, "…", Cut("ab", 1))
}

func TestOneLine(t *testing.T) {
	assert.Equal(t, "a b c", OneLine("  a\n\tb\u00a0\x00 c\r", 10))
	assert.Equal(t, "a\uFFFDb", OneLine("a\xffb", 10))
}

func TestParagraphs(t *testing.T) {
	assert.Equal(t, "a  b\n\nc\n\td", Paragraphs("\n\n a  b \r\n \n\n\nc\x1b\n\td\n\n"))
	assert.Equal(t, "a\uFFFD", Paragraphs("a\xff"))
	assert.Empty(t, Paragraphs(" \n\x00\n"))
}

func TestTerms(t *testing.T) {
	assert.Equal(t, []string{"ai", "healthcare"}, Terms("AI in Healthcare: the AI of healthcare?", 10))
	assert.Equal(t, []string{"ai"}, Terms("AI in Healthcare", 1))
	assert.Equal(t, []string{"to", "be", "or", "not"}, Terms("To be or not to be", 10), "better than none")
	assert.Equal(t, []string{"हिन्दी", "日本語"}, Terms("हिन्दी 日本語", 10))
	assert.Empty(t, Terms("?!", 10))
}

func TestOverlap(t *testing.T) {
	assert.InDelta(t, 0.5, Overlap([]string{"triage", "nurses"}, "Triage, by a nurse"), 0, "one of two")
	assert.InDelta(t, 1, Overlap([]string{"triage"}, "TRIAGE-based"), 0)
	assert.Zero(t, Overlap([]string{"age"}, "triage"), "whole words")
	assert.Zero(t, Overlap(nil, "triage"))
}
