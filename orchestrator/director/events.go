package director

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// The kinds of records that a run emits. Their data is an Event, of which the named
// fields are set.
const (
	EventPhaseChanged       = "director.phase.changed"       // From, To, On
	EventTaskAdded          = "director.task.added"          // Task, Definition, Who: the task that caused it
	EventTaskEdited         = "director.task.edited"         // Task, Edit, Text: why
	EventTaskMoved          = "director.task.moved"          // Task, From, To, On, Who: the role, Text: the reason
	EventTaskDispatched     = "director.task.dispatched"     // Task, Attempt, Who: the profile, Branch
	EventSliceFinished      = "director.slice.finished"      // Task, Attempt, Count: tool calls, Text: the commit
	EventCheckFinished      = "director.check.finished"      // Task, Attempt, Alignment, On: the verdict
	EventWorkerNudged       = "director.worker.nudged"       // Task, Attempt, On: the tone
	EventInsightShared      = "director.insight.shared"      // Task, Text
	EventDecisionLogged     = "director.decision.logged"     // Task, Text
	EventSpecChanged        = "director.spec.changed"        // Text: the area
	EventSuggestionReviewed = "director.suggestion.reviewed" // Task: who suggests, Who: the new task, On: approved, rejected or merged, Text: why
	EventEscalationRaised   = "director.escalation.raised"   // Task, On: the type, Text
	EventReviewFinished     = "director.review.finished"     // Task, Attempt, On: the outcome, Text
	EventCommitMerged       = "director.commit.merged"       // Task, Attempt, Text: the commit
	EventMergeFailed        = "director.merge.failed"        // Task, Attempt, On: the kind, Files
	EventAttemptFailed      = "director.attempt.failed"      // Task, Attempt, On: the kind, Text
	EventAttemptReset       = "director.attempt.reset"       // Task, Attempt: the next one
	EventResultDropped      = "director.result.dropped"      // Task, Attempt: of a result that came too late
	EventRunStagnated       = "director.run.stagnated"       // Count: failures
	EventRunReplanned       = "director.run.replanned"       // Count: how many re-plans there were, On: changed or unchanged, Text: why
	EventHumanAsked         = "director.human.asked"         // Task, On: the question's key, Text
	EventHumanAnswered      = "director.human.answered"      // Task, On: the question's key, Text: the action; of Input.Answers: Task, Who, Text
	EventBudgetExceeded     = "director.budget.exceeded"     // Text
	EventWarningRaised      = "director.warning.raised"      // Warning
	EventRunFinished        = "director.run.finished"        // To, Status, Text
)

// Event is the data of the records that a run emits.
type Event struct {
	Task       string                 `json:"task,omitempty"`
	Attempt    int                    `json:"attempt,omitempty"`
	From       string                 `json:"from,omitempty"` // a state or phase
	To         string                 `json:"to,omitempty"`
	On         string                 `json:"on,omitempty"`
	Who        string                 `json:"who,omitempty"`
	Branch     string                 `json:"branch,omitempty"`
	Count      int                    `json:"count,omitempty"`
	Alignment  *float64               `json:"alignment,omitempty"` // 0 to 100
	Files      []string               `json:"files,omitempty"`
	Definition *blackboard.Definition `json:"definition,omitempty"`
	Edit       *blackboard.Edit       `json:"edit,omitempty"`
	Warning    *orchestrator.Warning  `json:"warning,omitempty"`
	Status     orchestrator.Status    `json:"status,omitempty"`
	Text       string                 `json:"text,omitempty"`
}

// warn notes what went wrong without ending the run. The same one is noted once.
func (r *run) warn(c *orchestrator.Context, code, who, format string, args ...any) {
	w := orchestrator.Warning{Code: "director/" + code, Who: who, Message: prompt.OneLine(fmt.Sprintf(format, args...))}
	if slices.Contains(r.state.Warnings, w) {
		return
	}
	r.state.Warnings = append(r.state.Warnings, w)
	c.Emit(EventWarningRaised, Event{Warning: &w})
}
