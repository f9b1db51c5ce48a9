package hierarchy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Config is a team. New copies it; it calls hooks as they are.
//
// Its JSON form has everything but Hooks and Prompts; unknown fields are faults.
// Durations are texts such as "5m" or numbers of seconds, money is decimal USD.
type Config struct {
	// Name is the flow's. "" means "hierarchy". Two teams on one engine need two.
	Name string `json:"name,omitzero"`

	// Departments are the team. At least one.
	Departments []Department `json:"departments,omitzero"`

	// Master has the agents of the master.
	Master Master `json:"master,omitzero"`

	Policy Policy `json:"policy,omitzero"`
	Retry  Retry  `json:"retry,omitzero"`
	Limits Limits `json:"limits,omitzero"`
	Hooks  Hooks  `json:"-"`

	// Prompts replaces the prompts of the package, by file name ("retry.tmpl"); the
	// package comment lists them. A missing file is the package's, an unknown name is a
	// fault. It is read at New only.
	Prompts fs.FS `json:"-"`
}

// Master names the agents of the master. Both are optional: they are skipped with a
// warning when the run's money or time is used up.
type Master struct {
	Agent       string `json:"agent,omitzero"`       // makes one result, "result" in Outcome.Output, of the departments' outputs; "": only the outputs by their keys
	Consistency string `json:"consistency,omitzero"` // knows earlier facts, and checks whether the reports agree with them; "": no check
}

// Policy says what is good enough and which agents work.
type Policy struct {
	// Rules say what makes a brief complex and how many specialists it is worth. The
	// zero value has the defaults. Skills are the departments' own and must be empty.
	Rules routing.Rules `json:"rules,omitzero"`

	SupportingCut *float64 `json:"supportingCut,omitzero"` // the relevance, 0 to 1, that a supporting department must exceed; nil: 0.30
	HeadOnlyScore *float64 `json:"headOnlyScore,omitzero"` // the quality, 0 to 100, of a department whose head worked without specialists; nil: 85

	// AssumeScore is the score, 0 to 100, of work that could not be graded. It is marked
	// as assumed. nil: such work has no score and does not pass.
	AssumeScore *float64 `json:"assumeScore,omitzero"`

	// GradeHeads grades what heads write against the head's own threshold: below it
	// they retry. When attempts run out, a department that its head answered has failed;
	// the best synthesis is used and is unverified.
	GradeHeads bool `json:"gradeHeads,omitzero"`

	StrictReview     bool `json:"strictReview,omitzero"`     // results that need revision count neither in synthesis nor in approval rate
	ResolveConflicts bool `json:"resolveConflicts,omitzero"` // heads resolve contradictions before the synthesis, one more call
	FailOnPartial    bool `json:"failOnPartial,omitzero"`    // a partial result is an error, too: ErrPartial
}

// Retry says how often work is retried where a department or an agent has no setting of
// its own.
type Retry struct {
	Specialists     Retries `json:"specialists,omitzero"`     // 0: 3
	Heads           Retries `json:"heads,omitzero"`           // directly and in each synthesis; 0: 3
	SynthesisRounds int     `json:"synthesisRounds,omitzero"` // how often a head writes its synthesis, each time improving the last; 0: 1
}

// Limits bound a run. A zero field is the default.
type Limits struct {
	ParallelDepartments int               `json:"parallelDepartments,omitzero"` // at once; 0: no limit
	ParallelSpecialists int               `json:"parallelSpecialists,omitzero"` // of a department at once; 0: no limit
	Calls               int64             `json:"calls,omitzero"`               // of agents in a run; 0: no limit
	Cost                providers.NanoUSD `json:"cost,omitzero"`                // of a run; 0: no limit
	AllowUnpriced       bool              `json:"allowUnpriced,omitzero"`       // calls without a known price pass under Cost
	Time                time.Duration     `json:"time,omitzero"`                // of work on a run; running calls are canceled then; 0: no limit
	Estimate            providers.NanoUSD `json:"estimate,omitzero"`            // reserved for a call of an agent without its own estimate; 0: nothing
	PromptBytes         int               `json:"promptBytes,omitzero"`         // of Input.Prompt; 0: 256 KiB
	QuoteBytes          int               `json:"quoteBytes,omitzero"`          // of each text quoted in a prompt; 0: 64 KiB
}

// resultKey is the key of the master's synthesis in Outcome.Output.
const resultKey = "result"

// ErrCycle says that departments depend on each other in a circle. The error's text
// lists them from the smallest ID on.
var ErrCycle = routing.ErrCycle

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(b []byte) error { return team.Decode(b, c) }

// MarshalJSON implements json.Marshaler.
func (l Limits) MarshalJSON() ([]byte, error) { return team.Encode(l) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Limits) UnmarshalJSON(b []byte) error { return team.Decode(b, l) }

