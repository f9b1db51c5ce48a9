package discussion

import (
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// The kinds of the records that a run emits. Each started has its finished, or failed, at
// every end of a run, except the phase that ends it.
const (
	EventRunStarted         = "discussion.run.started"
	EventRunFinished        = "discussion.run.finished"
	EventPhaseStarted       = "discussion.phase.started"
	EventPhaseFinished      = "discussion.phase.finished"
	EventRoundStarted       = "discussion.round.started"
	EventRoundFinished      = "discussion.round.finished"
	EventAgentStarted       = "discussion.agent.started"
	EventAgentFinished      = "discussion.agent.finished"
	EventAgentFailed        = "discussion.agent.failed"
	EventMessageAdded       = "discussion.message.added"
	EventIdeaAdded          = "discussion.idea.added"
	EventIdeaRepeated       = "discussion.idea.repeated" // a duplicate, not added
	EventIdeaScored         = "discussion.idea.scored"
	EventSelectionMade      = "discussion.selection.made"
	EventSelectionOverruled = "discussion.selection.overruled" // the leader's choice was not the highest score
	EventContextElided      = "discussion.context.elided"      // messages were left out of an agent's prompt
	EventWarningRaised      = "discussion.warning.raised"
)

// Event is the data of all these records.
type Event struct {
	Moves []string `json:"moves,omitempty"` // of the phase machine since the last record, as "phase -event-> phase"

	Topic   string                `json:"topic,omitempty"`   // run.started
	Phase   Phase                 `json:"phase,omitempty"`   // phase.*
	Round   int                   `json:"round,omitempty"`   // round.*, agent.*; 0: outside of the rounds
	Role    Role                  `json:"role,omitempty"`    // agent.*
	Turn    int                   `json:"turn,omitempty"`    // agent.*
	Text    string                `json:"text,omitempty"`    // agent.failed: why; selection.made: by what
	Message *Message              `json:"message,omitempty"` // message.added
	Idea    *Idea                 `json:"idea,omitempty"`    // idea.*, selection.made; selection.overruled: the leader's
	Count   int                   `json:"count,omitempty"`   // context.elided: of messages
	Warning *orchestrator.Warning `json:"warning,omitempty"` // warning.raised
	Status  orchestrator.Status   `json:"status,omitempty"`  // run.finished
	Usage   *providers.Usage      `json:"usage,omitempty"`   // run.finished
}

// emit writes a record with the moves since the last one.
func (r *run) emit(c *orchestrator.Context, kind string, e Event) {
	e.Moves = r.phases.Moves()
	c.Emit(kind, e)
}

// fire moves the phase machine.
func (r *run) fire(c *orchestrator.Context, event string) {
	from := r.phases.Phase()
	to := r.phases.Fire(event)
	if from == to {
		return
	}
	if from != Created { // which nothing started
		r.emit(c, EventPhaseFinished, Event{Phase: from})
	}
	r.emit(c, EventPhaseStarted, Event{Phase: to})
}

// warn records a problem, as a record and in the outcome.
func (r *run) warn(c *orchestrator.Context, code, who, message string) {
	w := orchestrator.Warning{Code: code, Who: who, Message: message}
	r.out.Warnings = append(r.out.Warnings, w)
	r.emit(c, EventWarningRaised, Event{Warning: &w})
}
