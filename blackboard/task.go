package blackboard

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// Definition is what a plan says about a task. The other fields of a [Task] say what has
// happened to it since.
type Definition struct {
	ID          string `json:"id"`                    // a name: not empty, UTF-8, no space around it; unique on the board
	Title       string `json:"title,omitempty"`       // "": none
	Description string `json:"description,omitempty"` // the work, in words; "": none
	Component   string `json:"component"`             // a name: the part of the product, such as db
	Phase       string `json:"phase"`                 // a name: the kind of work, such as build
	Profile     string `json:"profile"`               // a name: the kind of worker
	Priority    int    `json:"priority"`              // higher is more important

	// DependsOn has the IDs of the tasks that must be COMPLETE before this one starts.
	DependsOn []string `json:"dependsOn"`

	// Criteria has at least one entry, none blank; reviews judge the result by them.
	Criteria []string `json:"criteria"`

	// Risk says how closely the Guardian looks, from 0 to 1. Nil means 0.5.
	Risk *float64 `json:"risk,omitempty"`

	// Placeholder says that the criteria are general ones, which [Refine] will replace.
	Placeholder bool `json:"placeholder,omitempty"`

	// Parent is the ID of the task that this one was made for. "" means none.
	Parent string `json:"parent,omitempty"`

	// FromParent says that the task starts from the checkpoint of its parent, and is merged
	// there, not into the main branch. It requires Parent.
	FromParent bool `json:"fromParent,omitempty"`
}

// Task is a piece of work of the size of a ticket.
type Task struct {
	Definition
	Status     State          `json:"status"`               // state in the [TaskTable]; never ""
	ResultPath string         `json:"resultPath,omitempty"` // path of the artifact; "": none since the last restart
	Summary    string         `json:"summary,omitempty"`    // the worker's words about the artifact
	QA         *QA            `json:"qa,omitempty"`         // result of the last attempt; nil: none so far
	Blocked    *BlockedReason `json:"blocked,omitempty"`    // nil unless BLOCKED

	RetryCount    int `json:"retryCount"`              // failed attempts that were the worker's fault
	ConflictCount int `json:"conflictCount,omitempty"` // failed merges
	Attempt       int `json:"attempt,omitempty"`       // number of dispatches; never reset

	WaitingFor []string    `json:"waitingFor,omitempty"` // IDs of the tasks that the worker paused for
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // state to resume from; a task that restarts loses it
	Escalation *Escalation `json:"escalation,omitempty"` // the last one; nil: none so far

	Branch string  `json:"branch,omitempty"` // branch of the last attempt
	Frozen *Frozen `json:"frozen,omitempty"` // the last artifact under review; a restart keeps it
	Merged string  `json:"merged,omitempty"` // commit of the merge; "": not merged

	// Decisions are those of the worker who made Frozen. They are meant for the design log
	// once the work is merged.
	Decisions []Decision `json:"decisions,omitempty"`

	// Suggested has the tasks that workers of this one suggest and nobody has reviewed.
	Suggested []Suggestion `json:"suggested,omitempty"`

	// Agent is the worker that the next attempts ask, as the team's rules want it. "": that
	// of the profile.
	Agent string `json:"agent,omitempty"`

	// NotBefore is the time at which the next attempt may begin. Zero: at any time.
	NotBefore time.Time `json:"notBefore,omitzero"`

	// Accepted says that a person has accepted Frozen as it is. The next attempt delivers
	// it without a worker.
	Accepted bool `json:"accepted,omitempty"`

	// Reason says why the task was abandoned, released or escalated, or why a person was
	// asked. The next event replaces it.
	Reason string `json:"reason,omitempty"`

	Spent       providers.Usage `json:"spent,omitzero"`       // usage of all attempts, see [Spend]
	CreatedAt   time.Time       `json:"createdAt"`            // time of the change that added it
	UpdatedAt   time.Time       `json:"updatedAt"`            // time of the last change
	StartedAt   time.Time       `json:"startedAt,omitzero"`   // dispatch of the current or last attempt; zero: none
	CompletedAt time.Time       `json:"completedAt,omitzero"` // zero until COMPLETE
}

