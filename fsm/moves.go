package fsm

import "fmt"

// Moves is what may happen, as far as code that steps through states needs to know. A
// *[Table] is one.
//
// All three methods are pure functions: they give equal answers to equal arguments, in any
// order, and may be called by several goroutines.
type Moves[S, E, R ~string] interface {
	// Initial returns the state in which everything begins.
	Initial() S

	// Check returns the state to which event leads from the state from, if by may fire it
	// there. Otherwise it returns from and an error that is ErrTransition.
	Check(from S, event E, by R) (S, error)

	// Terminal reports whether nothing leaves state.
	Terminal(state S) bool
}

// Initial returns the state in which a machine starts.
func (t *Table[S, E, R]) Initial() S { return t.def.Initial }

// Veto returns m without the moves for which no returns an error. no is asked about moves
// that m allows, and is a pure function: what it refuses once, it refuses for good. A refusal
// is [ErrTransition], and wraps the error of no.
//
// A veto that has to wait, or to ask somebody, is an orchestrator.Permit.
func Veto[S, E, R ~string](m Moves[S, E, R], no func(from S, event E, by R) error) Moves[S, E, R] { //nolint:iface // its type has nothing else to offer
	return vetoed[S, E, R]{m, no}
}

type vetoed[S, E, R ~string] struct {
	Moves[S, E, R]
	no func(from S, event E, by R) error
}

func (v vetoed[S, E, R]) Check(from S, event E, by R) (S, error) {
	to, err := v.Moves.Check(from, event, by)
	if err != nil {
		return to, err
	}
	if why := v.no(from, event, by); why != nil {
		return from, fmt.Errorf("%w: event %q from %q is vetoed: %w", ErrTransition, event, from, why)
	}
	return to, nil
}
