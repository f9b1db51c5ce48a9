package hierarchy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Input is one request to the team.
type Input struct {
	Prompt              string               `json:"prompt"`                        // Prompt is the request; a blank one, or one of more than Bounds.PromptBytes, is ErrInput
	Only                []string             `json:"only,omitempty"`                // Only restricts the choice to these department IDs; all are scored still; empty: all
	RequiresSpecialists *bool                `json:"requiresSpecialists,omitempty"` // RequiresSpecialists false lets heads answer alone, true asks specialists even for a simple brief; nil: by its complexity
	Vars                map[string]string    `json:"vars,omitempty"`                // Vars are the host's, for Rules.Steps
	History             map[string][]float64 `json:"history,omitempty"`             // History has scores of earlier work, 0 to 100, by agent ID, for Rules.Threshold: see Learn
	Limits              team.Limits          `json:"limits,omitzero"`               // Limits of this run; fields that are set stand over those of the Config
}

// Outcome is the result of a request, also beside an error, with every finished report.
//
// Status is Completed: all chosen departments are done and all outputs that had to be
// graded passed; Partial: a department is missing or in Unverified, or a call was refused
// because money, calls or time were used up; OutOfBudget: they were used up before any
// department was done, or while a Permit was asked; Failed; or Canceled.
//
// Score is the overall quality, 0 to 100; nil: no department that is done has one.
// Unverified are the IDs of departments that are done, but whose output had to be graded
// and did not pass, or is a specialist's in the place of a synthesis that failed.
type Outcome struct {
	orchestrator.Outcome

	Message string                     `json:"message,omitempty"` // Message is a sentence for users if there is no result; else ""
	Route   routing.Route              `json:"route"`             // Route says which departments were chosen, and why
	Reports []Report                   `json:"reports"`           // Reports are those of the chosen departments, in the order of the route
	Output  map[string]json.RawMessage `json:"output"`            // Output has those of departments that are done by their OutputKey, and under "result" that of the master, if any
	Checks  Checks                     `json:"checks"`            // Checks are those of the whole result
}

// Result is what the team made, as text: the master's, or that of each department under its
// key. "" means that there is none.
func (o Outcome) Result() string {
	if text, ok := o.Output[resultKey]; ok {
		return Text(text)
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(o.Output)) {
		parts = append(parts, "## "+page.Words(key)+"\n\n"+Text(o.Output[key])+"\n\n")
	}
	return strings.Join(parts, "")
}

// done are the reports of departments that are done.
func (o Outcome) done() []Report {
	return slices.DeleteFunc(slices.Clone(o.Reports), func(r Report) bool { return r.Status != DepartmentDone })
}

const unableToGenerate = "Unable to generate content" // message for users; the error says why

// Checks are the checks of the whole result. They only inform.
type Checks struct {
	CrossDepartment CheckStatus `json:"crossDepartment"` // CrossDepartment is that of Rules.Validate
	Consistency     CheckStatus `json:"consistency"`     // Consistency is that of Master.Consistency or Rules.Consistency
	Issues          []Issue     `json:"issues"`          // Issues of both, in the order found
}

// CheckStatus says how a check went: passed; failed, if it found issues or ended in an error;
// or skipped, if there is no check, or no budget for it.
type CheckStatus string

const checkPassed, checkFailed, checkSkipped CheckStatus = "passed", "failed", "skipped"

// Basis says who made the output of a department.
type Basis string

// The makers of a department's output.
const (
	FromSpecialists  Basis = "specialists"        // synthesis of passing results
	HeadOnly         Basis = "head-only"          // no specialist was asked
	HeadAfterFailure Basis = "head-after-failure" // no specialist passed
	FallbackOutput   Basis = "fallback-output"    // output of the best specialist, because the synthesis failed
)

// Report is the result of a department.
type Report struct {
	DepartmentID    string `json:"departmentId"`    // DepartmentID is Department.ID
	DepartmentName  string `json:"departmentName"`  // DepartmentName is Department.Name
	HeadExecutionID string `json:"headExecutionId"` // HeadExecutionID names the run and the department

	Status DepartmentPhase `json:"status"`           // Status is done, failed, skipped or canceled
	Basis  Basis           `json:"basis,omitempty"`  // Basis says who made Output; "": nobody began
	Output json.RawMessage `json:"output,omitempty"` // Output is the work: see Text; nil: there is none

	QualityScore int     `json:"qualityScore"`       // QualityScore is RawQuality as a whole number, halves up
	RawQuality   float64 `json:"rawQuality"`         // RawQuality is 0 to 100, and 0 unless Status is done and Ungraded is ""
	Ungraded     string  `json:"ungraded,omitempty"` // Ungraded says why the head's work has no score; "": it has one

	SpecialistQuality *float64 `json:"specialistQuality,omitempty"` // SpecialistQuality is that of specialists of whom none passed, so that the head answered; nil: one passed, or none worked

	Gate       float64 `json:"gate"`       // Gate is Department.Gate
	PassedGate bool    `json:"passedGate"` // PassedGate only informs

	HeadAttempts []Attempt `json:"headAttempts,omitempty"` // HeadAttempts are the tries of the head that were to be graded, of its answer or of each synthesis in turn; empty without Policy.GradeHeads

	Specialists []SpecialistResult `json:"specialists"`    // Specialists are the results in the order of selection, the rejected ones included
	Metadata    Metadata           `json:"metadata"`       // Metadata counts specialists and time
	Usage       providers.Usage    `json:"usage,omitzero"` // Usage of all calls for this department
}

