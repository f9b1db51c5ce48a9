package blackboard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// Move is an [Action] that fires an event of [TaskTable] on a task. The comments of the
// fields say which events need them.
type Move struct {
	Event Event `json:"event"`

	// Who is the person who acted in the role, if there is one, such as to pass a task.
	Who string `json:"who,omitempty"`

	// Reason is required for abandon, ask and escalate.
	Reason string `json:"reason,omitempty"`

	// Blocked is required for block, pause and wait_fix.
	Blocked *BlockedReason `json:"blocked,omitempty"`

	// Needs are further tasks to wait for: with block they are added to DependsOn, with
	// pause and wait_fix they are WaitingFor.
	Needs []string `json:"needs,omitempty"`

	// Branch is that of the attempt; for dispatch.
	Branch string `json:"branch,omitempty"`

	// Frozen is required for deliver; Summary and Decisions go with it. Work that a person
	// accepted keeps its decisions.
	Frozen    *Frozen    `json:"frozen,omitempty"`
	Summary   string     `json:"summary,omitempty"`
	Decisions []Decision `json:"decisions,omitempty"`

	// Merged is the commit of the merge, required for pass. Files are what that commit
	// changed: hashes by path.
	Merged string            `json:"merged,omitempty"`
	Files  map[string]string `json:"files,omitempty"`

	// QA is required for pass, fail, conflict, ungraded and lose. With ask it says that
	// the attempt failed, which counts like lose.
	QA *QA `json:"qa,omitempty"`

	// Checkpoint is for pause, release, resolve and ask; so is Escalation, but for
	// release.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Escalation *Escalation `json:"escalation,omitempty"`

	// Messages is required for lose, phoenix and wait_fix: one system message, with
	// which the next attempt starts. With resolve and retry they are added to the memory.
	Messages []providers.Message `json:"messages,omitempty"`

	// Wipe makes a retry start like phoenix.
	Wipe bool `json:"wipe,omitempty"`
}

func (Move) kind() string { return "move" }

// contents says what an event must and may have.
var contents = map[Event]struct{ must, may []string }{
	EventReady:    {},
	EventBlock:    {must: []string{"blocked"}, may: []string{"needs"}},
	EventUnblock:  {},
	EventDispatch: {may: []string{"branch"}},
	EventDeliver:  {must: []string{"frozen"}, may: []string{"decisions", "summary"}},
	EventPause:    {must: []string{"blocked"}, may: []string{"needs", "checkpoint", "escalation"}},
	EventLose:     {must: []string{"qa", "messages"}},
	EventRelease:  {may: []string{"checkpoint", "reason"}},
	EventResolve:  {may: []string{"messages", "checkpoint", "escalation", "reason"}},
	EventAsk:      {must: []string{"reason"}, may: []string{"qa", "checkpoint", "escalation"}},
	EventPass:     {must: []string{"qa", "merged"}, may: []string{"files"}},
	EventFail:     {must: []string{"qa"}},
	EventConflict: {must: []string{"qa"}},
	EventUngraded: {must: []string{"qa"}},
	EventPhoenix:  {must: []string{"messages"}},
	EventWaitFix:  {must: []string{"blocked", "messages"}, may: []string{"needs"}},
	EventEscalate: {must: []string{"reason"}},
	EventRetry:    {may: []string{"messages", "wipe"}},
	EventAccept:   {},
	EventAbandon:  {must: []string{"reason"}},
}

// has returns the names of the fields that are set, except event and who, in order.
func (m Move) has() (names []string) {
	for _, field := range [...]struct {
		name string
		set  bool
	}{
		{"blocked", m.Blocked != nil},
		{"branch", m.Branch != ""},
		{"checkpoint", m.Checkpoint != nil},
		{"decisions", len(m.Decisions) > 0},
		{"escalation", m.Escalation != nil},
		{"files", len(m.Files) > 0},
		{"frozen", m.Frozen != nil},
		{"merged", m.Merged != ""},
		{"messages", len(m.Messages) > 0},
		{"needs", len(m.Needs) > 0},
		{"qa", m.QA != nil},
		{"reason", !blank(m.Reason)},
		{"summary", m.Summary != ""},
		{"wipe", m.Wipe},
	} {
		if field.set {
			names = append(names, field.name)
		}
	}
	return names
}

