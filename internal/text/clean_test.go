package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/text"
)

func TestNewlines(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "a\r\nb": "a\nb", "a\rb": "a\nb", "\r\r\n\n": "\n\n\n", "a\n": "a\n",
	} {
		assert.Equal(t, want, text.Newlines(in), "N20 %q", in)
	}
}

func TestFold(t *testing.T) {
	for _, same := range [][]string{{"", ""}, {"Straße", "strAße"}, {"CAFÉ", "cafe\u0301", "Cafe\u0301"}, {"ǰ", "J\u030c"}, {"İ", "I\u0307"}, {"λόγος", "ΛΌΓΟΣ"}} {
		for _, s := range same[1:] {
			assert.Equal(t, text.Fold(same[0]), text.Fold(s), "N20 %q", same)
		}
	}
	assert.NotEqual(t, text.Fold("cafe"), text.Fold("café"), "N20")
}

func TestFault(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"N20 a text", "Tea,\n\tor coffee? é 😀 e\u0301", ""},
		{"N20 nothing is each caller's rule", "", ""},
		{"N20 zero", "a\x00b", "line 1, character 2 is U+0000, a control character"},
		{"N20 carriage return, when not cleaned", "a\r\n", "line 1, character 2 is U+000D, a control character"},
		{"N20 escape in the third line", "é\n\n ab\x1b", "line 3, character 4 is U+001B, a control character"},
		{"N20 a control character of C1", "\u0085", "line 1, character 1 is U+0085, a control character"},
		{"N20 not UTF-8", "é\xff\xfe", "line 1, character 2 is not UTF-8"},
		{"N20 what JSON made of no UTF-8", "a\ufffd", "line 1, character 2 is not UTF-8"},
		{"N20 a space without width", "\u200b\u200b", "it has 2 characters, and none that can be seen"},
		{"N20 blanks", " \n\t\u00a0", "it has 4 characters, and none that can be seen"},
		{"N20 a filler", "\u3164", "it has 1 characters, and none that can be seen"},
		{"N20 an accent on nothing", "\u0301", "it has 1 characters, and none that can be seen"},
		{"N20 something between invisible ones", "\u200bx\u200b", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := text.Fault(tt.in); tt.want != "" {
				require.EqualError(t, err, tt.want)
			} else {
				require.NoError(t, err)
			}
		})
	}
	t.Run("N20 names are in one line", func(t *testing.T) {
		require.EqualError(t, text.NameFault("é\nb"), "character 2 is U+000A, which no name has")
		require.EqualError(t, text.NameFault("ab\t"), "character 3 is U+0009, which no name has")
		require.EqualError(t, text.NameFault("\u200b"), "it has 1 characters, and none that can be seen")
		require.NoError(t, text.NameFault("a b"))
	})
	t.Run("N20 what passes can be shown", rapid.MakeCheck(func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune{'a', ' ', '\n', '\r', '\t', 0, '\u200b', '\u0301', 0x85})),
			rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })).Draw(t, "s")
		controls := strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' })
		if text.Fault(s) == nil {
			assert.True(t, utf8.ValidString(s))
			assert.False(t, controls)
		} else if !strings.Contains(s, "\ufffd") && utf8.ValidString(s) && !controls {
			assert.False(t, strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) && r < 0x1000 && unicode.IsPrint(r) }))
		}
		assert.NotContains(t, text.Newlines(s), "\r")
	}))
}

func TestIDFault(t *testing.T) {
	for _, ok := range []string{"", "a", "a-b_c.d:e/f", "Straße-7", "任务", strings.Repeat("é", 128)} {
		require.NoError(t, text.IDFault(ok), "N20 %q", ok)
	}
	for in, want := range map[string]string{
		"a\nb":                   `has '\n' at character 2, want letters, digits and -_.:/ only`,
		"a b":                    `has ' ' at character 2, want letters, digits and -_.:/ only`,
		"é\xff":                  "has '\ufffd' at character 2, want letters, digits and -_.:/ only",
		`a\b`:                    `has '\\' at character 2, want letters, digits and -_.:/ only`,
		strings.Repeat("a", 129): "has 129 characters, want at most 128",
	} {
		require.EqualError(t, text.IDFault(in), want, "N20")
	}
}
