package director

import (
	"encoding/json"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/director/trees"
)

// What agents get, as the JSON of Request.Input. Texts of other agents are data in it.

// planInput is what the director gets for opDecompose.
type planInput struct {
	Objective  string                     `json:"objective"`
	Spec       map[string]json.RawMessage `json:"spec,omitempty"`
	Profiles   []profileInput             `json:"profiles"`
	Phases     []string                   `json:"phases"`
	Components []string                   `json:"components,omitempty"` // nil: any
	MaxTasks   int                        `json:"max_tasks"`
	Left       string                     `json:"left,omitempty"` // money and time that are left, in words; "": no limit
}

// profileInput is a profile as models see it.
type profileInput struct {
	ID     string   `json:"id"`
	Phases []string `json:"phases,omitempty"` // none: any
	Does   string   `json:"does,omitempty"`
	Tools  []string `json:"tools,omitempty"`
}

// graphInput is the tasks and what is known, as the director sees them.
type graphInput struct {
	Objective string                     `json:"objective"`
	Spec      map[string]json.RawMessage `json:"spec,omitempty"`
	Tasks     []taskInput                `json:"tasks"`
	DesignLog []Decision                 `json:"design_log,omitempty"`
	Profiles  []profileInput             `json:"profiles"`
	Phases    []string                   `json:"phases"`
	Left      string                     `json:"left,omitempty"` // money and time that are left, in words; "": no limit
}

// taskInput is a task without what its workers said.
type taskInput struct {
	ID        string           `json:"id"`
	Title     string           `json:"title,omitempty"`
	Component string           `json:"component"`
	Phase     string           `json:"phase"`
	Status    blackboard.State `json:"status"`
	Priority  int              `json:"priority,omitempty"`
	DependsOn []string         `json:"depends_on,omitempty"`
	Criteria  []string         `json:"acceptance_criteria,omitempty"`
	Retries   int              `json:"retry_count,omitempty"`
	Conflicts int              `json:"conflict_count,omitempty"`
	Blocked   *wireBlocked     `json:"blocked_reason,omitempty"`
	Failure   *failureInput    `json:"last_failure,omitempty"`
	Summary   string           `json:"summary,omitempty"`
}

// failureInput is why an attempt failed.
type failureInput struct {
	Kind     blackboard.FailureKind       `json:"kind"`
	Feedback string                       `json:"feedback,omitempty"`
	Criteria []blackboard.CriterionResult `json:"criteria,omitempty"` // criteria that were not met
	Files    []string                     `json:"files,omitempty"`    // files that conflict
}

// changeInput is what the director gets for opReview: suggestions, or dependents of an
// abandoned task.
type changeInput struct {
	Graph       graphInput       `json:"graph"`
	Task        string           `json:"task"` // task that suggests, or was abandoned
	Suggestions []wireSuggestion `json:"suggestions,omitempty"`
	Abandoned   string           `json:"abandoned,omitempty"` // reason why it was abandoned
	Dependents  []string         `json:"dependents,omitempty"`
}

// escalationInput is what the director gets for opEscalate and opSplit.
type escalationInput struct {
	Graph      graphInput        `json:"graph"`
	Task       Task              `json:"task"`
	Attempt    int               `json:"attempt"`
	Escalation EscalationRequest `json:"escalation"`
	Checkpoint *CheckpointPlan   `json:"checkpoint,omitempty"`
}

// replanInput is what the director gets for opReplan.
type replanInput struct {
	Graph    graphInput `json:"graph"`
	Why      string     `json:"why"`
	Replans  int        `json:"replans"` // re-plans before this one
	Failures []string   `json:"failures,omitempty"`
}

// conflictInput is what the director gets for opConflict.
type conflictInput struct {
	Graph   graphInput             `json:"graph"`
	Task    string                 `json:"task"`
	Attempt int                    `json:"attempt"`
	Kind    blackboard.FailureKind `json:"kind"`
	Files   []string               `json:"files,omitempty"`
	Text    string                 `json:"text,omitempty"`
}

// ReviewInput is what the strategist gets. Criteria are answered by their numbers, from 1.
type ReviewInput struct {
	Objective string                     `json:"objective"`             // objective of the run
	Spec      map[string]json.RawMessage `json:"spec,omitempty"`        // requirements by area; nil: none
	Decisions []Decision                 `json:"decisions,omitempty"`   // decisions that apply to the task
	Task      Task                       `json:"task"`                  // task whose work is reviewed
	Attempt   int                        `json:"attempt"`               // number of the attempt, from 1
	Criteria  []Criterion                `json:"criteria"`              // acceptance criteria with their numbers
	Summary   string                     `json:"summary,omitempty"`     // the worker's words
	Artifact  Artifact                   `json:"artifact"`              // the delivered artifact
	Diff      string                     `json:"diff,omitempty"`        // difference to the main branch; "": there are no worktrees
	Checks    *CheckResult               `json:"checks,omitempty"`      // result of the command that was run; nil: none was
	Refine    *Task                      `json:"placeholder,omitempty"` // a TEST task whose criteria are to be refined
}

