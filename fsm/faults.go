package fsm

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	looplab "github.com/looplab/fsm"
)

// stateFaults returns what is wrong with the lists of states.
func (d Definition[S, E, R]) stateFaults() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for i, state := range d.States {
		if state == "" {
			bad("states[%d] is empty", i)
		} else if slices.Contains(d.States[:i], state) {
			bad("states[%d] %q is listed twice", i, state)
		}
	}
	if !slices.Contains(d.States, d.Initial) {
		bad("initial state %q is not in States", d.Initial)
	}
	for i, state := range d.Terminal {
		if !slices.Contains(d.States, state) {
			bad("terminal state %q is not in States", state)
		} else if slices.Contains(d.Terminal[:i], state) {
			bad("terminal state %q is listed twice", state)
		}
	}
	return errors.Join(errs...)
}

// fill enters the rules into cells and transitions and returns what is wrong
// with them. Where two rules claim a cell, the first has it.
func (t *Table[S, E, R]) fill() error {
	var errs []error
	for i := range t.def.Rules {
		rule := &t.def.Rules[i]
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("rules[%d] %q: "+format, append([]any{i, rule.On}, args...)...))
		}
		t.def.nameFaults(*rule, bad)
		from := t.def.sources(*rule)
		if len(from) == 0 {
			bad("covers no state")
		}
		sources := make([]string, len(from))
		for j, state := range from {
			t.place(rule, state, bad)
			sources[j] = string(state)
		}
		t.transitions = append(t.transitions, looplab.EventDesc{Name: string(rule.On), Src: sources, Dst: string(rule.To)})
	}
	return errors.Join(errs...)
}

// nameFaults tells bad what is wrong with the names in rule, except for those in
// From.
func (d Definition[S, E, R]) nameFaults(rule Rule[S, E, R], bad func(string, ...any)) {
	if rule.On == "" {
		bad("event is empty")
	}
	if !slices.Contains(d.States, rule.To) {
		bad("target state %q is not in States", rule.To)
	}
	for i, role := range rule.Roles {
		if role == "" {
			bad("roles[%d] is empty", i)
		} else if slices.Contains(rule.Roles[:i], role) {
			bad("role %q is listed twice", role)
		}
	}
	if _, ok := d.Guards[rule.Guard]; rule.Guard != "" && !ok {
		bad("guard %q is not in Guards", rule.Guard)
	}
}

// place enters rule into the cell of state, or tells bad why it cannot.
func (t *Table[S, E, R]) place(rule *Rule[S, E, R], state S, bad func(string, ...any)) {
	row, ok := t.stateNo[string(state)]
	if !ok {
		bad("source state %q is not in States", state)
		return
	}
	if t.Terminal(state) {
		bad("leaves the terminal state %q", state)
		return
	}
	cell := &t.cells[row*len(t.events)+t.eventNo[string(rule.On)]]
	if *cell != nil {
		bad("state %q has a rule for this event already, leading to %q", state, (*cell).To)
		return
	}
	*cell = rule
}

// guardFaults returns what is wrong with the guards, by name.
func (d Definition[S, E, R]) guardFaults() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(d.Guards)) {
		uses := func(rule Rule[S, E, R]) bool { return rule.Guard == name }
		if d.Guards[name] == nil {
			errs = append(errs, fmt.Errorf("guard %q is nil", name))
		}
		if name == "" || !slices.ContainsFunc(d.Rules, uses) {
			errs = append(errs, fmt.Errorf("guard %q is used by no rule", name))
		}
	}
	return errors.Join(errs...)
}

// reachFaults returns the states that a machine could never enter or, although
// they are not terminal, never leave. It needs the filled cells.
func (t *Table[S, E, R]) reachFaults() error {
	var errs []error
	reached := t.reached()
	for row, state := range t.def.States {
		if state == "" || t.stateNo[string(state)] != row {
			continue // a fault of its own
		}
		if len(reached) > 0 && !slices.Contains(reached, state) {
			errs = append(errs, fmt.Errorf("state %q cannot be reached from %q", state, t.def.Initial))
		}
		leaves := func(rule *Rule[S, E, R]) bool { return rule != nil }
		exits := t.cells[row*len(t.events) : (row+1)*len(t.events)]
		if !t.Terminal(state) && !slices.ContainsFunc(exits, leaves) {
			errs = append(errs, fmt.Errorf("state %q is not terminal, but no rule leaves it", state))
		}
	}
	return errors.Join(errs...)
}

// reached returns the states that can be reached from the initial one. It is
// empty if that is unknown.
func (t *Table[S, E, R]) reached() []S {
	if _, ok := t.stateNo[string(t.def.Initial)]; !ok {
		return nil
	}
	reached := []S{t.def.Initial}
	for i := 0; i < len(reached); i++ { // grows while it is read
		for _, event := range t.events {
			to, ok := t.Next(reached[i], event)
			if ok && !slices.Contains(reached, to) {
				reached = append(reached, to)
			}
		}
	}
	return reached
}
