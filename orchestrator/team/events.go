package team

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// Kind is the kind of a record that a team emits: "<team>.<noun>.<verb>". A team has a typed
// constant for each of its kinds:
//
//	const EventPoemWritten team.Kind = "poetry.poem.written"
//
// Beside these, each team has the kinds that are a [Common].
type Kind string

// Common is a kind that each team has, without the team's name. A [Run] emits them by itself.
type Common string

// The kinds that each team has, and which fields of their Event are set. A [Seat] emits those
// of agents.
const (
	RunStarted    Common = "run.started"    // Asked
	RunFinished   Common = "run.finished"   // Status, Usage; at every end
	WarningRaised Common = "warning.raised" // Warning
	AgentStarted  Common = "agent.started"  // Who, Try
	AgentFinished Common = "agent.finished" // Who, Try, Usage, Dropped
	AgentFailed   Common = "agent.failed"   // Who, Try, Usage, Text: why
	AgentRetried  Common = "agent.retried"  // Who, Try: the next one, Wait before it, Text: why
)

// Of returns the kind of a team: WarningRaised.Of("poetry") is "poetry.warning.raised".
func (k Common) Of(team string) Kind { return Kind(team + "." + string(k)) }

// Common returns the kind without the name of its team. It is for programs that show several
// teams:
//
//	switch team.Kind(rec.Kind).Common() { case team.WarningRaised: … }
func (k Kind) Common() Common {
	_, common, _ := strings.Cut(string(k), ".")
	return Common(common)
}

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
	Dropped []string              `json:"dropped,omitempty"` // fields of the answer that nobody asked for, and that are left out
	Status  orchestrator.Status   `json:"status,omitempty"`  // status at the end of the run
	Usage   *providers.Usage      `json:"usage,omitempty"`   // usage of the call, or of the run
}

func (e *Event) common() *Event { return e }

// Telling is a pointer to an [Event], or to a struct that embeds one.
type Telling interface{ common() *Event }

// Emit writes a record of the run: e as Encode writes it, with the moves of the run's machine
// since the last record. e may be nil: then the record has only those.
func (r *Run) Emit(c *orchestrator.Context, kind Kind, e Telling) { r.trail.emit(c, kind, e) }

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
