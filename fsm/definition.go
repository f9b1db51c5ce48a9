// Package fsm keeps state machines as data: a typed table says which event
// leads from which state to which other state, and who may fire it.
//
// New checks a Definition and reports all its faults at once; looplab/fsm gives a second
// opinion on it. The resulting Table answers questions (Next, Check, Allowed), draws itself
// (Mermaid, String) and makes machines (Start, Restore). A Machine has a current state, and
// the history of how it came there.
//
// A refused event is a *TransitionError that says what is allowed instead, and it changes
// nothing. The package runs no code on entering or leaving a state, chooses no target by a
// condition, waits for nothing and has no clock. What to do in a state stays in the code
// that fires the events.
//
// [Moves] is what code that steps through states needs to know of a table. [Looplab] and
// [FromLooplab] lead to machines of looplab/fsm and back.
package fsm

import (
	"maps"
	"slices"
)

// Definition is a transition table as data. New checks it and copies it, so
// that later changes to its slices and maps have no effect.
type Definition[S, E, R ~string] struct {
	// Initial is the state in which a machine starts; it is one of States.
	Initial S

	// States are all states, each once, in the order in which they are shown.
	States []S

	// Terminal are the states that nothing leaves; each is one of States.
	// Every other state needs a rule that leaves it.
	Terminal []S

	// Rules are the allowed transitions, in the order in which they are shown.
	Rules []Rule[S, E, R]

	// Guards are the guards by the names that Rules use. Each must be used.
	Guards map[string]Guard[S, E, R]
}

// Rule is one row of a table: the event On leads from every state of From to
// the state To.
//
// One state and one event have one rule. Where the outcome depends on a
// decision, the decision is made first and each outcome is an event of its own.
type Rule[S, E, R ~string] struct {
	// On is the event; it is not empty.
	On E

	// From are the states that the rule leaves. Empty means any non-terminal
	// state except To: such an any-rule never includes the self-transition of To,
	// which takes a rule that lists To in From. An any-rule is no fallback: a
	// second rule for the same event from a state that it covers is a fault, as it
	// is between two rules that list their states.
	From []S

	// To is the state that the rule leads to. It may be one of From: that is a
	// self-transition, which succeeds and is recorded like any other.
	To S

	// Roles are the actors who may fire the event. Empty means any actor.
	Roles []R

	// Guard names the guard that may refuse the transition. Empty means none.
	Guard string
}

// Guard refuses a transition by returning the reason as an error, or lets it
// happen by returning nil. It never chooses the target. The entry is the one
// that the history will get if the guard agrees.
//
// A guard must be a pure function of its entry. It runs while its machine is
// locked: a guard that calls Fire or History of that machine never returns. A
// panic in a guard counts as a refusal.
type Guard[S, E, R ~string] func(entry Entry[S, E, R]) error

func (r Rule[S, E, R]) permits(actor R) bool {
	return len(r.Roles) == 0 || slices.Contains(r.Roles, actor)
}

func (d Definition[S, E, R]) clone() Definition[S, E, R] {
	d.States = slices.Clone(d.States)
	d.Terminal = slices.Clone(d.Terminal)
	d.Rules = slices.Clone(d.Rules)
	for i := range d.Rules {
		rule := &d.Rules[i]
		rule.From = slices.Clone(rule.From)
		rule.Roles = slices.Clone(rule.Roles)
	}
	d.Guards = maps.Clone(d.Guards)
	return d
}

// sources returns the states that rule leaves, in the order in which they are
// shown. The caller must not change them.
func (d Definition[S, E, R]) sources(rule Rule[S, E, R]) []S {
	if len(rule.From) > 0 {
		return rule.From
	}
	var from []S
	for _, state := range d.States {
		if state != rule.To && !slices.Contains(d.Terminal, state) {
			from = append(from, state)
		}
	}
	return from
}
