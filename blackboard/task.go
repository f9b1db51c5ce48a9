package blackboard

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// Definition is what a plan says about a task. The other fields of a [Task] say what
// happened to it since.
type Definition struct {
	ID          string `json:"id"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Component   string `json:"component"`
	Phase       string `json:"phase"`
	Profile     string `json:"assigned_worker_profile"`
	Priority    int    `json:"priority"` // higher is more important

	// DependsOn are the tasks that must be complete before this one starts.
	DependsOn []string `json:"depends_on"`

	// Criteria are what the result is reviewed against, at least one.
	Criteria []string `json:"acceptance_criteria"`

	// Risk, from 0 to 1, is how closely the Guardian looks. Nil means 0.5.
	Risk *float64 `json:"risk,omitempty"`

	// Placeholder says that the criteria are general; the review of what is tested
	// replaces them.
	Placeholder bool `json:"placeholder,omitempty"`

	// Parent is the task that this one was made for; "" for none. A task FromParent
	// starts from its parent's checkpoint and is merged there, not into the main branch.
	Parent     string `json:"parent,omitempty"`
	FromParent bool   `json:"from_parent,omitempty"`
}

// Task is a piece of work of the size of a ticket.
type Task struct {
	Definition
	Status     State          `json:"status"`
	ResultPath string         `json:"result_path,omitempty"`
	Summary    string         `json:"summary,omitempty"` // the worker's, of what it delivered
	QA         *QA            `json:"qa_feedback,omitempty"`
	Blocked    *BlockedReason `json:"blocked_reason,omitempty"` // while BLOCKED

	RetryCount    int `json:"retry_count"`              // failed attempts that were the worker's fault
	ConflictCount int `json:"conflict_count,omitempty"` // merges that failed

	// Attempt counts the dispatches and is never reset.
	Attempt int `json:"attempt,omitempty"`

	// WaitingFor are the tasks that the worker paused for.
	WaitingFor []string    `json:"waiting_for,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // to resume from; removed when the task restarts
	Escalation *Escalation `json:"escalation,omitempty"` // the last one

	// Branch is that of the last attempt. Frozen is what was last delivered for review;
	// it is kept when the task restarts. Merged is the commit of the merge.
	Branch string  `json:"branch,omitempty"`
	Frozen *Frozen `json:"frozen,omitempty"`
	Merged string  `json:"merged,omitempty"`

	// Decisions are those of the worker of Frozen, for the design log when it is merged.
	// Suggested are tasks that workers of this one suggest, until they are reviewed.
	Decisions []Decision   `json:"decisions,omitempty"`
	Suggested []Suggestion `json:"suggested_tasks,omitempty"`

	// Accepted says that a person accepted Frozen as it is: the next attempt delivers
	// it without a worker.
	Accepted bool `json:"accepted,omitempty"`

	// Reason is why the task was abandoned, or why a person was asked.
	Reason string `json:"reason,omitempty"`

	Spent       providers.Usage `json:"spent,omitzero"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	StartedAt   time.Time       `json:"started_at,omitzero"` // of the current or last attempt
	CompletedAt time.Time       `json:"completed_at,omitzero"`
}

// Final says whether the task is COMPLETE or ABANDONED and cannot change any more.
func (t *Task) Final() bool { return TaskTable.Terminal(t.Status) }

// Suggestion is a task that a worker suggests. Only that its risk is a number is checked before it is
// added.
type Suggestion struct {
	Definition

	Rationale string `json:"rationale,omitempty"`
}

// Frozen is an artifact at a commit.
type Frozen struct {
	Path   string `json:"path"` // relative, with slashes
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// QA is the result of an attempt that was reviewed, or that failed before its review.
type QA struct {
	Passed   bool        `json:"passed"`
	Kind     FailureKind `json:"kind,omitempty"`    // why it failed; "" if it passed
	Outcome  string      `json:"outcome,omitempty"` // PASS, FAIL, PASS_WITH_NOTES or PARTIAL
	Feedback string      `json:"feedback,omitempty"`
	Focus    string      `json:"focus,omitempty"` // what the next attempt should look at first
	Files    []string    `json:"files,omitempty"` // that conflict
	By       string      `json:"by,omitempty"`    // the person who decided; "": the strategist

	Criteria      []CriterionResult `json:"criteria,omitempty"`
	Tests         []TestAnalysis    `json:"tests,omitempty"`
	TestsToRevise []string          `json:"tests_needing_revision,omitempty"`
	Notes         []string          `json:"notes,omitempty"`                 // on work that passes
	Refined       []string          `json:"refined_test_criteria,omitempty"` // of the placeholder for tests

	PlanWrong bool `json:"plan_wrong,omitempty"` // no attempt can pass: the tasks are to be changed
}

// FailureKind is why an attempt failed.
type FailureKind string

// The kinds of failures.
const (
	FailedReview  FailureKind = "qa"
	NoReview      FailureKind = "qa_unavailable"
	MergeConflict FailureKind = "merge_conflict"
	MergeBroken   FailureKind = "merge_broken" // merged, tests fail that passed before
	EmptyResult   FailureKind = "empty_result"
	TimedOut      FailureKind = "timeout"
	StalledWorker FailureKind = "stalled"
	Crashed       FailureKind = "crash"
)

// failures are the kinds that an event can report.
var failures = map[Event][]FailureKind{
	EventFail:     {FailedReview},
	EventConflict: {MergeConflict, MergeBroken},
	EventUngraded: {NoReview},
	EventLose:     {EmptyResult, TimedOut, StalledWorker, Crashed},
	EventAsk:      {EmptyResult, TimedOut, StalledWorker, Crashed},
}

// CriterionResult is what the review says about one criterion.
type CriterionResult struct {
	Criterion   string `json:"criterion"`
	Passed      bool   `json:"passed"`
	Reasoning   string `json:"reasoning,omitempty"`
	Suggestions string `json:"suggestions,omitempty"`
}

// TestAnalysis is what the review says about a failing test.
type TestAnalysis struct {
	Test     string    `json:"test"`
	Analysis string    `json:"analysis,omitempty"`
	Fault    TestFault `json:"fault"`
}

// TestFault says what is at fault when a test fails.
type TestFault string

// The faults.
const (
	CodeWrong TestFault = "code_wrong"
	TestWrong TestFault = "test_wrong"
	BothWrong TestFault = "both"
)

// BlockedReason is why a task is BLOCKED.
type BlockedReason struct {
	Type        BlockType `json:"type"`
	Description string    `json:"description,omitempty"`
	WaitingOn   []string  `json:"waiting_on,omitempty"` // when it was blocked: tasks, or what is needed from outside
	Since       time.Time `json:"since,omitzero"`       // of the change, in whole seconds: models read it
}

// BlockType is what a task waits for.
type BlockType string

// What tasks wait for. Only the first two end by themselves, when the tasks are
// complete; the others are decided by the director.
const (
	ByDependency BlockType = "dependency"
	BySubtask    BlockType = "waiting_subtask"
	ByAbandoned  BlockType = "dependency_abandoned"
	ByExternal   BlockType = "external"
	ByReplanning BlockType = "needs_replanning"
)

// byTasks says whether the reason is that other tasks are not complete.
func (t BlockType) byTasks() bool {
	return t == ByDependency || t == BySubtask || t == ByAbandoned
}

var blockTypes = []BlockType{ByDependency, BySubtask, ByAbandoned, ByExternal, ByReplanning}

// Checkpoint is what a paused worker needs to resume.
type Checkpoint struct {
	ID      string          `json:"id,omitempty"`
	Resume  string          `json:"resume"` // what to do next, in words
	Partial json.RawMessage `json:"partial,omitempty"`
	Files   []string        `json:"files,omitempty"`
	Branch  string          `json:"branch,omitempty"` // of the attempt that has paused
	Commit  string          `json:"commit,omitempty"` // on it, at that time
}

// EscalationType is why a worker asks the director.
type EscalationType string

// The types of escalations.
const (
	NeedsResearch      EscalationType = "NEEDS_RESEARCH"
	NeedsReplanning    EscalationType = "NEEDS_REPLANNING"
	SpecMismatch       EscalationType = "SPEC_MISMATCH"
	NeedsClarification EscalationType = "NEEDS_CLARIFICATION"
	BlockedExternal    EscalationType = "BLOCKED_EXTERNAL"
	ScopeTooLarge      EscalationType = "SCOPE_TOO_LARGE"
)

var escalationTypes = []EscalationType{NeedsResearch, NeedsReplanning, SpecMismatch, NeedsClarification, BlockedExternal, ScopeTooLarge}

// Escalation is what a worker wants from the director.
type Escalation struct {
	Type        EscalationType `json:"type"`
	Reason      string         `json:"reason"`
	Needs       string         `json:"needs,omitempty"`
	Affected    []string       `json:"affected,omitempty"`
	NonBlocking bool           `json:"non_blocking,omitempty"` // the worker did not wait
}

// needs are the tasks that must be complete before t starts or resumes.
func (t *Task) needs() []string {
	needs := slices.Clone(t.DependsOn)
	for _, id := range t.WaitingFor {
		if !slices.Contains(needs, id) {
			needs = append(needs, id)
		}
	}
	return needs
}
