package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/convene-go/convene/orchestrator"
)

// desk shows the open questions of all runs of an engine to people until enough have been
// asked. answer says what they do.
func desk(ctx context.Context, eng *orchestrator.Engine, enough int, answer func(run *orchestrator.Run, q orchestrator.Question)) {
	for seen := map[string]bool{}; len(seen) < enough; {
		for open, err := range eng.Questions(ctx, orchestrator.QuestionQuery{}) {
			if err != nil {
				log.Fatal(err)
			}
			if q := open.Question; !seen[q.Key] {
				seen[q.Key] = true
				run, err := eng.Open(ctx, open.Run)
				if err != nil {
					log.Fatal(err)
				}
				answer(run, q)
			}
		}
	}
}

// Three payments wait for their approvals at once. Each is a question with a key of its
// own, and the answer to one serves no other: it says which question its person was shown.
func ExampleRun_AnswerWith() {
	ctx := context.Background()
	pay := orchestrator.Flow[[]string, []string]{
		Name: "pay",
		Do: func(c *orchestrator.Context, bills []string) ([]string, error) {
			return orchestrator.Values(orchestrator.Map(c, bills, 0, func(c *orchestrator.Context, bill string) (string, error) {
				yes, err := orchestrator.Await[bool](c, orchestrator.Question{
					Key: "pay/" + bill, Text: "Pay " + bill + "?", Options: []string{"pay", "reject"}, Person: true,
				})
				if err != nil || !yes {
					return bill + ": rejected", err
				}
				return bill + ": paid", nil
			}))
		},
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := pay.Start(ctx, eng, []string{"rent", "tea", "yacht"}, orchestrator.StartOptions{})
	if err != nil {
		log.Fatal(err)
	}
	desk(ctx, eng, 3, func(run *orchestrator.Run, q orchestrator.Question) {
		word := "pay"
		if q.Key == "pay/yacht" {
			word = "reject"
		}
		if err := run.AnswerWith(ctx, q.Key, word, orchestrator.AnswerOptions{By: "ann", Seen: q.Hash}); err != nil {
			log.Fatal(err)
		}
	})
	fmt.Println(pay.Result(ctx, run))
	if err := eng.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [rent: paid tea: paid yacht: rejected] <nil>
}

// Two of three people have to agree. Each has a question that only they may answer.
func ExampleQuestion_only() {
	ctx := context.Background()
	deploy := orchestrator.Flow[string, string]{
		Name: "deploy",
		Do: func(c *orchestrator.Context, version string) (string, error) {
			votes := orchestrator.NewQueue[bool](c)
			for _, person := range []string{"ann", "bob", "eve"} {
				votes.Go(person, func(c *orchestrator.Context) (bool, error) {
					return orchestrator.Await[bool](c, orchestrator.Question{
						Key: "deploy/" + person, Text: "Deploy " + version + "?", Only: []string{person}, Person: true,
					})
				})
			}
			yes, no := 0, 0
			for yes < 2 && no < 2 {
				switch vote, ok := votes.Next(); {
				case !ok || vote.Err != nil:
					return "", vote.Err
				case vote.Value:
					yes++
				default:
					no++
				}
			}
			votes.CancelAll() // who is left need not answer any more
			return fmt.Sprintf("%s deployed: %t", version, yes >= 2), nil
		},
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := deploy.Start(ctx, eng, "1.4", orchestrator.StartOptions{})
	if err != nil {
		log.Fatal(err)
	}
	desk(ctx, eng, 3, func(run *orchestrator.Run, q orchestrator.Question) {
		by := q.Only[0] // the page knows who is signed in
		if by == "ann" {
			err := run.AnswerWith(ctx, q.Key, true, orchestrator.AnswerOptions{By: "bob", Seen: q.Hash})
			fmt.Println("bob for ann:", errors.Is(err, orchestrator.ErrNotAllowed))
		}
		if err := run.AnswerWith(ctx, q.Key, by != "bob", orchestrator.AnswerOptions{By: by, Seen: q.Hash}); err != nil {
			log.Fatal(err)
		}
	})
	fmt.Println(deploy.Result(ctx, run))
	if err := eng.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// bob for ann: true
	// 1.4 deployed: true <nil>
}
