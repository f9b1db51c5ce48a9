package director

import (
	"cmp"
	"io/fs"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Config is how a team works. The zero value of a field is its default; Agents and
// Profiles have none: start from [Software] or [Report]. New copies it. Its JSON form leaves
// Hooks and Prompts out; durations are texts such as "5m" or numbers of seconds, money
// is a decimal number of USD, and unknown fields are faults.
type Config struct {
	Name     string    `json:"name,omitzero"` // of the flow; "": "director"
	Agents   Agents    `json:"agents,omitzero"`
	Profiles []Profile `json:"profiles,omitempty"` // of workers, at least one
	Policy   Policy    `json:"policy,omitzero"`
	Retry    Retry     `json:"retry,omitzero"`
	Limits   Limits    `json:"limits,omitzero"`
	Hooks    Hooks     `json:"-"`

	// Prompts replaces templates of the package, by file name ("work.tmpl"). It is read
	// at New only. nil: none.
	Prompts fs.FS `json:"-"`
}

// Agents names the agents beside the workers, as the roster has them. One may have
// several roles.
type Agents struct {
	Director   string `json:"director,omitzero"`   // required: plans, and decides what comes up
	Strategist string `json:"strategist,omitzero"` // required: reviews
	Guardian   string `json:"guardian,omitzero"`   // watches workers; "": only time and activity are watched
	Worktree   string `json:"worktree,omitzero"`   // a Worktrees; "": artifacts are texts in the answers of workers
	Check      string `json:"check,omitzero"`      // runs the command of Profile.Check: see CheckInput; "": no command is run
}

// Policy is what is allowed and what follows.
type Policy struct {
	// Phases is the order in which phases are preferred. nil: plan, build, test, then
	// the others as the profiles name them.
	Phases []string `json:"phases,omitempty"`

	// Components are those that tasks may have. nil: any.
	Components []string `json:"components,omitempty"`

	NoTestPlaceholders bool `json:"no_test_placeholders,omitzero"` // components without a TEST task get none
	GiveUp             bool `json:"give_up,omitzero"`              // a task without attempts left is abandoned; false: a person is asked
	AllowPartial       bool `json:"allow_partial,omitzero"`        // a review with some criteria met completes the task, and a further one gets the others
	ReturnWhenWaiting  bool `json:"return_when_waiting,omitzero"`  // a run that waits for people alone ends; false: it stays open
	GuardianAsync      bool `json:"guardian_async,omitzero"`       // a check is made during the next slice
	DropFailed         bool `json:"drop_failed,omitzero"`          // the branch of a failed attempt is deleted at once; false: with the task

	// OnAbandoned is how it is decided whether tasks continue without one that they need
	// and that was abandoned: "ask" (also ""), the director is asked; "block".
	OnAbandoned string `json:"on_dependency_abandoned,omitzero"`

	// OnSilence is what becomes of a task whose question no person answers in time:
	// "wait" (also ""), or "abandon".
	OnSilence string `json:"on_human_timeout,omitzero"`
}

// Retry is how often something is done again. Of each, orchestrator.None is none.
type Retry struct {
	Tasks      int `json:"max_task_retries,omitzero"`     // further attempts at a task that has failed; 0: 3
	Conflicts  int `json:"max_conflicts,omitzero"`        // further attempts at a task whose merge has failed; 0: 3
	Replans    int `json:"max_replans,omitzero"`          // of a run; 0: 2
	Stagnation int `json:"stagnation_threshold,omitzero"` // failed reviews in a row, or of one task, at which the tasks are planned anew; 0: 3
	Outages    int `json:"max_outages,omitzero"`          // failures in a row of agents, at different tasks, at which the run is paused; 0: 3
}

// Limits bound a run. Of each, orchestrator.None is none, but for Parallel, Tasks, CallTime,
// Cost, Calls and Estimate.
type Limits struct {
	Parallel int `json:"max_concurrent_workers,omitzero"` // workers at once; 0: 3
	Tasks    int `json:"max_tasks,omitzero"`              // that are not final; 0: 200
	Depth    int `json:"max_depth,omitzero"`              // of tasks that tasks have caused; 0: 3

	GuardianCalls int           `json:"guardian_iteration_interval,omitzero"` // tool calls between two checks, at a risk of 0.5; 0: 15
	GuardianEvery time.Duration `json:"guardian_time_interval,omitzero"`      // between two checks; 0: 60 s
	Inactivity    time.Duration `json:"inactivity,omitzero"`                  // of a worker, at which its attempt ends; 0: twice GuardianEvery
	TaskTime      time.Duration `json:"task_timeout_seconds,omitzero"`        // of an attempt; 0: 600 s
	CallTime      time.Duration `json:"call_time,omitzero"`                   // of a call to others than workers and the Guardian, who has 60 s; 0: 300 s
	HumanTime     time.Duration `json:"human_timeout,omitzero"`               // that a question waits for an answer; 0 and None: for ever
	AgeEvery      time.Duration `json:"age_every,omitzero"`                   // in which a waiting task's priority grows by 1; 0 and None: never

	Cost     providers.NanoUSD `json:"budget,omitzero"`             // of the run; 0: any
	Calls    int64             `json:"max_calls,omitzero"`          // of agents in the run, a worktree's among them; commits, merges and removals are made beyond it; 0: any number
	Reserve  float64           `json:"qa_reserve_percent,omitzero"` // of Cost, kept for reviews; 0: 5
	Estimate providers.NanoUSD `json:"estimate,omitzero"`           // of a call of director, strategist or guardian, reserved before it; 0: not known
}

// Hooks are pure functions of the host. A panic in one is an error. nil: none.
type Hooks struct {
	// Plan gets the tasks of the decomposition, placeholders among them, and returns
	// those that the run begins with. Its error ends the run.
	Plan func(tasks []blackboard.Definition) ([]blackboard.Definition, error)
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
func (r Retry) MarshalJSON() ([]byte, error) { return team.Encode(r) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Retry) UnmarshalJSON(data []byte) error { return team.Decode(data, r) }

// MarshalJSON implements json.Marshaler.
func (l Limits) MarshalJSON() ([]byte, error) { return team.Encode(l) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Limits) UnmarshalJSON(data []byte) error { return team.Decode(data, l) }

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
	p, r, l := &c.Policy, &c.Retry, &c.Limits
	p.Phases, p.Components = phaseOrder(p.Phases, c.Profiles), slices.Clone(p.Components)
	p.OnAbandoned, p.OnSilence = cmp.Or(p.OnAbandoned, Ask), cmp.Or(p.OnSilence, Wait)
	for _, count := range []struct {
		n      *int
		normal int
	}{
		{&r.Tasks, 3},
		{&r.Conflicts, 3},
		{&r.Replans, 2},
		{&r.Stagnation, 3},
		{&r.Outages, 3},
		{&l.Depth, 3},
		{&l.GuardianCalls, 15},
	} {
		*count.n = max(0, cmp.Or(*count.n, count.normal))
	}
	l.Parallel, l.Tasks, l.CallTime = cmp.Or(l.Parallel, 3), cmp.Or(l.Tasks, 200), cmp.Or(l.CallTime, 300*time.Second)
	l.GuardianEvery = max(0, cmp.Or(l.GuardianEvery, time.Minute))
	l.Inactivity = max(0, cmp.Or(l.Inactivity, 2*l.GuardianEvery))
	l.TaskTime, l.HumanTime, l.AgeEvery = max(0, cmp.Or(l.TaskTime, 600*time.Second)), max(0, l.HumanTime), max(0, l.AgeEvery)
	l.Reserve = max(0, cmp.Or(l.Reserve, 5))
	return c
}

// validate returns every fault of c, which has its defaults, joined into one error, or
// nil. given is c before that.
func (c Config) validate(given Config) error {
	var f team.Faults
	for _, role := range []struct{ field, name string }{{"Director", c.Agents.Director}, {"Strategist", c.Agents.Strategist}} {
		if role.name == "" {
			f.Add("Agents.%s is empty, want the name of an agent", role.field)
		}
	}
	if c.Agents.Check != "" && c.Agents.Worktree == "" {
		f.Add("Agents.Check is %q, but Agents.Worktree is empty: there is nothing to run commands on", c.Agents.Check)
	}
	c.validateProfiles(&f)
	if p := c.Policy; p.OnAbandoned != Ask && p.OnAbandoned != Block {
		f.Add("Policy.OnAbandoned is %q, want %q or %q", p.OnAbandoned, Ask, Block)
	}
	if p := c.Policy; p.OnSilence != Wait && p.OnSilence != Abandon {
		f.Add("Policy.OnSilence is %q, want %q or %q", p.OnSilence, Wait, Abandon)
	}
	f.Counts("Retry", given.Retry, orchestrator.None)
	l := given.Limits
	for _, count := range []struct {
		field    string
		n, least int
	}{
		{"Limits.Parallel", l.Parallel, 0},
		{"Limits.Tasks", l.Tasks, 0},
		{"Limits.Depth", l.Depth, orchestrator.None},
		{"Limits.GuardianCalls", l.GuardianCalls, orchestrator.None},
	} {
		team.Least(&f, count.field, count.n, count.least)
	}
	for _, time := range []struct {
		field    string
		d, least time.Duration
	}{
		{"Limits.GuardianEvery", l.GuardianEvery, orchestrator.None},
		{"Limits.Inactivity", l.Inactivity, orchestrator.None},
		{"Limits.TaskTime", l.TaskTime, orchestrator.None},
		{"Limits.CallTime", l.CallTime, 0},
		{"Limits.HumanTime", l.HumanTime, orchestrator.None},
		{"Limits.AgeEvery", l.AgeEvery, orchestrator.None},
	} {
		team.Least(&f, time.field, time.d, time.least)
	}
	team.Least(&f, "Limits.Cost", l.Cost, 0)
	team.Least(&f, "Limits.Calls", l.Calls, 0)
	team.Least(&f, "Limits.Estimate", l.Estimate, 0)
	f.Within("Limits.Reserve", c.Limits.Reserve, 0, 100)
	return f.Err()
}

// agents returns the names of all agents that a run may call, sorted, each once.
func (c Config) agents() []string {
	names := []string{c.Agents.Director, c.Agents.Strategist, c.Agents.Guardian, c.Agents.Worktree, c.Agents.Check}
	for _, p := range c.Profiles {
		names = append(names, p.Agent)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// preference is how the board orders tasks that are ready.
func (c Config) preference() routing.Preference {
	return routing.Preference{Phases: c.Policy.Phases, AgeEvery: c.Limits.AgeEvery}
}

// workerLimits are the limits for workers at once.
func (c Config) workerLimits() routing.Limits {
	limits := routing.Limits{Global: c.Limits.Parallel, Profiles: map[string]int{}}
	for _, p := range c.Profiles {
		if p.Limit > 0 {
			limits.Profiles[p.ID] = p.Limit
		}
	}
	return limits
}

// attempts are the limits of attempts at one task.
func (c Config) attempts() attempts {
	return attempts{retries: c.Retry.Tasks, conflicts: c.Retry.Conflicts, giveUp: c.Policy.GiveUp}
}
