package blackboard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/convene-go/convene/providers"
)

// faultList collects faults, one error each.
type faultList []error

func (l *faultList) add(format string, args ...any) { *l = append(*l, fmt.Errorf(format, args...)) }

// noJSON reports whether raw is neither missing nor JSON.
func noJSON(raw json.RawMessage) bool { return len(raw) > 0 && !json.Valid(raw) }

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// headFaults returns the faults of the fields that are neither lists nor maps, and those
// of Spec.
func (b *Board) headFaults() []error {
	var faults faultList
	if blank(b.RunID) {
		faults.add("runId is empty")
	}
	if blank(b.Objective) {
		faults.add("objective is empty")
	}
	for _, area := range slices.Sorted(maps.Keys(b.Spec)) {
		if blank(area) {
			faults.add("spec[%q]: the area is empty", area)
		}
		if !json.Valid(b.Spec[area]) {
			faults.add("spec[%q] is no JSON", area)
		}
	}
	if !slices.Contains(strategyTable.States(), cmp.Or(b.Strategy, Progressing)) {
		faults.add("strategy is %q, want PROGRESSING or STAGNATING", b.Strategy)
	}
	if b.Spent.Negative() || b.Version < 0 {
		faults.add("spent or version is below 0")
	}
	return faults
}

// faults returns the faults of the lists and maps of the board that is opened, and fills
// known.
func (e *Editor) faults() []error {
	var faults faultList
	for i := range e.b.Tasks {
		t := &e.b.Tasks[i]
		for _, fault := range slices.Concat(t.faults(), e.taskFaults(t)) {
			faults.add("tasks[%d] %q: %w", i, t.ID, fault)
		}
	}
	return slices.Concat(faults, e.noteFaults(), e.mapFaults())
}

// noteFaults returns the faults of decisions and insights, and makes them known.
func (e *Editor) noteFaults() []error {
	var faults faultList
	for i, d := range e.b.DesignLog {
		if d.ID == "" || e.known["decision "+d.ID] {
			faults.add("designLog[%d]: id %q is empty or taken", i, d.ID)
		}
		e.known["decision "+d.ID] = true
		faults = append(faults, e.scopeFaults(fmt.Sprintf("designLog[%d]: ", i), d)...)
	}
	for i, insight := range e.b.Insights {
		if insight.ID == "" || e.known["insight "+insight.ID] {
			faults.add("insights[%d]: id %q is empty or taken", i, insight.ID)
		}
		if err := e.checkRef(insight.SourceTask); err != nil {
			faults.add("insights[%d]: sourceTask %w", i, err)
		}
		e.know(insight)
	}
	return faults
}

