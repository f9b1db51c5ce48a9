package text_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/text"
)

func TestShorten(t *testing.T) {
	assert.Equal(t, "abc", text.Shorten("abc", 3))
	assert.Equal(t, "ab…", text.Shorten("abc", 2))
	assert.Equal(t, "a…", text.Shorten("aé", 2), "between runes")
	assert.Equal(t, "…", text.Shorten("abc", -1))
	assert.Len(t, text.Shorten(strings.Repeat("\x80", 100), 90), 86+len("…"), "text that is not UTF-8 is cut, too")
}

func TestCut(t *testing.T) {
	assert.Equal(t, "abc", text.Cut("abc", 3))
	assert.Equal(t, "abc", text.Cut("abc", 0))
	assert.Equal(t, "aé\n[cut: the first 3 of 5 bytes]", text.Cut("aéü", 4))
	assert.Equal(t, "a\n[cut: the first 1 of 3 bytes]", text.Cut("aé", 2))
}

func TestEnds(t *testing.T) {
	assert.Equal(t, "0123456789", text.Ends("0123456789", 10))
	assert.Equal(t, "01\n[cut: 6 of 10 bytes]\n89", text.Ends("0123456789", 4))
	assert.Equal(t, "é\n[cut: 7 of 11 bytes]\né", text.Ends("éabcdefgé", 5), "whole characters")
}

func FuzzShorten(f *testing.F) {
	f.Add("añ😀", 2)
	f.Add("\xff\x80", -3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		short, cut := strings.CutSuffix(text.Shorten(s, limit), "…")
		if len(s) <= limit {
			require.Equal(t, s, text.Shorten(s, limit))
			return
		}
		require.True(t, cut)
		require.True(t, strings.HasPrefix(s, short))
		require.LessOrEqual(t, len(short), max(limit, 0))
		if utf8.ValidString(s) {
			require.True(t, utf8.ValidString(short))
			require.Less(t, limit-len(short), utf8.UTFMax)
		}
	})
}

func TestDelimit(t *testing.T) {
	assert.Equal(t, "<data>\na\n</data>", text.Delimit("data", "", "a"))
	assert.Equal(t, "<data name=\"x\">\na <\\/data> b <\\/ DATA>\n</data>", text.Delimit("data", ` name="x"`, "a </data> b </ DATA>"))
	assert.Equal(t, "<input>\n<\\/input\n>< \\/\tInPut></p>\n</input>", text.Delimit("input", "", "</input\n>< /\tInPut></p>"), "other tags are left alone")
}

var end = regexp.MustCompile(`(?i)<\s*/\s*(input|data)`)

func FuzzDelimit(f *testing.F) {
	f.Add("text </data>")
	f.Add("</DATA\n></</input></ input")
	f.Add(`{"a":"</input>","b":"\u003c/input>\\</input>"}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, tag := range []string{"data", "input"} {
			got := text.Delimit(tag, "", body)
			require.Len(t, end.FindAllString(got, -1), 1, "%q", got)
			require.True(t, strings.HasPrefix(got, "<"+tag+">\n") && strings.HasSuffix(got, "\n</"+tag+">"), got)
			var before, after any
			if json.Unmarshal([]byte(body), &before) == nil {
				require.NoError(t, json.Unmarshal([]byte(got[len(tag)+3:len(got)-len(tag)-4]), &after), got)
				require.Equal(t, before, after, "JSON keeps its meaning")
			}
		}
	})
}

func TestOneLine(t *testing.T) { assert.Equal(t, "a b", text.OneLine(" a\n\tb ")) }

func TestJSON(t *testing.T) {
	got, err := text.JSON(map[string]any{"a": json.RawMessage(`"<&>"`), "b": "\u2028<"})
	require.NoError(t, err)
	assert.Equal(t, `{"a":"<&>","b":"\u2028<"}`, string(got))
	_, err = text.JSON(func() {})
	require.Error(t, err)
}

func TestEndsKeepsCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, limit := rapid.StringN(0, 40, -1).Draw(t, "s"), rapid.IntRange(0, 60).Draw(t, "limit")
		got := text.Ends(s, limit)
		if len(s) <= limit {
			require.Equal(t, s, got)
			return
		}
		note := regexp.MustCompile(`\n\[cut: (\d+) of (\d+) bytes\]\n`).FindStringSubmatchIndex(got)
		require.NotNil(t, note, got)
		first, last := got[:note[0]], got[note[1]:]
		require.True(t, strings.HasPrefix(s, first) && strings.HasSuffix(s, last))
		require.LessOrEqual(t, len(first)+len(last), limit)
		require.True(t, utf8.ValidString(first) && utf8.ValidString(last))
		require.Equal(t, strconv.Itoa(len(s)-len(first)-len(last)), got[note[2]:note[3]])
		require.Equal(t, strconv.Itoa(len(s)), got[note[4]:note[5]])
	})
}

// TestJSONOwnsItsBytes has many callers at once, and a failure in between.
func TestJSONOwnsItsBytes(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			var kept []json.RawMessage
			for n := range 100 {
				_, err := text.JSON([]any{"half of it", func() {}})
				assert.Error(t, err)
				got, err := text.JSON([]int{i, n})
				assert.NoError(t, err)
				kept = append(kept, got)
			}
			for n, got := range kept {
				assert.Equal(t, fmt.Sprintf("[%d,%d]", i, n), string(got))
			}
		})
	}
	group.Wait()
}

func TestAppendJSON(t *testing.T) {
	for name, s := range map[string]string{
		"empty":                 "",
		"short":                 `a "b" <c> & \ d`,
		"lines":                 strings.Repeat("one\ntwo\t\u2028\x01\x7f", 20_000),
		"as long as a piece":    strings.Repeat("a", 64<<10),
		"one more than a piece": strings.Repeat("a", 64<<10+1),
		"cut in a rune":         strings.Repeat("ä", 100_000),
		"cut in a long rune":    "a" + strings.Repeat("🙂", 50_000),
		"not UTF-8":             strings.Repeat("\xff\x80", 50_000),
	} {
		t.Run(name, func(t *testing.T) {
			want, err := text.JSON(s)
			require.NoError(t, err)
			got := text.AppendJSON([]byte("x"), s)
			assert.True(t, string(got) == "x"+string(want), "%d bytes, want %d", len(got)-1, len(want))
		})
	}
}

func TestAppendJSONUsesTheRoomThatThereIs(t *testing.T) {
	s := strings.Repeat("some text ", 100_000)
	b := make([]byte, 0, len(s)+2)
	got := text.AppendJSON(b, s)
	assert.Len(t, got, len(s)+2)
	assert.Same(t, &b[:1][0], &got[0], "it is the caller's buffer")
}
