package hierarchy

import (
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/routing"
)

// Rules are what the team computes. A nil rule is its default, which stands in
// [DefaultRules]. Each rule is called once for a decision, and again when a run is resumed.
//
// A rule that returns an error, panics or answers out of its range fails the part of the run
// that needed it with ErrRule, and is a warning. Nothing is tried again for it. The error of a
// Grader is none of these: see HeadGrader.
//
// In JSON a rule is the fields of its default: {"router": {"cut": 0.4}}. Grader, Permit and
// Steps have no JSON.
type Rules struct {
	Router    orchestrator.Router              `json:"router"`    // Router chooses the departments of a request; nil: by keywords
	Analyzer  routing.Analyzer                 `json:"analyzer"`  // Analyzer judges a brief; it gets the skills of the department's specialists; nil: routing.Rules{}
	Selector  routing.Selector                 `json:"selector"`  // Selector selects specialists of the department for a brief; nil: routing.BySkill{}
	Threshold grading.Threshold                `json:"threshold"` // Threshold is what an agent's work must reach, 0 to 100; its history is Input.History; nil: grading.DefaultFixed
	Retrier   orchestrator.Retrier             `json:"retrier"`   // Retrier decides on a further try of a "specialist" or a "head"; nil: orchestrator.Attempts{}
	Permit    orchestrator.Permit              `json:"-"`         // Permit is asked before the run, a department or a specialist moves on; nil: every move is permitted
	Grader    orchestrator.Grader[Work, Grade] `json:"-"`         // Grader grades an output; nil: HeadGrader
	Gates     Gates                            `json:"gates"`     // Gates decide by scores
	Scores    Scores                           `json:"scores"`    // Scores make one figure of several

	Steps `json:"-"`
}

// Gates decide by scores and thresholds of 0 to 100.
type Gates struct {
	Attempt grading.Gate[grading.Standing, grading.Decision]     `json:"attempt"` // Attempt decides on a try: accept, revise or discard; nil: grading.DefaultBands
	Review  grading.Gate[grading.Standing, grading.ReviewStatus] `json:"review"`  // Review decides on a specialist's result; nil: grading.DefaultReserve
}

// Scores make one score, 0 to 100, of marks.
type Scores struct {
	// Output makes the score of an output, 0 to 100, of the marks in its Grade. The head
	// gives the marks that a grading.Named names. A Scorer without names gets quality,
	// relevance and consistency. Nil is grading.DefaultDimensions.
	Output grading.Scorer `json:"output"`

	Staff   grading.Scorer `json:"staff"`   // Staff makes the quality of specialists' work: Name is the agent, Value the score; nil: grading.DefaultApproval
	Overall grading.Scorer `json:"overall"` // Overall makes Outcome.Score: Name is the department, Value its quality, Weight its relevance, 0 to 1; nil: grading.Mean{}
}

// Steps are parts of the run that the host does in place of the team. Nil ones are skipped
// or the team's. Those with a Context have effects only through it: what
// they get are copies.
type Steps struct {
	Agents []string // Agents are those that Steps and rules call or name, besides the team's own and those of a rule's method Agents() []string

	// Brief writes the master's request to a department. needs are the reports of its
	// dependencies, whose results are appended to every brief anyway. Nil: the request
	// unchanged. An error, or a blank text, fails the department with ErrRule.
	Brief func(c *orchestrator.Context, in Input, d Department, needs []Report) (string, error)

	// Resolve resolves contradictions between passing results, of which there are at
	// least two, before the synthesis: its note is part of the prompt. Nil: see
	// Policy.ResolveConflicts. An error is only a warning, with the code ErrRule.
	Resolve func(c *orchestrator.Context, d Department, brief string, passing []SpecialistResult) (string, error)

	// Validate are the checks across departments, run in order. An error of one, as of
	// Consistency, is a warning with the code ErrRule, and the check has failed.
	Validate    []Check
	Consistency Check // Consistency checks the reports against a knowledge service, in place of Master.Consistency
}

// Check returns what is wrong with the reports of finished departments.
type Check func(c *orchestrator.Context, reports []Report) ([]Issue, error)

// Issue is something that a Check found.
type Issue struct {
	Department string `json:"department,omitempty"` // Department is the ID of the department; "": several
	Message    string `json:"message"`              // Message says what is wrong
}

// The codes of what a host's rule did. Both are codes of the run's error and of a warning.
const (
	ErrRule         = agent.Code("hierarchy/rule")          // a rule failed, panicked or answered out of its range
	ErrNotPermitted = agent.Code("hierarchy/not-permitted") // the Permit refused a move
)

// DefaultRules returns the rules of a team that is given none. There is no Permit.
func DefaultRules() Rules {
	return Rules{
		Router: orchestrator.ByKeywords(routing.DefaultKeywords), Analyzer: routing.Rules{}, Selector: routing.BySkill{},
		Threshold: grading.DefaultFixed, Retrier: orchestrator.Attempts{}, Grader: HeadGrader,
		Gates:  Gates{Attempt: grading.DefaultBands, Review: grading.DefaultReserve},
		Scores: Scores{Output: grading.DefaultDimensions, Staff: grading.DefaultApproval, Overall: grading.Mean{}},
	}
}
