package main

import (
	"embed"
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/director/workbench"
)

//go:embed script
var scriptFiles embed.FS

// script has the objective and the texts of a rehearsal.
var script = func() fs.FS {
	files, err := fs.Sub(scriptFiles, "script")
	if err != nil {
		panic(err) // it is a folder of this package
	}
	return files
}()

var objective = strings.TrimSpace(mustRead("objective.txt"))

// spec has the requirements by area.
func spec() (areas map[string]json.RawMessage) {
	if err := json.Unmarshal([]byte(mustRead("spec.json")), &areas); err != nil {
		panic(err) // it is a file of this package, and tested
	}
	return areas
}

func mustRead(name string) string {
	data, err := fs.ReadFile(script, name)
	if err != nil {
		panic(err) // it is a file of this package
	}
	return string(data)
}

// The agents beside the workers.
const (
	boss       = "director"
	strategist = "strategist"
	guardian   = "guardian"
	worktrees  = "worktrees"
	checks     = "checks"
)

// gotest is the command that tests the built program.
var gotest = []string{"go", "test", "-json", "-count=1", "./..."}

func newFlow(s cli.Settings) (orchestrator.Flow[director.Input, director.Outcome], error) {
	cfg := director.Software()
	cfg.Name = program
	cfg.Agents = director.Agents{Director: boss, Strategist: strategist, Guardian: guardian, Worktree: worktrees, Check: checks}
	cfg.Policy.NoTestPlaceholders = true // the plan has the tests that are wanted
	cfg.Limits.Cost = s.Budget
	for i, p := range cfg.Profiles {
		if p.ID == "code_worker" || p.ID == "test_worker" {
			cfg.Profiles[i].Check = gotest
		}
	}
	return director.New(cfg)
}

// shop has the folders and tools of the workers.
type shop struct {
	bench *workbench.Workbench
	trees *trees.Agent
	tools []agent.Tool
}

func newShop(dir, cache string) (*shop, error) {
	bench, err := workbench.Open(workbench.Config{
		Repo: dir, State: cache, Env: []string{"GOFLAGS=-trimpath"}, // the cache serves all worktrees
		Commands: map[string][]string{"test": {"go", "test", "./..."}, "vet": {"go", "vet", "./..."}, "format": {"gofmt", "-l", "-w", "."}},
	})
	if err != nil {
		return nil, err
	}
	tools, err := bench.Tools()
	return &shop{bench: bench, trees: trees.New(worktree.Config{Repo: dir, Init: true}), tools: tools}, err
}

// roster has the agents that call no model.
func (s *shop) roster() agent.Roster { return agent.Roster{worktrees: s.trees, checks: s.bench} }