// Final reports whether the task is COMPLETE or ABANDONED and cannot change.
func (t *Task) Final() bool { return taskTable.Terminal(t.Status) }

// Suggestion is a task that a worker suggests. [Suggest] only checks that Risk is a number;
// [AddTasks] checks the rest.
type Suggestion struct {
	Definition

	Rationale string `json:"rationale,omitempty"` // the worker's reason for the suggestion
}

// Frozen is an artifact at a commit.
type Frozen struct {
	Path   string `json:"path"`   // relative, with slashes
	Branch string `json:"branch"` // never empty
	Commit string `json:"commit"` // never empty
}

// QA is the result of an attempt that was reviewed, or that failed before its review.
type QA struct {
	Passed   bool        `json:"passed"`             // the work may be merged
	Kind     FailureKind `json:"kind,omitempty"`     // cause of the failure; "" if it passed
	Outcome  string      `json:"outcome,omitempty"`  // PASS, FAIL, PASS_WITH_NOTES or PARTIAL
	Feedback string      `json:"feedback,omitempty"` // the reviewer's words to the next attempt
	Focus    string      `json:"focus,omitempty"`    // the first thing that the next attempt should look at
	Files    []string    `json:"files,omitempty"`    // paths of the files that conflict
	By       string      `json:"by,omitempty"`       // the person who decided; "": the strategist

	Criteria      []CriterionResult `json:"criteria,omitempty"`      // one result for each reviewed criterion
	Tests         []TestAnalysis    `json:"tests,omitempty"`         // one analysis for each failing test
	TestsToRevise []string          `json:"testsToRevise,omitempty"` // names of tests that are wrong
	Notes         []string          `json:"notes,omitempty"`         // remarks about work that passes
	Refined       []string          `json:"refined,omitempty"`       // criteria for the TEST task, see [Refine]

	PlanWrong bool `json:"planWrong,omitempty"` // no attempt can pass until the tasks are changed
}

// FailureKind is the cause of a failed attempt.
type FailureKind string

// The kinds of failures.
const (
	FailedReview  FailureKind = "qa"             // the work did not pass its review
	NoReview      FailureKind = "qa_unavailable" // nobody could review the work
	MergeConflict FailureKind = "merge_conflict" // the work and main changed the same lines
	MergeBroken   FailureKind = "merge_broken"   // tests that passed before fail after the merge
	EmptyResult   FailureKind = "empty_result"   // the worker delivered nothing
	TimedOut      FailureKind = "timeout"        // the attempt took too long
	StalledWorker FailureKind = "stalled"        // the worker made no progress
	Crashed       FailureKind = "crash"          // the worker's call failed, or its answer cannot be used
)

// failures has the kinds of failures that each event can report.
var failures = map[Event][]FailureKind{
	EventFail:     {FailedReview},
	EventConflict: {MergeConflict, MergeBroken},
	EventUngraded: {NoReview},
	EventLose:     {EmptyResult, TimedOut, StalledWorker, Crashed},
	EventAsk:      {EmptyResult, TimedOut, StalledWorker, Crashed},
}

// CriterionResult is the verdict of a review about one criterion.
type CriterionResult struct {
	Criterion   string `json:"criterion"`             // text of the criterion
	Passed      bool   `json:"passed"`                // the work meets it
	Reasoning   string `json:"reasoning,omitempty"`   // the reviewer's reason
	Suggestions string `json:"suggestions,omitempty"` // ideas for the next attempt
}

// TestAnalysis is the verdict of a review about one failing test.
type TestAnalysis struct {
	Test     string    `json:"test"`               // name of the test
	Analysis string    `json:"analysis,omitempty"` // the reviewer's explanation of the failure
	Fault    TestFault `json:"fault"`              // never ""
}

