package fsm

import (
	"fmt"
	"slices"
	"time"
)

// Entry is one transition that happened. It is plain data: its JSON form read
// back equals it.
type Entry[S, E, R ~string] struct {
	At    time.Time `json:"at,omitzero"`     // time by the machine's clock, in UTC; zero: it has none
	From  S         `json:"from"`            // state before
	Event E         `json:"event"`           // event that was fired
	To    S         `json:"to"`              // state after, which may be From
	Actor R         `json:"actor,omitempty"` // who fired the event; "": nobody in particular
	Note  string    `json:"note,omitempty"`  // what the actor said about it; "": nothing
}

// Restore returns a machine that has the given history and continues in the state in
// which that ended. The machine keeps a copy of history; now is as for Start.
//
// Every entry is checked against the table: it starts where the one before it
// ended, its event is allowed there for its actor, and it ends where the table
// says. The first entry that does not fit is an error that names it by its index;
// it is ErrTransition if the table does not allow the event. Guards are not asked
// again, and times and notes are not looked at.
func (t *Table[S, E, R]) Restore(history []Entry[S, E, R], now func() time.Time) (*Machine[S, E, R], error) {
	state := t.def.Initial
	for i, entry := range history {
		if entry.From != state {
			return nil, fmt.Errorf("fsm: restore: history[%d]: event %q starts in %q, but the state there is %q",
				i, entry.Event, entry.From, state)
		}
		to, err := t.Check(entry.From, entry.Event, entry.Actor)
		if err != nil {
			return nil, fmt.Errorf("fsm: restore: history[%d]: %w", i, err)
		}
		if entry.To != to {
			return nil, fmt.Errorf("fsm: restore: history[%d]: event %q from %q leads to %q, but the table says %q",
				i, entry.Event, entry.From, entry.To, to)
		}
		state = to
	}
	m := t.Start(now)
	m.state.Store(int64(t.stateNo[string(state)]))
	m.history = slices.Clone(history)
	return m, nil
}
