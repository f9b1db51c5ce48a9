package blackboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Editor changes a board and schedules its tasks. It is not safe for concurrent use. Open
// and Restore make one; the zero value is not usable.
//
// The editor holds the board's tasks a second time, as nodes of a graph that answers what
// is due and what is next. These always agree:
//
//   - index[id] is the place of each task in b.Tasks.
//   - The node of a task has the state that nodeState returns for the task.
//   - A node needs what its task needs: DependsOn and WaitingFor.
//   - states has the state of each task, and parts its component.
//
// For example, a task that moves from READY to ACTIVE is first moved in the graph by
// setNode, which may refuse it, and then on the board by happen, which cannot fail.
type Editor struct {
	b       *Board
	graph   *routing.Graph
	index   map[string]int       // places of the tasks in b.Tasks, by ID
	planned []string             // tasks that may still be PLANNED, in the order of the board
	known   map[string]bool      // IDs of decisions; IDs and contents of insights
	since   map[string]time.Time // times at which tasks became READY, by ID
	states  stateIndex           // places of the tasks by state
	parts   map[string]bool      // components of all tasks
}

// Open returns an editor, which owns the board from now on: the caller may only read it.
// The preference orders the tasks that are ready.
//
// Open refuses a board that no changes could have produced, as far as its parts show it.
// The error has all faults. A READY task gains priority by age from its UpdatedAt on,
// because the board does not say since when it is READY.
func Open(b *Board, p routing.Preference) (*Editor, error) {
	e := &Editor{b: b, graph: routing.NewGraph(p), index: make(map[string]int, len(b.Tasks)), known: map[string]bool{}, since: map[string]time.Time{}, states: stateIndex{places: map[slot][]int{}}, parts: map[string]bool{}}
	b.fill()
	nodes := make([]routing.Node, len(b.Tasks))
	for i := range b.Tasks {
		t := &b.Tasks[i]
		e.index[t.ID] = i
		if t.Status == Planned {
			e.planned = append(e.planned, t.ID)
		}
		nodes[i] = t.node()
		nodes[i].State, nodes[i].Since = nodeState(t.Status, t.Blocked), t.UpdatedAt
		e.since[t.ID] = t.UpdatedAt
		e.states.note(i, t)
		e.parts[t.Component] = true
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

// fill makes the maps that changes write to, and sets a missing strategy.
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

// Apply carries out a change. If it returns an error, nothing has changed. The editor
// keeps parts of c and does not change them; the caller must not change them either.
//
// Apply refuses what has no JSON form, such as a tool call whose arguments are no JSON.
// The error wraps [ErrNoTask], [ErrTerminal], [ErrDuplicate], an fsm.ErrTransition that
// says which events are allowed, or a routing.ErrCycle with the path. Any other error
// says what is wrong with c.
func (e *Editor) Apply(c Change) error {
	if c.Do == nil {
		return errors.New("blackboard: a change without an action")
	}
	c.At = c.At.UTC()
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

// Board returns the board, not a copy. The caller may only read it, and not while Apply
// runs.
func (e *Editor) Board() *Board { return e.b }

// Task returns a copy of the task with that ID, and false if there is none. The board
// owns the slices and pointers in it: the caller may only read them.
func (e *Editor) Task(id string) (t Task, ok bool) {
	i, ok := e.index[id]
	if !ok {
		return Task{}, false
	}
	return e.b.Tasks[i], true
}

func (e *Editor) task(id string) (*Task, error) {
	i, ok := e.index[id]
	if !ok {
		return nil, ErrNoTask
	}
	return &e.b.Tasks[i], nil
}

// live returns the task with that ID, or ErrNoTask, or ErrTerminal if it is final.
func (e *Editor) live(id string) (*Task, error) {
	t, err := e.task(id)
	if err == nil && t.Final() {
		return nil, fmt.Errorf("%w: it is %s", ErrTerminal, t.Status)
	}
	return t, err
}

// Next returns the READY task that limits allow to dispatch next, and false if there is
// none. Only ACTIVE tasks count against the limits.
func (e *Editor) Next(limits routing.Limits) (id string, ok bool) { return e.graph.Next(limits) }

// ReadyQueue returns the IDs of the READY tasks in the order in which they are due.
func (e *Editor) ReadyQueue() []string { return e.graph.Queue() }

// Nodes returns the tasks in a state as a [routing.Scheduler] sees them, in the order in
// which they were added. Since is the time at which a READY task became so. Estimate is 0.
func (e *Editor) Nodes(s State) (nodes []routing.Node) {
	for _, i := range e.states.in(func(at slot) bool { return at.state == s }) {
		t := &e.b.Tasks[i]
		n := t.node()
		n.State, n.Since, n.Number = nodeState(s, t.Blocked), e.since[t.ID], i
		nodes = append(nodes, n)
	}
	return nodes
}

// Descendants returns the IDs of the tasks that wait for the task, directly or through
// others. A task follows those that it waits for; ABANDONED tasks are left out.
func (e *Editor) Descendants(id string) []string { return e.graph.Descendants(id) }

// node returns the task's node for the graph, without a state.
func (t *Task) node() routing.Node {
	return routing.Node{
		ID: t.ID, Needs: t.needs(), Profile: t.Profile, Phase: t.Phase, Priority: t.Priority, Created: t.CreatedAt,
	}
}

// nodeState returns the state of a task's node. why is the reason of a BLOCKED task; the
// result is "" for an unknown state.
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
	return ""
}

// setNode gives the node of a task the state that belongs to the task's new status.
func (e *Editor) setNode(id string, s State, why *BlockedReason, at time.Time) error {
	want := nodeState(s, why)
	if e.graph.State(id) == want {
		return nil
	}
	err := e.graph.Move(id, want, at)
	if err == nil && want == routing.Ready {
		e.since[id] = at
	}
	return err
}
