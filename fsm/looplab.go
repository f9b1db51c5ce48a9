package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	looplab "github.com/looplab/fsm"
)

// Looplab returns a machine of looplab/fsm in the initial state of t, with the same
// transitions. It knows neither roles nor guards. callbacks may be nil.
func Looplab[S, E, R ~string](t *Table[S, E, R], callbacks looplab.Callbacks) *looplab.FSM {
	return looplab.NewFSM(string(t.def.Initial), t.transitions, callbacks)
}

// FromLooplab returns the table of what looplab.NewFSM is given: an initial state, and
// events. States are in the order in which they are mentioned, and those that no event
// leaves are terminal. It has neither roles nor guards. Faults are those of [New].
func FromLooplab[S, E, R ~string](initial S, events looplab.Events) (*Table[S, E, R], error) {
	def := Definition[S, E, R]{Initial: initial, States: []S{initial}}
	left := map[S]bool{}
	for _, event := range events {
		rule := Rule[S, E, R]{On: E(event.Name), To: S(event.Dst)}
		for _, from := range event.Src {
			rule.From = append(rule.From, S(from))
			left[S(from)] = true
		}
		for _, state := range append(slices.Clone(rule.From), rule.To) {
			if !slices.Contains(def.States, state) {
				def.States = append(def.States, state)
			}
		}
		def.Rules = append(def.Rules, rule)
	}
	for _, state := range def.States {
		if !left[state] {
			def.Terminal = append(def.Terminal, state)
		}
	}
	return New(def)
}

// secondOpinion returns where looplab/fsm reads the rules of t in another way.
func (t *Table[S, E, R]) secondOpinion() error {
	machine := Looplab(t, nil)
	var errs []error
	for _, state := range t.def.States {
		for _, event := range t.events {
			machine.SetState(string(state))
			if want, ok := t.Next(state, event); machine.Can(string(event)) != ok {
				errs = append(errs, fmt.Errorf("event %q from %q: looplab/fsm does not agree that it is possible: %v", event, state, ok))
			} else if ok {
				err := machine.Event(context.Background(), string(event))
				if same := (looplab.NoTransitionError{}); err != nil && !errors.As(err, &same) || machine.Current() != string(want) {
					errs = append(errs, fmt.Errorf("event %q from %q: looplab/fsm says %q, want %q: %w", event, state, machine.Current(), want, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}
