package routing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrCycle says that targets need each other in a circle. The error's text lists
// them from the smallest ID on, each needing the next and the last needing the
// first (HX5).
var ErrCycle = errors.New("dependency cycle")

// Waves returns ids in layers: each ID stands in the first layer after all that
// it needs (H80, H81). Within a layer the order is that of ids. The caller owns
// the slices.
//
// Deps maps an ID to the IDs that it needs; needs that are not in ids do not
// count (HC15). Without ids there are no layers.
//
// Waves returns ErrCycle, listing the cycle with the smallest ID in any and the
// shortest of those, if ids need each other in a circle or one needs itself, and
// an error if an ID is empty or stands there twice.
func Waves(ids []string, deps map[string][]string) ([][]string, error) {
	if err := checkIDs(ids); err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	placed := make(map[string]bool, len(ids)) // has all of ids, and no other
	for _, id := range ids {
		placed[id] = false
	}
	waits := func(need string) bool {
		done, chosen := placed[need]
		return chosen && !done
	}
	waves := [][]string{}
	for left := ids; len(left) > 0; {
		var ready, later []string
		for _, id := range left {
			if slices.ContainsFunc(deps[id], waits) {
				later = append(later, id)
			} else {
				ready = append(ready, id)
			}
		}
		if len(ready) == 0 {
			return nil, fmt.Errorf("routing: %w: %s", ErrCycle, strings.Join(firstCycle(left, deps), ", "))
		}
		for _, id := range ready {
			placed[id] = true
		}
		waves = append(waves, ready)
		left = later
	}
	return waves, nil
}

// firstCycle returns the shortest cycle among ids through the smallest of them
// that lies on one, beginning there.
func firstCycle(ids []string, deps map[string][]string) []string {
	needs := make(map[string][]string, len(ids))
	for _, id := range ids {
		needs[id] = slices.Sorted(slices.Values(deps[id]))
	}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if cycle := cycleThrough(id, needs); cycle != nil {
			return cycle
		}
	}
	return nil
}

// cycleThrough searches breadth first, so that the first way back to start is a
// shortest one.
func cycleThrough(start string, needs map[string][]string) []string {
	paths := [][]string{{start}}
	seen := map[string]bool{}
	for len(paths) > 0 {
		path := paths[0]
		paths = paths[1:]
		for _, n := range needs[path[len(path)-1]] {
			if n == start {
				return path
			}
			if !seen[n] {
				seen[n] = true
				paths = append(paths, append(slices.Clone(path), n))
			}
		}
	}
	return nil
}
