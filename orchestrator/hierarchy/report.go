package hierarchy

import (
	"encoding/json"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Input is one request to the team.
type Input struct {
	// Prompt is the request. Blank is ErrEmptyRequest, more than Limits.PromptBytes is
	// ErrRequestTooLarge.
	Prompt string `json:"prompt"`

	// RequiresSpecialists: nil leaves it to the complexity of each brief, false lets
	// heads answer alone, true asks specialists even for a simple brief (H30, HC35).
	RequiresSpecialists *bool `json:"requiresSpecialists,omitempty"`

	// Only restricts the choice to these department IDs; all are scored still. Empty is
	// all.
	Only []string `json:"only,omitempty"`

	// Vars are the host's, for hooks.
	Vars map[string]string `json:"vars,omitempty"`

	// History has, by agent ID, the scores of earlier work, 0 to 100: statistics travel
	// in the input (H89). AdaptThreshold reads it.
	History map[string][]float64 `json:"history,omitempty"`
}

// Outcome is what became of a request. It is there beside an error, too, with
// every report that was finished (H70, HX1). Score is the overall quality, 0 to 100
// (H88); Unverified are the IDs of departments that failed or were skipped.
//
// Status is Completed; Partial if a chosen department is missing or the budget
// ran out; Failed; or Canceled.
type Outcome struct {
	orchestrator.Outcome

	Route   routing.Route `json:"route"`
	Reports []Report      `json:"reports"` // of the chosen departments, in the order of the route

	// Output has the outputs of departments that are done by their OutputKey, and
	// under "result" that of the master, if there is one (H85).
	Output map[string]json.RawMessage `json:"output"`

	Checks Checks            `json:"checks"`
	Errors []DepartmentError `json:"errors"`

	// Elapsed is how long the run was worked on, in milliseconds.
	Elapsed int64 `json:"elapsed"`
}

// DepartmentError says what went wrong. Department "" is the master.
type DepartmentError struct {
	Department string `json:"department"`
	Stage      string `json:"stage"`
	Message    string `json:"message"`
}

// Checks are the checks of the whole result (H86, H87). They inform and block
// nothing.
type Checks struct {
	CrossDepartment CheckStatus `json:"crossDepartment"`
	Consistency     CheckStatus `json:"consistency"`
	Issues          []Issue     `json:"issues"` // of both, in the order found
}

// CheckStatus says how a check went: passed, failed or skipped. A check that
// ended in an error failed.
type CheckStatus string

const (
	checkPassed  CheckStatus = "passed"
	checkFailed  CheckStatus = "failed"
	checkSkipped CheckStatus = "skipped"
)

// Basis says whose work the output of a department is.
type Basis string

// The bases.
const (
	FromSpecialists  Basis = "specialists"        // synthesis of what passed
	HeadOnly         Basis = "head-only"          // no specialist was asked
	HeadAfterFailure Basis = "head-after-failure" // no specialist passed (HC27)
	FallbackOutput   Basis = "fallback-output"    // the best specialist's, because the synthesis failed (H72)
)

// The flags of reports.
const (
	flagPartialSynthesis = "partial synthesis failure"
	flagNoSpecialists    = "no specialists available"
	flagAllFailed        = "all specialists failed"
	flagRefinement       = "refinement failed"
	flagConflicts        = "conflicts not resolved"
	flagHeadBelow        = "head below threshold"
)

// Report is what a department hands to the master (H74).
type Report struct {
	DepartmentID    string `json:"departmentId"`
	DepartmentName  string `json:"departmentName"`
	HeadExecutionID string `json:"headExecutionId"` // of the run and the department

	// Status is done, failed, skipped or canceled.
	Status DepartmentPhase `json:"status"`
	Basis  Basis           `json:"basis,omitempty"`
	Output json.RawMessage `json:"output,omitempty"` // see Text

	// QualityScore is RawQuality as a whole number, halves up (H69, HC11). Both are 0
	// to 100, and 0 unless Status is done.
	QualityScore int     `json:"qualityScore"`
	RawQuality   float64 `json:"rawQuality"`

	// SpecialistQuality is what the specialists' work was worth when none passed and
	// the head answered in their place (HC27).
	SpecialistQuality *float64 `json:"specialistQuality,omitempty"`

	Gate       float64 `json:"gate"`
	PassedGate bool    `json:"passedGate"` // informs, blocks nothing (HC34)

	// Specialists are the results in the order of selection, the rejected ones
	// included (H75).
	Specialists []SpecialistResult `json:"specialistResults"`

	Flags    []string        `json:"flags"`
	Metadata Metadata        `json:"metadata"`
	Usage    providers.Usage `json:"usage,omitzero"` // of all calls for this department
}

// Metadata counts a department's specialists and its time (H77).
type Metadata struct {
	AnalysisTime          int64 `json:"analysisTime"` // milliseconds
	SpecialistsUsed       int   `json:"specialistsUsed"`
	TotalExecutionTime    int64 `json:"totalExecutionTime"` // milliseconds
	SuccessfulSpecialists int   `json:"successfulSpecialists"`
	FailedSpecialists     int   `json:"failedSpecialists"`
}

// SpecialistResult is what became of one specialist's work (H76). Output and Score
// are those of its best attempt, the later of equals (HC24).
type SpecialistResult struct {
	AgentID        string               `json:"agentId"`
	AgentName      string               `json:"agentName"`
	Specialization string               `json:"specialization"`
	Output         json.RawMessage      `json:"output,omitempty"` // whole; see Text
	Score          float64              `json:"qualityScore"`     // 0 to 100
	ScoreDefaulted bool                 `json:"scoreDefaulted,omitempty"`
	Threshold      float64              `json:"threshold"`              // 0 to 100; 0: no gate
	ReviewStatus   grading.ReviewStatus `json:"reviewStatus,omitempty"` // "" until the head has reviewed
	ReviewNotes    string               `json:"reviewNotes"`
	ExecutionTime  int64                `json:"executionTime"` // of all attempts, grading excluded, in milliseconds (HC25)
	Attempts       []Attempt            `json:"attempts"`
	Usage          providers.Usage      `json:"usage,omitzero"` // of all attempts and their grading
}

// Attempt is one try of an agent.
type Attempt struct {
	Number         int              `json:"attempt"`          // from 0 (H48)
	Prompt         string           `json:"prompt"`           // its SHA-256
	Output         json.RawMessage  `json:"output,omitempty"` // nil: it failed
	Grade          *Grade           `json:"grade,omitempty"`  // nil: not graded
	Score          float64          `json:"score"`            // 0 to 100; 0 without an output (HC5)
	ScoreDefaulted bool             `json:"scoreDefaulted,omitempty"`
	Decision       grading.Decision `json:"decision,omitempty"` // "" without an output or a gate to pass
	Feedback       string           `json:"feedback,omitempty"` // one line for the next attempt (H52)
	Error          string           `json:"error,omitempty"`
	Duration       int64            `json:"duration"` // of the agent's work, in milliseconds
}

// passed reports whether the result goes into synthesis and approval rate (HC1).
func (s *SpecialistResult) passed(strict bool) bool {
	return s.ReviewStatus == grading.Approved || s.ReviewStatus == grading.RevisionNeeded && !strict
}

func millis(d time.Duration) int64 { return d.Milliseconds() }
