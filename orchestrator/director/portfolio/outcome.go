package portfolio

import (
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// The errors of runs, beside orchestrator.ErrCanceled and orchestrator.ErrBudget.
//
// Warnings have the code ErrRule, and "portfolio/round-failed", "portfolio/ungraded" and
// "portfolio/no-money": Who is the project that a round failed of, that has no score, or that
// could not make all its rounds.
const (
	ErrBadProjects = agent.Code("portfolio/bad-projects") // the input has faults, which the text names
	ErrNoRound     = agent.Code("portfolio/no-round")     // no round of any project could be graded
	ErrRule        = agent.Code("portfolio/rule")         // a rule failed, panicked, or answered out of its range
)

// Input is what a run works on.
type Input[I any] struct {
	Projects []Entry[I]  `json:"projects"`        // projects, at least one
	Limits   team.Limits `json:"limits,omitzero"` // limits of this run; a zero field is that of the Config
}

// Entry is a project and what its first round is given.
type Entry[I any] struct {
	Project
	Input I `json:"input"` // input of Config.Work
}

// Outcome is what came of a run. It is there beside an error, too. Status is
//
//   - Completed: all projects that were not killed made all their rounds, each graded.
//   - Partial: a project did not, and at least one round was graded.
//   - OutOfBudget, with orchestrator.ErrBudget: money or time ended before a round was
//     graded.
//   - Canceled, with orchestrator.ErrCanceled.
//   - Failed, with a code of this package.
type Outcome[O any] struct {
	orchestrator.Outcome // has no Score; Unverified has the IDs of projects that are not graded

	Projects []Report[O] `json:"projects"` // reports in the order of the input
}

// Report is what became of a project.
type Report[O any] struct {
	Project
	Rounds int             `json:"rounds"`           // rounds that were begun
	Spent  providers.Usage `json:"spent,omitzero"`   // usage of all of them
	Last   *O              `json:"last,omitempty"`   // outcome of its last round; nil: there was none
	Error  string          `json:"error,omitempty"`  // error of that round; "": none
	Killed string          `json:"killed,omitempty"` // reason why it was killed; "": it was not
}

// State is what a run exposes while it works.
type State struct {
	Phase    orchestrator.Status `json:"phase"`          // orchestrator.Running, or the status of the outcome
	Left     providers.NanoUSD   `json:"left,omitempty"` // money to be shared out; 0: none, or there is no limit
	Projects []projectState      `json:"projects"`       // states in the order of the input
}

// projectState is where a project is.
type projectState struct {
	Project
	Rounds  int               `json:"rounds"`            // rounds that were begun
	Running bool              `json:"running,omitempty"` // a round is under way
	Budget  providers.NanoUSD `json:"budget,omitempty"`  // budget of the round under way; 0: none
	Spent   providers.NanoUSD `json:"spent,omitempty"`   // cost of all rounds that have ended
}
