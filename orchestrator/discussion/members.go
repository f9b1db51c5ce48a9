package discussion

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Role is the role of a member in the team: one of the package's, or a name of the host's.
type Role string

// The roles that the package knows: they have a Duty, and prompts for it. Steps of missing
// roles are skipped. System is no member's: it is the author of the host's preamble.
const (
	TeamLeader  Role = "team_leader"
	Researcher  Role = "researcher"
	Ideation    Role = "ideation"
	Critic      Role = "critic"
	Implementer Role = "implementer"
	Moderator   Role = "moderator"
	UICreator   Role = "ui_creator"
	System      Role = "system"
)

// roles are those of members, in the order in which the leader reads their names.
var roles = []Role{TeamLeader, Researcher, Ideation, Critic, Implementer, Moderator, UICreator}

// Duty is what the team needs a member for.
type Duty string

// The duties. One member leads; at most one scores, and at most one reports.
const (
	Lead    Duty = "lead"    // opens, sums up the rounds, and chooses: the team_leader
	Propose Duty = "propose" // has ideas: ideation
	Speak   Duty = "speak"   // speaks in the rounds: researcher, critic, implementer, and all other roles
	Score   Duty = "score"   // scores the ideas: the moderator
	Report  Duty = "report"  // makes the page: the ui_creator
)

// dutyOf returns the duty of a role whose member has none of its own.
func dutyOf(role Role) Duty {
	switch role { //nolint:exhaustive // all others speak
	case TeamLeader:
		return Lead
	case Ideation:
		return Propose
	case Moderator:
		return Score
	case UICreator:
		return Report
	}
	return Speak
}

// Member is an agent in a role.
type Member struct {
	// Role is one of the package's, or any other name: letters, digits, "_", "-", apostrophes and
	// spaces, at most 64. Messages of the member's turns have it as their type.
	Role Role `json:"role" required:"true"`

	// ID tells members of one role apart, in Rules.Turns, messages, records and warnings. "":
	// the role, and if several members have it, the role with "-1", "-2" and so on.
	ID string `json:"id,omitzero"`

	// Duty is what the team needs the member for. "": that of the role; all roles of the host
	// speak.
	Duty Duty `json:"duty,omitzero" oneof:"lead propose speak score report"`

	// Task is what the member is asked for, at the end of each of its prompts. "": the prompt
	// says all. A role of the host has a Task or a Duty.
	Task string `json:"task,omitzero"`

	Agent       string            `json:"agent" required:"true"`                 // name in the roster; several members may share one
	Name        string            `json:"name,omitzero"`                         // name in the prompt of the kickoff, and the member's own; "": the ID
	Temperature *float64          `json:"temperature,omitempty" min:"0" max:"2"` // temperature of the model, 0 to 2; nil: its own
	Estimate    providers.NanoUSD `json:"estimate,omitzero" min:"0"`             // money that is set aside before a call; 0: Limits.Estimate
}

// isNamed reports whether a role or an ID is a name.
var isNamed = regexp.MustCompile(`^[\pL\pN][\pL\pM\pN '’_-]{0,63}$`).MatchString

// reserved are types of messages, and authors, that are no roles.
var reserved = []Role{System, "preamble", "kickoff", "synthesis", "validation", "selection", "visualization"}

// complete sets what is zero in a Config.
func complete(c *Config) {
	team.Defaults(c)
	count, seen := map[Role]int{}, map[Role]int{}
	for _, m := range c.Team {
		count[m.Role]++
	}
	for i := range c.Team {
		m := &c.Team[i]
		seen[m.Role]++
		switch {
		case m.ID != "":
		case count[m.Role] == 1:
			m.ID = string(m.Role)
		default:
			m.ID = fmt.Sprintf("%s-%d", m.Role, seen[m.Role])
		}
	}
}

// duty returns the duty of m.
func (m Member) duty() Duty { return cmp.Or(m.Duty, dutyOf(m.Role)) }

