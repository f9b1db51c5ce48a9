package discussion

import (
	"fmt"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// Event is the data of the records that a run emits; which fields are set depends on
// the record's kind:
//
//	discussion.started                          Topic
//	phase.started, phase.finished               Phase
//	round.started, round.finished               Round
//	agent.started, agent.finished               Role, Round, Turn
//	agent.failed                                Role, Round, Turn, Text
//	message.added                               Message (DX19)
//	idea.added, idea.scored                     Idea
//	idea.duplicate, idea.dropped                Idea, Text
//	ideas.unparsed, ideas.below_minimum         Text
//	selection.made                              Idea, Text: by what
//	selection.overruled                         Idea: the leader's (DC19)
//	selection.below_threshold                   Idea
//	context.elided                              Count of messages (DX10)
//	validation.unusable                         Text
//	evaluation.unknown, evaluation.invalid      Text
//	selection.skipped, selection.none           Text
//	report.failed, budget                       Text
//	discussion.finished                         Status, Usage
type Event struct {
	Moves []string `json:"moves,omitempty"` // of the phase machine since the last record, as "phase -event-> phase"

	Phase   Phase            `json:"phase,omitempty"`
	Topic   string           `json:"topic,omitempty"`
	Round   int              `json:"round,omitempty"`
	Turn    int              `json:"turn,omitempty"`
	Role    Role             `json:"role,omitempty"`
	Message *Message         `json:"message,omitempty"`
	Idea    *Idea            `json:"idea,omitempty"`
	Count   int              `json:"count,omitempty"`
	Text    string           `json:"text,omitempty"`
	Status  Status           `json:"status,omitempty"`
	Usage   *providers.Usage `json:"usage,omitempty"`
}

// emit writes a record with the moves since the last one.
func (r *run) emit(c *orchestrator.Context, kind string, e Event) {
	e.Moves = r.moves
	r.moves = nil
	c.Emit(kind, e)
}

// fire moves the phase machine. A refused event is a mistake in this package.
func (r *run) fire(c *orchestrator.Context, event string) {
	entry, err := r.machine.Fire(event, "", "")
	if err != nil {
		panic(fmt.Errorf("discussion: %w", err))
	}
	r.moves = append(r.moves, fmt.Sprintf("%s -%s-> %s", entry.From, entry.Event, entry.To))
	r.state.Phase = entry.To
	if entry.From == entry.To {
		return
	}
	r.emit(c, "phase.finished", Event{Phase: entry.From})
	r.emit(c, "phase.started", Event{Phase: entry.To})
}

// warn notes what went wrong, as a record of that kind and in the outcome (DX16).
func (r *run) warn(c *orchestrator.Context, kind string, role Role, e Event) {
	e.Role, e.Round = role, r.round
	r.emit(c, kind, e)
	r.out.Warnings = append(r.out.Warnings, Warning{Code: kind, Role: role, Round: r.round, Message: e.Text})
}
