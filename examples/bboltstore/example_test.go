package bboltstore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/bboltstore"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// letter asks a writer, and then a person.
var letter = orchestrator.Flow[string, string]{
	Name: "letter", Agents: []string{"writer"},
	Do: func(c *orchestrator.Context, to string) (string, error) {
		draft, err := c.Call("writer", agent.Request{Prompt: "Dear " + to})
		if err != nil {
			return "", err
		}
		sign, err := orchestrator.Await[string](c, orchestrator.Question{Key: "sign", Text: "Who signs?"})
		return draft.Text + ", " + sign, err
	},
}

// A program is closed while its run waits for an answer. The next program opens the file
// and resumes the run: the writer is not asked again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bboltstore")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	file := filepath.Join(dir, "runs.db")

	program(ctx, file, func(eng *orchestrator.Engine) error {
		run, err := letter.Start(ctx, eng, "reader", orchestrator.StartOptions{ID: "letter-1"})
		if err != nil {
			return err
		}
		for rec, err := range run.Events(ctx, 0) {
			if err != nil || rec.Kind == runlog.Asked {
				return err
			}
		}
		return nil
	})
	program(ctx, file, func(eng *orchestrator.Engine) error {
		resumed, err := eng.Resume(ctx)
		if err != nil {
			return err
		}
		run := resumed.Runs[0]
		if err := run.Answer(ctx, "sign", "Ann"); err != nil {
			return err
		}
		text, err := letter.Result(ctx, run)
		fmt.Println(run.ID(), "says:", text)
		return err
	})
	// Output:
	// the writer is asked: Dear reader
	// letter-1 says: Dear reader, we thank you, Ann
}

// program opens the file, works, and closes it.
func program(ctx context.Context, file string, work func(eng *orchestrator.Engine) error) {
	store, err := bboltstore.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	writer := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		fmt.Println("the writer is asked:", req.Prompt)
		return agent.Response{Text: req.Prompt + ", we thank you"}, nil
	})
	eng, err := orchestrator.NewLocal(orchestrator.Config{
		Agents: agent.Roster{"writer": writer}, Store: store, Flows: []orchestrator.AnyFlow{letter},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := work(eng); err != nil {
		log.Fatal(err)
	}
	if err := eng.Close(ctx); err != nil {
		log.Fatal(err)
	}
	if err := store.Close(); err != nil {
		log.Fatal(err)
	}
}
