package hierarchy

import (
	"cmp"
	"io/fs"
	"slices"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Config is a team. New copies it; hooks are called as they are.
type Config struct {
	// Name is the flow's. "" means "hierarchy". Two teams on one engine need two.
	Name string

	// Departments are the team. At least one.
	Departments []Department

	// Master is the agent that makes one result of all departments' outputs, under
	// "result" in Outcome.Output. "": the outputs are merged by their keys (H85).
	Master string

	// Consistency is the agent of a knowledge service that is asked whether the
	// reports agree with what it knows. "": that check is skipped (H87).
	Consistency string

	// ResolveConflicts has heads settle what passing results contradict each other in
	// before they write the synthesis, one more call (H92).
	ResolveConflicts bool

	// Rules say what makes a brief complex and how many specialists it is worth
	// (H25-H29, HC8, HC10). The zero value has the defaults. Skills are the
	// departments' own and must be empty here.
	Rules routing.Rules

	// SupportingCut is the relevance, 0 to 1, that a supporting department must
	// exceed. nil means 0.30 (H14).
	SupportingCut *float64

	// HeadOnlyScore is the quality, 0 to 100, of a department whose head worked
	// without specialists. nil means 85 (H66).
	HeadOnlyScore *int

	// StrictReview lets only approved results into synthesis and approval rate; off,
	// those that need revision pass too (HC1).
	StrictReview bool

	// GradeHeads grades what heads do directly against the head's own threshold: below
	// it they try again, and when attempts run out the department failed (HC29).
	GradeHeads bool

	// FailOnPartial makes a partial result an error, too: ErrPartial (HX15).
	FailOnPartial bool

	// SynthesisRounds is how often the head goes over its synthesis, the first time
	// included. 0 means 1 (H91).
	SynthesisRounds int

	// Prompts replaces the prompts of the package, by file name ("retry.tmpl"); the
	// package comment lists them. A file that is not there is the package's. It is read
	// at New only.
	Prompts fs.FS

	Hooks  Hooks
	Limits Limits
}

// Limits bound a run. A zero field is the default.
type Limits struct {
	ParallelDepartments int               // at once; 0: no limit (HX9)
	ParallelSpecialists int               // of a department at once; 0: no limit
	Calls               int64             // of agents in a run; 0: no limit (HX12)
	Cost                providers.NanoUSD // of a run; 0: no limit
	PromptBytes         int               // of Input.Prompt; 0: 256 KiB (HX2)
	QuoteBytes          int               // of each text quoted in a prompt; 0: 64 KiB (HX3)
}

// The defaults of Config and Limits.
const (
	defaultName          = "hierarchy"
	defaultHeadOnlyScore = 85
	defaultPromptBytes   = 256 << 10
	defaultQuoteBytes    = 64 << 10
)

// resultKey is the key of the master's synthesis in Outcome.Output.
const resultKey = "result"

// withDefaults returns a copy that shares nothing with c but functions and files.
func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, defaultName)
	c.Departments = slices.Clone(c.Departments)
	for i, d := range c.Departments {
		c.Departments[i] = d.withDefaults()
	}
	c.Rules = cloneRules(c.Rules)
	c.SupportingCut = or(c.SupportingCut, routing.DefaultCut)
	c.HeadOnlyScore = or(c.HeadOnlyScore, defaultHeadOnlyScore)
	c.SynthesisRounds = max(c.SynthesisRounds, 1)
	c.Hooks.Agents = slices.Clone(c.Hooks.Agents)
	c.Hooks.Validate = slices.Clone(c.Hooks.Validate)
	c.Limits.PromptBytes = cmp.Or(c.Limits.PromptBytes, defaultPromptBytes)
	c.Limits.QuoteBytes = max(0, cmp.Or(c.Limits.QuoteBytes, defaultQuoteBytes)) // prompts are tried although validate refuses it
	return c
}

func cloneRules(r routing.Rules) routing.Rules {
	r.ComplexTerms = slices.Clone(r.ComplexTerms)
	r.MultiPart = slices.Clone(r.MultiPart)
	if r.Synonyms != nil {
		synonyms := make(map[string][]string, len(r.Synonyms))
		for skill, phrases := range r.Synonyms {
			synonyms[skill] = slices.Clone(phrases)
		}
		r.Synonyms = synonyms
	}
	return r
}

// agents returns the names of all agents that a run may call, sorted, each once.
func (c Config) agents() []string {
	names := slices.Clone(c.Hooks.Agents)
	for _, name := range []string{c.Master, c.Consistency} {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, d := range c.Departments {
		names = append(names, d.Head)
		for _, a := range d.Agents {
			names = append(names, a.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
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
