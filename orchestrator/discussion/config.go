package discussion

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Role is the task of a member in the team.
type Role string

// The roles. Only the leader is required; steps of missing roles are skipped.
const (
	TeamLeader  Role = "team_leader"
	Researcher  Role = "researcher"
	Ideation    Role = "ideation"
	Critic      Role = "critic"
	Implementer Role = "implementer"
	Moderator   Role = "moderator"
	UICreator   Role = "ui_creator"
)

// System is the author of the host's preamble. No member has this role.
const System Role = "system"

// roles are those of members, in the order in which the leader reads their names.
var roles = []Role{TeamLeader, Researcher, Ideation, Critic, Implementer, Moderator, UICreator}

// Config is a team and how it works. New copies it. It has a JSON form, without Hooks
// and Prompts: durations are "5m" or seconds, money is USD, unknown fields are faults.
type Config struct {
	// Name is the flow's. "" means "discussion". Two teams on one engine need two.
	Name string `json:"name,omitzero"`

	// Team has the members, in any order: the order of speaking is fixed. At most one
	// member has a role, and one is the leader.
	Team []Member `json:"team"`

	Rounds Rounds `json:"rounds"`
	Policy Policy `json:"policy,omitzero"`
	Retry  Retry  `json:"retry,omitzero"`
	Limits Limits `json:"limits,omitzero"`
	Hooks  Hooks  `json:"-"`

	// Prompts replaces the prompts of the package, by file name ("kickoff.tmpl"): the
	// package comment has them all. It is read at New only.
	Prompts fs.FS `json:"-"`
}

// Member is an agent in a role.
type Member struct {
	Role        Role              `json:"role"`
	Agent       string            `json:"agent"`                 // its name in the roster; several roles may share one
	Name        string            `json:"name,omitzero"`         // in the kickoff prompt; "": the role
	Temperature *float64          `json:"temperature,omitempty"` // 0 to 2; nil: the model's own
	Estimate    providers.NanoUSD `json:"estimate,omitzero"`     // of a call's cost, set aside before it; 0: not known
}

// Rounds say how long the team explores.
type Rounds struct {
	Max      int `json:"max"`               // at least 1
	DeepDive int `json:"deepDive,omitzero"` // how often in a round ideation and critic answer each other; 0: never
}

// Policy says what is good enough.
type Policy struct {
	// Threshold is the score, 0 to 10, at or above which an idea is good enough. The
	// highest score wins in any case, and the outcome says if it is below.
	Threshold float64 `json:"threshold,omitzero"`

	// RequireThreshold makes an idea below the Threshold not the final one: then there
	// is none. It requires a moderator.
	RequireThreshold bool `json:"requireThreshold,omitzero"`

	// MinIdeas is how many ideas there should be after the last round; ideation is asked
	// again for missing ones (Retry.TopUps). 0: no minimum.
	MinIdeas int `json:"minIdeas,omitzero"`

	// AssumeScore, 0 to 10, is the score of an idea that could not be graded. It is marked
	// as assumed, and an idea that wins by it is unverified. nil: such an idea has no score.
	AssumeScore *float64 `json:"assumeScore,omitempty"`
}

// Retry says how often calls are repeated.
type Retry struct {
	TopUps int `json:"topUps,omitzero"` // calls of ideation for missing ideas; 0: 1, orchestrator.None: none
}

// Limits bound a run. A zero field is the default, orchestrator.None no limit.
type Limits struct {
	Calls         int64             `json:"calls,omitzero"` // of agents in a run; 0: no limit
	Cost          providers.NanoUSD `json:"cost,omitzero"`  // of a run; 0: no limit
	AllowUnpriced bool              `json:"allowUnpriced,omitzero"`
	Time          time.Duration     `json:"time,omitzero"`         // of a run; 0: no limit
	CallTimeout   time.Duration     `json:"callTimeout,omitzero"`  // of a call with all its attempts; 0: 300 s
	TopicBytes    int               `json:"topicBytes,omitzero"`   // of Input.Topic; 0: 64 KiB
	ContextBytes  int               `json:"contextBytes,omitzero"` // of the discussion in a prompt; 0: no limit
	IdeasPerCall  int               `json:"ideasPerCall,omitzero"` // used of one answer; 0: 20
}

