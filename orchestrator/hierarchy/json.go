package hierarchy

import (
	"encoding/json"
	"maps"
	"slices"

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
	b, _, err := flat(b, "executionSettings")
	if err != nil {
		return err
	}
	read.fields, read.Retries = fields(*a), team.MaxRetries{Attempts: &read.Attempts}
	err = team.Decode(b, &read)
	*a = Agent(read.fields)
	return err
}

// UnmarshalJSON reads a department. A minimum that the JSON does not mention is 80, unless d
// has one.
func (d *Department) UnmarshalJSON(b []byte) error {
	type fields Department
	var read struct {
		fields
		Retries   team.MaxRetries `json:"maxRetries"`
		Threshold **float64       `json:"minQualityThreshold"`
	}
	b, members, err := flat(b, "coordinationSettings")
	if err != nil {
		return err
	}
	read.fields, read.Retries, read.Threshold = fields(*d), team.MaxRetries{Attempts: &read.Attempts}, &read.MinQuality
	if _, old := members["minQualityThreshold"]; members["minQuality"] == nil && !old && d.MinQuality == nil {
		read.MinQuality = new(schemaMinimum)
	}
	err = team.Decode(b, &read)
	*d = Department(read.fields)
	return err
}

// flat returns a JSON object with the members of a group of settings as its own, and
// with "serial" for "allowParallelExecution", as text and as members. A setting that is there
// twice, also under its other name, is an error. What it cannot read is left for Decode.
func flat(data []byte, group string) ([]byte, map[string]json.RawMessage, error) {
	var members, settings map[string]json.RawMessage
	if err := team.Decode(data, &members); err != nil {
		return data, nil, nil //nolint:nilerr // the caller's Decode says what is wrong
	}
	var f team.Faults
	if json.Unmarshal(members[group], &settings) == nil {
		delete(members, group)
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			_, twice := members[name]
			f.If(twice, "%s is set, and %s.%s, too: want one of them", name, group, name)
		}
		maps.Copy(members, settings)
	}
	for _, names := range [][2]string{{"attempts", "maxRetries"}, {"minQuality", "minQualityThreshold"}, {"serial", parallel}} {
		_, one := members[names[0]]
		_, other := members[names[1]]
		f.If(one && other, "%s is set beside %s, want one of them", names[1], names[0])
	}
	if err := f.Err(); err != nil {
		return nil, nil, err
	}
	switch string(members[parallel]) {
	case "true":
		delete(members, parallel)
	case "false":
		delete(members, parallel)
		members["serial"] = json.RawMessage("true")
	}
	flat, err := json.Marshal(members)
	if err != nil {
		return data, members, nil //nolint:nilerr // Decode says what is wrong
	}
	return flat, members, nil
}

const parallel = "allowParallelExecution"
