package hierarchy

import (
	"fmt"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// The kinds of a run's records and which fields of their Event are set, beside Path
// and Moves.
const (
	EventRunStarted     = "hierarchy.run.started"
	EventRouteDecided   = "hierarchy.route.decided"   // Route
	EventChecksFinished = "hierarchy.checks.finished" // Checks
	EventRunFinished    = "hierarchy.run.finished"    // Status, Score, Usage

	EventDepartmentStarted   = "hierarchy.department.started"
	EventDepartmentAnalyzed  = "hierarchy.department.analyzed"  // Analysis
	EventHeadAsked           = "hierarchy.head.asked"           // Basis: the head answers directly
	EventSpecialistsSelected = "hierarchy.specialists.selected" // Agents
	EventDepartmentReviewed  = "hierarchy.department.reviewed"  // Agents, and their Reviews in this order
	EventSynthesisReplaced   = "hierarchy.synthesis.replaced"   // Agents: whose output is used, Score, Message: why
	EventDepartmentFinished  = "hierarchy.department.finished"  // Status, Score, Usage
	EventDepartmentFailed    = "hierarchy.department.failed"    // Status, Usage, Message: why
	EventDepartmentSkipped   = "hierarchy.department.skipped"   // Status, Message: why
	EventDepartmentCanceled  = "hierarchy.department.canceled"  // Status

	// Of specialists, and of heads that answer or write a synthesis. Each attempt that
	// started finishes.
	EventAttemptStarted     = "hierarchy.attempt.started"     // Attempt, Feedback on the one before
	EventAttemptFinished    = "hierarchy.attempt.finished"    // Attempt, Score, Decision; Message: why it has no output or no score
	EventSpecialistFinished = "hierarchy.specialist.finished" // Status, Result without its review and attempts
)

// Event is the data of the records that a run emits. The kind says which fields are
// set.
type Event struct {
	Path string `json:"path"` // "run", "dept/<id>" (its head, too) or "dept/<id>/spec/<agent>"

	// Moves are the transitions of the path's machine since its last record, as
	// "state -event-> state". Each transition is in one record.
	Moves []string `json:"moves,omitempty"`

	Route    *routing.Route         `json:"route,omitempty"`
	Analysis *routing.Analysis      `json:"analysis,omitempty"`
	Basis    Basis                  `json:"basis,omitempty"`
	Agents   []string               `json:"agents,omitempty"`
	Attempt  *int                   `json:"attempt,omitempty"` // from 0
	Feedback string                 `json:"feedback,omitempty"`
	Score    *float64               `json:"score,omitempty"` // 0 to 100
	Decision grading.Decision       `json:"decision,omitempty"`
	Result   *SpecialistResult      `json:"result,omitempty"`
	Reviews  []grading.ReviewStatus `json:"reviews,omitempty"`
	Checks   *Checks                `json:"checks,omitempty"`
	Status   string                 `json:"status,omitempty"`
	Message  string                 `json:"message,omitempty"`
	Usage    *providers.Usage       `json:"usage,omitempty"`
}

// tracker is one state machine of a run with the path of its records.
type tracker[S ~string] struct {
	path  string
	table *fsm.Table[S, Move, string]
	shown *S // its state, a field of State
	moves []string
}

func newTracker[S ~string](path string, t *fsm.Table[S, Move, string], shown *S) *tracker[S] {
	*shown = t.Start(nil).Current()
	return &tracker[S]{path: path, table: t, shown: shown}
}

// Fire moves the machine and returns the new state. A move that the table refuses is a
// mistake of this package: Fire panics.
func (t *tracker[S]) Fire(m Move) S {
	from := *t.shown
	to, err := t.table.Check(from, m, "")
	if err != nil {
		panic(fmt.Errorf("hierarchy: %s: %w", t.path, err))
	}
	*t.shown = to
	t.moves = append(t.moves, fmt.Sprintf("%s -%s-> %s", from, m, to))
	return to
}

// Phase returns the state of the machine.
func (t *tracker[S]) Phase() S { return *t.shown }

// emit writes a record with the moves since the last one.
func (t *tracker[S]) emit(c *orchestrator.Context, kind string, e Event) {
	e.Path, e.Moves = t.path, t.moves
	t.moves = nil
	c.Emit(kind, e)
}
