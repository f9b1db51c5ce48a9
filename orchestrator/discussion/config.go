package discussion

import (
	"io/fs"
	"time"

	"github.com/convene-go/convene/orchestrator/team"
)

// Config is a team and how it works. New copies it. It has a JSON form, without Prompts:
// see package team.
type Config struct {
	// Name is the name of the flow. Two teams on one engine need two. "": "discussion".
	Name string `json:"name,omitzero" default:"discussion"`

	// Team has the members. Who speaks when is up to Rules.Turns. One member leads. Roles have
	// any names, and several members may share one.
	Team []Member `json:"team"`

	Rounds Rounds      `json:"rounds"`          // number of rounds
	Policy Policy      `json:"policy,omitzero"` // scores and numbers of ideas that are good enough
	Rules  Rules       `json:"rules,omitzero"`  // rules that the host may replace
	Limits team.Limits `json:"limits,omitzero"` // money and time of a run; zero: no limit
	Bounds Bounds      `json:"bounds,omitzero"` // sizes and times of parts of a run

	// Prompts replaces the prompts of the package, by file name ("kickoff.tmpl"): the
	// package comment has them all. It is read at New only. Nil: none is replaced.
	Prompts fs.FS `json:"-"`

	faults []string // faults of the call that made it, such as a preset's
}

// Rounds say how long the team explores.
type Rounds struct {
	Max      int `json:"max" min:"1" max:"100"`     // number of rounds, from 1
	DeepDive int `json:"deepDive,omitzero" min:"0"` // number of times in a round that ideation and critic answer each other; 0: never
}

// Policy says what is good enough.
type Policy struct {
	// Threshold is the score, 0 to 10, at or above which an idea is good enough. The best
	// idea wins in any case, and the outcome says if it is below.
	Threshold float64 `json:"threshold,omitzero" min:"0" max:"10"`

	// RequireThreshold makes an idea below the Threshold not the final one: then there
	// is none. It requires a moderator, or Rules.Grader.
	RequireThreshold bool `json:"requireThreshold,omitzero"`

	// MinIdeas is the number of ideas that there should be after the last round. Ideation is
	// asked again for missing ones. 0: no minimum.
	MinIdeas int `json:"minIdeas,omitzero" min:"0"`

	// Attempts is the number of times that ideation is asked for MinIdeas, its turn in the
	// last round included. 0: 2.
	Attempts int `json:"attempts,omitzero" default:"2" min:"1" max:"100"`

	// AssumeScore, 0 to 10, is the score of an idea that could not be graded. It is marked
	// as assumed, and an idea that wins by it is unverified. Nil: such an idea has no score.
	AssumeScore *float64 `json:"assumeScore,omitempty" min:"0" max:"10"`
}

// Bounds limit parts of a run. A zero field is the default, orchestrator.None no limit.
type Bounds struct {
	CallTimeout  time.Duration `json:"callTimeout,omitzero" default:"300s" min:"-1"` // time of a call with all its attempts; 0: 300 s
	TopicBytes   int           `json:"topicBytes,omitzero" default:"65536" min:"-1"` // size of Input.Topic; 0: 64 KiB
	ContextBytes int           `json:"contextBytes,omitzero" min:"-1"`               // size of the discussion in a prompt; 0: no limit
	IdeasPerCall int           `json:"ideasPerCall,omitzero" default:"20" min:"-1"`  // number of ideas that are used of one answer; 0: 20
}

// check adds the faults of c that tags do not find.
func (c Config) check(f *team.Faults) {
	for _, fault := range c.faults {
		f.Add("%s", fault)
	}
	c.checkTeam(f)
	c.checkTurns(f)
	f.If(c.Policy.RequireThreshold && !c.grades(), "Policy.RequireThreshold is set, and the team has no moderator or Rules.Grader who could score")
}

// grades reports whether ideas are graded.
func (c Config) grades() bool { return c.has(Score) || !c.byMember() }

// byMember reports whether a member grades ideas, and not a rule of the host.
func (c Config) byMember() bool {
	_, ok := c.Rules.Grader.(ByModerator)
	return ok
}

// judge returns the ID of the member who grades ideas; "" means that a rule of the host does.
func (c Config) judge() string {
	if c.byMember() {
		return c.who(Score).ID
	}
	return ""
}

// agents returns the agents of the members.
func (c Config) agents() (names []string) {
	for _, m := range c.Team {
		names = append(names, m.Agent)
	}
	return names
}
