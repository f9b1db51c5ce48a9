// Package rehearsal is shared by agents that call no model: the words of a request, the
// quotations in a prompt, and reproducible chance.
package rehearsal

import (
	"context"
	"hash/fnv"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// Label is in every text of a rehearsal that is written to a file.
const Label = "(Rehearsal, no model was asked.)"

// longest is how many characters of a word are kept.
const longest = 40

// filler are words that do not tell the subject of a request.
var filler = Set("a about an and are as at be better by can could create do for from get give has have how i in into is it its " +
	"make might more my new of on or our please should so some than that the their then there this to too up us want was we " +
	"what when where which who why will with would write you your")

// Words are the words about the subject of a request, at most so many, each once, in its
// first spelling. There is always one.
func Words(request string, most int) []string {
	var words, all []string
	seen := map[string]bool{}
	for _, w := range Tokens(request) {
		if r := []rune(w); len(r) > longest {
			w = string(r[:longest])
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
	return words[:min(len(words), most)]
}

// Tokens are the words of a text, unchanged.
func Tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

// Set are the words of a text in lower case.
func Set(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range Tokens(text) {
		words[strings.ToLower(w)] = true
	}
	return words
}

// Missing returns the words that a text does not have.
func Missing(words []string, text string) []string {
	have := Set(text)
	var missing []string
	for _, w := range words {
		if !have[strings.ToLower(w)] {
			missing = append(missing, w)
		}
	}
	return missing
}

// Ratio is a/b with two decimals, at most 1. For b 0 it is 1.
func Ratio(a, b int) float64 {
	if b <= 0 {
		return 1
	}
	return min(1, math.Round(100*float64(a)/float64(b))/100)
}

// Dice is a number from 0 to n-1 that is the same for the same text.
func Dice(text string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // it never fails
	return int(h.Sum32() % uint32(n))
}

// Wait waits for the duration of a call.
func Wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

var dataTag = regexp.MustCompile(`(?s)<data name="([^"\n]*)">\n(.*?)\n</data>`)

// Quoted splits a prompt into the texts that it quotes, by their names, and the task
// around them.
func Quoted(prompt string) (pieces map[string]string, task string) {
	pieces = map[string]string{}
	for _, m := range dataTag.FindAllStringSubmatch(prompt, -1) {
		pieces[m[1]] = m[2]
	}
	return pieces, strings.TrimSpace(dataTag.ReplaceAllString(prompt, ""))
}
