package discussion

import (
	"github.com/convene-go/convene/orchestrator/team"
)

// The kinds of the records that a run emits, beside those that are a [team.Common]. Each
// started has its finished, or failed, at every end of a run, except the phase that ends it.
const (
	EventPhaseStarted       team.Kind = "discussion.phase.started"
	EventPhaseFinished      team.Kind = "discussion.phase.finished"
	EventRoundStarted       team.Kind = "discussion.round.started"
	EventRoundFinished      team.Kind = "discussion.round.finished"
	EventMessageAdded       team.Kind = "discussion.message.added"
	EventIdeaAdded          team.Kind = "discussion.idea.added"
	EventIdeaRepeated       team.Kind = "discussion.idea.repeated" // a duplicate, not added
	EventIdeaScored         team.Kind = "discussion.idea.scored"
	EventSelectionMade      team.Kind = "discussion.selection.made"
	EventSelectionOverruled team.Kind = "discussion.selection.overruled" // the leader's choice was not the best
	EventContextElided      team.Kind = "discussion.context.elided"      // messages were left out of an agent's prompt
)

// Event is the data of all these records.
type Event struct {
	team.Event // fields of run.*, agent.* (Who is the ID of the member) and warning.raised; selection.made: Text is what chose it

	Phase   Phase    `json:"phase,omitempty"`   // phase.*
	Round   int      `json:"round,omitempty"`   // round.*, agent.*; 0: outside of the rounds
	Turn    int      `json:"turn,omitempty"`    // agent.*: number of the member's turn in the round
	Message *Message `json:"message,omitempty"` // message.added
	Idea    *Idea    `json:"idea,omitempty"`    // idea.*, selection.made; selection.overruled: the leader's
	Count   int      `json:"count,omitempty"`   // context.elided: number of messages
}
