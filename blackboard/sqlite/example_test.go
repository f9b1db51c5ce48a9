package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// inFolder runs f in a folder of its own.
func inFolder(f func(path string) error) {
	dir, err := os.MkdirTemp("", "example")
	if err == nil {
		err = f(filepath.Join(dir, "runs.db"))
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Println(err)
	}
}

var greet = orchestrator.Flow[string, string]{Name: "greet", Agents: []string{"writer"}, Do: func(c *orchestrator.Context, name string) (string, error) {
	resp, err := c.Call("writer", agent.Request{Prompt: name})
	return resp.Text, err
}}

// The same run, started again with the same ID, is not made again: its answer comes from
// the file.
func ExampleOpen() {
	inFolder(func(path string) error {
		ctx, calls := context.Background(), 0
		writer := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			calls++
			return agent.Response{Text: "Dear " + req.Prompt}, nil
		})
		for range 2 { // two starts of a program
			store, err := sqlite.Open(path)
			if err != nil {
				return err
			}
			eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"writer": writer}, Store: store})
			if err != nil {
				return err
			}
			run, err := greet.Start(ctx, eng, "Ann", orchestrator.StartOptions{ID: "letter-1"})
			if err != nil {
				return err
			}
			text, err := greet.Result(ctx, run)
			fmt.Println(text, err, calls)
			if err := errors.Join(eng.Close(ctx), store.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	// Output:
	// Dear Ann <nil> 1
	// Dear Ann <nil> 1
}

// A record is on the disk when Append returns. With Normal it survives the end of the
// process, and may be lost when the machine fails.
func ExampleNew() {
	inFolder(func(path string) error {
		store, err := sqlite.New(sqlite.Config{Path: path, Sync: sqlite.Normal})
		if err != nil {
			return err
		}
		fmt.Println(store.Append(context.Background(), []runlog.Record{{Run: "a", Kind: runlog.Started, Name: "greet"}}))
		return store.Close()
	})
	_, err := sqlite.New(sqlite.Config{Path: ":memory:"})
	fmt.Println(err)
	// Output:
	// <nil>
	// sqlite: Path is ":memory:", want the path of a file (runlog.Memory is a store without a file)
}

// Several processes may have the file open. Who is alive is told by locks of the
// operating system: they end with their process.
func ExampleStore_Alive() {
	inFolder(func(path string) error {
		ctx := context.Background()
		one, err := sqlite.Open(path)
		if err != nil {
			return err
		}
		two, err := sqlite.Open(path)
		if err != nil {
			return err
		}
		if err := one.Beat(ctx, "worker-1", time.Minute); err != nil {
			return err
		}
		fmt.Println(two.Alive(ctx, "worker-1"))
		if err := one.Close(); err != nil { // or the process is killed
			return err
		}
		fmt.Println(two.Alive(ctx, "worker-1"))
		return two.Close()
	})
	// Output:
	// true <nil>
	// false <nil>
}
