package director

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// Input is what is wanted of a run. In JSON, unknown fields are faults.
type Input struct {
	Objective string                     `json:"objective,omitempty"` // the task in words; required, but with Board
	Spec      map[string]json.RawMessage `json:"spec,omitempty"`      // requirements by area, such as db or ui; nil: none

	// Tasks are those that the run begins with. Nil has the director plan them.
	Tasks []blackboard.Definition `json:"tasks,omitempty"`

	// Board continues a run that has ended: the Board of its Outcome. Tasks that were
	// under way continue from what was committed. Those that were delivered are reviewed, and
	// merged if they had passed. Objective and Spec, where they are set, take the place of
	// the board's, and what has passed is reviewed again; Tasks are added to it.
	// Merges of that run that went to a branch of its own, by worktree.Config.AllowDirty,
	// are there if Main of the next worktree.Config is its Outcome.Branch.
	Board *blackboard.Board `json:"board,omitempty"`

	// Files and Drafts are the artifacts of that run, if it had no worktrees: the Files and
	// Drafts of its Outcome.
	Files  map[string]string `json:"files,omitempty"`
	Drafts map[string]string `json:"drafts,omitempty"`

	// Answers are given to tasks that wait for a person in Board, by the task's ID: they
	// serve that Board and no later question. One for a task that Board does not have is
	// ErrInput; one whose task waits no more is a warning.
	Answers map[string]Answer `json:"answers,omitempty"`

	// AnsweredBy says who gave Answers, by the task's ID. Without an entry that is not
	// known. The run's log has it as an EventHumanAnswered.
	AnsweredBy map[string]string `json:"answeredBy,omitempty"`

	Limits team.Limits `json:"limits,omitzero"` // limits of this run; a zero field is that of the Config
}

// The errors of runs, beside orchestrator.ErrBudget and orchestrator.ErrCanceled.
const (
	ErrInput         = agent.Code("director/invalid-input")
	ErrDecomposition = agent.Code("director/decomposition") // the director did not plan tasks that can be done
	ErrWorktree      = agent.Code("director/worktree")      // there is no repository to work in
	ErrNothingDone   = agent.Code("director/nothing-done")  // every task was abandoned
	ErrWaiting       = agent.Code("director/waiting-human")
	ErrStuck         = agent.Code("director/stuck")
)

// validate says why a run does not start.
func (in Input) validate() error {
	var f team.Faults
	f.CheckAt("limits", in.Limits)
	f.If(strings.TrimSpace(in.Objective) == "" && in.Board == nil, "objective is empty")
	f.Text("objective", in.Objective)
	for _, area := range slices.Sorted(maps.Keys(in.Spec)) {
		f.If(strings.TrimSpace(area) == "" || !json.Valid(in.Spec[area]), "spec[%q] has no name or is no JSON", area)
	}
	f.If(in.Board == nil && len(in.Answers) > 0, "answers is set, but board is not: no task waits for one")
	for _, id := range slices.Sorted(maps.Keys(in.AnsweredBy)) {
		_, answered := in.Answers[id]
		f.If(!answered, "answeredBy[%q]: answers has no %q", id, id)
	}
	for _, id := range slices.Sorted(maps.Keys(in.Answers)) {
		if fault := in.Answers[id].fault(taskOptions); fault != "" {
			f.Add("answers[%q]: %s", id, fault)
		}
	}
	if err := f.Err(); err != nil {
		return team.Fail(ErrInput, "%w", err)
	}
	return nil
}

// Outcome is the result of a run, also beside an error. End says how it ended; Status
// follows from it and from what is done: see the package. Spent is of this run; Board.Spent
// has that of the runs before which the board continues, too.
type Outcome struct {
	orchestrator.Outcome // Score is not set; Unverified has the IDs of tasks that are complete in part

	End     Phase                    `json:"end"`               // phase in which the run has ended
	Board   *blackboard.Board        `json:"board,omitempty"`   // the board at the end, see Input.Board; nil: there is none
	Files   map[string]string        `json:"files,omitempty"`   // artifacts of a run without worktrees, by path
	Drafts  map[string]string        `json:"drafts,omitempty"`  // artifacts that have not passed, by task
	Pending []string                 `json:"pending,omitempty"` // IDs of tasks that are not final
	Summary map[blackboard.State]int `json:"summary,omitempty"` // number of tasks in each state
	Branch  string                   `json:"branch,omitempty"`  // branch that merges went to; "": there are no worktrees
}

// State is what a run exposes while it works, and at its end.
type State struct {
	Phase    Phase                  `json:"phase"`              // phase of the run
	Board    *blackboard.Board      `json:"board,omitempty"`    // the board without the memories of tasks; nil: there is none yet
	Ready    []string               `json:"ready"`              // IDs of READY tasks, in the order of their dispatch
	Blocked  []blockedTask          `json:"blocked"`            // BLOCKED tasks and why
	Active   []string               `json:"active"`             // IDs of ACTIVE tasks
	Asked    []string               `json:"asked"`              // keys of open questions
	Replans  int                    `json:"replans"`            // number of re-plans so far
	Warnings []orchestrator.Warning `json:"warnings,omitempty"` // warnings so far
}

// blockedTask is a task and what it waits for.
type blockedTask struct {
	ID     string                   `json:"id"`     // ID of the task
	Reason blackboard.BlockedReason `json:"reason"` // thing that it waits for
}

// fault says what is wrong with an answer to a question with those options; "": nothing.
func (a Answer) fault(options []string) string {
	switch {
	case !slices.Contains(options, a.Action):
		return fmt.Sprintf("action is %q, want one of %q", a.Action, options)
	case a.Action == ActionEdit && len(a.Criteria) == 0 && len(a.Spec) == 0:
		return "action is edit, but criteria and spec are empty"
	}
	for i, criterion := range a.Criteria {
		if strings.TrimSpace(criterion) == "" {
			return fmt.Sprintf("criteria[%d] is empty", i)
		}
	}
	return ""
}

// The options of questions.
var (
	taskOptions     = []string{ActionRetry, ActionEdit, ActionAccept, ActionAbandon, ActionAbandonBranch}
	externalOptions = []string{ActionProvided, ActionAbandon, ActionAbandonBranch}
	runOptions      = []string{ActionRetry, ActionStop}
)

// done is what a run has achieved.
type done struct {
	any   bool // a task is complete
	whole bool // none was given up, or completed in part
}

// status is that of a run which has ended in phase because of err, and the error that it
// returns.
func (d done) status(end Phase, err error) (orchestrator.Status, error) {
	switch end { //nolint:exhaustive // the others are no ends
	case Canceled:
		return orchestrator.Canceled, err
	case Completed:
		if d.any && d.whole {
			return orchestrator.Completed, nil
		}
		if d.any {
			return orchestrator.Partial, nil
		}
		return orchestrator.Failed, team.Fail(ErrNothingDone, "every task was abandoned")
	case BudgetExhausted:
		if !errors.Is(err, orchestrator.ErrBudget) {
			err = team.Fail(orchestrator.ErrBudget, "%w", err)
		}
		if !d.any {
			return orchestrator.OutOfBudget, err
		}
	}
	if d.any {
		return orchestrator.Partial, err
	}
	return orchestrator.Failed, err
}
