package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"unicode"
)

const (
	mostWanted   = 12 // words of a request that the rehearsal looks for
	mostNamed    = 3  // missing words that a grade names
	wordsPerWish = 10 // that a text needs for each wanted word to be long enough
	longestWord  = 40 // runes of a wanted word
)

// filler are words that say nothing of what a film shows.
var filler = set("a an and are as at be by create do film for from give has have i in into is it its make movie my of on or our please scene show that the their then there this to up us want was we with write you your")

// wanted are the words of a request that a text has to take up, each once, as
// they were written first.
func wanted(request string) []string {
	var words, all []string
	seen := map[string]bool{}
	for _, w := range tokens(request) {
		if r := []rune(w); len(r) > longestWord {
			w = string(r[:longestWord])
		}
		key := strings.ToLower(w)
		if seen[key] {
			continue
		}
		seen[key] = true
		all = append(all, w)
		if !filler[key] {
			words = append(words, w)
		}
	}
	switch {
	case len(words) > 0:
	case len(all) > 0:
		words = all
	default:
		words = []string{"something"} // a request without a letter
	}
	return words[:min(len(words), mostWanted)]
}

// checked is what the checks say of a text. The figures are 0 to 1.
type checked struct {
	length   float64  // of what is long enough
	coverage float64  // of the wanted words
	variety  float64  // 1: no sentence says what another one said
	missing  []string // wanted words
}

// check looks at a text, of a person or a program.
func check(text string, words []string) checked {
	have := set(text)
	var c checked
	for _, w := range words {
		if !have[strings.ToLower(w)] {
			c.missing = append(c.missing, w)
		}
	}
	c.length = min(1, ratio(len(tokens(text)), wordsPerWish*len(words)))
	c.coverage = ratio(len(words)-len(c.missing), len(words))
	seen := map[string]bool{}
	said := sentences(text)
	for _, s := range said {
		seen[strings.ToLower(s)] = true
	}
	c.variety = ratio(len(seen), max(1, len(said)))
	return c
}

// suggestions say what the next text should do better.
func (c checked) suggestions() []string {
	var s []string
	for _, w := range c.missing[:min(len(c.missing), mostNamed)] {
		s = append(s, fmt.Sprintf("take up %q", w))
	}
	if c.length < 1 {
		s = append(s, "say more")
	}
	if c.variety < 1 {
		s = append(s, "repeat nothing")
	}
	return s
}

// ratio is a/b with two decimals.
func ratio(a, b int) float64 { return math.Round(100*float64(a)/float64(b)) / 100 }

// tokens are the words of a text as they stand there.
func tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

func set(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range tokens(text) {
		words[strings.ToLower(w)] = true
	}
	return words
}

func sentences(text string) []string {
	var all []string
	for s := range strings.SplitAfterSeq(text, ". ") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// dice is chance that is the same for the same text, 0 to n-1.
func dice(text string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // it never fails
	return int(h.Sum32() % uint32(n))
}
