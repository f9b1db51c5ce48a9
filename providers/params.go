package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Params are further settings of a request, and of a [Spec] for requests without them.
// The zero Params set nothing. A model leaves out what it is known to refuse.
type Params struct {
	TopP *float64 `json:"topP,omitempty"` // above 0, at most 1; nil: not sent
	Stop []string `json:"stop,omitempty"` // the answer ends before the first of these texts; at most 16
	Seed *int64   `json:"seed,omitempty"` // number for reproducible answers, if the vendor supports it; nil: not sent

	// Effort is how long a model may think before it answers. Models with fewer steps use
	// the nearest one.
	Effort Effort `json:"effort,omitempty"`

	// Extra is a JSON object that is merged into the body of the vendor's request,
	// for parameters that this package has no field for: {"num_ctx": 8192}. Objects
	// are merged field by field, null removes a field, anything else replaces the old
	// value. A Spec's is merged first, then the request's.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Effort is how long a model may think. "" is the model's default.
type Effort string

// The steps of effort.
const (
	EffortNone    Effort = "none" // no thinking, if the model can switch it off
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortMax     Effort = "max" // the highest step of the model
)

var efforts = []Effort{"", EffortNone, EffortMinimal, EffortLow, EffortMedium, EffortHigh, EffortMax}

// orParams returns p with the values of q where p sets none. Of two Extras, q's
// comes first and p's is merged over it.
func orParams(p, q Params) Params {
	if p.TopP == nil {
		p.TopP = q.TopP
	}
	if len(p.Stop) == 0 {
		p.Stop = q.Stop
	}
	if p.Seed == nil {
		p.Seed = q.Seed
	}
	if p.Effort == "" {
		p.Effort = q.Effort
	}
	p.Extra = mergeJSON(q.Extra, p.Extra)
	return p
}

// CheckParams returns every fault of p joined into one error, or nil.
func CheckParams(p Params) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if t := p.TopP; t != nil && !(*t > 0 && *t <= 1) { // NaN is refused too
		bad("topP is %v, want more than 0 and at most 1", *t)
	}
	if n := len(p.Stop); n > 16 {
		bad("stop has %d texts, want at most 16", n)
	}
	if slices.Contains(p.Stop, "") {
		bad("stop holds an empty text")
	}
	if !slices.Contains(efforts, p.Effort) {
		bad("effort is %q, want one of %q", string(p.Effort), efforts[1:])
	}
	if len(p.Extra) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(p.Extra, &object) != nil || object == nil {
			errs = append(errs, errors.New("extra is not a JSON object"))
		}
	}
	return errors.Join(errs...)
}

// CloneParams returns a deep copy of p.
func CloneParams(p Params) Params {
	if p.TopP != nil {
		p.TopP = new(*p.TopP)
	}
	if p.Seed != nil {
		p.Seed = new(*p.Seed)
	}
	p.Stop, p.Extra = slices.Clone(p.Stop), bytes.Clone(p.Extra)
	return p
}

// mergeJSON returns base with patch merged over it, both of them objects or empty.
func mergeJSON(base, patch json.RawMessage) json.RawMessage {
	var b, p map[string]json.RawMessage
	switch {
	case len(patch) == 0:
		return base
	case len(base) == 0, json.Unmarshal(base, &b) != nil, json.Unmarshal(patch, &p) != nil:
		return patch
	}
	for name, value := range p {
		if isObject(value) && isObject(b[name]) {
			value = mergeJSON(b[name], value)
		}
		b[name] = value
	}
	data, err := json.Marshal(b)
	if err != nil {
		return patch // impossible: both were read as JSON
	}
	return data
}

func isObject(data json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) }
