package routing

import (
	"cmp"
	"slices"
)

// Candidate is somebody who can be chosen for a piece of work, such as a
// specialist of a department; its head is not one (H33, H34).
type Candidate struct {
	ID     string
	Skills []string // compared as words, in any case

	// Inactive keeps the candidate from being chosen.
	Inactive bool

	// SuccessRate is the share of the candidate's work that succeeded, from 0 to
	// 100 percent. Nil means unknown and counts as 0 (HC18).
	SuccessRate *float64
}

func (c Candidate) rate() float64 {
	if c.SuccessRate == nil {
		return 0
	}
	return *c.SuccessRate
}

// Select returns the at most n active candidates that have at least one of
// skills, ordered by success rate (highest first) and then by ID (H35-H38,
// HC18). Without skills every active candidate suits; if n is 0 or less, nobody
// is selected.
//
// The caller owns the returned slice; the candidates in it share their skills
// with those given. IDs are unique, as the configuration has checked; a success
// rate that is not a number comes last.
func Select(candidates []Candidate, skills []string, n int) []Candidate {
	wanted := make(map[string]bool, len(skills))
	for _, s := range skills {
		wanted[phraseKey(s)] = true
	}
	delete(wanted, "") // a skill without words is nobody's
	hasWanted := func(skill string) bool { return wanted[phraseKey(skill)] }
	suitable := []Candidate{}
	for _, c := range candidates {
		if !c.Inactive && (len(skills) == 0 || slices.ContainsFunc(c.Skills, hasWanted)) {
			suitable = append(suitable, c)
		}
	}
	slices.SortStableFunc(suitable, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.rate(), a.rate()), cmp.Compare(a.ID, b.ID))
	})
	return suitable[:min(max(n, 0), len(suitable))]
}
