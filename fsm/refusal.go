package fsm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrTransition is what every refused transition is, by errors.Is.
var ErrTransition = errors.New("transition refused")

// TransitionError says which event was refused and what is possible instead.
// Its text says so too. It is ErrTransition by errors.Is, and wraps Err.
type TransitionError[S, E, R ~string] struct {
	// From is the state in which the event was fired.
	From S

	// Event is the refused event and Actor is who fired it.
	Event E
	Actor R

	// Allowed is what is possible in From, for any actor, in table order. It is
	// empty if From is terminal or not in the table. If it has Event, then Actor
	// has no role for it or, if Err is set, its guard refused.
	Allowed []Option[S, E, R]

	// Err is the reason of the guard that refused; nil: no guard refused.
	Err error

	table *Table[S, E, R]
}

func (e *TransitionError[S, E, R]) Error() string {
	if e.table == nil { // made by hand
		return ErrTransition.Error()
	}
	return e.table.reason(e)
}

// Is reports that the error is ErrTransition.
func (e *TransitionError[S, E, R]) Is(target error) bool { return target == ErrTransition }

// Unwrap returns Err.
func (e *TransitionError[S, E, R]) Unwrap() error { return e.Err }

// refusal returns the error for an event that does not happen; err is the reason
// of the guard that refused, if one did.
func (t *Table[S, E, R]) refusal(from S, event E, actor R, err error) error {
	return &TransitionError[S, E, R]{
		From: from, Event: event, Actor: actor, Allowed: t.Allowed(from), Err: err, table: t,
	}
}

// reason returns the text of a refusal by t.
func (t *Table[S, E, R]) reason(e *TransitionError[S, E, R]) string {
	if _, ok := t.stateNo[string(e.From)]; !ok {
		return fmt.Sprintf("event %q from %q is not allowed: state %q does not exist", e.Event, e.From, e.From)
	}
	var why string
	switch {
	case !slices.Contains(t.events, e.Event):
		why = fmt.Sprintf("event %q does not exist", e.Event)
	case e.Err != nil:
		why = fmt.Sprintf("event %q from %q is refused: %v", e.Event, e.From, e.Err)
	case t.rule(e.From, e.Event) != nil:
		why = fmt.Sprintf("event %q from %q is not allowed for %q", e.Event, e.From, e.Actor)
	default:
		why = fmt.Sprintf("event %q from %q is not allowed", e.Event, e.From)
	}
	return why + "; allowed: " + list(e.Allowed)
}

// list returns options as one line.
func list[S, E, R ~string](options []Option[S, E, R]) string {
	if len(options) == 0 {
		return "none (terminal)"
	}
	texts := make([]string, len(options))
	for i, option := range options {
		texts[i] = fmt.Sprintf("%s->%s", option.Event, option.To)
		if len(option.Roles) > 0 {
			texts[i] += " by [" + commas(option.Roles) + "]"
		}
	}
	return strings.Join(texts, ", ")
}

func commas[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}
