package workbench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/director/workbench"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// The agents that a director needs for real code. The tools work in the worktree of the
// worker that calls them.
func ExampleOpen() {
	above, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(above) }()
	repo, state := filepath.Join(above, "repo"), filepath.Join(above, "state")
	var model providers.Model = fake.New(nil)

	bench, err := workbench.Open(workbench.Config{
		Repo:     repo,  // the repository
		State:    state, // a folder beside it: checkouts, caches, and a home for commands
		Commands: map[string][]string{"test": {"go", "test", "./..."}, "vet": {"go", "vet", "./..."}},
	})
	if err != nil {
		log.Fatal(err)
	}
	tools, err := bench.Tools() // list_files, read_file, write_file, edit_file, remove, run
	if err != nil {
		log.Fatal(err)
	}
	roster := agent.Roster{
		"git":         trees.New(worktree.Config{Repo: repo}),
		"bench":       bench,
		"code_worker": director.Worker(model, tools...),
	}

	fmt.Println(len(roster), "agents")
	ctx := trees.WithPlace(context.Background(), trees.Place{Path: above})
	for _, path := range []string{"hello.txt", "../outside.txt", ".git/config"} {
		_, err := tools[2].Call(ctx, json.RawMessage(`{"path":"`+path+`","content":"hello"}`))
		fmt.Println(tools[2].Name, path, err)
	}
	// Output:
	// 3 agents
	// write_file hello.txt <nil>
	// write_file ../outside.txt unsafe path "../outside.txt": it leads out of its folder
	// write_file .git/config unsafe path ".git/config": ".git" belongs to git
}
