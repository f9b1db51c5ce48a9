package routing

import (
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/grading"
)

// DefaultCut is the relevance that a supporting target must exceed.
const DefaultCut = 0.30

// Mode says how the chosen targets of a request work together.
type Mode string

// The modes.
const (
	Single     Mode = "single"     // only the primary works
	Parallel   Mode = "parallel"   // all work at once
	Sequential Mode = "sequential" // some wait for others: one wave after the other
)

// Route is who works on a request and in what order.
type Route struct {
	Primary    string   `json:"primary"`
	Supporting []string `json:"supporting"` // in the order of Relevances; never nil
	Mode       Mode     `json:"mode"`

	// Waves holds the chosen targets, each once: those of one wave work together
	// and start after all earlier waves. Single and Parallel have one wave. Within
	// a wave the order is that of Relevances.
	Waves [][]string `json:"waves"`

	// Relevances has all targets, the chosen ones and the others, in the order in
	// which they were considered.
	Relevances []Relevance `json:"relevances"`

	// LowConfidence says that nothing in the request speaks for any target, so
	// that the primary was chosen by priority.
	LowConfidence bool `json:"lowConfidence"`
}

// Decide returns the route for a request whose relevances are given, in any
// order.
//
// The most relevant target is the primary, by priority and then by ID if there
// are several. Every other target whose relevance exceeds cut supports it;
// DefaultCut is the usual cut, and exactly the cut is out. If every record is
// BaseOnly, the order is priority and then ID, and no target supports the primary.
// Relevances and cut lie in [0, 1] and are rounded to six decimals first.
//
// Deps maps an ID to the IDs that it needs. Only needs between chosen targets
// count: a target that was not chosen is neither waited for nor pulled in.
//
// Decide returns ErrCycle if chosen targets need each other in a circle, and an
// error that names the field if there are no relevances, an ID is empty or
// is listed twice, or a relevance or the cut is outside [0, 1] or not a
// number.
func Decide(relevances []Relevance, deps map[string][]string, cut float64) (Route, error) {
	if err := checkRelevances(relevances, cut); err != nil {
		return Route{}, fmt.Errorf("routing: %w", err)
	}
	r := Route{Supporting: []string{}, LowConfidence: true}
	for _, rel := range relevances {
		rel.Relevance = grading.Round6(rel.Relevance)
		r.Relevances = append(r.Relevances, rel)
		r.LowConfidence = r.LowConfidence && rel.BaseOnly
	}
	if r.LowConfidence {
		slices.SortFunc(r.Relevances, byPriority)
	} else {
		slices.SortFunc(r.Relevances, byRelevance)
		r.Supporting = above(r.Relevances[1:], grading.Round6(cut))
	}
	r.Primary = r.Relevances[0].ID
	return r.Arrange(deps)
}

// Check returns what is wrong with r as the answer of a [Router] that was given targets, or
// nil. Chosen targets are known, not Barred, and stand in r once. A Relevance lies in
// [0, 1]. Mode and Waves are not looked at: see Arrange.
func (r Route) Check(targets []Target) error {
	known := make(map[string]Target, len(targets))
	for _, t := range targets {
		known[t.ID] = t
	}
	faults := []error{checkIDs(r.Chosen())}
	for _, id := range r.Chosen() {
		if t, ok := known[id]; !ok {
			faults = append(faults, fmt.Errorf("%q is no target", id))
		} else if t.Barred {
			faults = append(faults, fmt.Errorf("%q is barred", id))
		}
	}
	for _, rel := range r.Relevances {
		if !(rel.Relevance >= 0 && rel.Relevance <= 1) {
			faults = append(faults, fmt.Errorf("relevance of %q is %v, want 0 to 1", rel.ID, rel.Relevance))
		}
	}
	return errors.Join(faults...)
}

// Chosen returns the IDs of the chosen targets, the primary first.
func (r Route) Chosen() []string { return append([]string{r.Primary}, r.Supporting...) }

// Arrange returns r with Waves and Mode set by deps, the needs of its chosen targets.
// Its errors are those of Waves.
func (r Route) Arrange(deps map[string][]string) (_ Route, err error) {
	if r.Waves, err = Waves(r.Chosen(), deps); err != nil {
		return Route{}, err
	}
	switch {
	case len(r.Supporting) == 0:
		r.Mode = Single
	case len(r.Waves) > 1:
		r.Mode = Sequential
	default:
		r.Mode = Parallel
	}
	return r, nil
}

func above(relevances []Relevance, cut float64) []string {
	ids := []string{}
	for _, rel := range relevances {
		if rel.Relevance > cut {
			ids = append(ids, rel.ID)
		}
	}
	return ids
}

func checkRelevances(relevances []Relevance, cut float64) error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(relevances) == 0 {
		bad("relevances are empty")
	}
	if !(cut >= 0 && cut <= 1) { // NaN is refused, too
		bad("cut is %v, want 0 to 1", cut)
	}
	ids := make([]string, len(relevances))
	for i, rel := range relevances {
		ids[i] = rel.ID
		if !(rel.Relevance >= 0 && rel.Relevance <= 1) {
			bad("relevance of %q is %v, want 0 to 1", rel.ID, rel.Relevance)
		}
	}
	return errors.Join(append(faults, checkIDs(ids))...)
}

// checkIDs returns an error if an ID is empty or stands in ids twice.
func checkIDs(ids []string) error {
	var faults []error
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		switch {
		case id == "":
			faults = append(faults, fmt.Errorf("ID %d is empty", i))
		case seen[id]:
			faults = append(faults, fmt.Errorf("ID %q is listed twice", id))
		}
		seen[id] = true
	}
	return errors.Join(faults...)
}
