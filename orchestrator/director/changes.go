package director

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// change applies a change to the board and emits it. A change that is refused changes
// nothing.
func (r *run) change(c *orchestrator.Context, ch blackboard.Change) error {
	ch.At = c.Now()
	before, _ := r.board.Task(ch.Task)
	if err := r.board.Apply(ch); err != nil {
		return err
	}
	r.noteNew(ch)
	r.emitChange(c, ch, before)
	return nil
}

// noteNew notes the tasks that a change adds, and counts those that the run did not begin with.
func (r *run) noteNew(ch blackboard.Change) {
	var tasks []blackboard.Definition
	switch do := ch.Do.(type) {
	case blackboard.AddTasks:
		tasks = do.Tasks
	case blackboard.Split:
		tasks = do.Into
	}
	if r.begunWork() {
		r.added += len(tasks)
	}
	for i := range tasks {
		t, _ := r.board.Task(tasks[i].ID) // a part of a split has its parent's place
		r.lists.note(&t.Definition)
	}
}

// must applies a change that cannot be refused: the flow made it for the state in which
// the board is. That it is refused is a mistake of the team: it panics, and the engine
// leaves the run stuck.
func (r *run) must(c *orchestrator.Context, ch blackboard.Change) {
	if err := r.change(c, ch); err != nil {
		panic(fmt.Errorf("director: %w", err))
	}
}

// move is must for an event of a task.
func (r *run) move(c *orchestrator.Context, by blackboard.Role, task string, m blackboard.Move) {
	r.must(c, blackboard.Change{By: by, Task: task, Do: m})
}

// direct is must for a change of the director; task is "" where it is for no single one.
func (r *run) direct(c *orchestrator.Context, task string, do blackboard.Action) {
	r.must(c, byDirector(task, do))
}

func byDirector(task string, do blackboard.Action) blackboard.Change {
	return blackboard.Change{By: blackboard.RoleDirector, Task: task, Do: do}
}

// all applies changes of which each must be accepted.
func (r *run) all(c *orchestrator.Context, changes []blackboard.Change) {
	for _, ch := range changes {
		r.must(c, ch)
	}
}

// trial returns why the board would refuse changes that are applied one after the other. It
// changes nothing.
func (r *run) trial(c *orchestrator.Context, changes []blackboard.Change) error {
	if len(changes) == 0 {
		return nil
	}
	bare := *r.board.Board()
	bare.Memories = nil
	data, err := json.Marshal(bare)
	if err != nil {
		return err
	}
	copied, err := blackboard.Restore(data, r.preference())
	if err != nil {
		return err
	}
	changes, _ = eachNew(changes, func(d *blackboard.Definition) error {
		if takers := r.takers(d.Phase); d.Profile == "" && len(takers) > 0 {
			d.Profile = takers[0] // until the Router has chosen one
		}
		return nil
	})
	for _, ch := range changes {
		ch.At = c.Now()
		if err := copied.Apply(ch); err != nil {
			return err
		}
	}
	return nil
}

// emitChange emits a change that was made.
func (r *run) emitChange(c *orchestrator.Context, ch blackboard.Change, before blackboard.Task) {
	e := Event{Task: ch.Task}
	switch do := ch.Do.(type) {
	case blackboard.AddTasks:
		r.emitAdded(c, do.Tasks, "")
	case blackboard.Split:
		r.emitMoved(c, e, before, "split", blackboard.Move{Reason: "split"})
		r.emitAdded(c, do.Into, ch.Task)
	case blackboard.Edit:
		e.Edit = &do
		r.Emit(c, eventTaskEdited, &e)
	case blackboard.Refine:
		e.Edit, e.Text = &blackboard.Edit{Criteria: do.Criteria}, "refined"
		r.Emit(c, eventTaskEdited, &e)
	case blackboard.Reblock:
		e.On, e.Text = string(do.Blocked.Type), do.Blocked.Description
		e.From, e.To, e.Who = string(before.Status), string(blackboard.Blocked), string(ch.By)
		r.Emit(c, EventTaskMoved, &e)
	case blackboard.Move:
		e.Who = string(ch.By)
		r.emitMoved(c, e, before, string(do.Event), do)
	case blackboard.AddInsight:
		e.Task, e.Text = do.SourceTask, do.Summary
		r.Emit(c, EventInsightShared, &e)
	case blackboard.AddDecision:
		e.Text = do.Area + ": " + do.Summary
		r.Emit(c, EventDecisionLogged, &e)
	case blackboard.SetSpec:
		e.Text = do.Area
		r.Emit(c, eventSpecChanged, &e)
	}
}

func (r *run) emitAdded(c *orchestrator.Context, tasks []blackboard.Definition, instead string) {
	for _, d := range tasks {
		r.Emit(c, EventTaskAdded, &Event{Event: team.Event{Who: cmp.Or(instead, d.Parent)}, Task: d.ID, Definition: &d})
	}
}

// emitMoved emits a move that was made.
func (r *run) emitMoved(c *orchestrator.Context, e Event, before blackboard.Task, on string, m blackboard.Move) {
	now, _ := r.board.Task(e.Task)
	e.From, e.To, e.On, e.Text, e.Attempt = string(before.Status), string(now.Status), on, m.Reason, now.Attempt
	if m.Blocked != nil {
		e.Text = string(m.Blocked.Type)
	}
	if m.Who != "" {
		e.Who = m.Who
	}
	r.Emit(c, EventTaskMoved, &e)
}
