package director

import (
	"cmp"
	"io/fs"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Config says how a team works. The zero value of a field is its default, but Agents and
// Profiles have none: start from [Software] or [Report]. New copies it.
//
// In JSON, names are those of the fields in lower camel case. Durations are texts such as
// "5m" or numbers of seconds, and money is a decimal number of USD. Unknown fields are
// faults. Prompts have no JSON.
type Config struct {
	Name     string    `json:"name,omitzero"`      // name of the flow; "": "director"
	Agents   Agents    `json:"agents,omitzero"`    // members beside the workers
	Profiles []Profile `json:"profiles,omitempty"` // kinds of workers, at least one
	Rules    Rules     `json:"rules,omitzero"`     // what the team computes; nil rules are the defaults
	Policy   Policy    `json:"policy,omitzero"`    // choices, and what is tried again
	Limits   Limits    `json:"limits,omitzero"`    // money and calls of the run
	Bounds   Bounds    `json:"bounds,omitzero"`    // sizes and times inside the run

	// Prompts replaces templates of the package, by file name ("work.tmpl"). New reads it.
	// Nil replaces none.
	Prompts fs.FS `json:"-"`
}

// Agents names the agents beside the workers, as the roster has them. One may have
// several roles.
type Agents struct {
	Director   string `json:"director,omitzero"`   // plans, and decides what comes up; required
	Strategist string `json:"strategist,omitzero"` // reviews; required
	Guardian   string `json:"guardian,omitzero"`   // watches workers; "": only time and activity are watched
	Worktree   string `json:"worktree,omitzero"`   // a Worktrees; "": artifacts are texts in the answers of workers
	Check      string `json:"check,omitzero"`      // runs the commands of Profile.Check, see CheckInput; "": none are run
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
	OnAbandoned string `json:"onAbandoned,omitzero"`

	// OnSilence says what becomes of a task whose question no person answers in time:
	// "wait" (also "") or "abandon".
	OnSilence string `json:"onSilence,omitzero"`

	Retry Retry `json:"retry,omitzero"` // counts of what is done again
}

// Retry counts what is done again. orchestrator.None is 0, but for Attempts.
type Retry struct {
	Attempts   int `json:"attempts,omitzero"`   // attempts at one task, the first included; 0: 4
	Conflicts  int `json:"conflicts,omitzero"`  // failed merges of one task after which it is tried again; 0: 3
	Replans    int `json:"replans,omitzero"`    // times that the tasks of a run are planned anew; 0: 2
	Stagnation int `json:"stagnation,omitzero"` // failed reviews, in a row or of one task, that lead to a new plan; 0: 3
	Outages    int `json:"outages,omitzero"`    // failures of agents in a row, at different tasks, that pause the run; 0: 3
}

// Limits bound the money and the calls of a run. 0 sets no limit.
type Limits struct {
	Cost     providers.NanoUSD `json:"cost,omitzero"`     // money for the whole run
	Calls    int64             `json:"calls,omitzero"`    // calls of agents, a worktree's among them; commits, merges and removals are made beyond it
	Estimate providers.NanoUSD `json:"estimate,omitzero"` // money reserved for a call of director, strategist or guardian; 0: not known
}

// Bounds are sizes and times inside a run. orchestrator.None sets no bound, but for
// Parallel, Tasks and CallTime, which cannot do without.
type Bounds struct {
	Parallel  int           `json:"parallel,omitzero"`  // workers at once; 0: 3
	Tasks     int           `json:"tasks,omitzero"`     // tasks that are not final; 0: 200
	Depth     int           `json:"depth,omitzero"`     // tasks that cause each other; 0: 3; None: tasks cause none
	TaskTime  time.Duration `json:"taskTime,omitzero"`  // time of one attempt's calls; 0: 10 min
	CallTime  time.Duration `json:"callTime,omitzero"`  // time of a call to others than workers and the guardian, who has 60 s; 0: 5 min
	HumanTime time.Duration `json:"humanTime,omitzero"` // time that a question waits for an answer; 0: for ever
	Reserve   float64       `json:"reserve,omitzero"`   // percent of the run's money that is kept for reviews; 0: 5
	Watch     Watch         `json:"watch,omitzero"`     // checks of workers by the guardian
}

// Watch says how often the guardian looks at a worker. orchestrator.None is never.
type Watch struct {
	Calls      int           `json:"calls,omitzero"`      // tool calls between two checks, at a risk of 0.5; 0: 15
	Every      time.Duration `json:"every,omitzero"`      // time between two checks; 0: 1 min
	Inactivity time.Duration `json:"inactivity,omitzero"` // silence of a worker that ends its attempt; 0: twice Every
	Async      bool          `json:"async,omitzero"`      // a check is made during the next slice; false: before it
}

// MarshalJSON implements json.Marshaler.
func (c Config) MarshalJSON() ([]byte, error) { return team.Encode(c) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(data []byte) error { return team.Decode(data, c) }

// MarshalJSON implements json.Marshaler.
func (a Agents) MarshalJSON() ([]byte, error) { return team.Encode(a) }

// UnmarshalJSON implements json.Unmarshaler.
func (a *Agents) UnmarshalJSON(data []byte) error { return team.Decode(data, a) }

// MarshalJSON implements json.Marshaler.
func (p Policy) MarshalJSON() ([]byte, error) { return team.Encode(p) }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Policy) UnmarshalJSON(data []byte) error { return team.Decode(data, p) }

// MarshalJSON implements json.Marshaler.
func (l Limits) MarshalJSON() ([]byte, error) { return team.Encode(l) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Limits) UnmarshalJSON(data []byte) error { return team.Decode(data, l) }

// MarshalJSON implements json.Marshaler.
func (b Bounds) MarshalJSON() ([]byte, error) { return team.Encode(b) }

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bounds) UnmarshalJSON(data []byte) error { return team.Decode(data, b) }

