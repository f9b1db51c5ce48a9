package hierarchy

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Input is one request to the team.
type Input struct {
	Prompt string   `json:"prompt"`         // blank is ErrEmptyRequest, more than Limits.PromptBytes is ErrRequestTooLarge
	Only   []string `json:"only,omitempty"` // restricts the choice to these department IDs, all are scored still; empty: all

	// RequiresSpecialists: nil leaves it to the complexity of each brief, false lets
	// heads answer alone, true asks specialists even for a simple brief.
	RequiresSpecialists *bool `json:"requiresSpecialists,omitempty"`

	Vars    map[string]string    `json:"vars,omitempty"`    // Vars are the host's, for Rules.Steps
	History map[string][]float64 `json:"history,omitempty"` // History has the scores of earlier work, 0 to 100, by agent ID, for Rules.Threshold: see Learn
	Limits  team.Limits          `json:"limits,omitzero"`   // Limits of this run; fields that are set stand over those of the Config
}

// Outcome is the result of a request, also beside an error, with every finished report.
//
// Status is Completed: all chosen departments are done and all outputs that had to be
// graded passed; Partial: a department is missing or in Unverified, or a call was refused
// because money, calls or time were used up; OutOfBudget: they were used up before any
// department was done; Failed; or Canceled.
//
// Score is the overall quality, 0 to 100; nil: no department that is done has one.
// Unverified are the IDs of departments that are done, but whose output had to be graded
// and did not pass.
type Outcome struct {
	orchestrator.Outcome

	// Message is UnableToGenerate, for users, if there is no result; else "".
	Message string `json:"message,omitempty"`

	Route   routing.Route `json:"route"`
	Reports []Report      `json:"reports"` // of the chosen departments, in the order of the route

	// Output has the outputs of departments that are done by their OutputKey, and
	// under "result" that of the master, if there is one.
	Output map[string]json.RawMessage `json:"output"`

	Checks Checks `json:"checks"`
}

// done are the reports of departments that are done.
func (o Outcome) done() []Report {
	return slices.DeleteFunc(slices.Clone(o.Reports), func(r Report) bool { return r.Status != DepartmentDone })
}

// UnableToGenerate is the message for users of a run without a result; the error says
// why.
const UnableToGenerate = "Unable to generate content"

// The codes of warnings. Who is an agent for the first three and the master's agents,
// else a department.
const (
	WarnUngraded     = "hierarchy/ungraded"      // an output could not be graded
	WarnAssumedScore = "hierarchy/assumed-score" // it has Policy.AssumeScore in place of a grade
	WarnAgentFailed  = "hierarchy/agent-failed"  // no attempt of an agent gave an output

	WarnBudget              = "hierarchy/budget"               // a call was refused: money, calls or time were used up
	WarnFallback            = "hierarchy/fallback"             // partial synthesis failure: the best specialist's output is used
	WarnBelowGate           = "hierarchy/below-gate"           // no attempt at the synthesis passed: the best one is used
	WarnRefinement          = "hierarchy/refinement"           // a round over the synthesis failed: the previous one is used
	WarnConflicts           = "hierarchy/conflicts"            // contradictions were not resolved
	WarnNoSpecialists       = "hierarchy/no-specialists"       // specialists are required but none is active: the head answered
	WarnSpecialistsRejected = "hierarchy/specialists-rejected" // no specialist passed: the head answered
	WarnDepartmentFailed    = "hierarchy/department-failed"
	WarnDepartmentSkipped   = "hierarchy/department-skipped" // what it depends on is missing
	WarnCheck               = "hierarchy/check"              // a check of the whole result failed to run
)

// Checks are the checks of the whole result. They only inform.
type Checks struct {
	CrossDepartment CheckStatus `json:"crossDepartment"`
	Consistency     CheckStatus `json:"consistency"`
	Issues          []Issue     `json:"issues"` // of both, in the order found
}

// CheckStatus says how a check went.
type CheckStatus string

// The statuses of checks.
const (
	CheckPassed  CheckStatus = "passed"
	CheckFailed  CheckStatus = "failed" // it found issues, or ended in an error
	CheckSkipped CheckStatus = "skipped"
)

// Basis says who made the output of a department.
type Basis string

// The bases.
const (
	FromSpecialists  Basis = "specialists"        // synthesis of passing results
	HeadOnly         Basis = "head-only"          // no specialist was asked
	HeadAfterFailure Basis = "head-after-failure" // no specialist passed
	FallbackOutput   Basis = "fallback-output"    // the best specialist's, because the synthesis failed
)