// Criterion is an acceptance criterion with its number.
type Criterion struct {
	Number int    `json:"number"` // number, from 1
	Text   string `json:"text"`   // the criterion in words
}

// Artifact is what was delivered.
type Artifact struct {
	Path   string `json:"path"`             // path, relative
	Size   int64  `json:"size"`             // size in bytes
	Binary bool   `json:"binary,omitempty"` // it is no text; Text is "" then
	Text   string `json:"text,omitempty"`   // cut, with a note, if it is long
}

// AssessInput is what the guardian gets.
type AssessInput struct {
	Objective string                     `json:"objective"`                    // objective of the run
	Spec      map[string]json.RawMessage `json:"spec,omitempty"`               // requirements by area; nil: none
	Task      Task                       `json:"task"`                         // task of the worker
	Attempt   int                        `json:"attempt"`                      // number of the attempt, from 1
	Messages  []Said                     `json:"messages"`                     // last messages of the worker's conversation
	Metrics   Metrics                    `json:"metrics"`                      // work since the last checkpoint
	Earlier   []float64                  `json:"earlier_alignments,omitempty"` // 0 to 100, the oldest first
	Ignored   int                        `json:"nudges_ignored,omitempty"`     // nudges in a row that changed nothing
}

// Said is a message of a worker's conversation.
type Said struct {
	Role  string   `json:"role"`            // role of the speaker, such as "assistant"
	Text  string   `json:"text,omitempty"`  // text, cut if it is long
	Tools []string `json:"tools,omitempty"` // calls of tools, with their input
}

// Metrics say what a worker did since the last checkpoint: commit, saved checkpoint or
// dispatch.
type Metrics struct {
	SinceMessage string `json:"since_last_message"` // time since its last message, such as "45s"
	Tokens       int64  `json:"tokens"`             // tokens of its model
	ToolCalls    int64  `json:"tool_calls"`         // calls of tools
	Writes       int64  `json:"filesystem_writes"`  // files that it changed
}

// WorkInput is what a worker gets at the beginning of an attempt.
type WorkInput struct {
	Attempt    int                        `json:"attempt"`              // number of the attempt, from 1
	Slice      int                        `json:"slice"`                // number of the slice: 1
	Objective  string                     `json:"objective"`            // objective of the run
	Task       Task                       `json:"task"`                 // task to work on, with the fields of blackboard.Definition
	Profile    profileInput               `json:"profile"`              // profile of the worker
	Spec       map[string]json.RawMessage `json:"spec,omitempty"`       // requirements by area; nil: none
	Decisions  []Decision                 `json:"decisions,omitempty"`  // decisions that apply to the task
	Insights   []wireInsight              `json:"insights,omitempty"`   // insights of other tasks
	Inputs     []delivered                `json:"inputs,omitempty"`     // results of tasks that this one depends on
	Subtasks   []delivered                `json:"subtasks,omitempty"`   // results of tasks that it paused for
	Checkpoint *blackboard.Checkpoint     `json:"checkpoint,omitempty"` // pause to continue from; nil: the work begins anew
	Worktree   *trees.Place               `json:"worktree,omitempty"`   // nil: answer with the artifact's text
	Conflicts  []string                   `json:"conflicts,omitempty"`  // files in it with two versions between conflict markers
	Left       string                     `json:"left,omitempty"`       // money and time that are left, in words; "": no limit
}

// SliceInput is what a worker gets with every further slice.
type SliceInput struct {
	Task     string        `json:"task"`               // ID of the task
	Attempt  int           `json:"attempt"`            // number of the attempt, from 1
	Slice    int           `json:"slice"`              // number of the slice, from 2
	Insights []wireInsight `json:"insights,omitempty"` // new insights; the prompt names them
	Worktree *trees.Place  `json:"worktree,omitempty"` // place of the work; nil: there are no worktrees
}

// delivered is the result of another task.
type delivered struct {
	blackboard.Result

	Text string `json:"text,omitempty"` // cut if it is long; "" with a worktree, which has the file
}

// CheckInput is what Agents.Check gets, with the Op "check": a command to run on a
// commit. Its answer is a [CheckResult]: a command that fails is an answer, no error.
type CheckInput struct {
	Task    string   `json:"task"`    // ID of the task
	Commit  string   `json:"commit"`  // commit to check
	Command []string `json:"command"` // program and arguments
}

// opCheck is what Agents.Check is asked.
const opCheck = "check"

// CheckResult is what a command did.
type CheckResult struct {
	Passed  bool     `json:"passed"`                    // the command has succeeded
	Failed  []string `json:"failed,omitempty"`          // names of failing tests
	Ran     int      `json:"ran,omitempty"`             // number of tests
	Output  string   `json:"output,omitempty"`          // output, cut if it is long
	Seconds float64  `json:"elapsed_seconds,omitempty"` // time that the command took
}
