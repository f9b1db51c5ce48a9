package portfolio

import "github.com/convene-go/convene/orchestrator/team"

// The tables, and the stages that no host names, for tests outside of the package.
var (
	Stages = stages
	Phases = phases
)

const (
	Idea        = idea
	Researching = Stage("RESEARCHING")
	Validating  = Stage("VALIDATING")
	Building    = Stage("BUILDING")
	Launching   = Stage("LAUNCHING")
	Operating   = Stage("OPERATING")
)

const EventProjectPromoted team.Kind = eventProjectPromoted