// Report is the result of a department.
type Report struct {
	DepartmentID    string `json:"departmentId"`
	DepartmentName  string `json:"departmentName"`
	HeadExecutionID string `json:"headExecutionId"` // of the run and the department

	Status DepartmentPhase `json:"status"` // done, failed, skipped or canceled
	Basis  Basis           `json:"basis,omitempty"`
	Output json.RawMessage `json:"output,omitempty"` // see Text

	// QualityScore is RawQuality as a whole number, halves up. Both are 0 to 100, and
	// 0 unless Status is done and Ungraded is "".
	QualityScore int     `json:"qualityScore"`
	RawQuality   float64 `json:"rawQuality"`
	Ungraded     string  `json:"ungraded,omitempty"` // why the head's work has no score; "": it has one

	// SpecialistQuality is the quality of the specialists' work when none passed and
	// the head answered instead.
	SpecialistQuality *float64 `json:"specialistQuality,omitempty"`

	Gate       float64 `json:"gate"`
	PassedGate bool    `json:"passedGate"` // only informs

	// Specialists are the results in the order of selection, the rejected ones
	// included.
	Specialists []SpecialistResult `json:"specialistResults"`

	Metadata Metadata        `json:"metadata"`
	Usage    providers.Usage `json:"usage,omitzero"` // of all calls for this department
}

// Metadata counts a department's specialists and its time.
type Metadata struct {
	AnalysisTime          time.Duration `json:"analysisTime"`
	SpecialistsUsed       int           `json:"specialistsUsed"`
	TotalExecutionTime    time.Duration `json:"totalExecutionTime"`
	SuccessfulSpecialists int           `json:"successfulSpecialists"`
	FailedSpecialists     int           `json:"failedSpecialists"`
}

// SpecialistResult is the result of one specialist. Output and Score are those of its
// best attempt, the later of equals.
type SpecialistResult struct {
	AgentID        string               `json:"agentId"`
	AgentName      string               `json:"agentName"`
	Specialization string               `json:"specialization"`
	Output         json.RawMessage      `json:"output,omitempty"` // whole; see Text
	Score          float64              `json:"qualityScore"`     // 0 to 100
	ScoreDefaulted bool                 `json:"scoreDefaulted,omitempty"`
	Ungraded       string               `json:"ungraded,omitempty"`     // why there is no Score; "": there is one
	Assumed        string               `json:"assumed,omitempty"`      // why Score is Policy.AssumeScore; "": it is not
	Threshold      float64              `json:"threshold"`              // 0 to 100; 0: no gate
	ReviewStatus   grading.ReviewStatus `json:"reviewStatus,omitempty"` // "" until the head has reviewed
	ReviewNotes    string               `json:"reviewNotes"`
	ExecutionTime  time.Duration        `json:"executionTime"` // of all attempts, grading excluded
	Attempts       []Attempt            `json:"attempts"`
	Usage          providers.Usage      `json:"usage,omitzero"` // of all attempts and their grading
}

// Attempt is one try of an agent.
type Attempt struct {
	Number         int              `json:"attempt"`          // from 0
	Agent          string           `json:"agent,omitempty"`  // the agent that a Retrier named; "": the usual one
	Prompt         string           `json:"prompt"`           // its SHA-256
	Output         json.RawMessage  `json:"output,omitempty"` // nil: it failed
	Grade          *Grade           `json:"grade,omitempty"`  // nil: not graded
	Score          float64          `json:"score"`            // 0 to 100; 0 without an output
	ScoreDefaulted bool             `json:"scoreDefaulted,omitempty"`
	Ungraded       string           `json:"ungraded,omitempty"` // why Output has no Score; "": it has one
	Assumed        string           `json:"assumed,omitempty"`  // why Score is Policy.AssumeScore; "": it is not
	Decision       grading.Decision `json:"decision,omitempty"` // "" without an output, a score or a gate
	Feedback       string           `json:"feedback,omitempty"` // one line for the next attempt
	Error          string           `json:"error,omitempty"`
	Duration       time.Duration    `json:"duration"` // of the agent's work
}

// Text returns an output for people and prompts: the words of an agent that answered in
// words, else JSON. No output is "".
func Text(output json.RawMessage) string {
	var s string
	if json.Unmarshal(output, &s) == nil {
		return s
	}
	return string(output)
}

// State is what a run exposes: Run.State reads it.
type State struct {
	Phase       Phase             `json:"phase"`
	Departments []DepartmentState `json:"departments"` // the chosen ones, in the order of the route
}

// DepartmentState is where a department is.
type DepartmentState struct {
	ID           string            `json:"id"`
	Phase        DepartmentPhase   `json:"phase"`
	QualityScore *int              `json:"qualityScore,omitempty"` // of one that is done
	Specialists  []SpecialistState `json:"specialists"`            // in the order of selection
}

// SpecialistState is where a specialist is.
type SpecialistState struct {
	AgentID  string          `json:"agentId"`
	Phase    SpecialistPhase `json:"phase"`
	Attempts int             `json:"attempts"`        // started
	Score    *float64        `json:"score,omitempty"` // of the last attempt that has one
}

// The codes of errors. ErrUnable matches every run without a result, beside its cause.
const (
	ErrUnable          = agent.Code("hierarchy/unable")
	ErrEmptyRequest    = agent.Code("hierarchy/empty-request")     // the prompt is blank
	ErrRequestTooLarge = agent.Code("hierarchy/request-too-large") // the prompt exceeds Limits.PromptBytes
	ErrPartial         = agent.Code("hierarchy/partial")           // Policy.FailOnPartial and the result is partial
)
