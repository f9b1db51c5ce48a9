package hierarchy

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Department is one department of the team: a head and any number of specialists.
//
// Its JSON may also have "minQualityThreshold", which is MinQuality, "maxRetries", which is
// Attempts without the first, and "allowParallelExecution", the opposite of Serial. These
// may stand in an object "coordinationSettings".
type Department struct {
	ID         string         `json:"id,omitzero" required:"true"`                  // ID names the department in routes, dependencies and reports; required, unique in the team
	Name       string         `json:"name,omitzero"`                                // Name is for people and prompts, and need not be unique; "": ID
	Head       string         `json:"head,omitzero" required:"true"`                // Head is the agent that leads; required. It may be in Agents, with settings of its own, and is never a specialist
	OutputKey  string         `json:"outputKey,omitzero"`                           // OutputKey is the key of the output in Outcome.Output; "": ID
	Priority   int            `json:"priority,omitzero"`                            // Priority orders departments of equal relevance; 1 comes first
	Base       int            `json:"base,omitzero"`                                // Base is the relevance for any request, in hundredths
	Keywords   map[string]int `json:"keywords,omitzero"`                            // Keywords are the hundredths of relevance that a word or phrase adds; see routing.Keyword
	DependsOn  []string       `json:"dependsOn,omitzero"`                           // DependsOn has the departments whose results this one needs, if the request concerns them
	MinQuality *float64       `json:"minQuality" min:"0" max:"100"`                 // MinQuality is the passing threshold, 0 to 100, of agents without their own; nil, which is null in JSON: 60. NewDepartment and JSON without it set 80
	Gate       *float64       `json:"gate,omitzero" default:"60" min:"0" max:"100"` // Gate is the quality, 0 to 100, that sets Report.PassedGate; it blocks nothing; nil: 60
	Attempts   int            `json:"attempts,omitzero" min:"0"`                    // Attempts limits the head's tries of an answer or a synthesis; 0: Policy.HeadAttempts
	Serial     bool           `json:"serial,omitzero"`                              // Serial makes the specialists work one after the other
	Agents     []Agent        `json:"agents,omitzero"`                              // Agents are the specialists, in any order
}

// Agent has the settings of an agent of the host's roster.
//
// Its JSON may also have "maxRetries", which is Attempts without the first. It, "timeout"
// and "temperature" may stand in an object "executionSettings".
type Agent struct {
	ID               string            `json:"id,omitzero" required:"true"`                 // ID is the agent's name in the roster; required, unique in the team
	Name             string            `json:"name,omitzero"`                               // Name is for people and prompts, and need not be unique; "": ID
	Specialization   string            `json:"specialization,omitzero"`                     // Specialization says what the agent is good at, in a few words
	Inactive         bool              `json:"inactive,omitzero"`                           // Inactive agents are never selected
	SuccessRate      *float64          `json:"successRate,omitzero" min:"0" max:"100"`      // SuccessRate is the share, 0 to 100, of its work that succeeded: see Learn; nil: unknown, which comes last
	Skills           []string          `json:"skills,omitzero"`                             // Skills are looked for in the brief: one who has one of those found is selected. Skills that no active specialist has do not count
	PassingThreshold *float64          `json:"passingThreshold,omitzero" min:"0" max:"100"` // PassingThreshold is the least score, 0 to 100, that passes; 0: no gate; nil: the department's MinQuality, else 60
	Attempts         int               `json:"attempts,omitzero" min:"0"`                   // Attempts limits a specialist's tries, the first included; 0: Policy.Attempts
	Timeout          time.Duration     `json:"timeout,omitzero" default:"300s" min:"0"`     // Timeout limits an attempt, the engine's retries of transient errors included; 0: 300 s
	Temperature      *float64          `json:"temperature,omitzero" default:"0.7"`          // Temperature is sent with every request, 0 to 2, but to models that refuse one; nil: 0.7; orchestrator.None: none is sent
	Estimate         providers.NanoUSD `json:"estimate,omitzero" min:"0"`                   // Estimate is reserved before each call; 0: Limits.Estimate
	Schema           json.RawMessage   `json:"schema,omitzero"`                             // Schema is the JSON Schema that an output must fit, or the attempt fails; nil: any output fits
}

