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
var Messages = []Message{
	PlanRequest, PlanResponse, ReplanRequest, SubPlanResponse, CodeRequest, CodeResponse, CodeFixRequest, TestRequest, TestResponse,
	FixPlanMessage, VerifyRequest, VerifyResponse, Correction, EscalationSent, StepComplete, StepIsBlocked, GoalComplete, Abort,
}

// EventRunFinished is the kind of the last record.
const EventRunFinished = "delivery.run.finished"
