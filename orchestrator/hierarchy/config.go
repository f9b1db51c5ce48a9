package hierarchy

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// Config is a team. New copies it; it calls rules as they are.
//
// Its JSON form has everything but Prompts and the rules that have none; unknown fields are faults.
// Durations are texts such as "5m" or numbers of seconds, money is decimal USD.
type Config struct {
	Name        string       `json:"name,omitzero" default:"hierarchy"`    // Name is the flow's; two teams on one engine need two; "": hierarchy
	Departments []Department `json:"departments,omitzero" required:"true"` // Departments are the team; at least one is required
	Master      Master       `json:"master,omitzero"`                      // Master has the agents of the master
	Rules       Rules        `json:"rules,omitzero"`                       // Rules are what the team computes, and what the host does in its place
	Policy      Policy       `json:"policy,omitzero"`                      // Policy says what is good enough and how often work is tried
	Limits      team.Limits  `json:"limits,omitzero"`                      // Limits bound the money and the time of a run; zero fields are no limit; Input.Limits stand over them
	Bounds      Bounds       `json:"bounds,omitzero"`                      // Bounds limit what happens at once and how long texts are
	Prompts     fs.FS        `json:"-"`                                    // Prompts replaces prompts of the package, which its comment lists, by file name; other names are faults
}

// Master names the agents of the master. Both are optional. Each is skipped with a warning
// when the run's money or time is used up.
type Master struct {
	Agent       string `json:"agent,omitzero"`       // Agent makes one result of the departments' outputs, under "result" in Outcome.Output; "": there is none
	Consistency string `json:"consistency,omitzero"` // Consistency is an agent that knows earlier facts and checks the reports against them; "": no check
}

// Policy says what is good enough and how often work is tried.
type Policy struct {
	Attempts        int      `json:"attempts,omitzero" default:"4" min:"1"`                 // Attempts limits the tries of specialists that set none, the first included; 0: 4
	HeadAttempts    int      `json:"headAttempts,omitzero" default:"4" min:"1"`             // HeadAttempts limits the tries of heads, of an answer and of each synthesis, the first included; 0: 4
	SynthesisRounds int      `json:"synthesisRounds,omitzero" default:"1" min:"1"`          // SynthesisRounds is how often a head writes its synthesis, each time improving the last; 0: 1
	HeadOnlyScore   *float64 `json:"headOnlyScore,omitzero" default:"85" min:"0" max:"100"` // HeadOnlyScore is the quality, 0 to 100, of a department whose head worked without specialists; nil: 85
	MinSynthesis    float64  `json:"minSynthesis,omitzero" default:"0.1" min:"-1" max:"1"`  // MinSynthesis is the least length of a synthesis, as a share of the shortest result that passed; a shorter one is a failed try. It does not hold for a head with a Schema; 0: 0.1; None: any length
	AssumeScore     *float64 `json:"assumeScore,omitzero" min:"0" max:"100"`                // AssumeScore is the score, 0 to 100, of work that could not be graded, marked as assumed; nil: it has none and does not pass

	// GradeHeads grades what heads write against the head's own threshold: below it they
	// try again. When no try is left, a department that its head answered has failed; the
	// best synthesis is used and is unverified.
	GradeHeads       bool `json:"gradeHeads,omitzero"`
	StrictReview     bool `json:"strictReview,omitzero"`     // StrictReview keeps results that need revision out of synthesis and approval rate
	ResolveConflicts bool `json:"resolveConflicts,omitzero"` // ResolveConflicts has heads resolve contradictions before the synthesis, which is one more call
	FailOnPartial    bool `json:"failOnPartial,omitzero"`    // FailOnPartial makes a partial result an error, too: ErrPartial
}

// Bounds limit what happens at once and how long texts are.
type Bounds struct {
	ParallelDepartments int `json:"parallelDepartments,omitzero" min:"0"`          // ParallelDepartments limits the departments at work at once; 0: no limit
	ParallelSpecialists int `json:"parallelSpecialists,omitzero" min:"0"`          // ParallelSpecialists limits the specialists of a department at work at once; 0: no limit
	PromptBytes         int `json:"promptBytes,omitzero" default:"262144" min:"0"` // PromptBytes limits Input.Prompt; 0: 256 KiB
	QuoteBytes          int `json:"quoteBytes,omitzero" default:"65536" min:"0"`   // QuoteBytes limits each text quoted in a prompt; 0: 64 KiB
}

const resultKey = "result" // key of the master's result in Outcome.Output

// setDefaults sets what is zero.
func setDefaults(c *Config) {
	team.Defaults(c)
	for i, d := range c.Departments {
		c.Departments[i] = d.withDefaults(c.Policy)
	}
}

// agents returns the names of the agents that the team calls.
func (c Config) agents() []string {
	names := append(slices.Clone(c.Rules.Agents), c.Master.Agent, c.Master.Consistency)
	for _, d := range c.Departments {
		names = append(names, d.Head)
		for _, a := range d.Agents {
			names = append(names, a.ID)
		}
	}
	return names
}

func (c Config) needs() map[string][]string {
	needs := make(map[string][]string, len(c.Departments))
	for _, d := range c.Departments {
		needs[d.ID] = d.DependsOn
	}
	return needs
}

// check adds the faults of c that tags do not find.
func (c Config) check(f *team.Faults) {
	for _, d := range c.Departments {
		d.check(f)
	}
	c.checkIDs(f)
	c.checkNeeds(f)
	c.checkRules(f)
}

func (c Config) checkRules(f *team.Faults) {
	marks, _ := marksOf(c.Rules.Scores.Output)
	if _, err := answer.FromSchema(gradeSchema(marks)); err != nil {
		f.Add("Rules.Scores.Output: %w", err)
	}
	if own, ok := c.Rules.Analyzer.(routing.Rules); ok && len(own.Skills) > 0 {
		f.Add("Rules.Analyzer.Skills is set, but skills are those of the departments' agents")
	}
	p := c.Policy.MinSynthesis
	f.If(p > -1 && p < 0, "Policy.MinSynthesis is %v, want 0 to 1", p)
	f.If(slices.ContainsFunc(c.Rules.Agents, text.IsBlank), "Rules.Agents has an empty name")
	f.If(c.Master.Consistency != "" && c.Rules.Consistency != nil, "Master.Consistency and Rules.Consistency are both set")
	f.If(c.Policy.ResolveConflicts && c.Rules.Resolve != nil, "Policy.ResolveConflicts and Rules.Resolve are both set")
	for i, check := range c.Rules.Validate {
		f.If(check == nil, "Rules.Validate[%d] is nil", i)
	}
}

func (c Config) checkIDs(f *team.Faults) {
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
		claim(keys, "OutputKey", d.OutputKey)
		claim(members, "Head", d.Head)
		heads := 0
		for _, a := range d.Agents {
			if a.ID != d.Head {
				claim(members, "agent", a.ID)
			} else if heads++; heads > 1 {
				f.Add("%s: agent %q is listed twice: a department has no two heads", owner, a.ID)
			}
		}
	}
}

func (c Config) checkNeeds(f *team.Faults) {
	needs := c.needs()
	for _, d := range c.Departments {
		for _, need := range d.DependsOn {
			_, ok := needs[need]
			f.If(!ok, "department %q: DependsOn names %q, which is no department", d.ID, need)
			f.If(need == d.ID, "department %q: DependsOn names itself", d.ID)
		}
	}
	if _, err := routing.Waves(slices.Sorted(maps.Keys(needs)), needs); errors.Is(err, routing.ErrCycle) {
		f.Add("%w", err)
	}
}
