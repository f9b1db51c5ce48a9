package portfolio

import (
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// The kinds of the records that a run emits.
const (
	EventRunStarted      = "portfolio.run.started"
	EventRunFinished     = "portfolio.run.finished"
	EventMoneyAllocated  = "portfolio.money.allocated"
	EventProjectPromoted = "portfolio.project.promoted"
	EventProjectKilled   = "portfolio.project.killed"
	EventRoundStarted    = "portfolio.round.started"
	EventRoundFinished   = "portfolio.round.finished"
	EventWarningRaised   = "portfolio.warning.raised"
)

// Event is the data of all these records.
type Event struct {
	Moves []string `json:"moves,omitempty"` // of the phase machine since the last record, as "phase -event-> phase"

	Project string                `json:"project,omitempty"` // project.*, round.*
	Stage   Stage                 `json:"stage,omitempty"`   // project.*: the one it has now
	Round   int                   `json:"round,omitempty"`   // round.*, from 1
	Score   *float64              `json:"score,omitempty"`   // round.finished: nil is not graded
	Text    string                `json:"text,omitempty"`    // project.killed: why; round.finished: its error
	Orders  []Order               `json:"orders,omitempty"`  // money.allocated
	Budget  providers.NanoUSD     `json:"budget,omitempty"`  // money.allocated: what was shared out; round.started: of the round; 0: no limit
	Usage   *providers.Usage      `json:"usage,omitempty"`   // round.finished, run.finished
	Warning *orchestrator.Warning `json:"warning,omitempty"` // warning.raised
	Status  orchestrator.Status   `json:"status,omitempty"`  // run.finished
}
