package director

import (
	"cmp"
	"io/fs"
	"time"

	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// Config says how a team works. The zero value of a field is its default, but Agents and
// Profiles have none: start from [Software] or [Report]. New copies it.
//
// In JSON, names are those of the fields in lower camel case. Durations are texts such as
// "5m" or numbers of seconds, and money is a decimal number of USD. Unknown fields are
// faults. Prompts have no JSON.
type Config struct {
	Name     string      `json:"name,omitzero" default:"director"` // name of the flow; "": "director"
	Agents   Agents      `json:"agents,omitzero"`                  // members beside the workers
	Profiles []Profile   `json:"profiles,omitempty"`               // kinds of workers, at least one
	Rules    Rules       `json:"rules,omitzero"`                   // decisions that the team computes; nil rules are the defaults
	Policy   Policy      `json:"policy,omitzero"`                  // choices, and what is tried again
	Limits   team.Limits `json:"limits,omitzero"`                  // money, calls and time of a run; Calls count those of a worktree, too, but for commits, merges and removals
	Bounds   Bounds      `json:"bounds,omitzero"`                  // sizes and times inside a run

	// Prompts replaces templates of the package, by file name ("work.tmpl"). New reads it.
	// Nil replaces none.
	Prompts fs.FS `json:"-"`
}

// Agents names the agents beside the workers, as the roster has them. One may have
// several roles.
type Agents struct {
	Director   string `json:"director,omitzero" required:"true"` // plans, and decides what comes up; required
	Strategist string `json:"strategist,omitzero"`               // reviews; required without Rules.Graders.Work
	Guardian   string `json:"guardian,omitzero"`                 // watches workers; "": only time and activity are watched
	Worktree   string `json:"worktree,omitzero"`                 // a Worktrees; "": artifacts are texts in the answers of workers
	Check      string `json:"check,omitzero"`                    // runs the commands of Profile.Check, see CheckInput; "": none are run
}

// Policy is what is allowed and what follows. No switch is on by default.
type Policy struct {
	// Phases is the order in which phases are preferred. Nil means plan, build, test, then
	// the others as the profiles name them.
	Phases []string `json:"phases,omitempty"`

	// Components lists the components that tasks may have. Nil allows any.
	Components []string `json:"components,omitempty"`

	NoTestPlaceholders bool `json:"noTestPlaceholders,omitzero"` // components without a TEST task get none
	GiveUp             bool `json:"giveUp,omitzero"`             // a task without attempts left is abandoned; false: a person is asked
	AllowPartial       bool `json:"allowPartial,omitzero"`       // a review with some criteria met completes the task; a new one gets the others
	ReturnWhenWaiting  bool `json:"returnWhenWaiting,omitzero"`  // a run that only waits for people ends; false: it stays open
	DropFailed         bool `json:"dropFailed,omitzero"`         // a failed attempt's branch is deleted at once; false: with the task

	// OnAbandoned says what becomes of tasks that need one which was abandoned: "ask" (also
	// "") asks the director whether they continue without it, "block" blocks them.
	OnAbandoned string `json:"onAbandoned,omitzero" default:"ask" oneof:"ask block"`

	// OnSilence says what becomes of a task whose question no person answers in time:
	// "wait" (also "") or "abandon".
	OnSilence string `json:"onSilence,omitzero" default:"wait" oneof:"wait abandon"`

	Retry Retry `json:"retry,omitzero"` // counts of what is done again
}

// Retry counts what is done again. orchestrator.None is 0, but for Attempts. Its JSON may
// have "maxRetries", which is Attempts without the first.
type Retry struct {
	Attempts   int `json:"attempts,omitzero" default:"4" min:"1"`    // attempts at one task, the first included; 0: 4
	Conflicts  int `json:"conflicts,omitzero" default:"3" min:"-1"`  // failed merges of one task after which it is tried again; 0: 3
	Replans    int `json:"replans,omitzero" default:"2" min:"-1"`    // times that the tasks of a run are planned anew; 0: 2
	Stagnation int `json:"stagnation,omitzero" default:"3" min:"-1"` // failed reviews, in a row or of one task, that lead to a new plan; 0: 3
	Outages    int `json:"outages,omitzero" default:"3" min:"-1"`    // failures of agents in a row, at different tasks, that pause the run; 0: 3
}

// Bounds are sizes and times inside a run. orchestrator.None sets no bound on a time. It is
// a count of 0 for Depth, Pauses and Added. Parallel, Tasks and CallTime cannot
// be None.
type Bounds struct {
	Parallel  int           `json:"parallel,omitzero" default:"3" min:"1"`           // workers at once; 0: 3
	Tasks     int           `json:"tasks,omitzero" default:"200" min:"1"`            // tasks that are not final; 0: 200
	Depth     int           `json:"depth,omitzero" default:"3" min:"-1"`             // tasks that cause each other; 0: 3; None: tasks cause none
	Pauses    int           `json:"pauses,omitzero" default:"10" min:"-1"`           // pauses and escalations of one task, and as many tasks that follow from it; 0: 10; None: none
	Added     int           `json:"added,omitzero" default:"1000" min:"-1"`          // tasks of a run that it did not begin with; 0: 1,000; None: none
	TaskTime  time.Duration `json:"taskTime,omitzero" default:"10m" min:"-1"`        // time of one attempt's calls; 0: 10 min
	CallTime  time.Duration `json:"callTime,omitzero" default:"5m" min:"0"`          // time of a call to others than workers and the guardian, who has 60 s; 0: 5 min
	HumanTime time.Duration `json:"humanTime,omitzero" min:"-1"`                     // time that a question waits for an answer; 0: for ever
	Reserve   float64       `json:"reserve,omitzero" default:"5" min:"-1" max:"100"` // percent of the run's money that is kept for reviews; 0: 5
	Watch     Watch         `json:"watch,omitzero"`                                  // checks of workers by the guardian
}

// Watch says how often the guardian looks at a worker. orchestrator.None is never.
type Watch struct {
	Calls      int           `json:"calls,omitzero" default:"15" min:"-1"` // tool calls between two checks, at a risk of 0.5; 0: 15
	Every      time.Duration `json:"every,omitzero" default:"1m" min:"-1"` // time between two checks; 0: 1 min
	Inactivity time.Duration `json:"inactivity,omitzero" min:"-1"`         // silence of a worker that ends its attempt; 0: twice Every
	Async      bool          `json:"async,omitzero"`                       // a check is made during the next slice; false: before it
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Retry) UnmarshalJSON(data []byte) error {
	type fields Retry
	read := struct {
		fields
		Further team.MaxRetries `json:"maxRetries"`
	}{fields: fields(*r)}
	read.Further.Attempts = &read.Attempts
	err := team.Decode(data, &read)
	*r = Retry(read.fields)
	return err
}

// The values of Policy.OnAbandoned and Policy.OnSilence that the flow looks for.
const (
	block   = "block"
	abandon = "abandon"
)

// setDefaults sets what is zero, but for rules.
func setDefaults(c *Config) {
	silence := c.Bounds.Watch.Inactivity
	team.Defaults(c)
	if silence == 0 {
		c.Bounds.Watch.Inactivity = 2 * c.Bounds.Watch.Every
	}
	c.Bounds.Reserve = max(0, c.Bounds.Reserve)
	for i := range c.Profiles {
		c.Profiles[i].Agent = cmp.Or(c.Profiles[i].Agent, c.Profiles[i].ID)
	}
	c.Policy.Phases = phaseOrder(c.Policy.Phases, c.Profiles)
	if p, ok := cmp.Or(c.Rules.Scheduler, defaultRules.Scheduler).(routing.Preference); ok && p.Phases == nil {
		p.Phases = c.Policy.Phases
		c.Rules.Scheduler = p
	}
}

// check adds the faults of c that its tags do not find.
func (c Config) check(f *team.Faults) {
	f.If(c.Agents.Strategist == "" && c.Rules.Graders.Work == nil, "Agents.Strategist is empty, want the name of an agent")
	f.If(c.Agents.Check != "" && c.Agents.Worktree == "", "Agents.Check is %q, but Agents.Worktree is empty: there is nothing to run commands on", c.Agents.Check)
	c.checkProfiles(f)
}

// agents returns the names of all agents that a run may call.
func (c Config) agents() []string {
	names := []string{c.Agents.Director, c.Agents.Strategist, c.Agents.Guardian, c.Agents.Worktree, c.Agents.Check}
	for _, p := range c.Profiles {
		names = append(names, p.Agent)
	}
	return names
}

// preference is how the board orders tasks that are READY.
func (c Config) preference() routing.Preference {
	if p, usual := c.Rules.Scheduler.(routing.Preference); usual {
		return p
	}
	return routing.Preference{Phases: c.Policy.Phases}
}

// workerLimits are the limits for workers at once.
func (c Config) workerLimits() routing.Limits {
	limits := routing.Limits{Global: c.Bounds.Parallel, Profiles: map[string]int{}}
	for _, p := range c.Profiles {
		if p.Limit > 0 {
			limits.Profiles[p.ID] = p.Limit
		}
	}
	return limits
}
