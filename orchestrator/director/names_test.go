package director

import (
	"io/fs"

	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// Names that only tests need: what agents are asked, and what the director answers.
const (
	EventAttemptReset  = eventAttemptReset
	EventResultDropped = eventResultDropped
	EventSliceFinished = eventSliceFinished
	EventSpecChanged   = eventSpecChanged
	EventTaskEdited    = eventTaskEdited

	StatusComplete = "complete"
	StatusFailed   = statusFailed
	StatusWaiting  = statusWaiting

	OpAssess   = opAssess
	OpCheck    = opCheck
	OpConflict = opConflict
	OpContinue = opContinue
	OpEscalate = opEscalate
	OpQA       = opQA
	OpReplan   = opReplan
	OpReview   = opReview
	OpSplit    = opSplit
	OpWork     = opWork

	PhaseBuild = phaseBuild
	PhasePlan  = phasePlan
	PhaseTest  = phaseTest
	Working    = working
)

type (
	AbandonPlan       = abandonPlan
	BlockedTask       = blockedTask
	ChangeInput       = changeInput
	ChangeReview      = changeReview
	ConflictAnswer    = conflictAnswer
	ConflictInput     = conflictInput
	Decomposition     = decomposition
	EscalationInput   = escalationInput
	Graph             = graphInput
	PlanInput         = planInput
	Replan            = replanAnswer
	ReplanInput       = replanInput
	Resolution        = resolution
	SuggestionVerdict = suggestionVerdict
	TaskEdit          = taskEdit
)

// withDefaults returns a copy of c with what New sets.
func (c Config) withDefaults() Config {
	c = team.Clone(c)
	setDefaults(&c)
	c.Rules = team.FillRules(c.Rules, defaultRules)
	return c
}

// newPrompts reads the templates as New does.
func newPrompts(host fs.FS) (prompt.Set, error) {
	return prompt.New(prompt.Source{Own: ownPrompts, Host: host, Samples: samples()})
}
