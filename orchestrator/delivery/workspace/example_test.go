package workspace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
)

// A flow asks a workspace by its name in the roster; a host can ask it, too.
func ExampleOpen() {
	above, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(above) }()
	project, state := filepath.Join(above, "project"), filepath.Join(above, "state")
	if err := os.Mkdir(project, 0o755); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	space, err := workspace.Open(ctx, workspace.Config{
		Dir:   project, // a folder that exists: the code
		State: state,   // a folder beside it: snapshots, recorded answers, caches of the tests
	})
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close() //nolint:errcheck // nothing is left to close

	resp, err := space.Call(ctx, agent.Request{Op: delivery.OpApply, Input: agent.JSON(delivery.ApplyRequest{
		Files: []delivery.File{{Path: "deep/hello.txt", Content: "hello\n"}},
	})})
	fmt.Println(string(resp.Data), err)
	_, err = space.Call(ctx, agent.Request{Op: delivery.OpApply, Input: agent.JSON(delivery.ApplyRequest{
		Files: []delivery.File{{Path: "../outside.txt", Content: "hello\n"}},
	})})
	fmt.Println(err)
	// Output:
	// {} <nil>
	// workspace: apply: files[0]: delivery/unsafe-path: unsafe path "../outside.txt": it leads out of its folder
}
