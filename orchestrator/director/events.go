package director

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// The kinds of records that a run emits, beside those of a [team.Kind]. Their data is an
// Event, of which the named fields are set. director.run.finished has To, too: the end.
const (
	EventPhaseChanged       team.Kind = "director.phase.changed"       // From, To, On
	EventTaskAdded          team.Kind = "director.task.added"          // Task, Definition, Who: the task that caused it
	eventTaskEdited         team.Kind = "director.task.edited"         // Task, Edit, Text: why
	EventTaskMoved          team.Kind = "director.task.moved"          // Task, From, To, On, Who: the role, Text: the reason
	EventTaskDispatched     team.Kind = "director.task.dispatched"     // Task, Attempt, Who: the profile, Branch
	eventSliceFinished      team.Kind = "director.slice.finished"      // Task, Attempt, Count: tool calls, Text: the commit
	EventCheckFinished      team.Kind = "director.check.finished"      // Task, Attempt, Alignment, On: the verdict
	EventWorkerNudged       team.Kind = "director.worker.nudged"       // Task, Attempt, On: the tone
	EventInsightShared      team.Kind = "director.insight.shared"      // Task, Text
	EventDecisionLogged     team.Kind = "director.decision.logged"     // Task, Text
	eventSpecChanged        team.Kind = "director.spec.changed"        // Text: the area
	EventSuggestionReviewed team.Kind = "director.suggestion.reviewed" // Task: who suggests, Who: the new task, On: approved, rejected or merged, Text: why
	EventEscalationRaised   team.Kind = "director.escalation.raised"   // Task, On: the type, Text
	EventReviewFinished     team.Kind = "director.review.finished"     // Task, Attempt, On: the outcome, Text
	EventCommitMerged       team.Kind = "director.commit.merged"       // Task, Attempt, Text: the commit
	EventMergeFailed        team.Kind = "director.merge.failed"        // Task, Attempt, On: the kind, Files
	EventAttemptFailed      team.Kind = "director.attempt.failed"      // Task, Attempt, On: the kind, Text
	eventAttemptReset       team.Kind = "director.attempt.reset"       // Task, Attempt: the next one
	eventResultDropped      team.Kind = "director.result.dropped"      // Task, Attempt: of a result that came too late
	EventRunStagnated       team.Kind = "director.run.stagnated"       // Count: failures
	EventRunReplanned       team.Kind = "director.run.replanned"       // Count: how many re-plans there were, On: changed or unchanged, Text: why
	EventHumanAsked         team.Kind = "director.human.asked"         // Task, On: the question's key, Text
	EventHumanAnswered      team.Kind = "director.human.answered"      // Task, On: the question's key, Text: the action; of Input.Answers: Task, Who, Text
	EventBudgetExceeded     team.Kind = "director.budget.exceeded"     // Text
)

// Event is the data of the records that a run emits. Who is a role, a member or a task, and
// Text a reason in words: the kind says it.
type Event struct {
	team.Event

	Task       string                 `json:"task,omitempty"`       // ID of the task that it is about
	Attempt    int                    `json:"attempt,omitempty"`    // number of the attempt, from 1
	From       string                 `json:"from,omitempty"`       // state or phase before
	To         string                 `json:"to,omitempty"`         // state or phase afterwards
	On         string                 `json:"on,omitempty"`         // event, kind or choice
	Branch     string                 `json:"branch,omitempty"`     // branch of the attempt
	Count      int                    `json:"count,omitempty"`      // number of what the kind says
	Alignment  *float64               `json:"alignment,omitempty"`  // alignment, 0 to 100; nil: not known
	Files      []string               `json:"files,omitempty"`      // paths that conflict
	Definition *blackboard.Definition `json:"definition,omitempty"` // task that was added
	Edit       *blackboard.Edit       `json:"edit,omitempty"`       // change of the task
}

// warn notes what went wrong without ending the run. The same one is noted once.
func (r *run) warn(c *orchestrator.Context, code, who, format string, args ...any) {
	w := orchestrator.Warning{Code: string(r.Code(code)), Who: who, Message: prompt.OneLine(fmt.Sprintf(format, args...))}
	if !slices.Contains(r.out.Warnings, w) {
		r.Warn(c, r.Code(code), who, "%s", w.Message)
	}
}
