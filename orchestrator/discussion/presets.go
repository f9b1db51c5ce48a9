package discussion

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The presets, by name, and their roles.
var (
	ofVote     = []Role{TeamLeader, Ideation, Moderator}
	ofStandard = []Role{TeamLeader, Ideation, Moderator, UICreator}
	ofExtended = []Role{TeamLeader, Researcher, Ideation, Critic, Moderator, UICreator}
)

// Standard is a team of four and one round: leader, ideation, moderator, ui_creator.
// agents are the names in the roster by role; a role that is missing there has an agent
// with the role's name. A role in agents that the preset does not have is a fault, which New
// returns. The other presets do the same.
func Standard(agents map[Role]string) Config {
	return preset("Standard", agents, ofStandard, Config{
		Rounds: Rounds{Max: 1}, Policy: Policy{MinIdeas: 3, Threshold: 6.0},
	})
}

// Extended is Standard with researcher and critic, two rounds and a deep dive.
func Extended(agents map[Role]string) Config {
	return preset("Extended", agents, ofExtended, Config{
		Rounds: Rounds{Max: 2, DeepDive: 1}, Policy: Policy{MinIdeas: 4, Threshold: 7.0},
	})
}

// Full is all seven roles, three rounds and a deep dive.
func Full(agents map[Role]string) Config {
	return preset("Full", agents, roles, Config{
		Rounds: Rounds{Max: 3, DeepDive: 1}, Policy: Policy{MinIdeas: 5, Threshold: 7.5},
	})
}

// Vote is Standard without talk: the leader opens, ideation proposes once, the moderator scores
// once, and the leader names its choice. It takes four calls.
func Vote(agents map[Role]string) Config {
	return preset("Vote", agents, ofVote, Config{
		Rounds: Rounds{Max: 1}, Policy: Policy{Threshold: 6.0}, Rules: Rules{Turns: InOrder{Order: []Role{Ideation}}},
	})
}

// preset returns c with a team of these roles.
func preset(name string, agents map[Role]string, has []Role, c Config) Config {
	for _, role := range has {
		c.Team = append(c.Team, Member{Role: role, Agent: cmp.Or(agents[role], string(role))})
	}
	for _, role := range slices.Sorted(maps.Keys(agents)) {
		if !slices.Contains(has, role) {
			c.faults = append(c.faults, fmt.Sprintf("%s has no role %q: %s", name, role, instead(role, has)))
		}
	}
	return c
}

// instead returns what to do in place of a role that a preset does not have.
func instead(role Role, has []Role) string {
	if near := didYouMean(role, has); near != "" {
		return near
	}
	var others []string
	for _, other := range []struct {
		name string
		has  []Role
	}{{"Standard", ofStandard}, {"Extended", ofExtended}, {"Full", roles}} {
		if slices.Contains(other.has, role) {
			others = append(others, other.name)
		}
	}
	if others != nil {
		return "want " + strings.Join(others, " or ")
	}
	return cmp.Or(didYouMean(role, roles), "add the member to Config.Team")
}
