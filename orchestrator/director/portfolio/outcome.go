package portfolio

import (
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// The errors of runs, beside orchestrator.ErrCanceled and orchestrator.ErrBudget.
const (
	ErrBadProjects = agent.Code("portfolio/bad-projects") // of the input: the text names each fault
	ErrNoRound     = agent.Code("portfolio/no-round")     // no round of any project came to an end that could be graded
)

// The codes of warnings. Who is a project's ID.
const (
	WarnRoundFailed = "portfolio/round-failed" // a round ended with an error; its project gets no more money
	WarnUngraded    = "portfolio/ungraded"     // a project has no score; it gets no more money
	WarnBadScore    = "portfolio/bad-score"    // Hooks.Score gave one that is not within 0 to 1, or panicked
	WarnBadBrief    = "portfolio/bad-brief"    // Hooks.Brief panicked, and the project gets no more money
	WarnNoMoney     = "portfolio/no-money"     // a project could not make all its rounds
)

// Input is what a run works on.
type Input[I any] struct {
	Projects []Entry[I] `json:"projects"` // at least one
}

// Entry is a project and what its first round is given.
type Entry[I any] struct {
	Project
	Input I `json:"input"`
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
	orchestrator.Outcome // without a Score; Unverified has the IDs of projects that are not graded

	Projects []Report[O] `json:"projects"` // in the order of the input
}

// Report is what became of a project.
type Report[O any] struct {
	Project
	Rounds int             `json:"rounds"` // that were begun
	Spent  providers.Usage `json:"spent,omitzero"`
	Last   *O              `json:"last,omitempty"`   // what came of its last round; nil: there was none
	Error  string          `json:"error,omitempty"`  // of the same
	Killed string          `json:"killed,omitempty"` // why
}

// State is what a run exposes while it works.
type State struct {
	Phase    Phase             `json:"phase"`
	Left     providers.NanoUSD `json:"left,omitempty"` // to be shared out; 0: nothing, or there is no limit
	Projects []ProjectState    `json:"projects"`
}

// ProjectState is where a project is.
type ProjectState struct {
	Project
	Rounds  int               `json:"rounds"`
	Running bool              `json:"running,omitempty"`
	Budget  providers.NanoUSD `json:"budget,omitempty"` // of the round under way
	Spent   providers.NanoUSD `json:"spent,omitempty"`
}
