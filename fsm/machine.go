package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	looplab "github.com/looplab/fsm"
)

// Machine is one current state that moves by the rules of its table, and the
// history of its moves. It is safe for concurrent use. Create it with Table.Start or
// Table.Restore; the zero value is not usable.
type Machine[S, E, R ~string] struct {
	table *Table[S, E, R]
	now   func() time.Time
	state *looplab.FSM

	mu      sync.Mutex // held from reading the state to recording the entry
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
	// There are no callbacks, on purpose: a panic or a cancelled context in one
	// would leave looplab/fsm in the middle of a transition for good.
	state := looplab.NewFSM(string(t.def.Initial), t.transitions, nil)
	return &Machine[S, E, R]{table: t, now: now, state: state}
}

// Current returns the state in which the machine is.
func (m *Machine[S, E, R]) Current() S { return S(m.state.Current()) }

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
	from := m.Current()
	to, err := m.table.Check(from, event, actor)
	if err != nil {
		return Entry[S, E, R]{}, err
	}
	entry := Entry[S, E, R]{
		At: m.now().Round(0).UTC(), From: from, Event: event, To: to, Actor: actor, Note: note,
	}
	if err := m.table.ask(entry); err != nil {
		return Entry[S, E, R]{}, m.table.refusal(from, event, actor, err)
	}
	if err := m.move(event); err != nil {
		return Entry[S, E, R]{}, err
	}
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

// move lets looplab/fsm carry out event, which the table has allowed. It gets a
// context that never ends, because one that does would block every later event.
func (m *Machine[S, E, R]) move(event E) error {
	err := m.state.Event(context.Background(), string(event))
	var same looplab.NoTransitionError // how it reports a self-transition
	if err == nil || errors.As(err, &same) {
		return nil
	}
	return fmt.Errorf("fsm: fire %q: %w", event, err)
}

// ask returns the reason why the guard of entry's rule refuses it, or nil.
func (t *Table[S, E, R]) ask(entry Entry[S, E, R]) (err error) {
	name := t.rule(entry.From, entry.Event).Guard
	if name == "" {
		return nil
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("guard %q panicked: %v", name, thrown)
		}
	}()
	if err := t.def.Guards[name](entry); err != nil {
		return fmt.Errorf("guard %q: %w", name, err)
	}
	return nil
}
