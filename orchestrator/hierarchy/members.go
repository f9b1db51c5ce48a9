package hierarchy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Department is one department of the team: a head and any number of specialists.
//
// In JSON "minQualityThreshold", "maxRetries" and "allowParallelExecution", which is
// the opposite of "serial", may also stand in an object "coordinationSettings".
type Department struct {
	ID        string         `json:"id,omitzero"`        // in routes, dependencies and reports; required, unique in the team
	Name      string         `json:"name,omitzero"`      // for people and prompts, need not be unique; "": ID
	Head      string         `json:"head,omitzero"`      // the agent that leads, required; with settings of its own if it is in Agents, never a specialist
	OutputKey string         `json:"outputKey,omitzero"` // of the output in Outcome.Output; "": ID
	Priority  int            `json:"priority,omitzero"`  // of departments with equal relevance, 1 comes first
	Base      int            `json:"base,omitzero"`      // relevance for any request, in hundredths
	Keywords  map[string]int `json:"keywords,omitzero"`  // hundredths of relevance that a word or phrase adds; see routing.Keyword
	DependsOn []string       `json:"dependsOn,omitzero"` // whose results this one needs, if they were chosen for the request

	// MinQuality is the passing threshold, 0 to 100, of agents without their own. nil is
	// missing and means 60; NewDepartment sets 80.
	MinQuality *float64 `json:"minQualityThreshold,omitzero"`

	Gate       *float64 `json:"gate,omitzero"`       // the quality, 0 to 100, that sets Report.PassedGate; informs, blocks nothing; nil: 60
	MaxRetries Retries  `json:"maxRetries,omitzero"` // of the head, directly and in each synthesis; 0: Retry.Heads
	Serial     bool     `json:"serial,omitzero"`     // the specialists work one after the other
	Agents     []Agent  `json:"agents,omitzero"`     // the specialists, in any order
}

// Agent is the configuration of an agent that the host's roster has under ID.
//
// In JSON "maxRetries", "timeout" and "temperature" may also stand in an object
// "executionSettings".
type Agent struct {
	ID             string   `json:"id,omitzero"`             // in the roster; required, unique in the team
	Name           string   `json:"name,omitzero"`           // for people and prompts, need not be unique; "": ID
	Specialization string   `json:"specialization,omitzero"` // what the agent is good at, in a few words
	Inactive       bool     `json:"inactive,omitzero"`       // is never chosen
	SuccessRate    *float64 `json:"successRate,omitzero"`    // share, 0 to 100, of its work that succeeded: see Learn; nil: unknown, comes last

	// Skills are looked for in the brief. A specialist is chosen if it has one of
	// those found; skills that no active specialist has do not count.
	Skills []string `json:"skills,omitzero"`

	// PassingThreshold is the least score, 0 to 100, that passes. nil is missing: the
	// department's MinQuality, else 60. 0 is no gate.
	PassingThreshold *float64 `json:"passingThreshold,omitzero"`

	MaxRetries Retries `json:"maxRetries,omitzero"` // 0: Retry.Specialists

	// Timeout bounds one attempt, the engine's retries of transient errors included;
	// then the attempt failed. 0 means 300 s.
	Timeout time.Duration `json:"timeout,omitzero"`

	// Temperature is sent with every request, 0 to 2; models that refuse one get
	// none. nil means 0.7, orchestrator.None sends none.
	Temperature *float64 `json:"temperature,omitzero"`

	Estimate providers.NanoUSD `json:"estimate,omitzero"` // what a call may cost, reserved before it; 0: Limits.Estimate
	Schema   json.RawMessage   `json:"schema,omitzero"`   // the JSON Schema that an output must fit, or the attempt fails; nil: any output
}

// Retries is how often work is retried after the first attempt. 0 is the default,
// orchestrator.None is no retry. In JSON 0 is no retry, and the default is left out.
type Retries int

// NewDepartment returns a department whose agents need 80 unless they have their own
// threshold.
func NewDepartment(id, head string, agents ...Agent) Department {
	return Department{ID: id, Head: head, MinQuality: new(80.0), Agents: agents}
}

// MarshalJSON implements json.Marshaler.
func (r Retries) MarshalJSON() ([]byte, error) { return json.Marshal(max(int(r), 0)) }

// MarshalJSON implements json.Marshaler.
func (a Agent) MarshalJSON() ([]byte, error) { return team.Encode(a) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Department) UnmarshalJSON(b []byte) error {
	return team.Decode(flat(b, "coordinationSettings"), d)
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Agent) UnmarshalJSON(b []byte) error { return team.Decode(flat(b, "executionSettings"), a) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Retries) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*int)(r))
	*r = cmp.Or(*r, orchestrator.None)
	return err
}