const schemaMinimum = 80.0 // MinQuality of a department that says nothing about it

// NewDepartment returns a department whose agents need 80 unless they have their own
// threshold.
func NewDepartment(id, head string, agents ...Agent) Department {
	return Department{ID: id, Head: head, MinQuality: new(schemaMinimum), Agents: agents}
}

// withDefaults returns d, which has the defaults of its tags, with those that depend on
// other fields. MinQuality has none: missing has a meaning. d is a copy of the host's.
func (d Department) withDefaults(p Policy) Department {
	d.Name = cmp.Or(d.Name, d.ID)
	d.OutputKey = cmp.Or(d.OutputKey, d.ID)
	d.Attempts = cmp.Or(d.Attempts, p.HeadAttempts)
	for i, a := range d.Agents {
		d.Agents[i] = a.withDefaults(p)
	}
	return d
}

func (a Agent) withDefaults(p Policy) Agent {
	team.Defaults(&a)
	a.Name = cmp.Or(a.Name, a.ID)
	a.Attempts = cmp.Or(a.Attempts, p.Attempts)
	if *a.Temperature == orchestrator.None {
		a.Temperature = nil
	}
	return a
}

// head returns the head's settings: those in Agents, or the defaults.
func (d Department) head() Agent {
	if i := slices.IndexFunc(d.Agents, func(a Agent) bool { return a.ID == d.Head }); i >= 0 {
		return d.Agents[i]
	}
	return Agent{ID: d.Head}.withDefaults(Policy{})
}

// specialists returns the agents except the head, inactive ones included.
func (d Department) specialists() []Agent {
	return slices.DeleteFunc(slices.Clone(d.Agents), func(a Agent) bool { return a.ID == d.Head })
}

func (d Department) target() routing.Target {
	about := []string{d.Name}
	for _, a := range d.Agents {
		about = append(about, a.Specialization)
	}
	about = slices.DeleteFunc(about, func(text string) bool { return text == "" })
	return routing.Target{ID: d.ID, Priority: d.Priority, Base: d.Base, Keywords: d.Keywords, About: strings.Join(about, ", ")}
}

// check adds the faults of d that tags do not find.
func (d Department) check(f *team.Faults) {
	if !text.IsBlank(d.ID) {
		f.Name(fmt.Sprintf("department %q: ID", d.ID), d.ID)
	}
	if err := d.target().Validate(); err != nil && !text.IsBlank(d.ID) {
		f.Add("department %q: %w", d.ID, err)
	}
	for _, a := range d.Agents {
		a.check(f, d)
	}
}

func (a Agent) check(f *team.Faults, d Department) {
	at := fmt.Sprintf("department %q: agent %q: ", d.ID, a.ID)
	f.Name(at+"ID", a.ID)
	f.If(a.Inactive && a.ID == d.Head, "%sInactive: the head is not active", at)
	if err := (routing.Rules{Skills: a.Skills}).Validate(); err != nil {
		f.Add("%s%w", at, err)
	}
	if len(a.Schema) > 0 {
		if _, err := answer.FromSchema(a.Schema); err != nil {
			f.Add("%sSchema: %w", at, err)
		}
	}
	if a.Temperature != nil && *a.Temperature != orchestrator.None {
		f.Within(at+"Temperature", *a.Temperature, 0, 2)
	}
}

//go:embed studio.json
var studio []byte

// MovieDepartments returns the studio of studio.json: story, character, visual,
// image_quality, audio and production, with heads named <department>-head and
// specialists named <department>-<skill>-specialist, an underscore in a department's ID
// being a hyphen. Each name in characters counts as a keyword of the character
// department, as "aladdin" does. The caller owns the result.
func MovieDepartments(characters ...string) []Department {
	var departments []Department
	if err := json.Unmarshal(studio, &departments); err != nil {
		panic(err) // the file is part of the package
	}
	for _, name := range characters {
		departments[1].Keywords[name] = 35 // the character department
	}
	return departments
}
