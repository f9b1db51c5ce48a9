package portfolio

// The tables, for tests outside of the package.
var (
	Stages = stages
	Phases = phases
)
