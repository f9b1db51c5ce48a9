package delivery

import (
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/routing"
)

// renumbered returns the steps with the numbers from 1 on, in the order of the numbers that the
// planner gave, and their dependencies with them. Numbers that steps have for good are passed
// over. The steps stay as they are, for the plan gate to refuse, where a number is used twice or
// a dependency is on no step.
func renumbered(steps []stepAnswer, taken []int) []stepAnswer {
	to, ok := newNumbers(steps, taken)
	if !ok {
		return steps
	}
	all := slices.Clone(steps)
	for i := range all {
		s := &all[i]
		s.Number, s.DependsOn = to[s.Number], slices.Clone(s.DependsOn)
		for j, needed := range s.DependsOn {
			number, found := to[needed]
			if !found {
				return steps
			}
			s.DependsOn[j] = number
		}
	}
	return all
}

// newNumbers returns the new number by the old one; false: a number is used twice.
func newNumbers(steps []stepAnswer, taken []int) (to map[int]int, ok bool) {
	to = map[int]int{}
	for _, number := range taken {
		to[number] = number
	}
	var numbers []int
	for _, s := range steps {
		numbers = append(numbers, s.Number)
	}
	slices.Sort(numbers)
	next := 1
	for _, number := range numbers {
		if _, used := to[number]; used {
			return nil, false
		}
		for slices.Contains(taken, next) {
			next++
		}
		to[number] = next
		next++
	}
	return to, true
}

// byNumber returns the positions of steps by their numbers.
func byNumber(steps []Step) map[int]int {
	at := make(map[int]int, len(steps))
	for i := range steps {
		at[steps[i].Number] = i
	}
	return at
}

// position returns the position of the step with a number; -1: there is none. In plans of ours a
// step's number says its position.
func position(steps []Step, number int) int {
	if i := number - 1; i >= 0 && i < len(steps) && steps[i].Number == number {
		return i
	}
	for i := range steps {
		if steps[i].Number == number {
			return i
		}
	}
	return -1
}

// lostNeed finds the number of a step that s needs and that was not completed: the first one of
// the plan.
func lostNeed(steps []Step, s *Step) (number int, found bool) {
	first := len(steps)
	for _, needed := range s.DependsOn {
		if i := position(steps, needed); i >= 0 && i < first && steps[i].Status != StepCompleted {
			first, number, found = i, needed, true
		}
	}
	return number, found
}

// waits reports whether s needs a step that has not begun.
func waits(steps []Step, s *Step) bool {
	return slices.ContainsFunc(s.DependsOn, func(needed int) bool {
		i := position(steps, needed)
		return i >= 0 && steps[i].Status == stepPending
	})
}

// ready returns the steps whose needs are completed, and the position of the lowest number among
// those whose needs have ended; -1: no step is left.
func ready(steps []Step) (first int, nodes []routing.Node) {
	first = -1
	for i := range steps {
		s := &steps[i]
		if s.Status != stepPending || waits(steps, s) {
			continue
		}
		if first < 0 || s.Number < steps[first].Number {
			first = i
		}
		if _, found := lostNeed(steps, s); !found {
			nodes = append(nodes, routing.Node{ID: s.ID, Number: s.Number, Phase: s.Complexity, State: routing.Ready})
		}
	}
	return first, nodes
}

// misordered returns what is wrong with the order of ready steps, or nil.
func misordered(order, ready []routing.Node) error {
	if len(order) == 0 {
		return errors.New("it holds all steps back while none is worked on, so the plan is stuck")
	}
	left := make(map[string]bool, len(ready))
	for _, n := range ready {
		left[n.ID] = true
	}
	for _, n := range order {
		if !left[n.ID] {
			return fmt.Errorf("it returns %q, which is not ready or there twice", n.ID)
		}
		delete(left, n.ID)
	}
	return nil
}
