package hierarchy

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/routing"
)

// choose selects the specialists (H33-H38).
func (d *department) choose(brief string, a routing.Analysis) ([]Agent, error) {
	d.stage = "selection"
	team := d.Department.specialists()
	if hook := d.run.cfg.Hooks.Select; hook != nil {
		chosen, err := guard("selection", func() ([]Agent, error) {
			return hook(Selection{d.run.in, d.Department, brief, a}), nil
		})
		if err != nil {
			return nil, err
		}
		return own(chosen, team)
	}
	candidates := make([]routing.Candidate, len(team))
	for i, s := range team {
		candidates[i] = routing.Candidate{ID: s.ID, Skills: s.Skills, Inactive: s.Inactive, SuccessRate: s.SuccessRate}
	}
	var chosen []Agent
	for _, picked := range routing.Select(candidates, a.Skills, a.Estimate) {
		chosen = append(chosen, team[slices.IndexFunc(team, func(s Agent) bool { return s.ID == picked.ID })])
	}
	return chosen, nil
}

// own returns the department's active specialists that a hook chose. Another one, or
// one chosen twice, is an error.
func own(chosen, team []Agent) ([]Agent, error) {
	var agents []Agent
	for _, picked := range chosen {
		i := slices.IndexFunc(team, func(s Agent) bool { return s.ID == picked.ID && !s.Inactive })
		if i < 0 {
			return nil, fmt.Errorf("selection: %q is no active specialist of the department", picked.ID)
		}
		if slices.ContainsFunc(agents, func(s Agent) bool { return s.ID == picked.ID }) {
			return nil, fmt.Errorf("selection: %q is chosen twice", picked.ID)
		}
		agents = append(agents, team[i])
	}
	return agents, nil
}

func agentIDs(agents []Agent) []string {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids
}
