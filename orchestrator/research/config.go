package research

import (
	"cmp"
	"io/fs"
	"slices"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Config is how a team works. The zero value of a field is its default; Workers has
// none. New copies it. Its JSON form leaves Hooks and Prompts out; durations are texts
// such as "5m" or numbers of seconds, money is a decimal number of USD, and unknown
// fields are faults.
type Config struct {
	Name    string   `json:"name,omitzero"` // of the flow; "": "research"
	Agents  Agents   `json:"agents,omitzero"`
	Workers []Worker `json:"workers,omitempty"` // that plans can name, in the order in which planners read them; see Catalogue
	Policy  Policy   `json:"policy,omitzero"`
	Retry   Retry    `json:"retry,omitzero"`
	Limits  Limits   `json:"limits,omitzero"`
	Hooks   Hooks    `json:"-"`

	// Prompts replaces templates of the package, by file name ("plan.tmpl"). It is read
	// at New only. nil: none.
	Prompts fs.FS `json:"-"`
}

// Agents names the agents other than workers, as in the roster.
type Agents struct {
	Planner    string `json:"planner,omitzero"`    // "": "planner"
	Supervisor string `json:"supervisor,omitzero"` // "": "supervisor"
	Strategist string `json:"strategist,omitzero"` // it may name unnecessary workers; "": there is none
	Merger     string `json:"merger,omitzero"`     // it makes one text of several drafts; "": they are concatenated
}

// Policy says what is good enough, and what happens otherwise.
type Policy struct {
	Iterations int             `json:"iterations,omitzero"` // executions of a plan, at most; 0: 3
	Weights    grading.Weights `json:"weights,omitzero"`    // of the marks; all 0: grading.DefaultWeights

	// AssumeScore, 0 to 1, is the score of an iteration that could not be graded. nil:
	// it has none and has not passed.
	AssumeScore *float64 `json:"assumeScore,omitempty"`

	// LastOnForce returns the last graded article of a run that did not reach its
	// threshold. false: the best one.
	LastOnForce bool `json:"lastOnForce,omitzero"`

	// WarnInfeasible executes a first plan that cannot meet money or time with its critical
	// workers and those that it cannot do without, and a warning. false: the run fails
	// before a worker is called.
	WarnInfeasible bool `json:"warnInfeasible,omitzero"`
}

// Retry says how often calls of workers and planner are tried, and the waits.
type Retry struct {
	Attempts int           `json:"attempts,omitzero"` // in all, at least 1; 0: 3
	Wait     time.Duration `json:"wait,omitzero"`     // before the second one; 0: 2 s, orchestrator.None: none
	Factor   float64       `json:"factor,omitzero"`   // of each further wait, at least 1; 0: 2
	Longest  time.Duration `json:"longest,omitzero"`  // of a wait; 0: the rest of the time
}

// Limits bound calls. The money and the time of a run are in its Input.
type Limits struct {
	StepLimit int           `json:"stepLimit,omitzero"` // workers of a step at once; 0: all
	Calls     int64         `json:"calls,omitzero"`     // of models, in a run; 0: no limit
	Timeout   time.Duration `json:"timeout,omitzero"`   // of a call of planner, supervisor, strategist or merger; 0: 5 minutes

	// Estimate is what such a call may cost. It is reserved before the call, and for the
	// evaluation when a plan is optimised. 0: the highest cost of such a call so far.
	Estimate providers.NanoUSD `json:"estimate,omitzero"`
}

// Hooks are pure functions of the host. A panic in one is an error. nil: none.
type Hooks struct {
	// Admit may refuse a valid input: for its topic, or for lack of capacity.
	Admit func(in Input) error

	// Retryable tells whether a worker's error is retried. nil: every error except a
	// refusal, a mistake of the request and a permanent one.
	Retryable func(worker string, err error) bool
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

// withDefaults returns a copy that shares nothing with c but functions and files.
func (c Config) withDefaults() Config {
	c = team.Clone(c)
	c.Name = cmp.Or(c.Name, "research")
	c.Agents.Planner, c.Agents.Supervisor = cmp.Or(c.Agents.Planner, "planner"), cmp.Or(c.Agents.Supervisor, "supervisor")
	c.Workers = withDefaults(c.Workers)
	c.Policy.Iterations = cmp.Or(c.Policy.Iterations, 3)
	c.Policy.Weights = cmp.Or(c.Policy.Weights, grading.DefaultWeights)
	c.Retry.Attempts = cmp.Or(c.Retry.Attempts, 3)
	c.Retry.Wait = cmp.Or(c.Retry.Wait, 2*time.Second)
	c.Retry.Factor = cmp.Or(c.Retry.Factor, 2)
	c.Limits.Timeout = cmp.Or(c.Limits.Timeout, 5*time.Minute)
	if c.Hooks.Retryable == nil {
		c.Hooks.Retryable = func(_ string, err error) bool { return team.Retryable(err) }
	}
	return c
}

// validate returns every fault of c joined into one error, or nil.
func (c Config) validate() error {
	var f team.Faults
	team.Least(&f, "Policy.Iterations", c.Policy.Iterations, 0)
	_, err := grading.Overall(grading.Facets{}, cmp.Or(c.Policy.Weights, grading.DefaultWeights))
	f.If(err != nil, "Policy.Weights: %w", err)
	f.WithinIfSet("Policy.AssumeScore", c.Policy.AssumeScore, 0, 1)
	team.Least(&f, "Retry.Attempts", c.Retry.Attempts, 0)
	team.Least(&f, "Retry.Wait", c.Retry.Wait, orchestrator.None)
	f.Within("Retry.Factor", cmp.Or(c.Retry.Factor, 1), 1, 1000)
	team.Least(&f, "Retry.Longest", c.Retry.Longest, 0)
	f.Counts("Limits", c.Limits, 0)
	validateWorkers(&f, c.Workers)
	return f.Err()
}

// agents returns the names of all agents that a run may call, sorted, each once.
func (c Config) agents() []string {
	names := []string{c.Agents.Planner, c.Agents.Supervisor, c.Agents.Strategist, c.Agents.Merger}
	for _, w := range c.Workers {
		names = append(names, w.Agent)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}
