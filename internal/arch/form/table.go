package main

import "slices"

const module = "github.com/convene-go/convene/"

// held are the folders that keep the limits; "/..." takes in those below.
var held = []string{
	"blackboard",
	"blackboard/postgres/...",
	"blackboard/runlog",
	"blackboard/sqlite/...",
	"blackboard/storetest/...",
	"internal/answer",
	"internal/dialect",
	"internal/text",
	"orchestrator",
	"orchestrator/agent",
	"orchestrator/delivery",
	"orchestrator/director",
	"orchestrator/director/portfolio",
	"orchestrator/discussion",
	"orchestrator/engine",
	"orchestrator/enginetest",
	"orchestrator/flowtest",
	"orchestrator/hierarchy",
	"orchestrator/internal/...",
	"orchestrator/research",
	"orchestrator/team",
	"orchestrator/team/page",
	"orchestrator/team/prompt",
	"orchestrator/teamtest",
	"providers/...",
}

// everywhere is the whole repository.
var everywhere = []string{"./..."}

// core are the folders whose lines are counted: the engine and what it stands on. The
// board is not in it: teams use it, and no engine does.
var core = []string{
	"blackboard/runlog",
	"blackboard/sqlite",
	"internal/answer",
	"internal/dialect",
	"internal/text",
	"orchestrator",
	"orchestrator/agent",
	"orchestrator/engine",
	"orchestrator/internal/crew",
	"orchestrator/internal/engine",
	"orchestrator/internal/fleet",
	"orchestrator/internal/jobs",
	"orchestrator/internal/journal",
	"orchestrator/internal/sched",
}

// kits are packages that test others. They need no tests of their own length.
var kits = []string{
	"blackboard/postgres/pgtest",
	"blackboard/storetest/...",
	"orchestrator/enginetest",
	"orchestrator/flowtest",
	"orchestrator/hierarchy",
	"orchestrator/teamtest",
}

// together are packages that are tested together: the formats of models by one set of
// servers, in providers/internal/wire and providers/oracle. None needs tests of its own
// length.
var together = []string{"providers/..."}

// Goals that are printed, and not held.
const (
	coreGoal   = 11700 // lines
	medianGoal = 10    // lines of a function
	p90Goal    = 25    // lines of a function
)

// limits are those of single subjects, by check and subject.
var limits = map[string]int{"interface orchestrator/engine.Driver": 8}

// testPercent is how long the tests of a package are at least, in percent of its code.
const testPercent = 120

// check is one rule. find returns what it counts, by subject.
type check struct {
	name  string
	limit int
	unit  string // name of one of the things counted
	mend  string // advice where there are too many
	find  func(*repo) []finding
}

var checks = []check{
	{"file", 300, "lines of a file", "split it by subject", (*repo).fileLengths},
	{"function", 45, "lines of a function", "give a part of it a name", (*repo).functionLengths},
	{"comment", 0, "trailing comments without a subject", "let each begin with the thing that it explains: \"limit of one attempt\", not \"of an attempt\"", (*repo).subjectless},
	{"field", 0, "exported fields without a comment", "say what it holds, its unit and its zero value, or comment a group without blank lines", (*repo).bareFields},
	{"config", 8, "fields of a Config", "group them in structs", (*repo).configs},
	{"group", 10, "fields of a group in a Config", "make two groups", (*repo).groups},
	{"interface", 6, "methods of an exported interface", "make the rest optional interfaces, commands or fields of a query", (*repo).interfaces},
	{"test", 0, "percent (in tens) that tests are short of 120 lines for 100 lines of code", "test more of this package in its own folder", (*repo).shortTests},
}

// above returns the findings above the limit.
func (c check) above(r *repo) []finding {
	return slices.DeleteFunc(c.find(r), func(f finding) bool { return f.n <= c.limitOf(f.subject) })
}

func (c check) limitOf(subject string) int {
	if own, ok := limits[c.name+" "+subject]; ok {
		return own
	}
	return c.limit
}
