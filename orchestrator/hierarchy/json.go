package hierarchy

import (
	"encoding/json"
	"maps"

	"github.com/convene-go/convene/orchestrator/team"
)

// The JSON of all that hosts read and write is that of package team. Unknown fields of Configs
// and Inputs are faults. A rule of the host has no JSON: the error names it.

func (c Config) MarshalJSON() ([]byte, error)   { return team.Encode(c) }
func (c *Config) UnmarshalJSON(b []byte) error  { return team.Decode(b, c) }
func (r Rules) MarshalJSON() ([]byte, error)    { return team.EncodeRules(r, DefaultRules()) }
func (r *Rules) UnmarshalJSON(b []byte) error   { return team.DecodeRules(b, r, DefaultRules()) }
func (in Input) MarshalJSON() ([]byte, error)   { return team.Encode(in) }
func (in *Input) UnmarshalJSON(b []byte) error  { return team.Decode(b, in) }
func (o Outcome) MarshalJSON() ([]byte, error)  { return team.Encode(o) }
func (o *Outcome) UnmarshalJSON(b []byte) error { return team.DecodeLenient(b, o) }
func (e *Event) UnmarshalJSON(b []byte) error   { return team.DecodeLenient(b, e) }
func (a Agent) MarshalJSON() ([]byte, error)    { return team.Encode(a) }

func (a *Agent) UnmarshalJSON(b []byte) error {
	type fields Agent
	var read struct {
		fields
		Retries team.MaxRetries `json:"maxRetries"`
	}
	read.fields, read.Retries = fields(*a), team.MaxRetries{Attempts: &read.Attempts}
	err := team.Decode(flat(b, "executionSettings"), &read)
	*a = Agent(read.fields)
	return err
}

func (d *Department) UnmarshalJSON(b []byte) error {
	type fields Department
	var read struct {
		fields
		Retries   team.MaxRetries `json:"maxRetries"`
		Threshold **float64       `json:"minQualityThreshold"`
	}
	read.fields, read.Retries, read.Threshold = fields(*d), team.MaxRetries{Attempts: &read.Attempts}, &read.MinQuality
	err := team.Decode(flat(b, "coordinationSettings"), &read)
	*d = Department(read.fields)
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
