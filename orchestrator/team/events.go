package team

import (
	"encoding/json"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// Kind is the kind of a record that a team emits: "<team>.<noun>.<verb>". A team has a typed
// constant for each of its kinds:
//
//	const EventPoemWritten team.Kind = "poetry.poem.written"
//
// A [Run] emits these by itself, for a team named "poetry":
//
//	poetry.run.started      Asked
//	poetry.run.finished     Status, Usage; at every end
//	poetry.warning.raised   Warning
//	poetry.agent.started    Who, Try; by a Seat
//	poetry.agent.finished   Who, Try, Usage; by a Seat
//	poetry.agent.failed     Who, Try, Usage, Text: why; by a Seat
//	poetry.agent.retried    Who, Try: the next one, Wait before it, Text: why; by a Seat
type Kind string

// Event is the data of the records that a Run emits, and what all records of a team have.
// The Event of a team embeds it. The kind says which fields are set.
type Event struct {
	Path    string                `json:"path,omitempty"`    // machine that the record is about; "": that of the run
	Moves   []string              `json:"moves,omitempty"`   // moves of that machine since its last record, as "state -move-> state"
	Asked   string                `json:"asked,omitempty"`   // request of the run
	Who     string                `json:"who,omitempty"`     // member that was called
	Try     int                   `json:"try,omitempty"`     // number of the try, from 1
	Wait    time.Duration         `json:"wait,omitzero"`     // wait before the try; 0: none
	Text    string                `json:"text,omitempty"`    // reason in words
	Warning *orchestrator.Warning `json:"warning,omitempty"` // warning that was raised
	Status  orchestrator.Status   `json:"status,omitempty"`  // status at the end of the run
	Usage   *providers.Usage      `json:"usage,omitempty"`   // usage of the call, or of the run
}

func (e *Event) common() *Event { return e }

// Telling is a pointer to an [Event], or to a struct that embeds one.
type Telling interface{ common() *Event }

// Emit writes a record of the run: e as Encode writes it, with the moves of the run's machine
// since the last record. e may be nil: then the record has only those.
func (r *Run) Emit(c *orchestrator.Context, kind Kind, e Telling) { r.trail.emit(c, kind, e) }

// own returns a kind of this team: noun and verb are as in [Kind].
func (r *Run) own(noun, verb string) Kind { return Kind(r.Team + "." + noun + "." + verb) }

// trail has the moves of one machine that no record has told.
type trail struct {
	path  string
	moves []string
}

func (t *trail) emit(c *orchestrator.Context, kind Kind, e Telling) {
	if e == nil {
		e = &Event{}
	}
	all := e.common()
	all.Path, all.Moves, t.moves = t.path, t.moves, nil
	c.Emit(string(kind), raw(e))
}

// raw is v in the dialect; v itself if it has no JSON form: then the engine says so.
func raw(v any) any {
	data, err := Encode(v)
	if err != nil {
		return v
	}
	return json.RawMessage(data)
}
