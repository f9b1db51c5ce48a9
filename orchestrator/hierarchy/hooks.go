package hierarchy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/routing"
)

// Hooks are the host's own parts of the flow; nil fields are the package's. They
// are deterministic: those without a Context are pure functions of their
// arguments, those with one have effects through it alone. They must not change their
// arguments. A panic of a hook is an error of the step that called it.
type Hooks struct {
	// Agents are the roster names that hooks call, besides the team's own.
	Agents []string

	// Route chooses the departments: Primary and Supporting, with a Relevance of
	// each. Mode and Waves are computed from the dependencies in any case. nil: by
	// keywords. An error fails the run.
	Route func(in Input, departments []Department) (routing.Route, error)

	// Brief writes the master's request to a department. needs are the reports of its
	// dependencies, whose results are appended to every brief anyway. nil: the request
	// unchanged. An error, or a blank text, fails the department.
	Brief func(c *orchestrator.Context, in Input, d Department, needs []Report) (string, error)

	// Analyze judges a brief, without the results of dependencies. nil: routing.Analyze
	// by Policy.Rules.
	Analyze func(brief string, d Department) routing.Analysis

	// Select chooses specialists, in order, from the active ones of d; any other agent
	// fails the department. nil: routing.Select. See Recommend.
	Select func(s Selection) []Agent

	// Threshold is the passing threshold, 0 to 100, of an agent. nil:
	// grading.ResolveThreshold. See AdaptThreshold.
	Threshold func(in Input, a Agent, d Department) float64

	// Grade grades one output. nil: the head does. See SelfGrader.
	Grade Grader

	// Resolve resolves contradictions between passing results, of which there are at
	// least two, before the synthesis: its note is part of the prompt. nil: see
	// Policy.ResolveConflicts. An error is a warning.
	Resolve func(c *orchestrator.Context, d Department, brief string, passing []SpecialistResult) (string, error)

	// Validate are the checks across departments, run in order.
	Validate []Check

	// Consistency checks the reports against a knowledge service, instead of
	// Master.Consistency.
	Consistency Check

	// Overall computes the overall quality, 0 to 100, of the finished departments. nil:
	// the mean weighted by relevance.
	Overall func(scores []DepartmentScore) float64
}

// Selection is the input of Hooks.Select.
type Selection struct {
	Input      Input
	Department Department
	Brief      string
	Analysis   routing.Analysis
}

// Check returns what is wrong with the reports of finished departments.
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

// AdaptThreshold moves the threshold of an agent towards its scores in Input.History,
// for Hooks.Threshold: see grading.Adapt.
func AdaptThreshold(in Input, a Agent, d Department) float64 {
	return grading.Adapt(grading.ResolveThreshold(a.PassingThreshold, d.MinQuality), in.History[a.ID])
}

// Recommend chooses the active specialists whose name, specialization and skills
// share the most words with the brief, for Hooks.Select. Equals are ordered by success
// rate, highest first, then ID. Unlike the default it may choose specialists without
// any of the skills that the brief names.
func Recommend(s Selection) []Agent {
	wanted, shared := words(s.Brief), map[string]int{}
	active := slices.DeleteFunc(s.Department.specialists(), func(a Agent) bool { return a.Inactive })
	for _, a := range active {
		for word := range words(a.Name + " " + a.Specialization + " " + strings.Join(a.Skills, " ")) {
			if wanted[word] {
				shared[a.ID]++
			}
		}
	}
	rate := func(a Agent) float64 { return *cmp.Or(a.SuccessRate, new(0.0)) }
	slices.SortStableFunc(active, func(a, b Agent) int {
		return cmp.Or(cmp.Compare(shared[b.ID], shared[a.ID]), cmp.Compare(rate(b), rate(a)), cmp.Compare(a.ID, b.ID))
	})
	return active[:min(max(s.Analysis.Estimate, 0), len(active))]
}

// words is the set of words of a text, in lower case, of at least four letters:
// shorter ones carry little meaning.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len([]rune(word)) >= 4 {
			set[word] = true
		}
	}
	return set
}
