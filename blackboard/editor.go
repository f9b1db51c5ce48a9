package blackboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Editor changes a board and schedules its tasks. It is not safe for concurrent use.
// Create it with Open; the zero value is not usable.
type Editor struct {
	b       *Board
	graph   *routing.Graph
	at      map[string]int  // of a task in b.Tasks
	planned []string        // the tasks that were added since the last evaluation
	known   map[string]bool // IDs of decisions, IDs and contents of insights
}

// Open returns an editor that owns the board from then on. The preference decides the
// order in which ready tasks are dispatched.
//
// A board that no changes could have produced is refused as far as its parts show that,
// with all faults in one error. READY tasks gain priority by age from their last change
// on: since when they are READY is not kept.
func Open(b *Board, p routing.Preference) (*Editor, error) {
	e := &Editor{b: b, graph: routing.NewGraph(p), at: make(map[string]int, len(b.Tasks)), known: map[string]bool{}}
	b.fill()
	nodes := make([]routing.Node, len(b.Tasks))
	for i := range b.Tasks {
		t := &b.Tasks[i]
		e.at[t.ID] = i
		if t.Status == Planned {
			e.planned = append(e.planned, t.ID)
		}
		nodes[i] = t.node()
		nodes[i].State, nodes[i].Since = nodeState(t.Status, t.Blocked), t.UpdatedAt
	}
	faults := append(b.headFaults(), e.faults()...)
	if len(faults) == 0 {
		faults = append(faults, e.graph.Add(nodes...))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("blackboard: %w", err)
	}
	return e, nil
}

// fill makes the maps that changes write to.
func (b *Board) fill() {
	if b.Spec == nil {
		b.Spec = map[string]json.RawMessage{}
	}
	if b.Memories == nil {
		b.Memories = map[string][]providers.Message{}
	}
	if b.Files == nil {
		b.Files = map[string]File{}
	}
	if b.Guardian.Watches == nil {
		b.Guardian.Watches = map[string]Watch{}
	}
	if b.Strategy == "" {
		b.Strategy = Progressing
	}
}

// Apply carries out a change; if it returns an error, it has changed nothing. What has no
// JSON form, such as a tool call whose arguments are no JSON, is refused. The editor
// keeps parts of c without changing them, and the caller must not change them either.
//
// The error is [ErrNoTask], [ErrTerminal] or [ErrDuplicate], an fsm.ErrTransition that
// says which events are allowed, a routing.ErrCycle with the path, or says what else is
// wrong with c.
func (e *Editor) Apply(c Change) error {
	if c.Do == nil {
		return errors.New("blackboard: a change without an action")
	}
	c.At = c.At.Round(0).UTC()
	if year := c.At.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("blackboard: a change of the year %d, want 0 to 9999", year)
	}
	if err := c.Do.apply(e, c); err != nil {
		if c.Task != "" {
			err = fmt.Errorf("task %q: %w", c.Task, err)
		}
		return fmt.Errorf("blackboard: %s: %w", c.Do.kind(), err)
	}
	e.b.Version++
	return nil
}

// Board returns the board, which the editor owns: the caller may only read it, and not
// while Apply runs.
func (e *Editor) Board() *Board { return e.b }

// Task returns the task of an ID. The board owns what it points to.
func (e *Editor) Task(id string) (t Task, ok bool) {
	i, ok := e.at[id]
	if !ok {
		return Task{}, false
	}
	return e.b.Tasks[i], true
}

func (e *Editor) task(id string) (*Task, error) {
	i, ok := e.at[id]
	if !ok {
		return nil, ErrNoTask
	}
	return &e.b.Tasks[i], nil
}

// live returns the task of an ID that is not final.
func (e *Editor) live(id string) (*Task, error) {
	t, err := e.task(id)
	if err == nil && t.Final() {
		return nil, fmt.Errorf("%w: it is %s", ErrTerminal, t.Status)
	}
	return t, err
}

// Next returns the ready task that is to be dispatched next under limits, and false if
// there is none. Only ACTIVE tasks count against limits.
func (e *Editor) Next(limits routing.Limits) (id string, ok bool) { return e.graph.Next(limits) }

// ReadyQueue returns the IDs of the READY tasks in the order of their dispatch.
func (e *Editor) ReadyQueue() []string { return e.graph.Queue() }

// In returns the IDs of the tasks in one of the states, in the order in which they were
// added: the blocked list and the active set are such.
func (e *Editor) In(states ...State) []string {
	var ids []string
	for i := range e.b.Tasks {
		if slices.Contains(states, e.b.Tasks[i].Status) {
			ids = append(ids, e.b.Tasks[i].ID)
		}
	}
	return ids
}

// Descendants returns the IDs of the tasks that wait for one, directly or through
// others, each behind those that it waits for. Abandoned ones do not count.
func (e *Editor) Descendants(id string) []string { return e.graph.Descendants(id) }

// node is the task as the graph sees it.
func (t *Task) node() routing.Node {
	return routing.Node{
		ID: t.ID, Needs: t.needs(), Profile: t.Profile, Phase: t.Phase, Priority: t.Priority, Created: t.CreatedAt,
	}
}

// nodeState is what a task in a state is for the graph.
func nodeState(s State, why *BlockedReason) routing.NodeState {
	switch s {
	case Planned:
		return routing.Waiting
	case Blocked:
		if why != nil && !why.Type.byTasks() {
			return routing.Held
		}
		return routing.Waiting
	case Ready:
		return routing.Ready
	case Active:
		return routing.Active
	case AwaitingQA, FailedQA, WaitingHuman:
		return routing.Held
	case Complete:
		return routing.Done
	case Abandoned:
		return routing.Abandoned
	}
	return "" // of a state that is unknown
}

// place moves a task in the graph to where it belongs in a state.
func (e *Editor) place(id string, s State, why *BlockedReason, at time.Time) error {
	want := nodeState(s, why)
	if e.graph.State(id) == want {
		return nil
	}
	return e.graph.Move(id, want, at)
}
