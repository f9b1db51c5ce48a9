// Package nfc normalises text to Unicode's form NFC, so that an é of one rune and an e with
// an accent behind it compare as equal. It has a table of its own, made from that of
// golang.org/x/text, as a further module would bind every host.
package nfc

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:generate go run -C ../../bench ./nfc ../internal/nfc/table.go

// first is the first rune that is changed, or changes another one.
const first = '\u0300'

// String returns s in NFC. It returns s itself, without an allocation, where no rune of s can
// change, as in all of ASCII and Latin-1. In others, bytes that are not UTF-8 become U+FFFD.
func String(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= first && r != utf8.RuneError }) < 0 {
		return s
	}
	t := load()
	if strings.IndexFunc(s, t.changes) < 0 {
		return s
	}
	runes := make([]rune, 0, len(s))
	for _, r := range s {
		runes = t.decompose(runes, r)
	}
	t.order(runes)
	return string(t.compose(runes))
}

// runes is the table as maps.
type runes struct {
	class  map[rune]uint8    // combining class; 0: a starter
	pair   map[rune][2]rune  // the two runes of a composition
	other  map[rune][]rune   // decomposition of a rune that never stands in NFC
	whole  map[[2]rune]rune  // composition of a pair
	second map[rune]struct{} // runes that are the second one of a pair
}

// load returns the table, which it reads once.
var load = sync.OnceValue(func() *runes {
	t := &runes{
		class: map[rune]uint8{}, pair: map[rune][2]rune{}, other: map[rune][]rune{},
		whole: map[[2]rune]rune{}, second: map[rune]struct{}{},
	}
	for c := range slices.Chunk([]rune(classes), 2) {
		t.class[c[0]] = uint8(c[1])
	}
	for p := range slices.Chunk([]rune(pairs), 3) {
		of := [2]rune{p[1], p[2]}
		t.pair[p[0]], t.whole[of], t.second[of[1]] = of, p[0], struct{}{}
	}
	for line := range strings.SplitSeq(others, "\n") {
		o := []rune(line)
		t.other[o[0]] = o[1:]
	}
	return t
})

// changes reports whether r may change, or change its neighbour.
func (t *runes) changes(r rune) bool {
	if r < first {
		return false
	}
	_, second := t.second[r]
	return second || t.class[r] != 0 || t.other[r] != nil || isIn(r, vowel, vowels) || isIn(r, tail+1, tails-1)
}

// decompose appends the full canonical decomposition of r to to.
func (t *runes) decompose(to []rune, r rune) []rune {
	if r < 0xc0 {
		return append(to, r)
	}
	if of, ok := t.pair[r]; ok {
		return append(t.decompose(to, of[0]), of[1])
	}
	if of := t.other[r]; of != nil {
		return append(to, of...)
	}
	if isIn(r, syllable, leads*vowels*tails) {
		at := r - syllable
		to = append(to, lead+at/tails/vowels, vowel+at/tails%vowels)
		if at%tails != 0 {
			to = append(to, tail+at%tails)
		}
		return to
	}
	return append(to, r)
}

// order sorts each run of marks by class.
func (t *runes) order(rs []rune) {
	for at := 0; at < len(rs); at++ {
		from := at
		for at < len(rs) && t.class[rs[at]] != 0 {
			at++
		}
		if at-from > 1 {
			slices.SortStableFunc(rs[from:at], func(a, b rune) int { return cmp.Compare(t.class[a], t.class[b]) })
		}
	}
}

// compose joins starters with what may join them, in place. A rune does not join behind
// another one of its class, or of a higher one.
func (t *runes) compose(rs []rune) []rune {
	out := rs[:0]
	starter, last := -1, uint8(0) // place in out; class of the rune before
	for _, r := range rs {
		class := t.class[r]
		if starter >= 0 && (last < class || starter == len(out)-1) {
			if whole, ok := t.join(out[starter], r); ok {
				out[starter] = whole
				continue
			}
		}
		if last = class; class == 0 {
			starter = len(out)
		}
		out = append(out, r)
	}
	return out
}

func (t *runes) join(a, b rune) (rune, bool) {
	switch {
	case isIn(a, lead, leads) && isIn(b, vowel, vowels):
		return syllable + ((a-lead)*vowels+b-vowel)*tails, true
	case isIn(a, syllable, leads*vowels*tails) && (a-syllable)%tails == 0 && isIn(b, tail+1, tails-1):
		return a + b - tail, true
	}
	whole, ok := t.whole[[2]rune{a, b}]
	return whole, ok
}

// Letters of Hangul and their syllables stand in the order of their parts. The first tail is
// none.
const (
	lead, leads   = 0x1100, 19
	vowel, vowels = 0x1161, 21
	tail, tails   = 0x11a7, 28
	syllable      = 0xac00
)

// isIn reports whether r is one of the n runes from low.
func isIn(r, low, n rune) bool { return r >= low && r < low+n }