// withDefaults returns a copy that shares nothing with c but functions and files.
func (c Config) withDefaults() Config {
	c = team.Clone(c)
	c.Name = cmp.Or(c.Name, "hierarchy")
	c.Retry.Specialists, c.Retry.Heads = cmp.Or(c.Retry.Specialists, 3), cmp.Or(c.Retry.Heads, 3)
	c.Policy.SupportingCut = cmp.Or(c.Policy.SupportingCut, new(routing.DefaultCut))
	c.Policy.HeadOnlyScore = cmp.Or(c.Policy.HeadOnlyScore, new(85.0))
	c.Limits.PromptBytes = cmp.Or(c.Limits.PromptBytes, 256<<10)
	c.Limits.QuoteBytes = max(0, cmp.Or(c.Limits.QuoteBytes, 64<<10)) // validate reports it, but prompts are filled first
	for i, d := range c.Departments {
		c.Departments[i] = d.withDefaults(c)
	}
	return c
}

// agents returns the names of all agents that a run may call, sorted, each once.
func (c Config) agents() []string {
	names := slices.Concat(c.Hooks.Agents, []string{c.Master.Agent, c.Master.Consistency})
	for _, d := range c.Departments {
		names = append(names, d.Head)
		for _, a := range d.Agents {
			names = append(names, a.ID)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// department returns the department of that ID.
func (c Config) department(id string) (Department, bool) {
	i := slices.IndexFunc(c.Departments, func(d Department) bool { return d.ID == id })
	if i < 0 {
		return Department{}, false
	}
	return c.Departments[i], true
}

// needs maps each department to those that it depends on.
func (c Config) needs() map[string][]string {
	needs := make(map[string][]string, len(c.Departments))
	for _, d := range c.Departments {
		needs[d.ID] = d.DependsOn
	}
	return needs
}

// validate returns every problem of c in one error, or nil.
func (c Config) validate() error {
	f := &team.Faults{}
	if len(c.Departments) == 0 {
		f.Add("Departments is empty")
	}
	for _, d := range c.Departments {
		d.validate(f)
	}
	c.validateIDs(f)
	c.validateNeeds(f)
	c.validateNumbers(f)
	c.validateHooks(f)
	return f.Err()
}

func (c Config) validateNumbers(f *team.Faults) {
	p, r := c.Policy, c.Retry
	f.WithinIfSet("Policy.SupportingCut", p.SupportingCut, 0, 1)
	f.WithinIfSet("Policy.HeadOnlyScore", p.HeadOnlyScore, 0, 100)
	f.WithinIfSet("Policy.AssumeScore", p.AssumeScore, 0, 100)
	if len(p.Rules.Skills) > 0 {
		f.Add("Policy.Rules.Skills is set, but skills are those of the departments' agents")
	}
	if err := p.Rules.Validate(); err != nil {
		f.Add("Policy.Rules: %w", err)
	}
	team.Least(f, "Retry.Specialists", r.Specialists, orchestrator.None)
	team.Least(f, "Retry.Heads", r.Heads, orchestrator.None)
	team.Least(f, "Retry.SynthesisRounds", r.SynthesisRounds, 0)
	f.Counts("Limits", c.Limits, 0)
}

func (c Config) validateHooks(f *team.Faults) {
	if slices.ContainsFunc(c.Hooks.Agents, blank) {
		f.Add("Hooks.Agents has an empty name")
	}
	if c.Master.Consistency != "" && c.Hooks.Consistency != nil {
		f.Add("Master.Consistency and Hooks.Consistency are both set")
	}
	if c.Policy.ResolveConflicts && c.Hooks.Resolve != nil {
		f.Add("Policy.ResolveConflicts and Hooks.Resolve are both set")
	}
	for i, check := range c.Hooks.Validate {
		if check == nil {
			f.Add("Hooks.Validate[%d] is nil", i)
		}
	}
}

// validateIDs finds names that are used twice.
func (c Config) validateIDs(f *team.Faults) {
	departments, members, keys := map[string]string{}, map[string]string{}, map[string]string{}
	if c.Master.Agent != "" {
		keys[resultKey] = "the master's result"
	}
	for _, d := range c.Departments {
		owner := fmt.Sprintf("department %q", d.ID)
		claim := func(names map[string]string, what, name string) {
			if first, taken := names[name]; taken && name != "" {
				f.Add("%s: %s %q is taken by %s", owner, what, name, first)
				return
			}
			names[name] = owner
		}
		claim(departments, "ID", d.ID)
		claim(keys, "OutputKey", cmp.Or(d.OutputKey, d.ID))
		claim(members, "Head", d.Head)
		head := false
		for _, a := range d.Agents {
			switch {
			case a.ID != d.Head:
				claim(members, "agent", a.ID)
			case head:
				f.Add("%s: agent %q is listed twice: a department has no two heads", owner, a.ID)
			default:
				head = true
			}
		}
	}
}

func (c Config) validateNeeds(f *team.Faults) {
	needs := c.needs()
	for _, d := range c.Departments {
		for _, need := range d.DependsOn {
			if _, ok := needs[need]; !ok {
				f.Add("department %q: DependsOn names %q, which is no department", d.ID, need)
			} else if need == d.ID {
				f.Add("department %q: DependsOn names itself", d.ID)
			}
		}
	}
	if _, err := routing.Waves(slices.Sorted(maps.Keys(needs)), needs); errors.Is(err, ErrCycle) {
		f.Add("%w", err)
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
