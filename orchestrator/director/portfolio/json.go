package portfolio

import "github.com/convene-go/convene/orchestrator/team"

// The JSON of what hosts read and write is that of package team. Unknown fields of Configs
// and Inputs are faults. A rule of the host has no JSON: the error names it.

func (c Config[I, O]) MarshalJSON() ([]byte, error)     { return team.Encode(c) }
func (c *Config[I, O]) UnmarshalJSON(data []byte) error { return team.Decode(data, c) }
func (r Rules[I, O]) MarshalJSON() ([]byte, error)      { return team.EncodeRules(r, defaultRules[I, O]()) }
func (in Input[I]) MarshalJSON() ([]byte, error)        { return team.Encode(in) }
func (in *Input[I]) UnmarshalJSON(data []byte) error    { return team.Decode(data, in) }
func (o Outcome[O]) MarshalJSON() ([]byte, error)       { return team.Encode(o) }
func (o *Outcome[O]) UnmarshalJSON(data []byte) error   { return team.DecodeLenient(data, o) }
func (s State) MarshalJSON() ([]byte, error)            { return team.Encode(s) }
func (s *State) UnmarshalJSON(data []byte) error        { return team.DecodeLenient(data, s) }
func (e Event) MarshalJSON() ([]byte, error)            { return team.Encode(e) }
func (e *Event) UnmarshalJSON(data []byte) error        { return team.DecodeLenient(data, e) }
func (r *Rules[I, O]) UnmarshalJSON(data []byte) error {
	return team.DecodeRules(data, r, defaultRules[I, O]())
}
