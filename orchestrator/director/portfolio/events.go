package portfolio

import (
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// The kinds of the records that a run emits, beside those of a [team.Kind]. Of each, the
// named fields of its Event are set. portfolio.project.promoted has Project, Stage and Score,
// and portfolio.project.killed has Project, Stage and Text: why.
const (
	EventMoneyAllocated  team.Kind = "portfolio.money.allocated" // Orders, Budget: the money that was shared out
	eventProjectPromoted team.Kind = "portfolio.project.promoted"
	eventProjectKilled   team.Kind = "portfolio.project.killed"
	EventRoundStarted    team.Kind = "portfolio.round.started"  // Project, Stage, Round, Budget
	EventRoundFinished   team.Kind = "portfolio.round.finished" // Project, Stage, Round, Score, Usage, Text: its error
)

// Event is the data of all these records.
type Event struct {
	team.Event

	Project string            `json:"project,omitempty"` // ID of the project
	Stage   Stage             `json:"stage,omitempty"`   // stage that it has now
	Round   int               `json:"round,omitempty"`   // number of the round, from 1
	Score   *float64          `json:"score,omitempty"`   // score of the round; nil: it is not graded
	Orders  []Order           `json:"orders,omitempty"`  // orders for all projects
	Budget  providers.NanoUSD `json:"budget,omitempty"`  // money; 0 of a round: no limit
}
