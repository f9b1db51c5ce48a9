// Package routing says who works and in what order: how much a request concerns
// each target, which targets are chosen and in which waves they run, how complex
// a brief is and which candidates suit it.
//
// All functions are pure: the same arguments give the same result, nothing is
// read and nothing is changed, so they may be called from any goroutine and
// from flow code. A [Graph] is the one thing with a memory: it schedules work that
// grows and changes while it is done. No model is asked.
package routing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Target is what a request can be routed to, such as a department.
type Target struct {
	// ID names the target in routes and dependencies. It is not empty, and no two
	// targets of one request share it.
	ID string

	// Priority decides between targets of equal relevance: the lowest number
	// comes first.
	Priority int

	// Base is how many points, 0 to 100, the target has for any request.
	Base int

	// Keywords maps a word or phrase to the points, 0 to 100, that it adds when
	// it stands in a request. Keyword says what a word is.
	Keywords map[string]int

	// About says what the target does, as text, for a Router that goes by more than
	// Keywords. Keyword does not read it.
	About string

	// Barred keeps the target from being chosen: it is only considered.
	Barred bool
}

// Validate returns every problem of t in one error that names the field, or nil.
// Keywords that differ only in case or in what separates their words count as
// the same one twice, which is a problem because both would be counted.
func (t Target) Validate() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if t.ID == "" {
		bad("ID is empty")
	}
	if t.Base != bounded(t.Base) {
		bad("Base is %d, want 0 to %d", t.Base, maxPoints)
	}
	seen := make(map[string]string, len(t.Keywords))
	for _, keyword := range slices.Sorted(maps.Keys(t.Keywords)) {
		if points := t.Keywords[keyword]; points != bounded(points) {
			bad("Keywords[%q] is %d, want 0 to %d", keyword, points, maxPoints)
		}
		key := phraseKey(keyword)
		if key == "" {
			bad("Keywords has %q, which holds no word", keyword)
		} else if twin, ok := seen[key]; ok {
			bad("Keywords has %q and %q, which are the same words", twin, keyword)
		} else {
			seen[key] = keyword
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("routing: target %q: %w", t.ID, errors.Join(faults...))
}
