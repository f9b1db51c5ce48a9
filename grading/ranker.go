package grading

import (
	"cmp"
	"math"
	"slices"
)

// Ranked is one of several pieces of work, of which the best is looked for.
type Ranked struct {
	ID    string   // name of the work, unique among the entries
	Score *float64 // score on the team's scale; nil: it has none
	Marks Marks    // marks that the score is made of; nil: the team has none
}

// Ranker is a rule of a team: it orders pieces of work, the best first.
//
// It gets all pieces in the order in which they were made. It returns the same pieces, each
// once, and changes nothing. Rank is a pure function: it is called once for each decision,
// and again when a run is resumed, with equal arguments.
type Ranker interface {
	Rank(entries []Ranked) []Ranked
}

// RankerFunc is a function as a [Ranker].
type RankerFunc func(entries []Ranked) []Ranked

// Rank returns f(entries).
func (f RankerFunc) Rank(entries []Ranked) []Ranked { return f(entries) }

// ByScore is the [Ranker] by score, the highest first. Scores are compared to six decimals.
// Work without a score, or with one that is not a number, comes last, in the order given.
type ByScore struct {
	Last bool `json:"last"` // true: of equal scores, the one that was made last comes first
}

// Rank returns entries by score.
func (b ByScore) Rank(entries []Ranked) []Ranked {
	var ranked, without []Ranked
	for _, e := range entries {
		if e.Score == nil || math.IsNaN(*e.Score) {
			without = append(without, e)
		} else {
			ranked = append(ranked, e)
		}
	}
	if b.Last {
		slices.Reverse(ranked)
	}
	slices.SortStableFunc(ranked, func(x, y Ranked) int { return cmp.Compare(Round6(*y.Score), Round6(*x.Score)) })
	return append(ranked, without...)
}
