package director

import "encoding/json"

// What the agents are asked, as Request.Op. Each has its input and its answer.
const (
	opDecompose = "decompose" // the director: planInput, Decomposition
	opReview    = "review"    // the director: changeInput, changeReview
	opEscalate  = "escalate"  // the director: escalationInput, Resolution
	opSplit     = "split"     // the director: escalationInput, Decomposition
	opReplan    = "replan"    // the director: replanInput, Replan
	opConflict  = "conflict"  // the director: conflictInput, conflictAnswer
	opQA        = "qa"        // the strategist: ReviewInput, Review
	opAssess    = "assess"    // the guardian: AssessInput, Assessment
	opWork      = "work"      // a worker, at the beginning of an attempt: WorkInput, WorkerResult
	opContinue  = "continue"  // a worker, in every further slice: SliceInput, WorkerResult
)

// TaskPlan is a task as a model plans it.
type TaskPlan struct {
	ID          string   `json:"id" jsonschema:"a short name that no other task has"`                                          // name, which no other task has
	Title       string   `json:"title,omitempty"`                                                                              // title; "": none
	Description string   `json:"description,omitempty"`                                                                        // the work in words; "": none
	Component   string   `json:"component"`                                                                                    // part of the product
	Phase       string   `json:"phase"`                                                                                        // kind of work
	Profile     string   `json:"assigned_worker_profile,omitempty" jsonschema:"empty: the one for the phase"`                  // kind of worker; "": the one for the phase
	Priority    int      `json:"priority,omitempty" jsonschema:"higher is more important"`                                     // higher is more important
	DependsOn   []string `json:"depends_on,omitempty" jsonschema:"IDs of tasks that must be complete before this one"`         // IDs of tasks that come first
	Criteria    []string `json:"acceptance_criteria,omitempty" jsonschema:"what the result is reviewed against, at least one"` // criteria of the review
	Risk        *float64 `json:"risk,omitempty" min:"0" max:"1" jsonschema:"0 (safe) to 1 (risky)"`                            // risk, 0 to 1; nil: 0.5
}

// decomposition is the director's plan: of the whole project, or of a task that is split.
type decomposition struct {
	Tasks []TaskPlan `json:"tasks"`
}

// changeReview is what the director decides about suggestions of workers, and about tasks
// that need one that was abandoned.
type changeReview struct {
	// Suggestions that are not listed are rejected.
	Suggestions []suggestionVerdict `json:"suggestions,omitempty"`

	// CanProceed are the IDs of the dependents that continue without the abandoned task.
	CanProceed []string `json:"can_proceed,omitempty"`
}

// suggestionVerdict is about the suggestion of that number, from 1.
type suggestionVerdict struct {
	Number  int    `json:"number"`
	Approve bool   `json:"approve"`
	Reason  string `json:"reason,omitempty"`
}

// resolution is what the director decides about an escalation. With Resolved false a
// person is asked, unless Abandon is set.
type resolution struct {
	Resolved      bool                       `json:"resolved"`
	Clarification string                     `json:"clarification,omitempty" jsonschema:"said to the worker"`
	Decisions     []DecisionPlan             `json:"decisions,omitempty"`
	Spec          map[string]json.RawMessage `json:"spec,omitempty" jsonschema:"new requirements, by area"`
	Tasks         []TaskPlan                 `json:"tasks,omitempty" jsonschema:"that must be complete before the task goes on"`
	Abandon       bool                       `json:"abandon,omitempty" jsonschema:"the task is not to be done"`
	Reason        string                     `json:"reason,omitempty"`
}

// replanAnswer is how the director changes the tasks. An empty one changes nothing.
type replanAnswer struct {
	Add       []TaskPlan     `json:"add,omitempty"`
	Edit      []taskEdit     `json:"edit,omitempty"`
	Abandon   []abandonPlan  `json:"abandon,omitempty"`
	Decisions []DecisionPlan `json:"decisions,omitempty"`
	Reason    string         `json:"reason,omitempty"`
}

