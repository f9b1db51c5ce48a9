package providers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// RoleConfig maps a role to its models: the first one answers, the next one if the one
// before is rate limited or as [Config.FallbackOn] says, see [Chain]. A missing role has
// the models of "worker" if its name ends in "_worker" and that exists, else those of
// "director".
//
// It is plain JSON, in which a Spec may also be a text that [ParseSpec] reads. Unknown
// fields are errors.
type RoleConfig map[string][]Spec

// The roles that replace missing ones.
const (
	director = "director"
	worker   = "worker"
)

// With returns a copy of c in which role has these models. All other roles keep
// theirs.
func (c RoleConfig) With(role string, models ...Spec) RoleConfig {
	out := c.clone()
	out[role] = cloneSpecs(models)
	return out
}

// Validate returns every fault of c joined into one error, or nil: empty chains,
// a model that comes twice in one chain, values out of range, and providers that
// are unknown, as ErrUnknownProvider. Known are those of this package, the own
// ones of the host, and any with a BaseURL.
func (c RoleConfig) Validate(own ...string) error {
	known := append(vendors(), own...)
	errs := []error{c.check()}
	for _, role := range c.roles() {
		for i, s := range c[role] {
			if s.Provider != "" && s.BaseURL == "" && !slices.Contains(known, s.Provider) {
				errs = append(errs, inRole(role, i, s, unknownProvider(s.Provider, known)))
			}
		}
	}
	return errors.Join(errs...)
}

// check finds the faults that do not depend on openers.
func (c RoleConfig) check() error {
	var errs []error
	if len(c) == 0 {
		errs = append(errs, errors.New("no roles"))
	}
	for _, role := range c.roles() {
		if role == "" {
			errs = append(errs, errors.New("a role has no name"))
		}
		if len(c[role]) == 0 {
			errs = append(errs, fmt.Errorf("role %q has no models", role))
		}
		seen := map[service]int{}
		for i, s := range c[role] {
			if err := s.Validate(); err != nil {
				errs = append(errs, inRole(role, i, s, err))
			}
			if first, again := seen[s.service()]; again {
				errs = append(errs, inRole(role, i, s, fmt.Errorf("it is model %d again: a fallback must not lead back", first+1)))
			} else {
				seen[s.service()] = i
			}
		}
	}
	return errors.Join(errs...)
}

func inRole(role string, i int, s Spec, err error) error {
	return fmt.Errorf("role %q, model %d (%s): %w", role, i+1, s, err)
}

func (c RoleConfig) roles() []string { return slices.Sorted(maps.Keys(c)) }

func (c RoleConfig) clone() RoleConfig {
	out := make(RoleConfig, len(c)+1)
	for role, specs := range c {
		out[role] = cloneSpecs(specs)
	}
	return out
}

func cloneSpecs(specs []Spec) []Spec {
	out := slices.Clone(specs)
	for i := range out {
		out[i] = out[i].clone()
	}
	return out
}

// UnmarshalJSON reads roles. Its errors name the role and the model.
func (c *RoleConfig) UnmarshalJSON(data []byte) error {
	var raw map[string][]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("providers: roles: %w", err)
	}
	out := make(RoleConfig, len(raw))
	var errs []error
	for _, role := range slices.Sorted(maps.Keys(raw)) {
		specs := make([]Spec, len(raw[role]))
		for i, text := range raw[role] {
			if err := json.Unmarshal(text, &specs[i]); err != nil {
				errs = append(errs, fmt.Errorf("providers: role %q, model %d: %w", role, i+1, err))
			}
		}
		out[role] = specs
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	*c = out
	return nil
}