// TestFault says whether a failing test or the tested code is wrong.
type TestFault string

// The faults.
const (
	CodeWrong TestFault = "code_wrong"
	TestWrong TestFault = "test_wrong"
	BothWrong TestFault = "both"
)

// BlockedReason says why a task is BLOCKED.
type BlockedReason struct {
	Type        BlockType `json:"type"`                  // kind of thing that the task waits for
	Description string    `json:"description,omitempty"` // the reason in words; "": Type says all
	WaitingOn   []string  `json:"waitingOn,omitempty"`   // IDs of tasks, or names of outside things, at the time Since
	Since       time.Time `json:"since,omitzero"`        // time of the change in whole seconds, because models read it
}

// BlockType is the kind of thing that a BLOCKED task waits for.
type BlockType string

// The kinds. [Editor.Evaluate] ends the first two, once the tasks are COMPLETE. The
// director has to end the others.
const (
	ByDependency BlockType = "dependency"           // tasks in DependsOn are not COMPLETE
	BySubtask    BlockType = "waiting_subtask"      // tasks in WaitingFor are not COMPLETE
	ByAbandoned  BlockType = "dependency_abandoned" // one of those tasks is ABANDONED
	ByExternal   BlockType = "external"             // something outside of the run is missing
	ByReplanning BlockType = "needs_replanning"     // the plan does not fit any more
)

// byTasks reports whether the task waits for other tasks.
func (t BlockType) byTasks() bool {
	return t == ByDependency || t == BySubtask || t == ByAbandoned
}

var blockTypes = []BlockType{ByDependency, BySubtask, ByAbandoned, ByExternal, ByReplanning}

// Checkpoint is what a worker that has paused needs to resume.
type Checkpoint struct {
	ID      string          `json:"id,omitempty"`      // name of the pause; "": none
	Resume  string          `json:"resume"`            // the next thing to do, in words
	Partial json.RawMessage `json:"partial,omitempty"` // unfinished result, as JSON; nil: none
	Files   []string        `json:"files,omitempty"`   // paths that the worker was working on
	Branch  string          `json:"branch,omitempty"`  // branch of the attempt that has paused
	Commit  string          `json:"commit,omitempty"`  // last commit on Branch at the pause
}

// EscalationType is the cause for which a worker asks the director.
type EscalationType string

// The types of escalations.
const (
	NeedsResearch      EscalationType = "NEEDS_RESEARCH"      // something has to be found out first
	NeedsReplanning    EscalationType = "NEEDS_REPLANNING"    // the plan does not fit
	SpecMismatch       EscalationType = "SPEC_MISMATCH"       // the task contradicts the spec
	NeedsClarification EscalationType = "NEEDS_CLARIFICATION" // the task is not clear
	BlockedExternal    EscalationType = "BLOCKED_EXTERNAL"    // something outside of the run is missing
	ScopeTooLarge      EscalationType = "SCOPE_TOO_LARGE"     // the task is too large for one worker
)

var escalationTypes = []EscalationType{NeedsResearch, NeedsReplanning, SpecMismatch, NeedsClarification, BlockedExternal, ScopeTooLarge}

// Escalation is a question of a worker to the director.
type Escalation struct {
	Type        EscalationType `json:"type"`                  // cause of the question
	Reason      string         `json:"reason"`                // the worker's explanation
	Needs       string         `json:"needs,omitempty"`       // the thing that would help
	Affected    []string       `json:"affected,omitempty"`    // names of other parts of the work that it concerns
	NonBlocking bool           `json:"nonBlocking,omitempty"` // the worker did not wait
}

// needs returns the IDs of the tasks that must be COMPLETE before t starts or resumes.
// The slice is the caller's.
func (t *Task) needs() []string {
	needs := slices.Clone(t.DependsOn)
	for _, id := range t.WaitingFor {
		if !slices.Contains(needs, id) {
			needs = append(needs, id)
		}
	}
	return needs
}