func (m Move) apply(e *Editor, c Change) error {
	t, err := e.live(c.Task)
	if err != nil {
		return err
	}
	to, err := TaskTable.Check(t.Status, m.Event, c.By)
	if err != nil {
		return err
	}
	if err := m.check(e, t); err != nil {
		return err
	}
	if len(m.Needs) > 0 {
		if err := e.graph.Depend(t.ID, m.Needs...); err != nil {
			return err
		}
	}
	if err := e.place(t.ID, to, m.Blocked, c.At); err != nil {
		return err
	}
	e.happen(t, m, to, c.At)
	return nil
}

// check returns what is wrong with the fields of m for its event.
func (m Move) check(e *Editor, t *Task) error {
	var faults faultList
	content, has := contents[m.Event], m.has()
	for _, field := range content.must {
		if !slices.Contains(has, field) {
			faults.add("%s is missing", field)
		}
	}
	for _, field := range has {
		if !slices.Contains(content.must, field) && !slices.Contains(content.may, field) {
			faults.add("%s does not go with %q", field, m.Event)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if m.Escalation != nil && !slices.Contains(escalationTypes, m.Escalation.Type) {
		faults.add("escalation: type is %q, want one of %q", m.Escalation.Type, escalationTypes)
	}
	if m.Checkpoint != nil && noJSON(m.Checkpoint.Partial) {
		faults.add("checkpoint: partial is no JSON")
	}
	faults = append(faults, m.blockFault(e, t), m.deliveryFault(t), m.qaFault(t), m.messageFault())
	return errors.Join(faults...)
}

// blockFault says what is wrong with the reason for which the task is blocked.
func (m Move) blockFault(e *Editor, t *Task) error {
	if m.Blocked == nil {
		return nil
	}
	kind := m.Blocked.Type
	switch {
	case !slices.Contains(blockTypes, kind):
		return fmt.Errorf("blocked: type is %q, want one of %q", kind, blockTypes)
	case m.Event == EventPause && (kind == ByDependency || kind == ByAbandoned), m.Event == EventWaitFix && kind != ByDependency && kind != BySubtask:
		return fmt.Errorf("blocked: type %q does not go with %q", kind, m.Event)
	case kind == ByExternal && len(m.Blocked.WaitingOn) == 0:
		return errors.New("blocked: waiting_on is empty, want what is needed from outside")
	case !kind.byTasks() && len(m.Needs) > 0:
		return fmt.Errorf("needs does not go with the type %q", kind)
	case kind.byTasks() && len(e.open(t, m.Needs)) == 0:
		return fmt.Errorf("blocked: type is %q, but all that it waits for is complete", kind)
	}
	return nil
}

// open returns the tasks that t waits for, or would with further ones, and that are not
// complete. Unknown ones are among them.
func (e *Editor) open(t *Task, further []string) []string {
	open := e.unmet(t)
	for _, id := range further {
		if n, ok := e.Task(id); !slices.Contains(open, id) && (!ok || n.Status != Complete) {
			open = append(open, id)
		}
	}
	return open
}

// deliveryFault says what is wrong with an artifact that is delivered, accepted or
// merged.
func (m Move) deliveryFault(t *Task) error {
	if m.Event == EventAccept && t.Frozen == nil {
		return errors.New("there is nothing to accept: no artifact was delivered so far")
	}
	if m.Frozen != nil {
		if err := m.Frozen.fault(); err != nil {
			return fmt.Errorf("frozen: %w", err)
		}
		if t.Accepted && *m.Frozen != *t.Frozen {
			return errors.New("frozen: it is not what was accepted")
		}
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(m.Files)) {
		if err := pathFault(path); err != nil {
			return fmt.Errorf("files: %w", err)
		}
	}
	return nil
}

// qaFault says what is wrong with the result of the attempt.
func (m Move) qaFault(t *Task) error {
	switch {
	case m.QA == nil:
		return nil
	case m.Event == EventAsk && t.Status != Active:
		return fmt.Errorf("qa: no attempt has failed, the task is %s", t.Status)
	case m.QA.Passed != (m.Event == EventPass):
		return fmt.Errorf("qa: passed is %t, which does not go with %q", m.QA.Passed, m.Event)
	case !m.QA.Passed && !slices.Contains(failures[m.Event], m.QA.Kind):
		return fmt.Errorf("qa: kind is %q, want one of %q", m.QA.Kind, failures[m.Event])
	}
	return nil
}

// messageFault says what is wrong with the messages.
func (m Move) messageFault() error {
	if m.Wipe || slices.Contains(contents[m.Event].must, "messages") {
		return oneSystem(m.Messages)
	}
	if len(m.Messages) > 0 {
		return errors.Join(messageFaults(m.Messages)...)
	}
	return nil
}

// happen carries out an event that was checked.
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
}

// effects are the effects of some events beyond those.
var effects = map[Event]func(e *Editor, t *Task, m Move, at time.Time){
	EventBlock: func(_ *Editor, t *Task, m Move, _ time.Time) { t.DependsOn = union(t.DependsOn, m.Needs) },
	EventDispatch: func(e *Editor, t *Task, m Move, at time.Time) {
		t.StartedAt, t.Branch = at, m.Branch
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
		e.wipe(t, m.Messages)
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
	EventPhoenix:  func(e *Editor, t *Task, m Move, _ time.Time) { e.wipe(t, m.Messages) },
	EventWaitFix: func(e *Editor, t *Task, m Move, _ time.Time) {
		e.wipe(t, m.Messages)
		t.WaitingFor = union(nil, m.Needs)
		_ = e.graph.Depend(t.ID, m.Needs...) // again those that it waited for before, which are complete
	},
	EventRetry: func(e *Editor, t *Task, m Move, _ time.Time) {
		t.RetryCount, t.ConflictCount = 0, 0
		if m.Wipe {
			e.wipe(t, m.Messages)
		} else {
			e.remember(t, m.Messages)
		}
	},
	EventAccept:  func(_ *Editor, t *Task, _ Move, _ time.Time) { t.Accepted = true },
	EventAbandon: func(e *Editor, t *Task, m Move, at time.Time) { e.abandon(t, m.Reason, at) },
}

// union returns ids and those of more that are not among them.
func union(ids, more []string) []string {
	for _, id := range more {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (e *Editor) remember(t *Task, messages []providers.Message) {
	if len(messages) > 0 {
		e.b.Memories[t.ID] = append(e.b.Memories[t.ID], messages...)
	}
}

// wipe makes the next attempt start with nothing but these messages.
func (e *Editor) wipe(t *Task, messages []providers.Message) {
	e.b.Memories[t.ID] = slices.Clone(messages)
	delete(e.b.Guardian.Watches, t.ID)
	t.ResultPath, t.Summary, t.Checkpoint, t.StartedAt = "", "", nil, time.Time{}
	for _, id := range t.WaitingFor { // complete, or the task could not have been started
		if !slices.Contains(t.DependsOn, id) {
			_ = e.graph.Drop(t.ID, id)
		}
	}
	t.WaitingFor = nil
}

// abandon ends a task that will not be done. The graph knows it already.
func (e *Editor) abandon(t *Task, reason string, at time.Time) {
	t.Status, t.UpdatedAt, t.Reason = Abandoned, at, reason
	t.Blocked, t.Checkpoint, t.Accepted = nil, nil, false
	delete(e.b.Memories, t.ID)
	delete(e.b.Guardian.Watches, t.ID)
}