// flat returns a JSON object with the members of a group of settings as its own, and
// with "serial" for "allowParallelExecution". What it cannot read is left for Decode.
func flat(data []byte, group string) []byte {
	var members, settings map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return data
	}
	if json.Unmarshal(members[group], &settings) == nil {
		delete(members, group)
		maps.Copy(members, settings)
	}
	const parallel = "allowParallelExecution"
	switch string(members[parallel]) {
	case "true":
		delete(members, parallel)
	case "false":
		delete(members, parallel)
		members["serial"] = json.RawMessage("true")
	}
	flat, err := json.Marshal(members)
	if err != nil {
		return data
	}
	return flat
}

// withDefaults returns d with every default set except MinQuality, for which missing
// has a meaning. Retries are numbers from 0 on. d is a copy of the host's.
func (d Department) withDefaults(c Config) Department {
	d.Name = cmp.Or(d.Name, d.ID)
	d.OutputKey = cmp.Or(d.OutputKey, d.ID)
	d.Gate = cmp.Or(d.Gate, new(60.0))
	d.MaxRetries = max(cmp.Or(d.MaxRetries, c.Retry.Heads), 0)
	for i, a := range d.Agents {
		d.Agents[i] = a.withDefaults(c)
	}
	return d
}

func (a Agent) withDefaults(c Config) Agent {
	a.Name = cmp.Or(a.Name, a.ID)
	a.MaxRetries = max(cmp.Or(a.MaxRetries, c.Retry.Specialists), 0)
	a.Timeout = cmp.Or(a.Timeout, 300*time.Second)
	if a.Temperature = cmp.Or(a.Temperature, new(0.7)); *a.Temperature == orchestrator.None {
		a.Temperature = nil
	}
	a.Estimate = cmp.Or(a.Estimate, c.Limits.Estimate)
	return a
}

// head returns the head's settings: those in Agents, or the defaults of c.
func (d Department) head(c Config) Agent {
	if i := slices.IndexFunc(d.Agents, func(a Agent) bool { return a.ID == d.Head }); i >= 0 {
		return d.Agents[i]
	}
	return Agent{ID: d.Head}.withDefaults(c)
}

// specialists returns the agents except the head, inactive ones included.
func (d Department) specialists() []Agent {
	return slices.DeleteFunc(slices.Clone(d.Agents), func(a Agent) bool { return a.ID == d.Head })
}

func (d Department) target() routing.Target {
	return routing.Target{ID: d.ID, Priority: d.Priority, Base: d.Base, Keywords: d.Keywords}
}

func (d Department) validate(f *team.Faults) {
	at := func(field string) string { return fmt.Sprintf("department %q: %s", d.ID, field) }
	if blank(d.ID) {
		f.Add("%s is empty", at("ID"))
	} else if err := d.target().Validate(); err != nil {
		f.Add("department %q: %w", d.ID, err)
	}
	if blank(d.Head) {
		f.Add("%s is empty", at("Head"))
	}
	f.WithinIfSet(at("MinQuality"), d.MinQuality, 0, 100)
	f.WithinIfSet(at("Gate"), d.Gate, 0, 100)
	team.Least(f, at("MaxRetries"), d.MaxRetries, orchestrator.None)
	for _, a := range d.Agents {
		a.validate(f, d)
	}
}

func (a Agent) validate(f *team.Faults, d Department) {
	at := func(field string) string { return fmt.Sprintf("department %q: agent %q: %s", d.ID, a.ID, field) }
	if blank(a.ID) {
		f.Add("%s is empty", at("ID"))
	}
	if a.Inactive && a.ID == d.Head {
		f.Add("%s: the head is not active", at("Inactive"))
	}
	if err := (routing.Rules{Skills: a.Skills}).Validate(); err != nil {
		f.Add("department %q: agent %q: %w", d.ID, a.ID, err)
	}
	if len(a.Schema) > 0 {
		if _, err := answer.FromSchema(a.Schema); err != nil {
			f.Add("%s: %w", at("Schema"), err)
		}
	}
	f.WithinIfSet(at("SuccessRate"), a.SuccessRate, 0, 100)
	f.WithinIfSet(at("PassingThreshold"), a.PassingThreshold, 0, 100)
	if a.Temperature != nil && *a.Temperature != orchestrator.None {
		f.Within(at("Temperature"), *a.Temperature, 0, 2)
	}
	team.Least(f, at("MaxRetries"), a.MaxRetries, orchestrator.None)
	team.Least(f, at("Timeout"), a.Timeout, 0)
	team.Least(f, at("Estimate"), a.Estimate, 0)
}
