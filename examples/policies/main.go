// Policies replaces the rules of two teams by its own.
//
// In the first, a hierarchy, vectors route, a gate wants more of work that was refused once,
// another model makes the third try, and a person permits the last phase. In the second, a
// director, a scheduler begins with the cheapest task, and the merge of one task waits for a
// person while others merge.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

func main() {
	no := flag.Bool("no", false, "refuse what people are asked")
	flag.Parse()
	ctx := context.Background()
	if err := poem(ctx, !*no); err != nil {
		log.Fatal(err)
	}
	if err := write(ctx); err != nil {
		log.Fatal(err)
	}
}

// poem runs the first team.
func poem(ctx context.Context, permit bool) error {
	team, err := hierarchy.New(poems())
	if err != nil {
		return err
	}
	out, err := asked(ctx, team, hierarchy.Input{Prompt: "a detailed poem about rain"}, poets, permit)
	showPoem(out, err)
	return nil
}

// asked runs a flow, and gives its questions one answer.
func asked[In, Out any](ctx context.Context, f orchestrator.Flow[In, Out], in In, agents agent.Roster, answer bool) (out Out, err error) {
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents})
	if err != nil {
		return out, err
	}
	defer func() { _ = eng.Close(ctx) }() // no error: its runs have ended
	run, err := f.Start(ctx, eng, in, orchestrator.StartOptions{})
	if err != nil {
		return out, err
	}
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			return out, err
		}
		if rec.Kind == runlog.Asked {
			fmt.Println("asked:", rec.Name, answer)
			if err := run.Answer(ctx, rec.Name, answer); err != nil {
				return out, err
			}
		}
	}
	return f.Result(ctx, run)
}
