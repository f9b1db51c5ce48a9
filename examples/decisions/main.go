// Decisions are two teams that decide, in roles of their own: a security review, whose five
// roles are none of the package's, and a hiring panel with two critics.
//
// Each member here is a script. In a program of your own it is a model:
// agent.LLM{Model: m, Instructions: "You attack systems …"}.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

func main() {
	for _, c := range []decision{review, panel} {
		if err := c.show(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
}

// decision is a team and what it decides about.
type decision struct {
	team  string // Config of the discussion, as JSON
	topic string
	says  map[string][]string // answers of each agent, in turn; the last one is that of all further turns
}

// show runs the team, and prints who spoke and what was decided.
func (d decision) show(ctx context.Context) error {
	var cfg discussion.Config
	if err := json.Unmarshal([]byte(d.team), &cfg); err != nil {
		return err
	}
	flow, err := discussion.New(cfg)
	if err != nil {
		return err
	}
	out, err := flow.Run(ctx, orchestrator.Local(d.cast()), discussion.Input{Topic: d.topic})
	if err != nil {
		return err
	}
	fmt.Println(d.topic)
	for _, m := range out.Discussion.Messages {
		if by := cmp.Or(m.By, string(m.From)); m.Round > 0 {
			fmt.Printf("  %d %s: %s\n", m.Round, by, firstLine(m.Content))
		}
	}
	for i, idea := range out.Ranked() {
		fmt.Printf("  %d. %s, %.1f\n", i+1, idea.Title, idea.Score)
	}
	fmt.Printf("%s: %s\n", out.Status, out.FinalIdea.Title)
	if choice := out.LeaderChoice; choice != nil && choice.ID != out.FinalIdea.ID {
		fmt.Println("the chair preferred:", choice.Title)
	}
	return nil
}

// firstLine returns the first line of a text, or the titles of ideas in JSON.
func firstLine(text string) string {
	var said struct{ Ideas []discussion.Idea }
	if json.Unmarshal([]byte(text), &said) == nil {
		titles := make([]string, len(said.Ideas))
		for i, idea := range said.Ideas {
			titles[i] = idea.Title
		}
		return strings.Join(titles, "; ")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// cast returns the agents. Members speak one after another, so that a counter is enough.
func (d decision) cast() agent.Roster {
	roster := agent.Roster{}
	for name, lines := range d.says {
		turn := 0
		roster[name] = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			line := lines[min(turn, len(lines)-1)]
			turn++
			return agent.Response{Text: line}, nil
		})
	}
	return roster
}
