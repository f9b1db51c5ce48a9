package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/routing"
)

// poems is a team whose every policy is ours.
func poems() hierarchy.Config {
	return hierarchy.Config{
		Name: "poems",
		Departments: []hierarchy.Department{
			hierarchy.NewDepartment("words", "editor", hierarchy.Agent{ID: "poet", PassingThreshold: new(60.0)}),
			hierarchy.NewDepartment("sums", "clerk"),
		},
		Rules: hierarchy.Rules{
			Router:  orchestrator.RouteBy(vectors{"words": "a detailed poem about rain and love", "sums": "add up the taxes of a year"}),
			Grader:  hierarchy.SelfGrader,
			Gates:   hierarchy.Gates{Attempt: grading.Hysteresis{Bands: grading.DefaultBands, Extra: 15}}, // 60 at first, then 75
			Retrier: upgrade{from: 2, to: "strong"},
			Permit: orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool {
				return m.Path == "run" && m.Event == "combined" // the last phase before the end
			}},
		},
	}
}

// vectors routes a request to the target whose text is most like it. The likeness is the
// cosine of counts of letter pairs: a stand-in for the embeddings of a real program.
type vectors map[string]string

func (texts vectors) Route(request string, targets []routing.Target) (routing.Route, error) {
	want := pairs(request)
	var all []routing.Relevance
	for _, t := range targets {
		if t.Barred {
			continue
		}
		near := cosine(want, pairs(texts[t.ID]))
		all = append(all, routing.Relevance{ID: t.ID, Relevance: near, Priority: t.Priority, Reason: fmt.Sprintf("cosine %.2f", near)})
	}
	return routing.Decide(all, nil, 0.9)
}

func pairs(text string) map[string]float64 {
	counts, letters := map[string]float64{}, []rune(strings.ToLower(text))
	for i := 1; i < len(letters); i++ {
		counts[string(letters[i-1:i+1])]++
	}
	return counts
}

func cosine(a, b map[string]float64) float64 {
	var dot, lengths float64 // whole numbers, so that the order of a map cannot matter
	for pair, n := range a {
		dot += n * b[pair]
	}
	if lengths = square(a) * square(b); lengths == 0 {
		return 0
	}
	return min(dot/math.Sqrt(lengths), 1)
}

func square(a map[string]float64) (sum float64) {
	for _, n := range a {
		sum += n * n
	}
	return sum
}

// upgrade gives work to another model, on a clean page, after so many tries.
type upgrade struct {
	from int
	to   string
}

// Agents declares the model, so that it is looked for before a run starts.
func (u upgrade) Agents() []string { return []string{u.to} }

func (u upgrade) Next(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	again := orchestrator.Attempts{Max: 4}.Next(of, tries)
	if of.Role == "specialist" && len(tries) >= u.from {
		again.Agent, again.Fresh = u.to, true
		again.Feedback = "Others have tried, and scored too low. Think first, then write."
	}
	return again
}

// poets are the agents of the team: scripts that score their own work. A host puts agent.LLM
// values here.
var poets = agent.Roster{
	"poet": agent.Func(func(_ context.Context, r agent.Request) (agent.Response, error) {
		if strings.Contains(r.Prompt, "scored 50") {
			return draft("Rain again.", 70)
		}
		return draft("Rain.", 50)
	}),
	"strong": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return draft("The rain forgets the roof it fell upon.", 80)
	}),
	"editor": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: "The rain forgets the roof it fell upon."}, nil
	}),
	"clerk": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: "7"}, nil
	}),
}

func draft(text string, score int) (agent.Response, error) {
	return agent.Response{Data: agent.JSON(map[string]any{"text": text, "qualityScore": score})}, nil
}

// showPoem prints who tried, and what came out.
func showPoem(out hierarchy.Outcome, err error) {
	for _, report := range out.Reports {
		for _, s := range report.Specialists {
			for _, a := range s.Attempts {
				fmt.Printf("%s: try %d by %s scores %v: %s\n", s.AgentID, a.Number+1, cmp.Or(a.Agent, s.AgentID), a.Score, a.Decision)
			}
		}
	}
	for _, report := range out.Reports {
		fmt.Printf("%s: %s\n", out.Status, hierarchy.Text(report.Output))
	}
	if err != nil {
		fmt.Println("error:", err)
	}
}
