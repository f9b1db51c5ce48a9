package fsm

import (
	"errors"
	"fmt"
	"slices"

	looplab "github.com/looplab/fsm"
)

// Table is a checked Definition. It never changes, is safe for concurrent use
// and may serve any number of machines. Create it with New; the zero value is not
// usable.
type Table[S, E, R ~string] struct {
	def     Definition[S, E, R]
	events  []E // each once, in the order of their first rule
	stateNo map[string]int
	eventNo map[string]int

	// cells has the rule for a state and an event at stateNo*len(events)+eventNo,
	// and nil where there is none.
	cells []*Rule[S, E, R]

	// transitions says the same as cells to looplab/fsm.
	transitions []looplab.EventDesc
}

// New returns the table that def describes, or one error that joins all faults
// of def, in the order states, rules, guards, reachability:
//
//   - a state, event or role without a name, or listed twice in its list
//   - an initial, terminal, source or target state that is not in States
//   - two rules for the same state and event, and a rule that covers no state
//   - a rule that leaves a terminal state, and another state that none leaves
//   - a state that cannot be reached from Initial
//   - a guard that is not in Guards, is nil, or is used by no rule
func New[S, E, R ~string](def Definition[S, E, R]) (*Table[S, E, R], error) {
	t := number(def.clone())
	err := errors.Join(
		t.def.stateFaults(),
		t.fill(),
		t.def.guardFaults(),
		t.reachFaults(),
	)
	if err == nil {
		err = t.secondOpinion()
	}
	if err != nil {
		return nil, fmt.Errorf("fsm: new table: %w", err)
	}
	return t, nil
}

// MustNew is [New] for tables that are part of the program: it panics at a fault.
func MustNew[S, E, R ~string](def Definition[S, E, R]) *Table[S, E, R] {
	t, err := New(def)
	if err != nil {
		panic(err)
	}
	return t
}

// States returns all states in table order. The caller owns the slice.
func (t *Table[S, E, R]) States() []S { return slices.Clone(t.def.States) }

// Events returns all events, each once, in the order of their first rule. The caller owns the
// slice.
func (t *Table[S, E, R]) Events() []E { return slices.Clone(t.events) }

// Terminal says whether state is one that nothing leaves. It is false for a
// state that is not in the table.
func (t *Table[S, E, R]) Terminal(state S) bool { return slices.Contains(t.def.Terminal, state) }

// Next returns the state to which event leads from the state from, and true. If
// the table has no such transition it returns from and false. Roles and guards
// are not asked. Next allocates nothing.
func (t *Table[S, E, R]) Next(from S, event E) (to S, ok bool) {
	rule := t.rule(from, event)
	if rule == nil {
		return from, false
	}
	return rule.To, true
}

// Check returns the state to which event leads from the state from if actor may
// fire it there. Otherwise it returns from and a *TransitionError. Guards are not
// asked: they take part in Machine.Fire only.
func (t *Table[S, E, R]) Check(from S, event E, actor R) (to S, err error) {
	rule := t.rule(from, event)
	if rule == nil || !rule.permits(actor) {
		return from, t.refusal(from, event, actor, nil)
	}
	return rule.To, nil
}

// Option is an event that is possible in a state.
type Option[S, E, R ~string] struct {
	Event E      `json:"event"`
	To    S      `json:"to"`
	Roles []R    `json:"roles,omitempty"` // empty: any actor
	Guard string `json:"guard,omitempty"` // empty: no guard
}

// Allowed returns what is possible in state, in table order. If actors are given,
// it leaves out what none of them may fire. Guards are not asked. The result is
// empty for a terminal state and for one that is not in the table. The caller
// owns the result.
func (t *Table[S, E, R]) Allowed(state S, actors ...R) []Option[S, E, R] {
	var options []Option[S, E, R]
	for i := range t.def.Rules {
		rule := &t.def.Rules[i]
		if t.rule(state, rule.On) != rule {
			continue
		}
		if len(actors) > 0 && !slices.ContainsFunc(actors, rule.permits) {
			continue
		}
		options = append(options, Option[S, E, R]{
			Event: rule.On, To: rule.To, Roles: slices.Clone(rule.Roles), Guard: rule.Guard,
		})
	}
	return options
}

// rule returns the rule for event in the state from, or nil. Two lookups by one
// string each cost less than one lookup by a pair of strings.
func (t *Table[S, E, R]) rule(from S, event E) *Rule[S, E, R] {
	row, ok := t.stateNo[string(from)]
	if !ok {
		return nil
	}
	return t.in(row, event)
}

// in returns the rule for event in the state of that index, or nil.
func (t *Table[S, E, R]) in(row int, event E) *Rule[S, E, R] {
	column, ok := t.eventNo[string(event)]
	if !ok {
		return nil
	}
	return t.cells[row*len(t.events)+column]
}

// number returns a table of def in which states and events have their numbers
// and no cell is filled.
func number[S, E, R ~string](def Definition[S, E, R]) *Table[S, E, R] {
	t := &Table[S, E, R]{def: def, stateNo: map[string]int{}, eventNo: map[string]int{}}
	for i, state := range def.States {
		if _, ok := t.stateNo[string(state)]; !ok {
			t.stateNo[string(state)] = i
		}
	}
	for _, rule := range def.Rules {
		if _, ok := t.eventNo[string(rule.On)]; !ok {
			t.eventNo[string(rule.On)] = len(t.events)
			t.events = append(t.events, rule.On)
		}
	}
	t.cells = make([]*Rule[S, E, R], len(def.States)*len(t.events))
	return t
}
