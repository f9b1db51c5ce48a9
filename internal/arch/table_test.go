package arch

import "slices"

// direct are the modules that the root module may require directly. Each further
// one is a decision: it binds every host.
var direct = []string{
	"github.com/cenkalti/backoff/v4",
	"github.com/google/jsonschema-go",
	"github.com/looplab/fsm",
	"github.com/stretchr/testify",
	"github.com/tmc/langchaingo",
	"golang.org/x/sync",
	"pgregory.net/rapid", // tests only
}

// langchain are the packages of langchaingo that may be imported.
var langchain = []string{
	"github.com/tmc/langchaingo/llms",
	"github.com/tmc/langchaingo/llms/openai", // tests and examples only
}

// outsideWork are the modules that go.work leaves out: their minimum versions
// would bind all others.
var outsideWork = []string{"internal/temporaldev", "bench/peers", "providers/oracle"}

// may says what a package may import beside the standard library.
type may struct {
	own    []string // packages of this repository, without its path
	others []string // packages of other modules, those below them included
	any    bool     // anything but internal packages of this repository
	tree   bool     // the rule is for all packages below, too
}

const (
	backoff = "github.com/cenkalti/backoff/v4"
	schema  = "github.com/google/jsonschema-go/jsonschema"
	xsync   = "golang.org/x/sync"
	testify = "github.com/stretchr/testify"
)

