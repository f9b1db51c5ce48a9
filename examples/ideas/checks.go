package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/grading"
)

const (
	longEnough = 25 // words of an idea that one can picture
	tooLong    = 120
	rareLetter = 5 // letters of a word that says something

	bestMark = 10
)

// Words that the text of an idea should have: one of each kind.
var (
	steps  = []string{"first", "then", "finally"}
	whoHow = [][]string{
		{"everybody", "families", "people", "somebody", "team", "those", "volunteers", "whoever"},
		{"afternoon", "day", "evening", "hour", "month", "week", "weekend", "year"},
		{"budget", "list", "loan", "material", "means", "money", "room", "tools"},
		{"ask", "compare", "count", "exhibit", "measure"},
	}
)

// checked is the result of the checks of an idea: marks of 0 to 10 and improvements.
type checked struct {
	marks map[string]float64
	pros  []string
	cons  []string
}

// check checks an idea: its length, the topic's words in it, words that no other idea has,
// first steps, and whether it says who, when, with what and how success is seen.
func check(p proposal, words []string, all []proposal) checked {
	text := p.title + ". " + p.text
	have := rehearsal.Set(text)
	n := len(rehearsal.Tokens(text))
	missing := rehearsal.Missing(words, text)
	found, whole := count(have, steps), 0
	for _, kind := range whoHow {
		whole += min(1, count(have, kind))
	}
	c := checked{marks: map[string]float64{
		"clarity":      tenth(rehearsal.Ratio(n, longEnough) * rehearsal.Ratio(tooLong, n)),
		"impact":       tenth(rehearsal.Ratio(len(words)-len(missing), len(words))),
		"innovation":   tenth(distinct(p, all)),
		"feasibility":  tenth(rehearsal.Ratio(found, len(steps))),
		"completeness": tenth(rehearsal.Ratio(whole, len(whoHow))),
	}}
	for _, f := range []struct {
		good     bool
		pro, con string
	}{
		{c.marks["clarity"] == bestMark, "one can picture it", fmt.Sprintf("it has %d words, %d to %d would be clear", n, longEnough, tooLong)},
		{len(missing) == 0, "it takes up the whole topic", "it leaves out " + list(missing)},
		{c.marks["innovation"] >= 6, "no other idea says the same", "much of it is in other ideas, too"},
		{found == len(steps), "it names first steps", "first steps are missing"},
		{whole == len(whoHow), "it says who, when, with what, and how one sees that it works", "who, when, with what, or how one sees that it works is missing"},
	} {
		if f.good {
			c.pros = append(c.pros, f.pro)
		} else {
			c.cons = append(c.cons, f.con)
		}
	}
	return c
}

// tenth is a share as a mark.
func tenth(share float64) float64 { return grading.Round6(10 * share) }

func count(have map[string]bool, words []string) int {
	n := 0
	for _, w := range words {
		if have[w] {
			n++
		}
	}
	return n
}

// distinct is the share of an idea's words that no other idea has, 0 to 1. Half of them is
// enough for 1.
func distinct(p proposal, all []proposal) float64 {
	others := map[string]bool{}
	for _, o := range all {
		if o.id != p.id {
			for w := range rehearsal.Set(o.title + " " + o.text) {
				others[w] = true
			}
		}
	}
	own, rare := 0, 0
	for w := range rehearsal.Set(p.title + " " + p.text) {
		if utf8.RuneCountInString(w) < rareLetter {
			continue
		}
		rare++
		if !others[w] {
			own++
		}
	}
	if rare == 0 {
		return 0
	}
	return rehearsal.Ratio(2*own, rare)
}

func quote(word string) string { return "“" + word + "”" }

// list are words in quotation marks, as in a sentence.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " and " + quoted[len(quoted)-1]
}