// Hooks are pure functions of the host.
type Hooks struct {
	// Report makes Outcome.Report from the finished outcome, whatever its status, instead
	// of the ui_creator's HTML, which stays a message. [Page] is one. nil: none.
	Report func(o Outcome) (html string, err error)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(data []byte) error { return team.Decode(data, c) }

// MarshalJSON implements json.Marshaler.
func (m Member) MarshalJSON() ([]byte, error) { return team.Encode(m) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Member) UnmarshalJSON(data []byte) error { return team.Decode(data, m) }

// MarshalJSON implements json.Marshaler.
func (l Limits) MarshalJSON() ([]byte, error) { return team.Encode(l) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Limits) UnmarshalJSON(data []byte) error { return team.Decode(data, l) }

// Standard is a team of four and one round: leader, ideation, moderator, ui_creator.
// agents are the names in the roster by role; a role that is missing there has an agent
// with the role's name. The other presets do the same.
func Standard(agents map[Role]string) Config {
	return Config{
		Team:   members(agents, TeamLeader, Ideation, Moderator, UICreator),
		Rounds: Rounds{Max: 1}, Policy: Policy{MinIdeas: 3, Threshold: 6.0},
	}
}

// Extended is Standard with researcher and critic, two rounds and a deep dive.
func Extended(agents map[Role]string) Config {
	return Config{
		Team:   members(agents, TeamLeader, Researcher, Ideation, Critic, Moderator, UICreator),
		Rounds: Rounds{Max: 2, DeepDive: 1}, Policy: Policy{MinIdeas: 4, Threshold: 7.0},
	}
}

// Full is all seven roles, three rounds and a deep dive.
func Full(agents map[Role]string) Config {
	return Config{
		Team:   members(agents, roles...),
		Rounds: Rounds{Max: 3, DeepDive: 1}, Policy: Policy{MinIdeas: 5, Threshold: 7.5},
	}
}

func members(agents map[Role]string, wanted ...Role) []Member {
	all := make([]Member, len(wanted))
	for i, role := range wanted {
		all[i] = Member{Role: role, Agent: cmp.Or(agents[role], string(role))}
	}
	return all
}

// withDefaults returns a copy that shares nothing with c but functions and files. In it,
// 0 is no limit. Numbers are None or more.
func (c Config) withDefaults() Config {
	c = team.Clone(c)
	c.Name = cmp.Or(c.Name, "discussion")
	for i, m := range c.Team {
		c.Team[i].Name = cmp.Or(m.Name, string(m.Role))
	}
	c.Retry.TopUps = max(0, cmp.Or(c.Retry.TopUps, 1))
	l := &c.Limits
	l.Calls, l.Cost, l.Time, l.ContextBytes = max(0, l.Calls), max(0, l.Cost), max(0, l.Time), max(0, l.ContextBytes)
	l.CallTimeout = max(0, cmp.Or(l.CallTimeout, 300*time.Second))
	l.TopicBytes = max(0, cmp.Or(l.TopicBytes, 64<<10))
	l.IdeasPerCall = max(0, cmp.Or(l.IdeasPerCall, 20))
	return c
}

// ErrNoTeamLeader says that a Config has no leader.
var ErrNoTeamLeader = errors.New("there is no team_leader")

// check finds every fault of c.
func (c Config) check() error {
	var f team.Faults
	if !c.has(TeamLeader) {
		f.Add("Team: %w", ErrNoTeamLeader)
	}
	seen := map[Role]bool{}
	for i, m := range c.Team {
		switch {
		case !slices.Contains(roles, m.Role):
			f.Add("Team[%d].Role is %q, want one of %q", i, m.Role, roles)
		case seen[m.Role]:
			f.Add("Team[%d].Role: %q is listed twice", i, m.Role)
		}
		seen[m.Role] = true
		if m.Agent == "" {
			f.Add("Team[%d].Agent is empty (role %q)", i, m.Role)
		}
		f.WithinIfSet(fmt.Sprintf("Team[%d].Temperature", i), m.Temperature, 0, 2)
		team.Least(&f, fmt.Sprintf("Team[%d].Estimate", i), m.Estimate, 0)
	}
	team.Least(&f, "Rounds.Max", c.Rounds.Max, 1)
	team.Least(&f, "Rounds.DeepDive", c.Rounds.DeepDive, 0)
	f.Within("Policy.Threshold", c.Policy.Threshold, 0, maxScore)
	team.Least(&f, "Policy.MinIdeas", c.Policy.MinIdeas, 0)
	f.WithinIfSet("Policy.AssumeScore", c.Policy.AssumeScore, 0, maxScore)
	if c.Policy.RequireThreshold && !c.has(Moderator) {
		f.Add("Policy.RequireThreshold is set, and the team has no moderator who could score")
	}
	team.Least(&f, "Retry.TopUps", c.Retry.TopUps, orchestrator.None)
	f.Counts("Limits", c.Limits, orchestrator.None)
	return f.Err()
}

// member returns the member with the role.
func (c Config) member(role Role) (Member, bool) {
	i := slices.IndexFunc(c.Team, func(m Member) bool { return m.Role == role })
	if i < 0 {
		return Member{}, false
	}
	return c.Team[i], true
}

func (c Config) has(role Role) bool {
	_, ok := c.member(role)
	return ok
}

// directed are the names of the members that the leader directs: all but itself and the
// ui_creator, in the order of the roles.
func (c Config) directed() []string {
	var names []string
	for _, role := range roles[1 : len(roles)-1] {
		if m, ok := c.member(role); ok {
			names = append(names, m.Name)
		}
	}
	return names
}

// agents returns the names of all agents that a run may call, sorted, each once.
func (c Config) agents() []string {
	names := make([]string, len(c.Team))
	for i, m := range c.Team {
		names[i] = m.Agent
	}
	slices.Sort(names)
	return slices.Compact(names)
}