// checkTeam adds the faults of the team.
func (c Config) checkTeam(f *team.Faults) {
	f.If(!c.has(Lead), `Team has no team_leader, and no other member with the duty "lead"`)
	for i, m := range c.Team {
		f.If(m.Role != "" && !isNamed(string(m.Role)), "Team[%d].Role is %q, want letters, digits, _, -, ' and spaces, at most 64", i, m.Role)
		f.If(slices.Contains(reserved, m.Role), "Team[%d].Role is %q, which is the name of something else: want another", i, m.Role)
		f.If(m.ID != "" && m.ID != string(m.Role) && !isNamed(m.ID), "Team[%d].ID is %q, want letters, digits, _, -, ' and spaces, at most 64", i, m.ID)
		hint := "set its Task or its Duty"
		if near := didYouMean(m.Role, roles); near != "" {
			hint += ", or " + near
		}
		f.If(isNamed(string(m.Role)) && !slices.Contains(roles, m.Role) && m.Duty == "" && strings.TrimSpace(m.Task) == "",
			"Team[%d].Role is %q, which the package does not know: %s", i, m.Role, hint)
		f.Name(fmt.Sprintf("Team[%d].Name", i), m.Name)
		for j, other := range c.Team {
			f.If(j < i && m.ID != "" && m.ID == other.ID, "Team[%d].ID is %q, as that of Team[%d]", i, m.ID, j)
			f.If(j != i && m.ID != "" && m.ID == string(other.Role), "Team[%d].ID is %q, which is the role of Team[%d]", i, m.ID, j)
			f.If(j < i && m.duty() == other.duty() && slices.Contains([]Duty{Lead, Score, Report}, m.duty()),
				"Team[%d].Role: %q has the duty %q, as Team[%d]: want one member with it", i, m.Role, m.duty(), j)
		}
	}
}

// checkTurns adds the names in InOrder that are those of nobody who speaks.
func (c Config) checkTurns(f *team.Faults) {
	order, ok := c.Rules.Turns.(InOrder)
	if !ok {
		return
	}
	for i, name := range order.Order {
		f.If(len(c.named(name)) == 0, "Rules.Turns.Order[%d] is %q, want the role or the ID of a member who speaks in rounds", i, name)
	}
}

// didYouMean returns a hint at the role that is most like one; "" if none is.
func didYouMean(role Role, known []Role) string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	if near := text.Nearest(string(role), names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// who returns the first member with a duty.
func (c Config) who(d Duty) Member {
	i := slices.IndexFunc(c.Team, func(m Member) bool { return m.duty() == d })
	if i < 0 {
		return Member{}
	}
	return c.Team[i]
}

func (c Config) has(d Duty) bool {
	return slices.ContainsFunc(c.Team, func(m Member) bool { return m.duty() == d })
}

// speaks reports whether m has turns in rounds.
func (m Member) speaks() bool { return slices.Contains([]Duty{Lead, Propose, Speak}, m.duty()) }

// named returns the members who speak in rounds and have that ID, or else that role.
func (c Config) named(name Role) (all []Member) {
	for _, m := range c.Team {
		if !m.speaks() {
			continue
		}
		if m.ID == string(name) {
			return []Member{m}
		}
		if m.Role == name {
			all = append(all, m)
		}
	}
	return all
}

// present returns the members, each with its duty: those with roles of the package in the order
// of roles, then the others.
func (c Config) present() []Member {
	all := slices.Clone(c.Team)
	for i := range all {
		all[i].Duty = all[i].duty()
	}
	slices.SortStableFunc(all, func(a, b Member) int {
		return cmp.Compare(uint(slices.Index(roles, a.Role)), uint(slices.Index(roles, b.Role)))
	})
	return all
}

// directed returns the names of the members that the leader directs: all but itself and the one
// who makes the page.
func (c Config) directed() (names []string) {
	for _, m := range c.present() {
		if m.Duty != Lead && m.Duty != Report {
			names = append(names, m.name())
		}
	}
	return names
}

// name returns the name of m for models.
func (m Member) name() string { return cmp.Or(m.Name, m.ID) }

// by returns the ID of m, where the role does not say it.
func (m Member) by() string {
	if m.ID == string(m.Role) {
		return ""
	}
	return m.ID
}
