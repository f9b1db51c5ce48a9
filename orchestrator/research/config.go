package research

import (
	"io/fs"
	"time"

	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Config is how a team works. The zero value of a field is its default; Workers has none.
// New copies it. Its JSON form leaves Prompts out, and unknown fields are faults.
type Config struct {
	Name    string      `json:"name,omitzero" default:"research"` // name of the flow; "": "research"
	Agents  Agents      `json:"agents,omitzero"`                  // names of the agents besides workers
	Workers []Worker    `json:"workers,omitempty"`                // workers that plans can name, in the order in which planners read them; see Catalogue
	Rules   Rules       `json:"rules,omitzero"`                   // rules of the team; a nil one is that of DefaultRules
	Policy  Policy      `json:"policy,omitzero"`                  // thresholds and their consequences
	Limits  team.Limits `json:"limits,omitzero"`                  // Cost 0: 5 USD. Cost is 0.50 to 50 USD, Time 1 minute to 2 hours
	Bounds  Bounds      `json:"bounds,omitzero"`                  // limits of single steps and calls

	// Prompts replaces templates of the package, by file name ("plan.tmpl"). It is read
	// at New only. nil: none.
	Prompts fs.FS `json:"-"`
}

// Agents names the agents other than workers, as in the roster.
type Agents struct {
	Planner    string `json:"planner,omitzero" default:"planner"`       // "": "planner"
	Supervisor string `json:"supervisor,omitzero" default:"supervisor"` // "": "supervisor"
	Strategist string `json:"strategist,omitzero"`                      // may name unnecessary workers; "": there is none
	Merger     string `json:"merger,omitzero"`                          // makes one text of several drafts; "": they are concatenated
}

// Policy says what is good enough, and what happens otherwise.
type Policy struct {
	Iterations int `json:"iterations,omitzero" default:"3" min:"0"` // limit of executions of a plan; 0: 3

	// MinShare is the share of the wanted words and sources below which no result is good
	// enough. Above it they bound the marks "article" and "source", from 0.67 to 1. 0: 0.5;
	// None: neither, as for a team without research workers.
	MinShare float64 `json:"minShare,omitzero" default:"0.5" min:"-1" max:"1"`

	// AssumeScore, 0 to 1, is the score of an iteration that could not be graded. nil:
	// it has none and has not passed.
	AssumeScore *float64 `json:"assumeScore,omitempty" min:"0" max:"1"`

	// WarnInfeasible executes a first plan that cannot meet money or time, with its critical
	// workers and those that it cannot do without, and warns. false: the run fails before a
	// worker is called.
	WarnInfeasible bool `json:"warnInfeasible,omitzero"`
}

// Bounds limit single steps and calls. Limits has the money and time of a run.
type Bounds struct {
	StepLimit int           `json:"stepLimit,omitzero" min:"0"`            // limit of workers of a step at once; 0: none
	Timeout   time.Duration `json:"timeout,omitzero" default:"5m" min:"0"` // limit of a call of planner, supervisor, strategist or merger; 0: 5 minutes
}

// setDefaults sets what is zero but for rules.
func setDefaults(c *Config) {
	if c.Limits.Cost == 0 {
		c.Limits.Cost = 5 * providers.USD
	}
	c.Workers = withDefaults(c.Workers)
	team.Defaults(c)
}

// checkLimits adds what the documents do not allow to f. None is no limit.
func checkLimits(f *team.Faults, l team.Limits) {
	f.If(l.Cost > 0 && (l.Cost < providers.USD/2 || l.Cost > 50*providers.USD), "Limits.Cost is %s USD, want 0.50 to 50", amount(l.Cost))
	f.If(l.Time > 0 && (l.Time < time.Minute || l.Time > 2*time.Hour), "Limits.Time is %v, want 1m to 2h", l.Time)
}

// agents returns the names of all agents but those of rules.
func (c Config) agents() []string {
	names := []string{c.Agents.Planner, c.Agents.Supervisor, c.Agents.Strategist, c.Agents.Merger}
	for _, w := range c.Workers {
		names = append(names, w.Agent)
	}
	return names
}
