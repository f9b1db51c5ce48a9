package hierarchy

import (
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// The kinds of a run's records, and which fields of their Event are set beside Path and
// Moves. A [team.Run] adds hierarchy.run.started, hierarchy.run.finished with the Score, and
// hierarchy.warning.raised.
const (
	EventRouteDecided   team.Kind = "hierarchy.route.decided"   // Route
	EventChecksFinished team.Kind = "hierarchy.checks.finished" // Checks

	EventDepartmentStarted   team.Kind = "hierarchy.department.started"   // nothing
	EventDepartmentAnalyzed  team.Kind = "hierarchy.department.analyzed"  // Analysis
	EventHeadAsked           team.Kind = "hierarchy.head.asked"           // Basis; the head answers directly
	EventSpecialistsSelected team.Kind = "hierarchy.specialists.selected" // Agents
	EventDepartmentReviewed  team.Kind = "hierarchy.department.reviewed"  // Agents, and their Reviews in this order
	EventSynthesisReplaced   team.Kind = "hierarchy.synthesis.replaced"   // Agents, whose output is used, Score; Text says why
	EventDepartmentFinished  team.Kind = "hierarchy.department.finished"  // Status, Score, Usage
	EventDepartmentFailed    team.Kind = "hierarchy.department.failed"    // Status, Usage; Text says why
	EventDepartmentSkipped   team.Kind = "hierarchy.department.skipped"   // Status; Text says why
	EventDepartmentCanceled  team.Kind = "hierarchy.department.canceled"  // Status

	// Specialists make attempts, and heads that answer or write a synthesis. Each attempt
	// that started finishes.
	EventAttemptStarted     team.Kind = "hierarchy.attempt.started"     // Attempt, Feedback on the one before
	EventAttemptFinished    team.Kind = "hierarchy.attempt.finished"    // Attempt, Score, Decision; Text says why there is no output or no score
	EventSpecialistFinished team.Kind = "hierarchy.specialist.finished" // Status, Result without its review and attempts
)

// Event is the data of the records that a run emits. The kind says which fields are set.
// Path is "run", "dept/<id>", also for its head, or "dept/<id>/spec/<agent>".
type Event struct {
	team.Event

	Route    *routing.Route         `json:"route,omitempty"`    // Route of the request
	Analysis *routing.Analysis      `json:"analysis,omitempty"` // Analysis of the brief
	Basis    Basis                  `json:"basis,omitempty"`    // Basis says why the head answers
	Agents   []string               `json:"agents,omitempty"`   // Agents that the record is about
	Attempt  *int                   `json:"attempt,omitempty"`  // Attempt is the number of the try, from 0
	Feedback string                 `json:"feedback,omitempty"` // Feedback is what the try was told of the last one
	Score    *float64               `json:"score,omitempty"`    // Score is 0 to 100; nil: there is none
	Decision grading.Decision       `json:"decision,omitempty"` // Decision of the gate
	Result   *SpecialistResult      `json:"result,omitempty"`   // Result of the specialist
	Reviews  []grading.ReviewStatus `json:"reviews,omitempty"`  // Reviews of Agents
	Checks   *Checks                `json:"checks,omitempty"`   // Checks of the whole result
}

// UnmarshalJSON reads a record of any version.
func (e *Event) UnmarshalJSON(b []byte) error { return team.DecodeLenient(b, e) }
