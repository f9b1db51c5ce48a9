package orchestrator_test

import (
	"context"
	"fmt"
	"log"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// An engine resumes a run that another engine left, and asks only for what is not on
// record.
func ExampleEngine_Resume() {
	ctx := context.Background()
	letter := orchestrator.Flow[string, string]{
		Name: "letter", Agents: []string{"writer", "translator"},
		Do: func(c *orchestrator.Context, topic string) (string, error) {
			draft, err := c.Call("writer", agent.Request{Prompt: topic})
			if err != nil {
				return "", err
			}
			final, err := c.Call("translator", agent.Request{Prompt: draft.Text})
			return final.Text, err
		},
	}
	store := runlog.NewMemory() // sqlite.Open("runs.db") survives the process, too
	open := func(translator agent.Func) *orchestrator.Engine {
		eng, err := orchestrator.NewLocal(orchestrator.Config{
			Agents: agent.Roster{
				"writer": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
					fmt.Println("the writer is asked:", req.Prompt)
					return agent.Response{Text: "A letter about " + req.Prompt}, nil
				}),
				"translator": translator,
			},
			Flows: []orchestrator.AnyFlow{letter},
			Store: store,
		})
		if err != nil {
			log.Fatal(err)
		}
		return eng
	}

	asked := make(chan bool)
	first := open(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		close(asked)
		<-ctx.Done() // it takes too long
		return agent.Response{}, ctx.Err()
	})
	if _, err := letter.Start(ctx, first, "tea", orchestrator.StartOptions{ID: "letter-1"}); err != nil {
		log.Fatal(err)
	}
	<-asked
	if err := first.Close(ctx); err != nil {
		log.Fatal(err)
	}

	second := open(func(_ context.Context, req agent.Request) (agent.Response, error) {
		return agent.Response{Text: req.Prompt + ", in French"}, nil
	})
	resumed, err := second.Resume(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range resumed.Runs {
		text, err := letter.Result(ctx, run)
		fmt.Println(run.ID(), "says:", text, err)
	}
	if err := second.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// the writer is asked: tea
	// letter-1 says: A letter about tea, in French <nil>
}

// A run asks a person and waits. The answer may come from any handler, and from any
// process that uses the same store.
func ExampleAwait() {
	ctx := context.Background()
	publish := orchestrator.Flow[string, string]{
		Name: "publish",
		Do: func(c *orchestrator.Context, text string) (string, error) {
			yes, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "approve", Text: "Publish " + text + "?"})
			if err != nil || !yes {
				return "not published", err
			}
			return "published", nil
		},
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := publish.Start(ctx, eng, "the report", orchestrator.StartOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		if rec.Kind == runlog.Asked {
			break
		}
	}
	info, err := run.Info(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Questions[0].Text)
	fmt.Println(run.Answer(ctx, "approve", "perhaps") != nil) // it wants a bool
	fmt.Println(run.Answer(ctx, "approve", true))
	fmt.Println(publish.Result(ctx, run))
	if err := eng.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Publish the report?
	// true
	// <nil>
	// published <nil>
}

// Four branches share one dollar. Each gets a quarter, which pays for two calls of at
// most ten cents.
func ExampleBudget_Split() {
	ctx := context.Background()
	const cents = providers.USD / 100
	chapters := orchestrator.Flow[[]string, []int]{
		Name: "chapters", Agents: []string{"writer"},
		Do: func(c *orchestrator.Context, titles []string) ([]int, error) {
			share := c.Left().Split(len(titles))
			return orchestrator.Values(orchestrator.Map(c, titles, 0, func(c *orchestrator.Context, title string) (int, error) {
				c = c.WithBudget(share)
				for pages := 0; ; pages++ {
					_, err := c.Call("writer", agent.Request{Prompt: title, Limits: agent.Limits{Estimate: 10 * cents}})
					if orchestrator.IsOver(err) {
						return pages, nil // with what there is
					}
					if err != nil {
						return pages, err
					}
				}
			}))
		},
	}
	writer := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: "a page", Usage: providers.Usage{Calls: 1, Cost: 10 * cents}}, nil
	})
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"writer": writer}})
	if err != nil {
		log.Fatal(err)
	}
	run, err := chapters.Start(ctx, eng, []string{"leaves", "water", "time", "cups"}, orchestrator.StartOptions{
		Budget: orchestrator.Budget{Cost: providers.USD},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(chapters.Result(ctx, run))
	info, err := run.Info(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Spent.Calls, "calls,", info.Spent.Cost/cents, "cents")
	if err := eng.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [2 2 2 2] <nil>
	// 8 calls, 80 cents
}
