package blackboard

import (
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// happen carries out an event on the board. It cannot fail: check and the graph have let
// the event pass.
func (e *Editor) happen(t *Task, m Move, to State, at time.Time) {
	t.Status, t.UpdatedAt, t.Blocked = to, at, nil
	if m.QA != nil {
		t.QA = m.QA
	}
	if m.Checkpoint != nil {
		t.Checkpoint = m.Checkpoint
	}
	if m.Escalation != nil {
		t.Escalation = m.Escalation
	}
	t.Reason = m.Reason
	if follow := effects[m.Event]; follow != nil {
		follow(e, t, m, at)
	}
	if m.Blocked != nil {
		why := *m.Blocked
		why.Since = at.Truncate(time.Second)
		if why.Type.byTasks() {
			why.WaitingOn = e.unmet(t)
		}
		t.Blocked = &why
	}
	e.states.note(e.index[t.ID], t)
}

// effects has what an event changes beyond what happen does for every event.
var effects = map[Event]func(e *Editor, t *Task, m Move, at time.Time){
	EventBlock: func(_ *Editor, t *Task, m Move, _ time.Time) { t.DependsOn = union(t.DependsOn, m.Needs) },
	EventDispatch: func(e *Editor, t *Task, m Move, at time.Time) {
		t.StartedAt, t.Branch, t.NotBefore = at, m.Branch, time.Time{}
		if !t.Accepted {
			t.Attempt++
		}
		if w, ok := e.b.Guardian.Watches[t.ID]; ok {
			w.Tokens, w.ToolCalls, w.Writes = 0, 0, 0
			e.b.Guardian.Watches[t.ID] = w
		}
	},
	EventDeliver: func(_ *Editor, t *Task, m Move, _ time.Time) {
		if !t.Accepted {
			t.Decisions = m.Decisions
		}
		t.Frozen, t.ResultPath, t.Summary = m.Frozen, m.Frozen.Path, m.Summary
		t.Accepted, t.Checkpoint = false, nil
	},
	EventPause: func(_ *Editor, t *Task, m Move, _ time.Time) { t.WaitingFor = union(t.WaitingFor, m.Needs) },
	EventLose: func(e *Editor, t *Task, m Move, _ time.Time) {
		t.RetryCount++
		e.restart(t, m)
	},
	EventResolve: func(e *Editor, t *Task, m Move, _ time.Time) { e.remember(t, m.Messages) },
	EventAsk: func(_ *Editor, t *Task, m Move, _ time.Time) {
		if m.QA != nil {
			t.RetryCount++
		}
	},
	EventPass: func(e *Editor, t *Task, m Move, at time.Time) {
		t.Merged, t.CompletedAt, t.Decisions = m.Merged, at, nil
		for path, hash := range m.Files {
			e.b.Files[path] = File{Branch: t.Frozen.Branch, Commit: m.Merged, Task: t.ID, Hash: hash}
		}
	},
	EventFail:     func(_ *Editor, t *Task, _ Move, _ time.Time) { t.RetryCount++ },
	EventConflict: func(_ *Editor, t *Task, _ Move, _ time.Time) { t.ConflictCount++ },
	EventPhoenix:  func(e *Editor, t *Task, m Move, _ time.Time) { e.restart(t, m) },
	EventWaitFix: func(e *Editor, t *Task, m Move, _ time.Time) {
		e.restart(t, m)
		t.WaitingFor = union(nil, m.Needs)
		_ = e.graph.Depend(t.ID, m.Needs...) // wipe has dropped those that were in WaitingFor before
	},
	EventRetry: func(e *Editor, t *Task, m Move, _ time.Time) {
		t.RetryCount, t.ConflictCount, t.Agent, t.NotBefore = 0, 0, "", time.Time{}
		if m.Wipe {
			e.wipe(t, m.Messages)
		} else {
			e.remember(t, m.Messages)
		}
	},
	EventAccept:  func(_ *Editor, t *Task, _ Move, _ time.Time) { t.Accepted = true },
	EventAbandon: func(e *Editor, t *Task, m Move, at time.Time) { e.abandon(t, m.Reason, at) },
}

// union returns ids, then those of more that are not among them. It may append to ids.
func union(ids, more []string) []string {
	for _, id := range more {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// remember appends messages to the memory of t.
func (e *Editor) remember(t *Task, messages []providers.Message) {
	if len(messages) > 0 {
		e.b.Memories[t.ID] = append(e.b.Memories[t.ID], messages...)
	}
}

// restart wipes t for the next attempt, which m describes.
func (e *Editor) restart(t *Task, m Move) {
	e.wipe(t, m.Messages)
	if t.NotBefore = m.NotBefore.UTC(); m.Agent != "" {
		t.Agent = m.Agent
	}
}

// wipe removes what earlier attempts at t have left; the next one starts from messages.
func (e *Editor) wipe(t *Task, messages []providers.Message) {
	e.b.Memories[t.ID] = slices.Clone(messages)
	delete(e.b.Guardian.Watches, t.ID)
	t.ResultPath, t.Summary, t.Checkpoint, t.StartedAt = "", "", nil, time.Time{}
	for _, id := range t.WaitingFor { // they are COMPLETE, or t could not have been started
		if !slices.Contains(t.DependsOn, id) {
			_ = e.graph.Drop(t.ID, id)
		}
	}
	t.WaitingFor = nil
}

// abandon makes t ABANDONED on the board. Its node is so already.
func (e *Editor) abandon(t *Task, reason string, at time.Time) {
	t.Status, t.UpdatedAt, t.Reason = Abandoned, at, reason
	t.Blocked, t.Checkpoint, t.Accepted = nil, nil, false
	delete(e.b.Memories, t.ID)
	delete(e.b.Guardian.Watches, t.ID)
	e.states.note(e.index[t.ID], t)
}
