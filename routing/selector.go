package routing

import (
	"cmp"
	"slices"
)

// Need is what candidates are selected for.
type Need struct {
	Brief  string   // text of the work
	Skills []string // skills that the work asks for
	Count  int      // number of candidates at most; 0 or less: none
}

// Selector is a rule of a team: it selects who works on a brief.
//
// It gets all candidates and the need, and returns at most need.Count of the candidates,
// each once, the first choice first. It selects none that is Inactive, and changes neither
// the slice nor the candidates. Select is a pure function: it is called once for each
// decision, and again when a run is resumed, with equal arguments.
type Selector interface {
	Select(candidates []Candidate, need Need) []Candidate
}

// SelectorFunc is a function as a [Selector].
type SelectorFunc func(candidates []Candidate, need Need) []Candidate

// Select returns f(candidates, need).
func (f SelectorFunc) Select(candidates []Candidate, need Need) []Candidate {
	return f(candidates, need)
}

// BySkill is the [Selector] by the skills that the work asks for: see the function [Select].
// It is the Selector of teams that are given none.
type BySkill struct{}

// Select returns Select(candidates, need.Skills, need.Count).
func (BySkill) Select(candidates []Candidate, need Need) []Candidate {
	return Select(candidates, need.Skills, need.Count)
}

// ByWords is the [Selector] by the words of at least four letters that the brief shares
// with Candidate.About. Equals are ordered by success rate, and then by ID. It suits
// workers who are described and have no lists of skills.
type ByWords struct{}

// longWord is the number of letters from which on a word counts for ByWords.
const longWord = 4

// Select returns the candidates that share most words with need.Brief, also those that
// share none.
func (ByWords) Select(candidates []Candidate, need Need) []Candidate {
	wanted := longWords(need.Brief)
	shared := make(map[string]int, len(candidates))
	active := slices.DeleteFunc(slices.Clone(candidates), func(c Candidate) bool { return c.Inactive })
	for _, c := range active {
		for word := range longWords(c.About) {
			if wanted[word] {
				shared[c.ID]++
			}
		}
	}
	slices.SortStableFunc(active, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(shared[b.ID], shared[a.ID]), cmp.Compare(b.rate(), a.rate()), cmp.Compare(a.ID, b.ID))
	})
	return active[:min(max(need.Count, 0), len(active))]
}

// longWords returns the set of the words of text that ByWords counts.
func longWords(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range words(text) {
		if len([]rune(word)) >= longWord {
			set[word] = true
		}
	}
	return set
}
