package nfc_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/nfc"
)

// bench/nfc compares each rune and random texts with golang.org/x/text.
func TestString(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"plain, ü and ß":                  "plain, ü and ß",
		"cafe\u0301":                      "café",
		"\u0301e":                         "\u0301e",
		"e\n\u0301":                       "e\n\u0301",
		"s\u0307\u0323":                   "ṩ",             // the lower mark first
		"q\u0307\u0323":                   "q\u0323\u0307", // in order, without a composition
		"a\u0327\u0328\u0301":             "á\u0327\u0328", // the second of one class does not join; the acute does
		"\u212b \u2126":                   "Å Ω",           // signs that are letters
		"\u0958":                          "\u0915\u093c",  // never composed
		"\u1112\u1161\u11ab":              "한",
		"\ud558\u11ab":                    "한",
		"\u1100\u11a8":                    "\u1100\u11a8", // no vowel
		"a" + strings.Repeat("\u0323", 3): "ạ\u0323\u0323",
		"\uac01\u11a8":                    "\uac01\u11a8", // a syllable has one tail
		"q" + strings.Repeat("\u0300\u0323\u0301", 20): "q" + strings.Repeat("\u0323", 20) + strings.Repeat("\u0300\u0301", 20), // those of one class in their order
		"\u01d6\u0323": "\u1ee5\u0308\u0304", // a composition of a composition
	} {
		assert.Equal(t, want, nfc.String(in), "N20 %+q", in)
	}
	assert.True(t, utf8.ValidString(nfc.String("\xffe\u0301")), "N20")
	assert.Equal(t, "\xff\ufffd", nfc.String("\xff\ufffd"), "N20 nothing can change")
}

func TestStringOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once := nfc.String(rapid.String().Draw(t, "s"))
		assert.Equal(t, once, nfc.String(once), "N20 %+q", once)
	})
}

func TestStringAllocates(t *testing.T) {
	for _, s := range []string{strings.Repeat("plain ", 100), "Größe für façade", "Новая сцена", "中文 한국어"} {
		nfc.String(s)
		assert.Zero(t, testing.AllocsPerRun(100, func() { nfc.String(s) }), "N20 %q", s)
	}
}
