package routing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrCycle says that targets need each other in a circle. The error's text lists
// them from the smallest ID on, each needing the next and the last needing the
// first.
var ErrCycle = errors.New("dependency cycle")

// Waves returns ids in layers: each ID stands in the first layer after all that
// it needs. Within a layer the order is that of ids. The caller owns
// the slices.
//
// Deps maps an ID to the IDs that it needs; needs that are not in ids do not
// count. Without ids there are no layers.
//
// Waves returns ErrCycle, listing the cycle with the smallest ID in any and the
// shortest of those, if ids need each other in a circle or one needs itself, and
// an error if an ID is empty or is listed twice.
func Waves(ids []string, deps map[string][]string) ([][]string, error) {
	err := checkIDs(ids)
	var layers [][]string
	if err == nil {
		layers, err = waves(ids, deps)
	}
	if err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	return layers, nil
}

// waves is Waves for IDs that are known to be valid.
func waves(ids []string, deps map[string][]string) ([][]string, error) {
	left := make(map[string]int, len(ids)) // how many needs have no layer yet; has all of ids
	for _, id := range ids {
		left[id] = 0
	}
	dependents := make(map[string][]string, len(ids))
	for _, id := range ids {
		for _, need := range deps[id] {
			if _, chosen := left[need]; chosen {
				left[id]++
				dependents[need] = append(dependents[need], id)
			}
		}
	}
	placed := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return left[id] > 0 })
	layer := make(map[string]int, len(ids))
	for i := 0; i < len(placed); i++ { // grows while it is read
		for _, id := range dependents[placed[i]] {
			layer[id] = layer[placed[i]] + 1 // the need that is placed last has the highest layer
			if left[id]--; left[id] == 0 {
				placed = append(placed, id)
			}
		}
	}
	if len(placed) < len(ids) {
		rest := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return left[id] == 0 })
		return nil, fmt.Errorf("%w: %s", ErrCycle, strings.Join(firstCycle(rest, deps), ", "))
	}
	layers := [][]string{}
	for _, id := range ids {
		for len(layers) <= layer[id] {
			layers = append(layers, nil)
		}
		layers[layer[id]] = append(layers[layer[id]], id)
	}
	return layers, nil
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
	from := map[string]string{} // who needs an ID that was reached
	reached := []string{start}
	for i := 0; i < len(reached); i++ { // grows while it is read
		for _, need := range needs[reached[i]] {
			if need == start {
				cycle := []string{reached[i]}
				for id := reached[i]; id != start; {
					id = from[id]
					cycle = append(cycle, id)
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, seen := from[need]; !seen {
				from[need] = reached[i]
				reached = append(reached, need)
			}
		}
	}
	return nil
}
