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

// BySkill is the [Selector] by the skills that the work asks for. It is the Selector of teams
// that are given none.
type BySkill struct{}

// Select returns the at most need.Count active candidates that have at least one of
// need.Skills, ordered by success rate, highest first, and then by ID. Skills that no active
// candidate has do not count; without any that counts, every active candidate suits.
//
// The caller owns the slice; the candidates in it share their skills with those given. IDs
// are unique, as the configuration has checked; a success rate that is not a number comes
// last.
func (BySkill) Select(candidates []Candidate, need Need) []Candidate {
	wanted := make(map[string]bool, len(need.Skills))
	for _, s := range need.Skills {
		wanted[phraseKey(s)] = true
	}
	delete(wanted, "") // a skill without words matches no candidate
	suitable, skilled := []Candidate{}, []Candidate{}
	for _, c := range candidates {
		if c.Inactive {
			continue
		}
		suitable = append(suitable, c)
		if slices.ContainsFunc(c.Skills, func(skill string) bool { return wanted[phraseKey(skill)] }) {
			skilled = append(skilled, c)
		}
	}
	if len(skilled) > 0 {
		suitable = skilled
	}
	slices.SortStableFunc(suitable, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.rate(), a.rate()), cmp.Compare(a.ID, b.ID))
	})
	return suitable[:min(max(need.Count, 0), len(suitable))]
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