// mapFaults returns the faults of memories, watches and files.
func (e *Editor) mapFaults() []error {
	var faults faultList
	for _, id := range slices.Sorted(maps.Keys(e.b.Memories)) {
		if _, err := e.task(id); err != nil {
			faults.add("memories[%q]: %w", id, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.b.Guardian.Watches)) {
		if _, err := e.task(id); err != nil {
			faults.add("guardian: watches[%q]: %w", id, err)
		}
		for _, fault := range e.b.Guardian.Watches[id].faults() {
			faults.add("guardian: watches[%q]: %w", id, fault)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(e.b.Files)) {
		if fault := pathFault(path); fault != nil {
			faults.add("files: %w", fault)
		}
		if err := e.checkRef(e.b.Files[path].Task); err != nil {
			faults.add("files: %q: task %w", path, err)
		}
	}
	return faults
}

// checkRef returns an error if id is not "" and no task has it.
func (e *Editor) checkRef(id string) error {
	if _, err := e.task(id); id != "" && err != nil {
		return fmt.Errorf("%q: %w", id, err)
	}
	return nil
}

// scopeFaults returns an error for each ID in AppliesTo that no task has. where is the
// beginning of their texts.
func (e *Editor) scopeFaults(where string, d Decision) []error {
	var faults faultList
	for i, id := range d.AppliesTo {
		if _, err := e.task(id); err != nil {
			faults.add("%sappliesTo[%d] %q: %w", where, i, id, err)
		}
	}
	return faults
}

// faults returns the faults of a definition that show without the rest of the board.
func (d Definition) faults() []error {
	var faults faultList
	for _, field := range []struct{ name, value string }{
		{"id", d.ID},
		{"component", d.Component},
		{"phase", d.Phase},
		{"profile", d.Profile},
	} {
		if field.value == "" || strings.TrimSpace(field.value) != field.value || !utf8.ValidString(field.value) {
			faults.add("%s is %q, want a name in UTF-8 without space around it", field.name, field.value)
		}
	}
	faults = append(faults, criteriaFaults(d.Criteria)...)
	if d.Risk != nil && !(*d.Risk >= 0 && *d.Risk <= 1) { // NaN is outside of every range
		faults.add("risk is %v, want 0 to 1", *d.Risk)
	}
	if d.FromParent && d.Parent == "" {
		faults.add("fromParent is set, but parent is empty")
	}
	return faults
}

func criteriaFaults(criteria []string) []error {
	var faults faultList
	if len(criteria) == 0 {
		faults.add("criteria is empty, want at least one")
	}
	for i, c := range criteria {
		if blank(c) {
			faults.add("criteria[%d] is empty", i)
		}
	}
	return faults
}

// taskFaults returns the faults of a task beyond those of its Definition.
func (e *Editor) taskFaults(t *Task) []error {
	var faults faultList
	if &e.b.Tasks[e.index[t.ID]] != t {
		faults.add("the id is taken")
	}
	if nodeState(t.Status, nil) == "" {
		faults.add("status is %q, which is unknown", t.Status)
	}
	if (t.Status == Blocked) != (t.Blocked != nil) {
		faults.add("blocked is for BLOCKED tasks, and this one is %s", t.Status)
	}
	if t.Blocked != nil && !slices.Contains(blockTypes, t.Blocked.Type) {
		faults.add("blocked: type is %q, want one of %q", t.Blocked.Type, blockTypes)
	}
	if (t.Status == AwaitingQA || t.Accepted) && t.Frozen == nil {
		faults.add("frozen is missing")
	}
	if err := e.checkRef(t.Parent); err != nil {
		faults.add("parent %w", err)
	} else if t.Parent != "" && e.index[t.Parent] >= e.index[t.ID] {
		faults.add("parent %q is not before it", t.Parent)
	}
	for _, id := range t.needs() {
		if need, err := e.task(id); err == nil && need.Status != Complete && (t.Status == Active || t.Status == AwaitingQA) {
			faults.add("it is %s, but needs %q, which is %s", t.Status, id, need.Status)
		}
	}
	if t.Frozen != nil {
		if err := t.Frozen.fault(); err != nil {
			faults.add("frozen: %w", err)
		}
	}
	if min(t.RetryCount, t.ConflictCount, t.Attempt) < 0 || t.Spent.Negative() {
		faults.add("a count is below 0")
	}
	return faults
}

// pathFault returns an error unless path is one of the virtual filesystem: relative, with
// slashes.
func pathFault(path string) error {
	if path == "." || !fs.ValidPath(path) {
		return fmt.Errorf("path is %q, want a relative one without empty, dot and dot-dot parts", path)
	}
	return nil
}

// fault returns the first fault of an artifact, or nil.
func (f Frozen) fault() error {
	if f.Branch == "" || f.Commit == "" {
		return errors.New("branch or commit is empty")
	}
	return pathFault(f.Path)
}

func (w Watch) faults() []error {
	var faults faultList
	for i, a := range w.Alignments {
		if math.IsNaN(a) || a < 0 || a > 100 {
			faults.add("alignments[%d] is %v, want 0 to 100", i, a)
		}
	}
	if min(int64(w.NudgesIgnored), w.Tokens, w.ToolCalls, w.Writes) < 0 {
		faults.add("a count is below 0")
	}
	return faults
}

// messageFaults returns the faults of messages that are added to a memory. A system message
// is one: only the Guardian and the start of an attempt give those, see oneSystem.
func messageFaults(messages []providers.Message) []error {
	var faults faultList
	if len(messages) == 0 {
		faults.add("messages is empty")
	}
	for i, m := range messages {
		for _, call := range m.ToolCalls {
			if noJSON(call.Input) || noJSON(call.Extra) {
				faults.add("messages[%d]: input or extra of the tool call %q is no JSON", i, call.Name)
			}
		}
		switch m.Role {
		case providers.User, providers.Assistant, providers.ToolRole:
		case providers.System:
			faults.add("messages[%d] is a system message", i)
		default:
			faults.add("messages[%d]: role is %q, which is unknown", i, m.Role)
		}
	}
	return faults
}

// oneSystem returns an error unless messages is one system message with a text.
func oneSystem(messages []providers.Message) error {
	if len(messages) != 1 || messages[0].Role != providers.System || blank(messages[0].Text) {
		return fmt.Errorf("messages has %d entries, want one system message with a text", len(messages))
	}
	return nil
}
