package hierarchy_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// The character department of a studio works on a detailed request: two
// specialists, one of which needs a second try, and a head that grades them and
// makes one result of what passed.
func ExampleNew() {
	flow, err := hierarchy.New(hierarchy.Config{
		Departments: []hierarchy.Department{hierarchy.NewDepartment("character", "head",
			hierarchy.Agent{ID: "looks", Name: "Looks", PassingThreshold: new(65.0)},
			hierarchy.Agent{ID: "mind", Name: "Mind", PassingThreshold: new(60.0)},
		)},
	})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{
		"looks": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			if strings.Contains(req.Prompt, "scored 58") {
				return agent.Response{Text: "lean, in a torn vest"}, nil
			}
			return agent.Response{Text: "lean"}, nil
		}),
		"mind": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Text: "cheeky and kind"}, nil
		}),
		"head": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			grade := func(x float64) (agent.Response, error) {
				return agent.Response{Data: agent.JSON(map[string]float64{"quality": x, "relevance": x, "consistency": x})}, nil
			}
			switch {
			case strings.Contains(req.Prompt, "Write one new result"):
				return agent.Response{Text: "A lean boy in a torn vest, cheeky and kind."}, nil
			case strings.Contains(req.Prompt, "torn vest"):
				return grade(.72)
			case strings.Contains(req.Prompt, "cheeky"):
				return grade(.87)
			default:
				return grade(.58)
			}
		}),
	}})
	if err != nil {
		log.Fatal(err)
	}
	out, err := flow.Run(context.Background(), eng, hierarchy.Input{Prompt: "A detailed character of a bread thief"})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range out.Reports {
		for _, s := range r.Specialists {
			fmt.Printf("%s: %.0f, %s, %d attempts\n", s.AgentName, s.Score, s.ReviewStatus, len(s.Attempts))
		}
		fmt.Printf("%s: %d, %s\n", r.DepartmentID, r.QualityScore, hierarchy.Text(r.Output))
	}
	fmt.Println(out.Status, *out.Score)
	// Output:
	// Looks: 72, revision-needed, 2 attempts
	// Mind: 87, approved, 1 attempts
	// character: 92, A lean boy in a torn vest, cheeky and kind.
	// completed 91.8
}
