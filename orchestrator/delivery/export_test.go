package delivery

// The messages that only tests name.
const (
	PlanRequest    = planRequest
	ReplanRequest  = replanRequest
	CodeRequest    = codeRequest
	CodeFixRequest = codeFixRequest
	TestRequest    = testRequest
	TestResponse   = testResponse
	VerifyRequest  = verifyRequest
	VerifyResponse = verifyResponse
	Correction     = correction
	EscalationSent = escalationSent
	StepComplete   = stepComplete
	StepIsBlocked  = stepIsBlocked
	GoalComplete   = goalComplete
	Abort          = abortSent
)

// Messages are all of them.
var Messages = []string{
	PlanRequest, PlanResponse, ReplanRequest, SubPlanResponse, CodeRequest, CodeResponse, CodeFixRequest, TestRequest, TestResponse,
	FixPlanMessage, VerifyRequest, VerifyResponse, Correction, EscalationSent, StepComplete, StepIsBlocked, GoalComplete, Abort,
}

// The kinds that all teams have.
const (
	EventRunFinished   = "delivery.run.finished"
	EventAgentRetried  = "delivery.agent.retried"
	EventAgentFailed   = "delivery.agent.failed"
	EventWarningRaised = "delivery.warning.raised"
)

// Names that only tests use.
const (
	EventPhaseChanged = eventPhaseChanged
	GatePlan          = gatePlan
	GateCode          = gateCode
	GateTest          = gateTest
	GateStep          = gateStep
	GateGoal          = gateGoal
	GateMonitor       = gateMonitor
	RealRun           = "run"
	Completed         = phaseCompleted
	PlanResponse      = planResponse
	SubPlanResponse   = subPlanResponse
	CodeResponse      = codeResponse
	FixPlanMessage    = fixPlanMessage
	Failed            = phaseFailed
	Aborted           = phaseAborted
	TimeExpired       = phaseExpired
)
