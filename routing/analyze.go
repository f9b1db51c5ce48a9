package routing

import (
	"maps"
	"slices"
	"strings"
)

// Complexity says how much work a brief asks for.
type Complexity string

// The complexities. The highest class that applies is the one.
const (
	Simple   Complexity = "simple"   // fewer than 50 words
	Moderate Complexity = "moderate" // 50 to 100 words
	Complex  Complexity = "complex"  // more than 100, or a complex term, or several parts
)

const (
	moderateFrom = 50  // words
	moderateTo   = 100 // words
	listFrom     = 2   // list lines that make a brief one of several parts
)

// Analysis is what a brief asks for. Its slices are never nil.
type Analysis struct {
	// Words counts the pieces of the brief between white space that hold a letter
	// or a digit.
	Words int `json:"words"`

	Complexity Complexity `json:"complexity"`

	// MultiPart says that the brief has a marker of several parts or at least two
	// list lines.
	MultiPart bool `json:"multiPart"`

	// ComplexTerms are the terms of the rules that stand in the brief, sorted.
	ComplexTerms []string `json:"complexTerms"`

	// Skills are the skills of the rules that the brief names, sorted.
	Skills []string `json:"skills"`

	// Estimate is how many specialists the complexity is worth.
	Estimate int `json:"estimate"`
}

// Analyze returns what brief asks for. It looks for skills beside r.Skills. The zero Rules are
// the [Analyzer] of teams that are given none.
//
// A list line begins, after white space, with "-", "*" or a number and a dot, followed by
// white space and something more. The caller owns the result. The rules are those that
// Validate accepts; a phrase that it would refuse matches nothing.
func (r Rules) Analyze(brief string, skills []string) Analysis {
	r = r.withDefaults()
	r.Skills = slices.Concat(r.Skills, skills)
	index := indexWords(brief)
	a := Analysis{
		Words:        countWords(brief),
		ComplexTerms: distinct(r.ComplexTerms, index.has),
		MultiPart:    slices.ContainsFunc(r.MultiPart, index.has) || listLines(brief) >= listFrom,
		Skills:       skillsIn(index, r),
	}
	a.Complexity = complexityOf(a)
	a.Estimate = r.Specialists.of(a.Complexity)
	return a
}

func complexityOf(a Analysis) Complexity {
	switch {
	case len(a.ComplexTerms) > 0, a.MultiPart, a.Words > moderateTo:
		return Complex
	case a.Words >= moderateFrom:
		return Moderate
	default:
		return Simple
	}
}

func countWords(text string) int {
	n := 0
	for piece := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(piece, func(r rune) bool { return isWordStart(fold(r)) }) {
			n++
		}
	}
	return n
}

func listLines(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && isBullet(fields[0]) {
			n++
		}
	}
	return n
}

func isBullet(s string) bool {
	if s == "-" || s == "*" {
		return true
	}
	number, ok := strings.CutSuffix(s, ".")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

func skillsIn(index wordIndex, r Rules) []string {
	synonyms := map[string][]string{}
	for skill, phrases := range r.Synonyms {
		key := phraseKey(skill)
		synonyms[key] = append(synonyms[key], phrases...)
	}
	return distinct(r.Skills, func(skill string) bool {
		return index.has(skill) || slices.ContainsFunc(synonyms[phraseKey(skill)], index.has)
	})
}

// distinct returns the phrases that holds accepts, sorted. Of several that are
// the same words only the first in that order stays.
func distinct(phrases []string, holds func(string) bool) []string {
	kept := []string{}
	seen := map[string]bool{}
	for _, p := range slices.Sorted(slices.Values(phrases)) {
		if key := phraseKey(p); !seen[key] && holds(p) {
			seen[key] = true
			kept = append(kept, p)
		}
	}
	return kept
}

func sortedKeys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }
