package blackboard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// Move is an [Action] that fires an event of [TaskTable] on a task; the table says which
// roles may. A field that is set and does not go with the event is an error. The comments
// of the fields say which events need them.
type Move struct {
	Event Event `json:"event"` // never ""

	// Who names the person who decided in the role, such as to pass a task. It goes with
	// every event; "" means that no person did.
	Who string `json:"who,omitempty"`

	// Reason is required for abandon, ask and escalate; it may go with release and resolve.
	Reason string `json:"reason,omitempty"`

	// Blocked is required for block, pause and wait_fix. The editor sets its Since.
	Blocked *BlockedReason `json:"blocked,omitempty"`

	// Needs has IDs of further tasks to wait for. Block adds them to DependsOn, pause adds
	// them to WaitingFor, and wait_fix replaces WaitingFor by them.
	Needs []string `json:"needs,omitempty"`

	// Branch is the branch of the attempt; it may go with dispatch.
	Branch string `json:"branch,omitempty"`

	// Frozen is the artifact, required for deliver. If a person has accepted an artifact,
	// it must be that one.
	Frozen *Frozen `json:"frozen,omitempty"`

	// Summary is the worker's description of the artifact; it may go with deliver.
	Summary string `json:"summary,omitempty"`

	// Decisions are those of the worker; they may go with deliver. The decisions of an
	// accepted artifact stay as they are.
	Decisions []Decision `json:"decisions,omitempty"`

	// Merged is the commit of the merge, required for pass.
	Merged string `json:"merged,omitempty"`

	// Files has the hashes of the files that the merge changed, by path; it may go with
	// pass.
	Files map[string]string `json:"files,omitempty"`

	// QA is required for pass, fail, conflict, ungraded and lose. It may go with ask, where
	// it says that the attempt failed; that costs a retry.
	QA *QA `json:"qa,omitempty"`

	// Checkpoint may go with pause, release, resolve and ask. Nil keeps the old one.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`

	// Escalation may go with pause, resolve and ask. Nil keeps the old one.
	Escalation *Escalation `json:"escalation,omitempty"`

	// Messages is one system message, the whole memory of the next attempt, for lose,
	// phoenix and wait_fix, which require it. Resolve and retry add it to the memory.
	Messages []providers.Message `json:"messages,omitempty"`

	// Agent and NotBefore may go with lose, phoenix and wait_fix: who makes the next attempts,
	// and when the next one may begin. "" keeps the agent.
	Agent     string    `json:"agent,omitempty"`
	NotBefore time.Time `json:"notBefore,omitzero"`

	// Wipe makes retry start from a wiped memory, like phoenix. It requires Messages.
	Wipe bool `json:"wipe,omitempty"`
}

func (Move) kind() string { return "move" }

// contents has the fields that go with each event, by their JSON names. Each field of must
// is required. Every event also has event and may have who.
var contents = map[Event]struct{ must, may []string }{
	EventReady:    {},
	EventBlock:    {must: []string{"blocked"}, may: []string{"needs"}},
	EventUnblock:  {},
	EventDispatch: {may: []string{"branch"}},
	EventDeliver:  {must: []string{"frozen"}, may: []string{"decisions", "summary"}},
	EventPause:    {must: []string{"blocked"}, may: []string{"needs", "checkpoint", "escalation"}},
	EventLose:     {must: []string{"qa", "messages"}, may: []string{"agent", "notBefore"}},
	EventRelease:  {may: []string{"checkpoint", "reason"}},
	EventResolve:  {may: []string{"messages", "checkpoint", "escalation", "reason"}},
	EventAsk:      {must: []string{"reason"}, may: []string{"qa", "checkpoint", "escalation"}},
	EventPass:     {must: []string{"qa", "merged"}, may: []string{"files"}},
	EventFail:     {must: []string{"qa"}},
	EventConflict: {must: []string{"qa"}},
	EventUngraded: {must: []string{"qa"}},
	EventPhoenix:  {must: []string{"messages"}, may: []string{"agent", "notBefore"}},
	EventWaitFix:  {must: []string{"blocked", "messages"}, may: []string{"needs", "agent", "notBefore"}},
	EventEscalate: {must: []string{"reason"}},
	EventRetry:    {may: []string{"messages", "wipe"}},
	EventAccept:   {},
	EventAbandon:  {must: []string{"reason"}},
}

// fieldsSet returns the JSON names of the fields that are set, except event and who, in
// alphabetical order.
func (m Move) fieldsSet() (names []string) {
	for _, field := range [...]struct {
		name string
		set  bool
	}{
		{"agent", m.Agent != ""},
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
		{"notBefore", !m.NotBefore.IsZero()},
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
	to, err := taskTable.Check(t.Status, m.Event, c.By)
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
	if err := e.setNode(t.ID, to, m.Blocked, c.At); err != nil {
		return err
	}
	e.happen(t, m, to, c.At)
	return nil
}

// check returns the faults of the fields of m for its event.
func (m Move) check(e *Editor, t *Task) error {
	var faults faultList
	content, has := contents[m.Event], m.fieldsSet()
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

// blockFault returns the first fault of the reason for which t is to be BLOCKED, or nil.
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
		return errors.New("blocked: waitingOn is empty, want what is needed from outside")
	case !kind.byTasks() && len(m.Needs) > 0:
		return fmt.Errorf("needs does not go with the type %q", kind)
	case kind.byTasks() && len(e.openNeeds(t, m.Needs)) == 0:
		return fmt.Errorf("blocked: type is %q, but all that it waits for is complete", kind)
	}
	return nil
}

// openNeeds returns the IDs that t would wait for with further needs: tasks that are not
// COMPLETE, and further ones that do not exist.
func (e *Editor) openNeeds(t *Task, further []string) []string {
	open := e.unmet(t)
	for _, id := range further {
		if n, ok := e.Task(id); !slices.Contains(open, id) && (!ok || n.Status != Complete) {
			open = append(open, id)
		}
	}
	return open
}

// deliveryFault returns the first fault of an artifact that is delivered, accepted or
// merged, or nil.
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

// qaFault returns the first fault of the result of the attempt, or nil.
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

// messageFault returns the faults of the messages, or nil.
func (m Move) messageFault() error {
	if m.Wipe || slices.Contains(contents[m.Event].must, "messages") {
		return oneSystem(m.Messages)
	}
	if len(m.Messages) > 0 {
		return errors.Join(messageFaults(m.Messages)...)
	}
	return nil
}
