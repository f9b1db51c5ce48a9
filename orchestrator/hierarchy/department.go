package hierarchy

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Department is one department of the team: a head and any number of
// specialists (H1).
type Department struct {
	// ID names the department in routes, dependencies and reports. Required,
	// unique in the team.
	ID string

	// Name is for people and prompts. "" means ID; two departments may share one.
	Name string

	// Head is the roster name of the agent that leads. Required. It may stand in
	// Agents too, with settings of its own; it is never a specialist (H34).
	Head string

	// OutputKey is the key of the department's output in Outcome.Output. ""
	// means ID (HC38).
	OutputKey string

	// Priority decides between departments of equal relevance: 1 comes first.
	Priority int

	// Base is the department's relevance, in hundredths, for any request.
	Base int

	// Keywords maps a word or phrase to the hundredths of relevance that it adds
	// (H11); routing.Keyword says what a word is.
	Keywords map[string]int

	// DependsOn are the IDs of departments whose results this one needs, as far as
	// they were chosen for the request (HC14, HC15).
	DependsOn []string

	// MinQuality is the passing threshold, 0 to 100, of agents that have none of
	// their own. nil is missing and leads to 60 (H45); NewDepartment sets 80 (HC3).
	MinQuality *float64

	// Gate is the quality, 0 to 100, from which Report.PassedGate is set. It
	// informs and blocks nothing. nil means 60 (HC34).
	Gate *float64

	// MaxRetries is how often the head may try again, directly and in each
	// synthesis, after its first attempt. nil means 3; 0 is one attempt (H5, H84).
	MaxRetries *int

	// Serial makes the specialists work one after the other (H82).
	Serial bool

	// Agents are the specialists, in any order.
	Agents []Agent
}

// Agent is the configuration of an agent that the host's roster has under ID.
type Agent struct {
	// ID is the agent's name in the roster. Required, unique in the team.
	ID string

	// Name is for people and prompts. "" means ID; two agents may share one.
	Name string

	// Specialization says in a few words what the agent is good at.
	Specialization string

	// Skills are looked for in the brief; a specialist is chosen if it has one of
	// those found, or if none is found (H36, HC36).
	Skills []string

	// Inactive keeps the agent from being chosen (H35).
	Inactive bool

	// SuccessRate is the share, 0 to 100, of the agent's work that succeeded. It is
	// the host's statistic (HX17). nil is unknown and comes last (HC18).
	SuccessRate *float64

	// PassingThreshold is the score, 0 to 100, from which work passes. nil is
	// missing: the department's MinQuality holds, else 60. 0 is no gate (H44-H46).
	PassingThreshold *float64

	// MaxRetries is how often a specialist may try again after its first attempt.
	// nil means 3; 0 is one attempt (H6, H54).
	MaxRetries *int

	// Timeout bounds one attempt, the engine's retries of transient errors
	// included; then the attempt failed (HX10). 0 means 300 s.
	Timeout time.Duration

	// Temperature is sent with every request, 0 to 2. nil means 0.7 (H83, HC40).
	Temperature *float64

	// Schema is the JSON Schema that the agent's output must fit, or the attempt
	// fails (HX7, HC29). nil: the output is not looked at.
	Schema json.RawMessage
}

// The defaults of departments and agents (H83, H84).
const (
	defaultMinQuality  = 80
	defaultGate        = 60
	defaultRetries     = 3
	defaultTimeout     = 300 * time.Second
	defaultTemperature = 0.7
)

// NewDepartment returns a department with the defaults of the schema: its agents
// need 80 unless they have a threshold of their own (H47, H84, HC3).
func NewDepartment(id, head string, agents ...Agent) Department {
	return Department{ID: id, Head: head, MinQuality: new(float64(defaultMinQuality)), Agents: agents}
}

// withDefaults returns a copy that shares nothing with d and has every default
// filled in but MinQuality, for which missing has a meaning.
func (d Department) withDefaults() Department {
	d.Name = cmp.Or(d.Name, d.ID)
	d.OutputKey = cmp.Or(d.OutputKey, d.ID)
	d.Keywords = maps.Clone(d.Keywords)
	d.DependsOn = slices.Clone(d.DependsOn)
	d.MinQuality = clone(d.MinQuality)
	d.Gate = or(d.Gate, defaultGate)
	d.MaxRetries = or(d.MaxRetries, defaultRetries)
	d.Agents = slices.Clone(d.Agents)
	for i, a := range d.Agents {
		d.Agents[i] = a.withDefaults()
	}
	return d
}

func (a Agent) withDefaults() Agent {
	a.Name = cmp.Or(a.Name, a.ID)
	a.Skills = slices.Clone(a.Skills)
	a.SuccessRate = clone(a.SuccessRate)
	a.PassingThreshold = clone(a.PassingThreshold)
	a.MaxRetries = or(a.MaxRetries, defaultRetries)
	a.Timeout = cmp.Or(a.Timeout, defaultTimeout)
	a.Temperature = or(a.Temperature, defaultTemperature)
	a.Schema = slices.Clone(a.Schema)
	return a
}

// head returns the head's settings: those in Agents, or the defaults.
func (d Department) head() Agent {
	if i := slices.IndexFunc(d.Agents, func(a Agent) bool { return a.ID == d.Head }); i >= 0 {
		return d.Agents[i]
	}
	return Agent{ID: d.Head}.withDefaults()
}

// specialists returns the agents but the head, inactive ones included.
func (d Department) specialists() []Agent {
	return slices.DeleteFunc(slices.Clone(d.Agents), func(a Agent) bool { return a.ID == d.Head })
}

// skills returns the skills of all specialists.
func (d Department) skills() []string {
	var all []string
	for _, a := range d.specialists() {
		all = append(all, a.Skills...)
	}
	return all
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// or returns a pointer to a copy of *p, or to the default.
func or[T any](p *T, otherwise T) *T {
	if p == nil {
		return &otherwise
	}
	return new(*p)
}
