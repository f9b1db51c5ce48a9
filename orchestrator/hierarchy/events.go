package hierarchy

import (
	"fmt"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Event is the data of the records that a run emits; which fields are set depends
// on the record's kind:
//
//	run.started                                 run
//	routing.decided                             Route
//	department.started                          dept/<id>
//	department.analyzed                         Analysis
//	department.head_direct                      Basis
//	specialists.selected                        Agents
//	specialist.attempt                          dept/<id>/spec/<agent>: Attempt
//	specialist.retry                            Attempt, Feedback on the one before
//	specialist.graded                           Attempt, Score, Decision
//	specialist.finished                         Status, Result as yet without review (H93)
//	department.reviewed                         Reviews, in the order of Agents
//	synthesis.retry                             Attempt, Feedback on the one before
//	synthesis.fallback                          Agents: whose output is taken, Score, Message: why
//	department.finished, .failed, .skipped      Status, Score, Message
//	validation.finished                         Checks
//	run.finished                                Status, Score, Usage
//
// A department that is canceled ends with department.failed, too.
type Event struct {
	Path string `json:"path"` // "run", "dept/<id>" or "dept/<id>/spec/<agent>"

	// Moves are the transitions of the path's machine since its last record, as
	// "state -event-> state". Every transition is in one record.
	Moves []string `json:"moves,omitempty"`

	Route    *routing.Route         `json:"route,omitempty"`
	Analysis *routing.Analysis      `json:"analysis,omitempty"`
	Basis    Basis                  `json:"basis,omitempty"`
	Agents   []string               `json:"agents,omitempty"`
	Attempt  *int                   `json:"attempt,omitempty"` // from 0
	Feedback string                 `json:"feedback,omitempty"`
	Score    *float64               `json:"score,omitempty"`
	Decision grading.Decision       `json:"decision,omitempty"`
	Result   *SpecialistResult      `json:"result,omitempty"`
	Reviews  []grading.ReviewStatus `json:"reviews,omitempty"`
	Checks   *Checks                `json:"checks,omitempty"`
	Status   string                 `json:"status,omitempty"`
	Message  string                 `json:"message,omitempty"`
	Usage    *providers.Usage       `json:"usage,omitempty"`
}

// actor is one state machine of a run with the path of its records.
type actor[S ~string] struct {
	path    string
	machine *fsm.Machine[S, string, string]
	shown   *S // in the exposed state
	moves   []string
}

func newActor[S ~string](path string, t *fsm.Table[S, string, string], shown *S) *actor[S] {
	a := &actor[S]{path: path, machine: t.Start(nil), shown: shown}
	*shown = a.machine.Current()
	return a
}

// fire moves the machine. A refused event is a mistake in this package.
func (a *actor[S]) fire(event string) {
	entry, err := a.machine.Fire(event, "", "")
	if err != nil {
		panic(fmt.Errorf("hierarchy: %s: %w", a.path, err))
	}
	a.moves = append(a.moves, fmt.Sprintf("%s -%s-> %s", entry.From, entry.Event, entry.To))
	*a.shown = entry.To
}

// is reports whether the machine is in the state s.
func (a *actor[S]) is(s S) bool { return a.machine.Current() == s }

// emit writes a record with the moves since the last one.
func (a *actor[S]) emit(c *orchestrator.Context, kind string, e Event) {
	e.Path, e.Moves = a.path, a.moves
	a.moves = nil
	c.Emit(kind, e)
}