// arrows hold who may import whom, outside of tests. Packages need not exist yet.
var arrows = map[string]may{
	".":                               {},
	"internal/arch":                   {tree: true},
	"internal/npmtest":                {},
	"internal/nfc":                    {},
	"internal/roundtest":              {},
	"internal/text":                   {own: []string{"internal/nfc"}},
	"internal/dialect":                {own: []string{"providers", "internal/text"}},
	"internal/answer":                 {own: []string{"internal/text"}, others: []string{schema}},
	"internal/proc":                   {},
	"internal/safepath":               {},
	"internal/git":                    {own: []string{"internal/proc", "internal/text"}},
	"internal/git/gittest":            {others: []string{testify}},
	"orchestrator/team/prompt":        {own: []string{"internal/text"}},
	"orchestrator/teamtest":           {own: slices.Concat(teams, []string{"blackboard/runlog", "orchestrator", "orchestrator/agent", "orchestrator/flowtest"}), others: []string{testify}},
	"orchestrator/team/page":          {own: []string{"providers", "orchestrator", "internal/text"}},
	"fsm":                             {others: []string{"github.com/looplab/fsm"}},
	"grading":                         {},
	"routing":                         {own: []string{"grading", "internal/nfc"}},
	"providers":                       {own: []string{"internal/answer"}, others: []string{backoff, schema, xsync}},
	"providers/fake":                  {own: []string{"providers", "providers/internal/network", "internal/answer"}, others: []string{schema}},
	"providers/cassette":              {own: []string{"providers", "providers/internal/redact"}},
	"providers/modeltest":             {own: []string{"providers"}},
	"providers/internal/stubtest":     {own: []string{"providers", "providers/fake", "providers/modeltest"}},
	"providers/internal/servers":      {},
	"providers/internal/failtest":     {own: []string{"providers"}, others: []string{testify}},
	"providers/internal/schema":       {},
	"providers/internal/wire":         {own: []string{"providers", "providers/internal/network", "providers/internal/redact", "providers/internal/schema"}},
	"providers/internal/claude":       {own: []string{"providers", "providers/internal/schema", "providers/internal/wire"}},
	"providers/openai":                {own: []string{"providers", "providers/internal/redact", "providers/internal/schema", "providers/internal/wire"}},
	"providers/anthropic":             {own: []string{"providers", "providers/internal/claude", "providers/internal/redact", "providers/internal/wire"}},
	"providers/langchain":             {own: []string{"providers", "providers/internal/network", "providers/internal/redact", "providers/internal/wire"}, others: langchain},
	"providers/internal/redact":       {},
	"providers/bedrock":               {own: []string{"providers", "providers/internal/claude", "providers/internal/network", "providers/internal/redact", "providers/internal/schema", "providers/internal/wire"}, others: []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"}},
	"providers/oracle":                {},
	"providers/mcp":                   {own: []string{"providers", "providers/internal/redact", "orchestrator/agent"}, others: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"blackboard/runlog":               {own: []string{"internal/text"}},
	"blackboard/worktree":             {own: []string{"internal/git", "internal/safepath"}},
	"blackboard":                      {own: []string{"fsm", "providers", "routing"}},
	"blackboard/storetest":            {own: []string{"blackboard/runlog"}, others: []string{testify}},
	"blackboard/sqlite":               {own: []string{"blackboard/runlog"}, others: []string{"modernc.org/sqlite", "github.com/gofrs/flock", "golang.org/x/sys"}, tree: true},
	"blackboard/postgres":             {own: []string{"blackboard/runlog"}, others: []string{"github.com/jackc/pgx/v5"}},
	"blackboard/postgres/pgtest":      {others: []string{"github.com/jackc/pgx/v5"}},
	"blackboard/storetest/doubles":    {own: []string{"blackboard/runlog"}},
	"orchestrator/agent":              {own: []string{"providers", "internal/answer", "internal/text"}, others: []string{schema}},
	"orchestrator/engine":             {own: slices.Concat(agents, []string{"internal/dialect", "internal/text"}), others: []string{backoff, xsync}},
	"orchestrator/internal/sched":     {own: engines},
	"orchestrator/internal/jobs":      {},
	"orchestrator/internal/final":     {own: engines},
	"orchestrator/internal/journal":   {own: slices.Concat(engines, []string{"orchestrator/internal/final", "orchestrator/internal/jobs", "internal/text"}), others: []string{backoff}},
	"orchestrator/internal/crew":      {own: slices.Concat(engines, []string{"orchestrator/internal/jobs"})},
	"orchestrator/internal/fleet":     {own: slices.Concat(engines, []string{"orchestrator/internal/journal"})},
	"orchestrator/internal/engine":    {own: slices.Concat(engines, []string{"orchestrator/internal/final", "orchestrator/internal/jobs", "orchestrator/internal/journal", "orchestrator/internal/crew", "orchestrator/internal/fleet"})},
	"orchestrator":                    {own: slices.Concat(engines, []string{"fsm", "grading", "routing", "internal/answer", "internal/dialect", "internal/text", "orchestrator/internal/sched", "orchestrator/internal/engine"}), others: []string{backoff, schema, xsync}},
	"orchestrator/team":               {own: slices.Concat(team, []string{"internal/answer", "internal/dialect", "orchestrator/team/prompt"})},
	"orchestrator/flowtest":           {own: slices.Concat(engines, []string{"grading", "routing", "orchestrator", "blackboard/storetest", "providers/fake"}), others: []string{testify}},
	"orchestrator/enginetest":         {own: slices.Concat(engines, []string{"orchestrator", "orchestrator/flowtest", "blackboard/storetest", "providers/fake"}), others: []string{testify}},
	"orchestrator/hierarchy":          {own: slices.Concat(team, []string{"internal/answer", "orchestrator/team/page", "orchestrator/team/prompt"}), others: []string{schema}},
	"orchestrator/research":           {own: slices.Concat(team, []string{"internal/answer", "orchestrator/team/page", "orchestrator/team/prompt"})},
	"orchestrator/research/workers":   {own: []string{"providers", "orchestrator/agent", "orchestrator/research", "orchestrator/research/workers/internal/address", "orchestrator/research/workers/internal/page", "orchestrator/research/workers/internal/prose"}, others: []string{"codeberg.org/readeck/go-readability/v2", "github.com/jimsmart/grobotstxt", "github.com/klippa-app/go-pdfium", "github.com/mmcdole/gofeed", "github.com/tetratelabs/wazero", "golang.org/x/net/html"}, tree: true},
	"orchestrator/discussion":         {own: slices.Concat(team, []string{"internal/answer", "orchestrator/team/page", "orchestrator/team/prompt"})},
	"examples":                        {any: true, tree: true},
	"bench":                           {any: true, tree: true},
	"internal/browsertest":            {any: true},
	"orchestrator/delivery":           {own: slices.Concat(team, []string{"internal/answer", "orchestrator/team/page", "orchestrator/team/prompt"})},
	"orchestrator/delivery/workspace": {own: []string{"orchestrator/agent", "orchestrator/delivery", "internal/git", "internal/proc", "internal/safepath", "internal/text"}},
	"orchestrator/director":           {own: slices.Concat(team, []string{"blackboard", "blackboard/worktree", "internal/answer", "orchestrator/team/prompt", "internal/safepath", "orchestrator/team/page", "orchestrator/director/trees"})},
	"orchestrator/director/trees":     {own: []string{"blackboard/worktree", "internal/safepath", "orchestrator", "orchestrator/agent", "orchestrator/team"}},
	"orchestrator/director/toolbox":   {own: []string{"internal/answer", "orchestrator/agent", "orchestrator/team", "orchestrator/team/prompt", "internal/text"}},
	"orchestrator/director/workbench": {own: []string{"orchestrator/agent", "orchestrator/director", "orchestrator/director/trees", "internal/git", "internal/proc", "internal/safepath", "internal/text"}},
	"orchestrator/director/portfolio": {own: slices.Concat(team, []string{"orchestrator/director", "internal/dialect", "orchestrator/team/page"})},
}

var (
	agents  = []string{"providers", "blackboard/runlog", "orchestrator/agent"}
	engines = []string{"providers", "blackboard/runlog", "orchestrator/agent", "orchestrator/engine"}

	teams = []string{"orchestrator/delivery", "orchestrator/director", "orchestrator/discussion", "orchestrator/hierarchy", "orchestrator/research"}

	// A team stands on everything but other teams, engines and test kits.
	team = []string{"fsm", "grading", "routing", "providers", "blackboard/runlog", "orchestrator", "orchestrator/agent", "orchestrator/team", "internal/text"}
)

// goStatements are the files that may start a goroutine with a bare go statement,
// and why. Everybody else uses errgroup or WaitGroup.Go, so that each goroutine
// has an owner that waits for it.
var goStatements = map[string]string{
	"bench/calls.go":                     "the limit that calls are measured against",
	"bench/peers/limits.go":              "the same",
	"bench/killstorm/process.go":         "waits for a child process that is killed; its end is awaited over a channel",
	"bench/killstorm/worker.go":          "lives until the process is killed",
	"examples/internal/cli/questions.go": "nothing ends a read from a terminal, so its goroutine cannot be waited for",
	"orchestrator/internal/jobs/jobs.go": "Close counts them, and cannot wait for one that is inside a deaf agent",
}
