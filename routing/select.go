package routing

import (
	"cmp"
	"slices"
)

// Candidate is a worker that can be chosen for a piece of work, such as a
// specialist of a department; its head is not one.
type Candidate struct {
	ID     string
	Skills []string // compared as words, in any case
	About  string   // what the candidate is good at, as text: name, field, skills; "": not said

	// Inactive keeps the candidate from being chosen.
	Inactive bool

	// SuccessRate is the share of the candidate's work that succeeded, from 0 to
	// 100 percent. Nil means unknown and counts as 0.
	SuccessRate *float64
}

func (c Candidate) rate() float64 {
	if c.SuccessRate == nil {
		return 0
	}
	return *c.SuccessRate
}

// Select returns the at most n active candidates that have at least one of skills,
// ordered by success rate, highest first, and then by ID. Skills that no active
// candidate has do not count; without any that counts, every active candidate suits. If
// n is 0 or less, none is selected.
//
// The caller owns the returned slice; the candidates in it share their skills
// with those given. IDs are unique, as the configuration has checked; a success
// rate that is not a number comes last.
func Select(candidates []Candidate, skills []string, n int) []Candidate {
	wanted := make(map[string]bool, len(skills))
	for _, s := range skills {
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
	return suitable[:min(max(n, 0), len(suitable))]
}
