package fsm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Machine is one current state that moves by the rules of its table, and the
// history of its moves. It is safe for concurrent use. Create it with Table.Start or
// Table.Restore; the zero value is not usable.
type Machine[S, E, R ~string] struct {
	table *Table[S, E, R]
	now   func() time.Time

	mu      sync.Mutex   // held from reading the state to recording the entry
	state   atomic.Int64 // index of the state in the table, which a guard may read
	history []Entry[S, E, R]
}

// Start returns a machine in the initial state, with no history.
//
// The time of every entry comes from now, which is called once per transition
// while the machine is locked. If now is nil, entries have the zero time.
func (t *Table[S, E, R]) Start(now func() time.Time) *Machine[S, E, R] {
	if now == nil {
		now = func() time.Time { return time.Time{} }
	}
	m := &Machine[S, E, R]{table: t, now: now}
	m.state.Store(int64(t.stateNo[string(t.def.Initial)]))
	return m
}

// Current returns the state in which the machine is.
func (m *Machine[S, E, R]) Current() S { return m.table.def.States[m.state.Load()] }

// History returns all entries since the start, the oldest first. The caller owns
// the slice.
func (m *Machine[S, E, R]) History() []Entry[S, E, R] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.history)
}

// Fire carries out event on behalf of actor and returns the entry that it added
// to the history. The note is kept as it is and may be empty.
//
// If the table has no such transition from the current state, if actor has no
// role for it, or if the guard refuses or panics, Fire returns a
// *TransitionError and nothing has changed. Of several concurrent calls each
// sees the state that the one before it left.
//
// Fire takes no context because it waits for nothing but other calls of Fire.
// The history keeps every entry.
func (m *Machine[S, E, R]) Fire(event E, actor R, note string) (Entry[S, E, R], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, row := m.table, int(m.state.Load())
	from := t.def.States[row]
	rule := t.in(row, event)
	if rule == nil || !rule.permits(actor) {
		return Entry[S, E, R]{}, t.refusal(from, event, actor, nil)
	}
	entry := Entry[S, E, R]{
		At: m.now().Round(0).UTC(), From: from, Event: event, To: rule.To, Actor: actor, Note: note,
	}
	if rule.Guard != "" {
		if err := t.ask(rule.Guard, entry); err != nil {
			return Entry[S, E, R]{}, t.refusal(from, event, actor, err)
		}
	}
	m.state.Store(int64(t.stateNo[string(rule.To)]))
	m.history = append(m.history, entry)
	return entry, nil
}

// FireContext is Fire for callers that have a context. If ctx is done already it
// returns an error that wraps context.Cause(ctx), and nothing has changed. Once
// begun, a transition is completed even if ctx ends.
func (m *Machine[S, E, R]) FireContext(ctx context.Context, event E, actor R, note string) (Entry[S, E, R], error) {
	if err := context.Cause(ctx); err != nil {
		return Entry[S, E, R]{}, fmt.Errorf("fsm: fire %q: %w", event, err)
	}
	return m.Fire(event, actor, note)
}

// ask returns the reason why a guard refuses an entry, or nil.
func (t *Table[S, E, R]) ask(guard string, entry Entry[S, E, R]) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("guard %q panicked: %v", guard, thrown)
		}
	}()
	if err := t.def.Guards[guard](entry); err != nil {
		return fmt.Errorf("guard %q: %w", guard, err)
	}
	return nil
}
