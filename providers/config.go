package providers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Config is the configuration of a host's models, as one piece of JSON. Only Roles is
// required. Unknown fields are errors.
type Config struct {
	Roles  RoleConfig       `json:"roles"`            // models of each role, the first one first
	Limits map[string]Limit `json:"limits,omitempty"` // limits on calls by provider; nil: none
	Prices Prices           `json:"prices,omitempty"` // prices for Specs without a Price, before [BuiltinPrices]; nil: none
	// FallbackOn are the reasons beside a rate limit at which a role's next model is
	// called, by role: see [Chain]. Those of "" are for roles without their own.
	FallbackOn map[string][]Reason `json:"fallbackOn,omitempty"`

	Total string `json:"total,omitempty"` // limit of one call over all models of a role, as "5m", see [Chain]; "": no limit
}

// Validate returns every fault of c joined into one error, or nil. For roles see
// [RoleConfig.Validate].
func (c Config) Validate(own ...string) error {
	return errors.Join(c.Roles.Validate(own...), c.check(own...))
}

// check finds the faults beside those of the roles.
func (c Config) check(own ...string) error {
	var errs []error
	known := c.providers(own...)
	for _, provider := range slices.Sorted(maps.Keys(c.Limits)) {
		if err := c.Limits[provider].check(); err != nil {
			errs = append(errs, fmt.Errorf("limits of %q: %w", provider, err))
		}
		if !slices.Contains(known, provider) {
			errs = append(errs, fmt.Errorf("limits of %q: %w", provider, unknownProvider(provider, known)))
		}
	}
	if err := c.Prices.check(); err != nil {
		errs = append(errs, err)
	}
	for _, role := range slices.Sorted(maps.Keys(c.FallbackOn)) {
		if _, ok := c.Roles[role]; !ok && role != "" {
			errs = append(errs, fmt.Errorf("fallbackOn of %q: there is no such role", role))
		}
		for _, reason := range c.FallbackOn[role] {
			if !slices.Contains(reasons, reason) {
				errs = append(errs, fmt.Errorf("fallbackOn of %q: %q is none of %q", role, string(reason), reasons))
			}
		}
	}
	if c.Total != "" {
		if d, err := time.ParseDuration(c.Total); err != nil || d <= 0 {
			errs = append(errs, fmt.Errorf(`total is %q, want a duration above 0 such as "5m"`, c.Total))
		}
	}
	return errors.Join(errs...)
}

// providers returns the known ones, sorted.
func (c Config) providers(own ...string) []string {
	known := append(vendors(), own...)
	for _, specs := range c.Roles {
		for _, s := range specs {
			known = append(known, s.Provider)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// UnmarshalJSON reads a configuration.
func (c *Config) UnmarshalJSON(data []byte) error {
	type plain Config
	var in plain
	if err := strict(data, &in); err != nil {
		return err
	}
	*c = Config(in)
	return nil
}
