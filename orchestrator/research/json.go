package research

import "github.com/convene-go/convene/orchestrator/team"

// The JSON of what hosts read and write is that of package team. Unknown fields of Configs
// and Inputs are faults. A rule that is not of its default's type has no JSON: the error
// names it.

func (c Config) MarshalJSON() ([]byte, error)      { return team.Encode(c) }
func (c *Config) UnmarshalJSON(data []byte) error  { return team.Decode(data, c) }
func (r Rules) MarshalJSON() ([]byte, error)       { return team.EncodeRules(r, DefaultRules()) }
func (r *Rules) UnmarshalJSON(data []byte) error   { return team.DecodeRules(data, r, DefaultRules()) }
func (in Input) MarshalJSON() ([]byte, error)      { return team.Encode(in) }
func (in *Input) UnmarshalJSON(data []byte) error  { return team.Decode(data, in) }
func (o Outcome) MarshalJSON() ([]byte, error)     { return team.Encode(o) }
func (o *Outcome) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, o) }
func (s State) MarshalJSON() ([]byte, error)       { return team.Encode(s) }
func (s *State) UnmarshalJSON(data []byte) error   { return team.DecodeLenient(data, s) }
func (e Event) MarshalJSON() ([]byte, error)       { return team.Encode(e) }
func (e *Event) UnmarshalJSON(data []byte) error   { return team.DecodeLenient(data, e) }
