package discussion

import (
	"io/fs"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Role is what a member of the team is there for (D1).
type Role string

// The roles. Only the leader is required (D3, D4).
const (
	TeamLeader  Role = routing.TeamLeader
	Researcher  Role = routing.Researcher
	Ideation    Role = routing.Ideation
	Critic      Role = routing.Critic
	Implementer Role = routing.Implementer
	Moderator   Role = "moderator"
	UICreator   Role = "ui_creator"
)

// System is who the host's preamble is from. It is no role of a member.
const System Role = "system"

// roles are all of them, in the order in which they are named (DC7), the leader first.
var roles = []Role{TeamLeader, Researcher, Ideation, Critic, Implementer, Moderator, UICreator}

// Config is a team and how it works. New copies it.
type Config struct {
	// Name is the flow's. "" means "discussion". Two teams on one engine need two.
	Name string

	// Team is who takes part, in any order: the order of speaking is fixed (D12). At
	// most one member has a role, one is the leader.
	Team []Member

	// MaxRounds is how many rounds there are, at least 1 (D11).
	MaxRounds int

	// MinIdeas is how many ideas there should be after the last round. If there are
	// fewer, ideation is asked for the rest, at most MaxTopUps times (DC3). 0: any
	// number will do.
	MinIdeas int

	// MaxTopUps bounds those calls. 0 means 1, -1 none.
	MaxTopUps int

	// DeepDive has ideation and critic answer each other in every round that has ideas,
	// DeepDiveExchanges times; 0 means once (DC4).
	DeepDive          bool
	DeepDiveExchanges int

	// MinScoreThreshold, 0 to 10, is the score from which an idea counts as good enough
	// (D44). It labels; the highest score wins all the same, unless RequireThreshold is
	// set: then an idea below it is never the final one (DC2).
	MinScoreThreshold float64
	RequireThreshold  bool

	// Reporter makes Outcome.Report, in place of the ui_creator's HTML, which stays a
	// message if there is a ui_creator (DX11). nil: none.
	Reporter Reporter

	// Prompts replaces the prompts of the package, by file name ("kickoff.tmpl"). A file
	// that is not there is the package's. It is read at New only.
	Prompts fs.FS

	Limits Limits
}

// Member is an agent in a role.
type Member struct {
	Role        Role
	Agent       string   // its name in the roster; several roles may share one
	Name        string   // in the kickoff prompt; "": the role
	Temperature *float64 // 0 to 2; nil: the model's own
}

// Limits bound a run. A zero field is the default.
type Limits struct {
	Calls        int64             // of agents in a run; 0: no limit (DX13)
	Cost         providers.NanoUSD // of a run; 0: no limit (DX13)
	CallTimeout  time.Duration     // of a call with all its attempts; 0: 300 s (DX14)
	TopicBytes   int               // of Input.Topic; 0: 64 KiB (DX3)
	ContextBytes int               // of what an agent gets to read; 0: no limit (DX10)
	IdeasPerCall int               // that are taken of one answer; 0: 20 (DX6)
}

// The defaults of Config and Limits.
const (
	defaultName         = "discussion"
	defaultCallTimeout  = 300 * time.Second
	defaultTopicBytes   = 64 << 10
	defaultIdeasPerCall = 20
)

// Standard is a team of four and one round (D41-D44, DC5): leader, ideation,
// moderator, ui_creator. agents are the names in the roster by role; a role that is
// not there is played by an agent of the role's name. So it is with the other presets.
func Standard(agents map[Role]string) Config {
	return Config{
		Team:      team(agents, TeamLeader, Ideation, Moderator, UICreator),
		MaxRounds: 1, MinIdeas: 3, MinScoreThreshold: 6.0,
	}
}

// Extended is Standard with researcher and critic, two rounds and a deep dive
// (D41-D44, DC5).
func Extended(agents map[Role]string) Config {
	return Config{
		Team:      team(agents, TeamLeader, Researcher, Ideation, Critic, Moderator, UICreator),
		MaxRounds: 2, MinIdeas: 4, MinScoreThreshold: 7.0, DeepDive: true,
	}
}

// Full is all seven roles, three rounds and a deep dive (D41-D44, DC5).
func Full(agents map[Role]string) Config {
	return Config{
		Team:      team(agents, roles...),
		MaxRounds: 3, MinIdeas: 5, MinScoreThreshold: 7.5, DeepDive: true,
	}
}

func team(agents map[Role]string, wanted ...Role) []Member {
	members := make([]Member, len(wanted))
	for i, role := range wanted {
		name := agents[role]
		if name == "" {
			name = string(role)
		}
		members[i] = Member{Role: role, Agent: name}
	}
	return members
}

// withDefaults returns a copy that shares nothing with c but functions and files.
func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = defaultName
	}
	c.Team = slices.Clone(c.Team)
	for i, m := range c.Team {
		if m.Name == "" {
			c.Team[i].Name = string(m.Role)
		}
		if m.Temperature != nil {
			c.Team[i].Temperature = new(*m.Temperature)
		}
	}
	if c.MaxTopUps == 0 {
		c.MaxTopUps = 1
	}
	switch {
	case !c.DeepDive:
		c.DeepDiveExchanges = 0
	case c.DeepDiveExchanges == 0:
		c.DeepDiveExchanges = 1
	}
	l := &c.Limits
	if l.CallTimeout == 0 {
		l.CallTimeout = defaultCallTimeout
	}
	if l.TopicBytes == 0 {
		l.TopicBytes = defaultTopicBytes
	}
	if l.IdeasPerCall == 0 {
		l.IdeasPerCall = defaultIdeasPerCall
	}
	return c
}

// member returns who has the role.
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

// speakers are the names of the members whom the leader directs: all but itself and
// the ui_creator, in the order of the roles (D9, DC6, DC7).
func (c Config) speakers() []string {
	var names []string
	for _, role := range roles {
		if m, ok := c.member(role); ok && role != TeamLeader && role != UICreator {
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
