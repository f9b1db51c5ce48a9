package director

// Names that only tests need: what agents are asked, and what the director answers.
const (
	EventAttemptReset  = eventAttemptReset
	EventResultDropped = eventResultDropped
	EventSliceFinished = eventSliceFinished
	EventSpecChanged   = eventSpecChanged
	EventTaskEdited    = eventTaskEdited

	StatusComplete = statusComplete
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
