package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
)

func main() {
	flag.Usage = func() {
		fmt.Println("team: a custom team writes a report and asks before it publishes. Its agents are scripts; it has no flags.")
	}
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// run starts the team and answers its question as the person who publishes.
func run(ctx context.Context) error {
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: scripted})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close(ctx) }() // no error: its runs have ended
	run, err := report.Start(ctx, eng, Brief{Goal: "how to make tea", Sections: 3}, orchestrator.StartOptions{
		Budget: orchestrator.Budget{Calls: 60},
	})
	if err != nil {
		return err
	}
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			return err
		}
		switch rec.Kind {
		case runlog.Called:
			fmt.Fprintln(os.Stderr, "answered:", rec.Name)
		case runlog.Asked:
			fmt.Fprintln(os.Stderr, "asked:", rec.Name, "(yes)")
			if err := run.Answer(ctx, rec.Name, true); err != nil {
				return err
			}
		}
	}
	out, err := report.Result(ctx, run)
	if err != nil {
		return err
	}
	for _, s := range out.Sections {
		fmt.Printf("%s (%.0f): %s\n", s.Title, s.Score, s.Text)
	}
	fmt.Printf("%s after %d calls, %d reviews\n", out.Status, out.Spent.Calls, len(out.Reviews))
	return nil
}