// taskEdit changes a task that is not final. An empty field leaves that as it is.
type taskEdit struct {
	ID          string   `json:"id"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Priority    *int     `json:"priority,omitempty"`
	Criteria    []string `json:"acceptance_criteria,omitempty"`
	AddNeeds    []string `json:"add_depends_on,omitempty"`
	DropNeeds   []string `json:"drop_depends_on,omitempty"`
}

// abandonPlan abandons a task, and with Branch all that need it. Without Branch, those
// that need it directly continue without it where CanProceed lists them, and are blocked
// otherwise.
type abandonPlan struct {
	ID         string   `json:"id"`
	Branch     bool     `json:"branch,omitempty"`
	CanProceed []string `json:"can_proceed,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

// conflictAnswer is what the director decides about a task whose merge failed.
type conflictAnswer struct {
	DependsOn []string `json:"depends_on,omitempty" jsonschema:"IDs of tasks that it should wait for from now on"`
	Reason    string   `json:"reason,omitempty"`
}

// Assessment is what the guardian answers.
type Assessment struct {
	Alignment  float64 `json:"alignment" min:"0" max:"100" jsonschema:"0 (off the task) to 100 (on it)"` // alignment, 0 to 100
	Trajectory string  `json:"trajectory,omitempty" jsonschema:"IMPROVING, STABLE or WORSENING"`         // anything else: it follows from the alignments
	Repeating  bool    `json:"repeating,omitempty" jsonschema:"the worker goes in circles"`              // the worker goes in circles
	Issue      string  `json:"issue,omitempty" jsonschema:"what is wrong"`                               // the fault in words; "": none
	Nudge      string  `json:"nudge,omitempty" jsonschema:"what to do instead"`                          // advice to the worker; "": nothing is said
}

// The values of WorkerResult.Status, beside "complete".
const (
	statusWaiting = "waiting_subtask" // the worker waits for the tasks of Spawn
	statusFailed  = "failed"
)

// WorkerResult is what a worker answers at the end of its work on a task.
type WorkerResult struct {
	Status     string `json:"status" enum:"complete,waiting_subtask,failed"`                              // "complete", "waiting_subtask" or "failed"
	ResultPath string `json:"result_path,omitempty" jsonschema:"the file with the result, with complete"` // file with the result
	Summary    string `json:"summary,omitempty"`                                                          // the work in words

	// Artifact is the text of the file at ResultPath, of a worker that has not written
	// it. Without worktrees it is where the result is.
	Artifact string `json:"artifact,omitempty" jsonschema:"the text of the file at result_path, if you have not written it"`

	Suggested  []Suggestion       `json:"suggested_tasks,omitempty" jsonschema:"further tasks that you suggest"`       // further tasks
	Insights   []InsightPlan      `json:"insights,omitempty" jsonschema:"what other tasks should know"`                // knowledge for other tasks
	Decisions  []DecisionPlan     `json:"decisions,omitempty" jsonschema:"of design"`                                  // decisions of design
	Escalation *EscalationRequest `json:"escalation,omitempty" jsonschema:"what the director should look at"`          // question to the director; nil: none
	Checkpoint *CheckpointPlan    `json:"checkpoint,omitempty" jsonschema:"what you want to have back when you go on"` // state that the worker wants back; nil: none
	Spawn      []Suggestion       `json:"spawn,omitempty" jsonschema:"tasks to wait for, with waiting_subtask"`        // tasks to wait for, with "waiting_subtask"
}

// Suggestion is a task that a worker wants.
type Suggestion struct {
	TaskPlan

	Rationale string `json:"rationale,omitempty"` // reason for the task; "": none

	// FromParent, in Spawn, starts the task from what the worker has made so far, and
	// merges its result there. It is abandoned with the worker's task.
	FromParent bool `json:"from_parent,omitempty"`
}

// InsightPlan is something that one task found out and others can use.
type InsightPlan struct {
	ID      string   `json:"id,omitempty"`                                                // ID; "": the board gives one
	Topic   []string `json:"topic,omitempty" jsonschema:"tags; none: of interest to all"` // tags; none: of interest to all
	Summary string   `json:"summary"`                                                     // the insight in words
}

// DecisionPlan is a decision of design.
type DecisionPlan struct {
	Area      string   `json:"area"`                                                                                                           // area, such as db
	AppliesTo []string `json:"applies_to,omitempty" jsonschema:"IDs of tasks; none: all, or all of the component that is named like the area"` // IDs of tasks; none: all, or those of the component of that name
	Summary   string   `json:"summary"`                                                                                                        // the decision in words
	Reason    string   `json:"reason,omitempty"`                                                                                               // reason; "": none
}

// EscalationRequest is what a worker wants from the director.
type EscalationRequest struct {
	Type        string       `json:"type" enum:"NEEDS_RESEARCH,NEEDS_REPLANNING,SPEC_MISMATCH,NEEDS_CLARIFICATION,BLOCKED_EXTERNAL,SCOPE_TOO_LARGE"` // kind of question
	Reason      string       `json:"reason"`                                                                                                         // explanation in words
	Needs       string       `json:"needs,omitempty" jsonschema:"with BLOCKED_EXTERNAL, what is needed from outside"`                                // thing that is needed from outside; "": Reason says it
	Affected    []string     `json:"affected,omitempty"`                                                                                             // other parts that it concerns
	Spawn       []Suggestion `json:"spawn,omitempty" jsonschema:"tasks that would help"`                                                             // tasks that would help
	NonBlocking bool         `json:"non_blocking,omitempty" jsonschema:"you went on all the same"`                                                   // the worker went on all the same
}

// CheckpointPlan is what a worker that pauses wants to have back.
type CheckpointPlan struct {
	Resume  string          `json:"resume" jsonschema:"what to do next"`                 // next thing to do
	Partial json.RawMessage `json:"partial,omitempty" jsonschema:"what you have so far"` // unfinished result; nil: none
	Files   []string        `json:"files,omitempty"`                                     // paths of files
}

// Answer is a person's answer to a question of a run; its options say which actions fit.
type Answer struct {
	Action   string                     `json:"action" enum:"retry,edit,accept,abandon,abandon_branch,provided,stop"` // one of the actions
	Guidance string                     `json:"guidance,omitempty"`                                                   // words to the worker, with retry, edit and provided
	Criteria []string                   `json:"criteria,omitempty"`                                                   // criteria of the task from now on, with edit
	Spec     map[string]json.RawMessage `json:"spec,omitempty"`                                                       // new requirements by area, with edit
}

// The actions of an Answer.
const (
	ActionRetry         = "retry"          // another attempt, and retries count from zero; a paused run continues
	ActionEdit          = "edit"           // Criteria or Spec, then retry
	ActionAccept        = "accept"         // the last delivery is taken as it is
	ActionAbandon       = "abandon"        // the task
	ActionAbandonBranch = "abandon_branch" // the task and all that need it
	ActionProvided      = "provided"       // the thing from outside is there
	ActionStop          = "stop"           // a run that is paused ends
)
