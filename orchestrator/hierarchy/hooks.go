package hierarchy

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/routing"
)

// Hooks are the host's own parts of the flow; nil fields are the package's. They
// are deterministic: those without a Context are pure functions of their
// arguments, those with one reach the world through it alone. They change nothing
// that they are given. A panic of a hook is an error of what it was called for
// (HX11).
type Hooks struct {
	// Agents are the roster names that hooks call, besides the team's own.
	Agents []string

	// Route chooses the departments: Primary and Supporting, with a Relevance of
	// each. Mode and Waves are worked out from the dependencies whatever it says. nil:
	// by keywords. Its error is the master's failure (HC33).
	Route func(in Input, departments []Department) (routing.Route, error)

	// Brief writes what the master sends to a department (HC9). needs are the reports
	// of its dependencies, whose results are appended to every brief anyway (H80). nil:
	// the request as it is. Its error, or a blank text, fails the department.
	Brief func(c *orchestrator.Context, in Input, d Department, needs []Report) (string, error)

	// Analyze judges a brief, without the results of dependencies. nil: routing.Analyze
	// by Config.Rules.
	Analyze func(brief string, d Department) routing.Analysis

	// Select chooses specialists, in order, from the active ones of d; another one
	// fails the department. nil: routing.Select. See Recommend (H90).
	Select func(s Selection) []Agent

	// Threshold is the passing threshold, 0 to 100, of an agent. nil:
	// grading.ResolveThreshold. See AdaptThreshold (H89).
	Threshold func(in Input, a Agent, d Department) float64

	// Grade grades one output, once (HC37). nil: the head does. See SelfGrader.
	Grade Grader

	// Resolve settles contradictions between passing results, of which there are at
	// least two, before the synthesis: its note goes into the prompt (H92). nil: see
	// Config.ResolveConflicts. Its error is a flag of the report.
	Resolve func(c *orchestrator.Context, d Department, brief string, passing []SpecialistResult) (string, error)

	// Validate are the checks across departments, made in order (H86).
	Validate []Check

	// Consistency checks against what a knowledge service knows (H87), in place of
	// Config.Consistency.
	Consistency Check

	// Overall makes one figure, 0 to 100, of the departments that are done. nil: the
	// mean weighted by relevance (H88, HC13).
	Overall func(scores []DepartmentScore) float64
}

// Selection is what specialists are chosen by.
type Selection struct {
	Input      Input
	Department Department
	Brief      string
	Analysis   routing.Analysis
}

// Grader grades an output. It returns a Grade without a Score and Dimensions if it
// has none; an error counts as that, too (HX6).
type Grader func(c *orchestrator.Context, w Work) (Grade, error)

// Work is an output to be graded.
type Work struct {
	Department Department
	Agent      Agent
	Brief      string
	Output     json.RawMessage
	Threshold  float64
	Attempt    int // from 0
}

// Grade is what a grader says of an output.
type Grade struct {
	// Score is 0 to 100. nil: that of Dimensions; without these the output is not
	// graded, and the specialist's own figure counts, else 75 (HC5).
	Score       *float64            `json:"score,omitempty"`
	Dimensions  *grading.Dimensions `json:"dimensions,omitempty"`
	Suggestions []string            `json:"suggestions,omitempty"` // for the next attempt
}

// Check looks at the reports of departments that are done and says what is wrong.
type Check func(c *orchestrator.Context, reports []Report) ([]Issue, error)

// Issue is something a Check found.
type Issue struct {
	Department string `json:"department,omitempty"` // "": several
	Message    string `json:"message"`
}

// DepartmentScore is the quality of one department, 0 to 100, and how much the
// request concerned it, 0 to 1.
type DepartmentScore struct {
	Department         string
	Quality, Relevance float64
}

// guard calls a hook and makes an error of its panic.
func guard[T any](what string, hook func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &agent.Error{Message: fmt.Sprintf("%s panicked: %v", what, p), Codes: []agent.Code{"panic"}, Stack: string(debug.Stack())}
		}
	}()
	if v, err = hook(); err != nil {
		return v, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}