// Metadata counts a department's specialists and its time.
type Metadata struct {
	AnalysisTime          time.Duration `json:"analysisTime"`          // AnalysisTime includes Rules.Brief
	SpecialistsUsed       int           `json:"specialistsUsed"`       // SpecialistsUsed is the number of results
	TotalExecutionTime    time.Duration `json:"totalExecutionTime"`    // TotalExecutionTime is that of the department
	SuccessfulSpecialists int           `json:"successfulSpecialists"` // SuccessfulSpecialists is the number of results that passed
	FailedSpecialists     int           `json:"failedSpecialists"`     // FailedSpecialists is the number of the others
}

// SpecialistResult is the result of one specialist. Output and Score are those of its
// best attempt, the later of equals.
type SpecialistResult struct {
	AgentID        string               `json:"agentId"`                  // AgentID is Agent.ID
	AgentName      string               `json:"agentName"`                // AgentName is Agent.Name
	Specialization string               `json:"specialization"`           // Specialization is Agent.Specialization
	Output         json.RawMessage      `json:"output,omitempty"`         // Output is whole; see Text; nil: there is none
	Score          float64              `json:"score"`                    // Score is 0 to 100; 0 without an output
	ScoreDefaulted bool                 `json:"scoreDefaulted,omitempty"` // ScoreDefaulted: Score is 75, because nobody gave one
	Ungraded       string               `json:"ungraded,omitempty"`       // Ungraded says why there is no Score; "": there is one
	Assumed        string               `json:"assumed,omitempty"`        // Assumed says why Score is Policy.AssumeScore; "": it is not
	Threshold      float64              `json:"threshold"`                // Threshold is 0 to 100; 0: no gate
	ReviewStatus   grading.ReviewStatus `json:"reviewStatus,omitempty"`   // ReviewStatus is "" until the head has reviewed
	ReviewNotes    string               `json:"reviewNotes"`              // ReviewNotes explain ReviewStatus
	ExecutionTime  time.Duration        `json:"executionTime"`            // ExecutionTime of all attempts, grading excluded
	Attempts       []Attempt            `json:"attempts"`                 // Attempts in order; empty: none was made
	Usage          providers.Usage      `json:"usage,omitzero"`           // Usage of all attempts and their grading
}

// Attempt is one try of an agent.
type Attempt struct {
	Number         int              `json:"number"`                   // Number of the try, from 0
	Agent          string           `json:"agent,omitempty"`          // Agent that a Retrier named; "": the usual one
	Prompt         string           `json:"prompt"`                   // Prompt is its SHA-256
	Output         json.RawMessage  `json:"output,omitempty"`         // Output is nil if the try failed
	Grade          *Grade           `json:"grade,omitempty"`          // Grade of Output; nil: not graded
	Score          float64          `json:"score"`                    // Score is 0 to 100; 0 without an output
	ScoreDefaulted bool             `json:"scoreDefaulted,omitempty"` // ScoreDefaulted: Score is 75, because nobody gave one
	Ungraded       string           `json:"ungraded,omitempty"`       // Ungraded says why Output has no Score; "": it has one
	Assumed        string           `json:"assumed,omitempty"`        // Assumed says why Score is Policy.AssumeScore; "": it is not
	Decision       grading.Decision `json:"decision,omitempty"`       // Decision is "" without an output or a score
	Feedback       string           `json:"feedback,omitempty"`       // Feedback is one line for the next try
	Error          string           `json:"error,omitempty"`          // Error says why the try failed; "": it did not
	Duration       time.Duration    `json:"duration"`                 // Duration of the agent's work
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
	Phase       Phase             `json:"phase"`       // Phase of the run
	Departments []DepartmentState `json:"departments"` // Departments that were chosen, in the order of the route
}

// DepartmentState is where a department is.
type DepartmentState struct {
	ID           string            `json:"id"`                     // ID of the department
	Phase        DepartmentPhase   `json:"phase"`                  // Phase of the department
	QualityScore *int              `json:"qualityScore,omitempty"` // QualityScore of one that is done; nil: it is not
	Specialists  []SpecialistState `json:"specialists"`            // Specialists in the order of selection
}

// SpecialistState is where a specialist is.
type SpecialistState struct {
	AgentID  string          `json:"agentId"`         // AgentID is Agent.ID
	Phase    SpecialistPhase `json:"phase"`           // Phase of the specialist
	Attempts int             `json:"attempts"`        // Attempts that were started
	Score    *float64        `json:"score,omitempty"` // Score of the last attempt that has one; nil: none has
}

// The codes of errors. ErrUnable matches every run without a result, beside its cause.
const (
	ErrUnable  = agent.Code("hierarchy/unable")
	ErrInput   = agent.Code("hierarchy/input")   // the input has a fault, such as a blank prompt
	ErrPartial = agent.Code("hierarchy/partial") // Policy.FailOnPartial is set and the result is partial
)
