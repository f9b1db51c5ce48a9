package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// The outputs are those of go run ./examples/policies, and with -no.
func Example_poem() {
	if err := poem(context.Background(), true); err != nil {
		fmt.Println(err)
	}
	// Output:
	// asked: permit/run/combined true
	// poet: try 1 by poet scores 50: revise
	// poet: try 2 by poet scores 70: revise
	// poet: try 3 by strong scores 80: accept
	// completed: The rain forgets the roof it fell upon.
}

func Example_poemRefused() {
	if err := poem(context.Background(), false); err != nil {
		fmt.Println(err)
	}
	// Output:
	// asked: permit/run/combined false
	// poet: try 1 by poet scores 50: revise
	// poet: try 2 by poet scores 70: revise
	// poet: try 3 by strong scores 80: accept
	// failed: The rain forgets the roof it fell upon.
	// error: hierarchy: combined of run is not permitted: Rules.Permit: not-permitted: the answer to permit/run/combined was no
}

// The rules hold what a team wants of rules, and the team is stopped after every record.
func TestPoemRules(t *testing.T) {
	for name, answer := range map[string]bool{"permitted": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			c := flowtest.New(orchestrator.Flow[hierarchy.Input, hierarchy.Outcome]{}, hierarchy.Input{Prompt: "a detailed poem about rain"}, func(testing.TB) agent.Roster { return poets })
			c.Answers = map[string]any{"permit/run/combined": answer}
			flowtest.Rules(t, poems, hierarchy.New, c)
		})
	}
}

func Example_write() {
	if err := write(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// director.task.dispatched c
	// director.task.dispatched b
	// director.task.dispatched a
	// asked: permit/task/b/pass
	// director.commit.merged c
	// director.commit.merged a
	// answer: true
	// director.commit.merged b
	// completed 3 files
}

func TestTextRules(t *testing.T) {
	c := flowtest.New(orchestrator.Flow[director.Input, director.Outcome]{}, threeTexts(), func(testing.TB) agent.Roster { return writers })
	c.Answers = map[string]any{"permit/task/b/pass": true}
	c.Quick = true
	flowtest.Rules(t, texts, director.New, c)
}