// MarshalJSON implements json.Marshaler.
func (w Watch) MarshalJSON() ([]byte, error) { return team.Encode(w) }

// UnmarshalJSON implements json.Unmarshaler.
func (w *Watch) UnmarshalJSON(data []byte) error { return team.Decode(data, w) }

// The values of Policy.OnAbandoned and Policy.OnSilence.
const (
	Ask     = "ask"
	Block   = "block"
	Wait    = "wait"
	Abandon = "abandon"
)

// withDefaults returns a copy of c in which None is spelled out where it counts.
func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, "director")
	c.Profiles = profilesWithDefaults(c.Profiles)
	p, r, b := &c.Policy, &c.Policy.Retry, &c.Bounds
	p.Phases, p.Components = phaseOrder(p.Phases, c.Profiles), slices.Clone(p.Components)
	p.OnAbandoned, p.OnSilence = cmp.Or(p.OnAbandoned, Ask), cmp.Or(p.OnSilence, Wait)
	for _, count := range []struct {
		n      *int
		normal int
	}{
		{&r.Attempts, 4}, {&r.Conflicts, 3}, {&r.Replans, 2}, {&r.Stagnation, 3}, {&r.Outages, 3},
		{&b.Parallel, 3}, {&b.Tasks, 200}, {&b.Depth, 3}, {&b.Watch.Calls, 15},
	} {
		*count.n = max(0, cmp.Or(*count.n, count.normal))
	}
	for _, wait := range []struct {
		d      *time.Duration
		normal time.Duration
	}{
		{&b.TaskTime, 600 * time.Second}, {&b.CallTime, 300 * time.Second}, {&b.HumanTime, 0}, {&b.Watch.Every, time.Minute},
	} {
		*wait.d = max(0, cmp.Or(*wait.d, wait.normal))
	}
	c.Rules = c.Rules.withDefaults(p.Phases)
	b.Watch.Inactivity = max(0, cmp.Or(b.Watch.Inactivity, 2*b.Watch.Every))
	b.Reserve = max(0, cmp.Or(b.Reserve, 5))
	return c
}

// validate returns every fault of c, which has its defaults, joined into one error, or
// nil. given is c before that.
func (c Config) validate(given Config) error {
	var f team.Faults
	f.If(c.Agents.Director == "", "Agents.Director is empty, want the name of an agent")
	f.If(c.Agents.Strategist == "" && c.Rules.Graders.Work == nil, "Agents.Strategist is empty, want the name of an agent")
	f.If(c.Agents.Check != "" && c.Agents.Worktree == "", "Agents.Check is %q, but Agents.Worktree is empty: there is nothing to run commands on", c.Agents.Check)
	c.validateProfiles(&f)
	p, b := c.Policy, given.Bounds
	f.If(p.OnAbandoned != Ask && p.OnAbandoned != Block, "Policy.OnAbandoned is %q, want %q or %q", p.OnAbandoned, Ask, Block)
	f.If(p.OnSilence != Wait && p.OnSilence != Abandon, "Policy.OnSilence is %q, want %q or %q", p.OnSilence, Wait, Abandon)
	f.Counts("Policy.Retry", given.Policy.Retry, orchestrator.None)
	team.Least(&f, "Policy.Retry.Attempts", given.Policy.Retry.Attempts, 0)
	f.Counts("Limits", given.Limits, 0)
	f.Counts("Bounds", b, orchestrator.None)
	f.Counts("Bounds.Watch", b.Watch, orchestrator.None)
	team.Least(&f, "Bounds.Parallel", b.Parallel, 0)
	team.Least(&f, "Bounds.Tasks", b.Tasks, 0)
	team.Least(&f, "Bounds.CallTime", b.CallTime, 0)
	f.Rules("Rules", c.Rules)
	f.Within("Bounds.Reserve", c.Bounds.Reserve, 0, 100)
	return f.Err()
}

// agents returns the names of all agents that a run may call, sorted, each once.
func (c Config) agents() []string {
	names := []string{c.Agents.Director, c.Agents.Strategist, c.Agents.Guardian, c.Agents.Worktree, c.Agents.Check}
	names = append(names, team.RuleAgents(c.Rules)...)
	for _, p := range c.Profiles {
		names = append(names, p.Agent)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
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
