package delivery

import (
	"io/fs"
	"math"
	"time"

	"github.com/convene-go/convene/orchestrator/team"
)

// Config says how a team works. The zero value of a field is its default, but Agents has
// none. New copies it.
//
// In JSON, names are those of the fields in lower camel case. Durations are texts such as
// "5m" or numbers of seconds, and money is a decimal number of USD. Unknown fields are
// faults. Prompts, and rules that are functions, have no JSON.
type Config struct {
	Name   string      `json:"name,omitzero" default:"delivery"` // name of the flow; "": "delivery"
	Agents Agents      `json:"agents,omitzero"`                  // members of the team
	Rules  Rules       `json:"rules,omitzero"`                   // rules of what the team computes; nil: the default of each
	Policy Policy      `json:"policy,omitzero"`                  // conditions of work that is good enough
	Limits team.Limits `json:"limits,omitzero"`                  // money and time of a run; Time is 2 h by default, the others are not limited
	Bounds Bounds      `json:"bounds,omitzero"`                  // sizes inside a run

	// Prompts replaces templates of the package, by file name ("plan.tmpl"). New reads it.
	// Nil replaces none.
	Prompts fs.FS `json:"-"`
}

// Agents names the agents, as the roster has them. One may have several roles.
type Agents struct {
	Planner    string `json:"planner,omitzero" required:"true"`    // makes plans; required
	Coder      string `json:"coder,omitzero" required:"true"`      // writes and fixes code; required
	Tester     string `json:"tester,omitzero" required:"true"`     // reports on code; required
	Supervisor string `json:"supervisor,omitzero" required:"true"` // judges all work; required
	Workspace  string `json:"workspace,omitzero"`                  // holds the project that code is written into, see OpApply; "": code stays text
}

// Policy says what is good enough, and what happens otherwise.
type Policy struct {
	Thresholds Thresholds `json:"thresholds,omitzero"` // scores that pass

	// AcceptableFailures is the number of steps of a plan that may have failed, or been
	// skipped, while the goal can still be reached.
	AcceptableFailures int `json:"acceptableFailures,omitzero" min:"0"`

	// AssumeScore is the score, 0 to 100, of work that could not be graded. It counts if it
	// reaches the threshold, and never for the goal. Nil leaves such work unverified.
	AssumeScore *float64 `json:"assumeScore,omitempty" min:"0" max:"100"`

	// Revisions is how often the planner may revise what has not begun of a root plan: after a
	// step that failed or was skipped, and after a verdict that names later steps in Revise. It
	// is at most the number of plans that Retries allow. 0: never.
	Revisions int `json:"revisions,omitzero" min:"0" max:"100"`

	// MonitorEvery is the time without a verdict after which the supervisor is asked how well
	// the work still leads to the goal, before the next request to another member. Its score
	// moves the level of intervention; it rejects nothing. 0: it is not asked.
	MonitorEvery time.Duration `json:"monitorEvery,omitzero" min:"0"`

	SkipTestReview       bool `json:"skipTestReview,omitzero"`       // true: reports of tests are not reviewed
	SubPlanOnTestFailure bool `json:"subPlanOnTestFailure,omitzero"` // true: a step whose tests still fail gets a sub-plan; false: it has failed
}

// Thresholds are the scores, 0 to 100, at or above which work passes. With
// orchestrator.None every score passes: approval and the other conditions of the gate decide.
type Thresholds struct {
	Plan float64 `json:"plan,omitzero" default:"70" min:"-1" max:"100"` // score of a plan; 0: 70
	Code float64 `json:"code,omitzero" default:"60" min:"-1" max:"100"` // score of code; 0: 60
	Test float64 `json:"test,omitzero" max:"100"`                       // score of a report of tests; 0: none
	Step float64 `json:"step,omitzero" default:"70" min:"-1" max:"100"` // score of a step; 0: 70
	Goal float64 `json:"goal,omitzero" default:"80" min:"-1" max:"100"` // score of the whole; 0: 80

	// Coverage is the coverage, 0 to 100 percent, that a real run has to report for tests to
	// pass; without a workspace it is the tester's. 0: any, and none.
	Coverage float64 `json:"coverage,omitzero" min:"0" max:"100"`
}

// Bounds are sizes inside a run.
type Bounds struct {
	Grace       time.Duration `json:"grace,omitzero" default:"30s" min:"-1"`    // time that a running call may take after Limits.Time, at most a twentieth of it; 0: 30 s; None: none
	Depth       int           `json:"depth,omitzero" default:"3" min:"-1"`      // depth of sub-plans in sub-plans; 0: 3; None: there are none
	MinSteps    int           `json:"minSteps,omitzero" default:"2" min:"0"`    // least number of steps of a plan that is no sub-plan; 0: 2
	MaxSteps    int           `json:"maxSteps,omitzero" default:"15" min:"0"`   // largest number of steps of a plan; 0: 15
	FailedSteps int           `json:"failedSteps,omitzero" default:"3" min:"0"` // number of failed steps at which a plan is abandoned; 0: 3
}

// Role is a member of the team.
type Role string

// The roles.
const (
	Planner    Role = "planner"
	Coder      Role = "coder"
	Tester     Role = "tester"
	Supervisor Role = "supervisor"
)

// UnmarshalJSON reads the JSON of a Config. The error has all faults with their paths.
func (c *Config) UnmarshalJSON(data []byte) error { return team.Decode(data, c) }

// MarshalJSON returns the JSON of a Config. A rule of the program's own is an error.
func (c Config) MarshalJSON() ([]byte, error) { return team.Encode(c) }

// agent is the agent of a role.
func (c Config) agent(role Role) string {
	return map[Role]string{Planner: c.Agents.Planner, Coder: c.Agents.Coder, Tester: c.Agents.Tester, Supervisor: c.Agents.Supervisor}[role]
}

// endless stands for no time limit.
const endless = time.Duration(math.MaxInt64)
