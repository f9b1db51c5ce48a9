package delivery

import (
	"cmp"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Config is how a team works. The zero value of a field is its default; Agents has
// none. New copies it. Its JSON form leaves Hooks and Prompts out; durations are texts
// such as "5m" or numbers of seconds, money is a decimal number of USD, and unknown
// fields are faults.
type Config struct {
	Name   string `json:"name,omitzero"` // of the flow; "": "delivery"
	Agents Agents `json:"agents,omitzero"`
	Policy Policy `json:"policy,omitzero"`
	Retry  Retry  `json:"retry,omitzero"`
	Limits Limits `json:"limits,omitzero"`
	Hooks  Hooks  `json:"-"`

	// Prompts replaces templates of the package, by file name ("plan.tmpl"). It is read
	// at New only. nil: none.
	Prompts fs.FS `json:"-"`
}

// Agents names the agents, as the roster has them. One may have several roles.
type Agents struct {
	Planner    string `json:"planner,omitzero"`    // required
	Coder      string `json:"coder,omitzero"`      // required
	Tester     string `json:"tester,omitzero"`     // required
	Supervisor string `json:"supervisor,omitzero"` // required
	Workspace  string `json:"workspace,omitzero"`  // the project that code is written into: see OpApply; "": code stays text
}

// Policy says what is good enough, and what happens otherwise.
type Policy struct {
	Gates  Gates  `json:"gates,omitzero"`
	Ladder Ladder `json:"ladder,omitzero"`

	// AcceptableFailures is how many steps of a plan may have failed, or been skipped,
	// while the goal can still be reached.
	AcceptableFailures int `json:"acceptableFailures,omitzero"`

	// AssumeScore, 0 to 100, is the score of work that could not be graded; it counts
	// if it reaches the gate, and never for the goal. nil: such work is unverified.
	AssumeScore *float64 `json:"assumeScore,omitempty"`

	SkipTestReview       bool `json:"skipTestReview,omitzero"`       // the supervisor does not review reports of tests
	SubPlanOnTestFailure bool `json:"subPlanOnTestFailure,omitzero"` // a step whose tests still fail gets a sub-plan; false: it has failed
}

// Retry says how often things are retried. For counts, orchestrator.None means never.
type Retry struct {
	Attempts    int `json:"attempts,omitzero"`    // at a step, before it gets a sub-plan; at least 1; 0: 3
	FixCycles   int `json:"fixCycles,omitzero"`   // of an attempt whose tests fail; 0: 3
	Plans       int `json:"plans,omitzero"`       // until one is approved; at least 1; 0: 3
	Iterations  int `json:"iterations,omitzero"`  // root plans that are executed; at least 1; 0: 10
	FailedSteps int `json:"failedSteps,omitzero"` // of a plan, after which it is abandoned; at least 1; 0: 3

	Calls  int           `json:"calls,omitzero"`  // further tries of a call that failed; 0: 3
	Wait   time.Duration `json:"wait,omitzero"`   // before the first of them; 0: 1 s, orchestrator.None: none
	Factor float64       `json:"factor,omitzero"` // of each further wait, at least 1; 0: 2
}

// Limits bound a run.
type Limits struct {
	Time     time.Duration     `json:"time,omitzero"`     // of work on the run; 0: 2 h, orchestrator.None: no limit
	Grace    time.Duration     `json:"grace,omitzero"`    // that a running call may take after Time, at most a twentieth of it; 0: 30 s, orchestrator.None: none
	Depth    int               `json:"depth,omitzero"`    // of sub-plans in sub-plans; 0: 3, orchestrator.None: there are no sub-plans
	MinSteps int               `json:"minSteps,omitzero"` // of a plan that is no sub-plan; 0: 2
	MaxSteps int               `json:"maxSteps,omitzero"` // of any plan; 0: 15
	Cost     providers.NanoUSD `json:"cost,omitzero"`     // 0: no limit
	Calls    int64             `json:"calls,omitzero"`    // of agents, the workspace included; 0: no limit
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

// Hooks are pure functions of the host. A panic in one is an error. nil: none.
type Hooks struct {
	// Fallback answers for a role whose calls have failed, with the JSON that the role
	// would have answered; nil: no answer. Such answers are unverified. It is never asked
	// to judge the goal.
	Fallback func(Failure) ([]byte, error)
}

// Failure is a request that a role could not answer.
type Failure struct {
	Role   Role
	Op     string // what was wanted: see the package
	Target string // the ID of the plan or step; "goal"
	Err    error
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(data []byte) error { return team.Decode(data, c) }

// MarshalJSON implements json.Marshaler.
func (r Retry) MarshalJSON() ([]byte, error) { return team.Encode(r) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Retry) UnmarshalJSON(data []byte) error { return team.Decode(data, r) }

// MarshalJSON implements json.Marshaler.
func (l Limits) MarshalJSON() ([]byte, error) { return team.Encode(l) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Limits) UnmarshalJSON(data []byte) error { return team.Decode(data, l) }

// withDefaults returns a copy of c in which None has its value where it counts.
func (c Config) withDefaults() Config {
	c = team.Clone(c)
	c.Name = cmp.Or(c.Name, "delivery")
	p := &c.Policy
	p.Gates, p.Ladder = p.Gates.withDefaults(), p.Ladder.withDefaults()
	r, l := &c.Retry, &c.Limits
	r.Attempts, r.Plans, r.FailedSteps = cmp.Or(r.Attempts, 3), cmp.Or(r.Plans, 3), cmp.Or(r.FailedSteps, 3)
	r.Iterations = cmp.Or(r.Iterations, 10)
	r.FixCycles, r.Calls, l.Depth = max(0, cmp.Or(r.FixCycles, 3)), max(0, cmp.Or(r.Calls, 3)), max(0, cmp.Or(l.Depth, 3))
	r.Wait, r.Factor = max(0, cmp.Or(r.Wait, time.Second)), cmp.Or(r.Factor, 2)
	l.Time = cmp.Or(l.Time, 2*time.Hour)
	l.MinSteps, l.MaxSteps = cmp.Or(l.MinSteps, 2), cmp.Or(l.MaxSteps, 15)
	return c
}

// validate returns every fault of c, which has its defaults, joined into one error, or
// nil. given is c before them.
func (c Config) validate(given Config) error {
	var f team.Faults
	for _, role := range []struct{ field, name string }{
		{"Planner", c.Agents.Planner}, {"Coder", c.Agents.Coder}, {"Tester", c.Agents.Tester}, {"Supervisor", c.Agents.Supervisor},
	} {
		if role.name == "" {
			f.Add("Agents.%s is empty, want the name of an agent", role.field)
		}
	}
	c.Policy.Gates.validate(&f)
	c.Policy.Ladder.validate(&f)
	team.Least(&f, "Policy.AcceptableFailures", c.Policy.AcceptableFailures, 0)
	f.WithinIfSet("Policy.AssumeScore", c.Policy.AssumeScore, 0, 100)
	g := given
	for _, count := range []struct {
		field    string
		n, least int
	}{
		{"Retry.Attempts", g.Retry.Attempts, 0},
		{"Retry.FixCycles", g.Retry.FixCycles, off},
		{"Retry.Plans", g.Retry.Plans, 0},
		{"Retry.Iterations", g.Retry.Iterations, 0},
		{"Retry.FailedSteps", g.Retry.FailedSteps, 0},
		{"Retry.Calls", g.Retry.Calls, off},
		{"Limits.Depth", g.Limits.Depth, off},
		{"Limits.MinSteps", g.Limits.MinSteps, 0},
		{"Limits.MaxSteps", g.Limits.MaxSteps, 0},
	} {
		team.Least(&f, count.field, count.n, count.least)
	}
	if least, most := c.Limits.MinSteps, c.Limits.MaxSteps; least > most && most > 0 {
		f.Add("Limits.MinSteps is %d, want at most Limits.MaxSteps, %d", least, most)
	}
	team.Least(&f, "Retry.Wait", g.Retry.Wait, off)
	f.Within("Retry.Factor", c.Retry.Factor, 1, 1000)
	team.Least(&f, "Limits.Time", g.Limits.Time, off)
	team.Least(&f, "Limits.Grace", g.Limits.Grace, off)
	team.Least(&f, "Limits.Cost", g.Limits.Cost, 0)
	team.Least(&f, "Limits.Calls", g.Limits.Calls, 0)
	return f.Err()
}

// agents returns the names of all agents that a run may call, sorted, each once.
func (c Config) agents() []string {
	names := []string{c.Agents.Planner, c.Agents.Coder, c.Agents.Tester, c.Agents.Supervisor, c.Agents.Workspace}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// agent is the agent of a role.
func (c Config) agent(role Role) string {
	return map[Role]string{Planner: c.Agents.Planner, Coder: c.Agents.Coder, Tester: c.Agents.Tester, Supervisor: c.Agents.Supervisor}[role]
}

// endless stands for no time limit.
const endless = time.Duration(math.MaxInt64)

// time is how long a run may be worked on.
func (l Limits) time() time.Duration {
	if l.Time == orchestrator.None {
		return endless
	}
	return l.Time
}
