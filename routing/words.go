package routing

import (
	"strings"
	"unicode"

	"github.com/convene-go/convene/internal/nfc"
)

// words returns the words of text in order, in one case and in Unicode's form NFC.
//
// A word is a run of letters, digits and the marks on them, in any script.
// Everything else separates words, apostrophes, hyphens and underscores
// included: "Aladdin's" is aladdin and s, and "image_quality", "image-quality"
// and "image quality" are the same two words.
func words(text string) []string {
	// The case of a letter may have a form of one rune where the other has none, as ǰ: so the
	// text is normalised again.
	runs := strings.Fields(nfc.String(strings.Map(foldOrSpace, nfc.String(text))))
	found := runs[:0]
	for _, run := range runs {
		// Emoji end in marks, which must not stick to the word behind them.
		if word := strings.TrimLeftFunc(run, unicode.IsMark); word != "" {
			found = append(found, word)
		}
	}
	return found
}

func foldOrSpace(r rune) rune {
	if f := fold(r); isWordStart(f) || unicode.IsMark(f) {
		return f
	}
	return ' '
}

// isWordStart reports whether a word can begin with r, which is folded.
func isWordStart(r rune) bool {
	if r <= unicode.MaxASCII {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// fold returns the rune that stands for all case variants of r, so that two
// texts which strings.EqualFold calls equal fold to the same text.
func fold(r rune) rune {
	if r <= unicode.MaxASCII {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r)) // only lower case would keep σ and ς apart
}

// phraseKey returns what two spellings of the same phrase share, and "" for a
// text without words.
func phraseKey(phrase string) string { return strings.Join(words(phrase), " ") }

// wordIndex finds words and phrases in one text without reading it again.
type wordIndex struct {
	words []string
	first map[string]int // where a word stands first
	next  []int          // next[i] is where words[i] stands again, or -1
}

func indexWords(text string) wordIndex {
	ws := words(text)
	x := wordIndex{words: ws, first: make(map[string]int, len(ws)), next: make([]int, len(ws))}
	for i := len(ws) - 1; i >= 0; i-- {
		x.next[i] = -1
		if later, ok := x.first[ws[i]]; ok {
			x.next[i] = later
		}
		x.first[ws[i]] = i
	}
	return x
}

// has reports whether the words of phrase stand in the text next to each other
// and in this order. A phrase without words is nowhere.
func (x wordIndex) has(phrase string) bool {
	if word, ok := plainStart(phrase); ok {
		if _, found := x.first[word]; !found || word == phrase {
			return found
		}
	}
	want := words(phrase)
	if len(want) == 0 {
		return false
	}
	at, ok := x.first[want[0]]
	for ok && at >= 0 {
		if x.hasAt(at, want) {
			return true
		}
		at = x.next[at]
	}
	return false
}

func (x wordIndex) hasAt(at int, want []string) bool {
	if at+len(want) > len(x.words) {
		return false
	}
	for i, w := range want {
		if x.words[at+i] != w {
			return false
		}
	}
	return true
}

// plainStart returns the first word of phrase if that is an ASCII word in lower
// case at its very start, as in most keywords: then most phrases need no
// splitting to see that they are not in a text.
func plainStart(phrase string) (string, bool) {
	n := 0
	for n < len(phrase) && isPlain(phrase[n]) {
		n++
	}
	ends := n == len(phrase) || phrase[n] <= unicode.MaxASCII && fold(rune(phrase[n])) == rune(phrase[n])
	return phrase[:n], n > 0 && ends
}

func isPlain(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
