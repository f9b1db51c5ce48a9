package routing

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxPoints is the most points a target can collect; they are hundredths of
// relevance.
const maxPoints = 100

// Relevance says how much a request concerns one target.
type Relevance struct {
	ID string `json:"id"` // ID of the target

	// Relevance has no unit and lies in [0, 1].
	Relevance float64 `json:"relevance"`

	// Priority decides between equal relevances: the lowest number comes first.
	Priority int `json:"priority"`

	// Reason says for people where Relevance comes from.
	Reason string `json:"reason"`

	// BaseOnly says that nothing in the request speaks for the target, so that
	// Relevance is only its base. If that holds for all targets, the route has
	// low confidence.
	BaseOnly bool `json:"baseOnly,omitempty"`
}

// Keyword returns one relevance for each target, ordered by relevance (highest
// first), then priority (lowest first), then ID. The caller owns
// the slice.
//
// A target has its base points and those of each keyword in prompt, a repeated
// keyword counting once; 100 points, which are never
// exceeded, are a relevance of 1. A keyword of 0 points is no hit. A keyword matches whole words next to each
// other, in any case and any
// normal form of Unicode. A word is a run of letters and digits, with the marks on
// them; everything else separates words, also apostrophes, hyphens and
// underscores. So "aladdin" matches "Aladdin's", "image_quality" matches "image
// quality", and "hand" does not match "brand". Accents count, and a script
// without spaces has no words inside a run of letters.
//
// The targets are those that Target.Validate accepts, with an ID each. Points
// that it would refuse count as the nearest bound of 0..100.
func Keyword(prompt string, targets []Target) []Relevance {
	text := indexWords(prompt)
	found := make([]Relevance, len(targets))
	for i, t := range targets {
		found[i] = t.relevance(text)
	}
	slices.SortStableFunc(found, byRelevance)
	return found
}

func (t Target) relevance(text wordIndex) Relevance {
	points := bounded(t.Base)
	var hits []string
	for keyword, p := range t.Keywords {
		if bounded(p) > 0 && text.has(keyword) {
			hits = append(hits, keyword)
			points = min(points+bounded(p), maxPoints)
		}
	}
	slices.Sort(hits)
	return Relevance{
		ID:        t.ID,
		Relevance: float64(points) / maxPoints,
		Priority:  t.Priority,
		Reason:    t.reason(hits),
		BaseOnly:  len(hits) == 0,
	}
}

func bounded(points int) int { return min(max(points, 0), maxPoints) }

func (t Target) reason(hits []string) string {
	base := "; base " + strconv.Itoa(t.Base)
	if len(hits) == 0 {
		return "no keyword matches" + base
	}
	parts := make([]string, len(hits))
	for i, keyword := range hits {
		parts[i] = keyword + " " + strconv.Itoa(t.Keywords[keyword])
	}
	return "matches " + strings.Join(parts, ", ") + base
}

func byRelevance(a, b Relevance) int {
	return cmp.Or(cmp.Compare(b.Relevance, a.Relevance), byPriority(a, b))
}

func byPriority(a, b Relevance) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))
}
