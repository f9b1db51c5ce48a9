package discussion

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNoTeamLeader says that a Config has no leader (D3, DC1).
var ErrNoTeamLeader = errors.New("the team has no team_leader")

// validate returns every fault of c joined into one error, or nil.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !c.has(TeamLeader) {
		errs = append(errs, ErrNoTeamLeader)
	}
	seen := map[Role]bool{}
	for i, m := range c.Team {
		switch {
		case !slices.Contains(roles, m.Role):
			bad("Team[%d].Role is %q, want one of %q", i, m.Role, roles)
		case seen[m.Role]:
			bad("Team[%d].Role: %q is there twice", i, m.Role)
		}
		seen[m.Role] = true
		if m.Agent == "" {
			bad("Team[%d].Agent is empty (role %q)", i, m.Role)
		}
		if t := m.Temperature; t != nil && !(*t >= 0 && *t <= 2) { // NaN is refused too
			bad("Team[%d].Temperature is %v, want 0 to 2", i, *t)
		}
	}
	if c.MaxRounds < 1 {
		bad("MaxRounds is %d, want 1 or more", c.MaxRounds)
	}
	if c.MinIdeas < 0 {
		bad("MinIdeas is %d, want 0 or more", c.MinIdeas)
	}
	if c.MaxTopUps < -1 {
		bad("MaxTopUps is %d, want -1 or more", c.MaxTopUps)
	}
	if c.DeepDiveExchanges < 0 {
		bad("DeepDiveExchanges is %d, want 0 or more", c.DeepDiveExchanges)
	}
	if t := c.MinScoreThreshold; !(t >= 0 && t <= 10) {
		bad("MinScoreThreshold is %v, want 0 to 10", t)
	}
	return errors.Join(append(errs, c.Limits.validate())...)
}

func (l Limits) validate() error {
	var errs []error
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"Limits.Calls", l.Calls},
		{"Limits.Cost", int64(l.Cost)},
		{"Limits.CallTimeout", int64(l.CallTimeout)},
		{"Limits.TopicBytes", int64(l.TopicBytes)},
		{"Limits.ContextBytes", int64(l.ContextBytes)},
		{"Limits.IdeasPerCall", int64(l.IdeasPerCall)},
	} {
		if limit.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %d, want 0 or more", limit.name, limit.value))
		}
	}
	return errors.Join(errs...)
}
