package hierarchy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"testing/fstest"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// writer is an agent with one answer.
func writer(text string) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: text}, nil })
}

// run is a run of a team in memory.
func run(cfg hierarchy.Config, roster agent.Roster, prompt string) hierarchy.Outcome {
	flow, err := hierarchy.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	if err != nil {
		log.Fatal(err)
	}
	out, err := flow.Run(context.Background(), eng, hierarchy.Input{Prompt: prompt})
	if err != nil {
		log.Fatal(err)
	}
	return out
}

// The character department of a studio works on a detailed request: two
// specialists, one of which needs a second try, and a head that grades them and
// makes one result of what passed.
func ExampleNew() {
	out := run(hierarchy.Config{
		Departments: []hierarchy.Department{hierarchy.NewDepartment("character", "head",
			hierarchy.Agent{ID: "looks", Name: "Looks", PassingThreshold: new(65.0)},
			hierarchy.Agent{ID: "mind", Name: "Mind", PassingThreshold: new(60.0)},
		)},
	}, agent.Roster{
		"looks": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			if strings.Contains(req.Prompt, "scored 58") {
				return agent.Response{Text: "lean, in a torn vest"}, nil
			}
			return agent.Response{Text: "lean"}, nil
		}),
		"mind": writer("cheeky and kind"),
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
	}, "A detailed character of a bread thief")
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

// A prompt of the host's own in place of the package's: the master's.
func ExampleConfig_prompts() {
	out := run(hierarchy.Config{
		Departments: []hierarchy.Department{hierarchy.NewDepartment("words", "poet")},
		Master:      hierarchy.Master{Agent: "printer"},
		Prompts: fstest.MapFS{"master.tmpl": {
			Data: []byte(`Print {{range .Reports}}{{text .Output}}{{end}} in capitals.`),
		}},
	}, agent.Roster{
		"poet": writer("silver rain"),
		"printer": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			return agent.Response{Text: strings.ToUpper(req.Prompt)}, nil
		}),
	}, "Write about rain")
	fmt.Println(hierarchy.Text(out.Output["result"]))
	// Output: PRINT SILVER RAIN IN CAPITALS.
}

// A hook: what the master writes to each department.
func ExampleSteps() {
	out := run(hierarchy.Config{
		Departments: []hierarchy.Department{hierarchy.NewDepartment("words", "poet")},
		Rules: hierarchy.Rules{Steps: hierarchy.Steps{
			Brief: func(_ *orchestrator.Context, in hierarchy.Input, d hierarchy.Department, _ []hierarchy.Report) (string, error) {
				return fmt.Sprintf("%s: %s, in one line", d.Name, in.Prompt), nil
			},
		}},
	}, agent.Roster{
		"poet": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			return agent.Response{Text: "I was asked for “" + req.Prompt + "”."}, nil
		}),
	}, "rain")
	fmt.Println(hierarchy.Text(out.Output["words"]))
	// Output: I was asked for “words: rain, in one line”.
}

// A team of a settings file or a content system.
func ExampleConfig_json() {
	var cfg hierarchy.Config
	err := json.Unmarshal([]byte(`{
		"departments": [{"id": "words", "head": "poet", "minQualityThreshold": 70, "agents": [
			{"id": "rhymer", "passingThreshold": 65, "executionSettings": {"maxRetries": 0, "timeout": 120}}
		]}],
		"limits": {"cost": 5, "time": "10m"}
	}`), &cfg)
	if err != nil {
		log.Fatal(err)
	}
	rhymer := cfg.Departments[0].Agents[0]
	fmt.Println(rhymer.Attempts, rhymer.Timeout, cfg.Limits.Time)

	err = json.Unmarshal([]byte(`{"limits": {"cost": "5", "tme": "10m"}}`), &cfg)
	fmt.Println(err)
	// Output:
	// 1 2m0s 10m0s
	// limits.cost is "5", want USD with at most 9 decimals
	// limits.tme is unknown
}

// What earlier runs say of specialists chooses among them the next time.
func ExampleLearn() {
	past := hierarchy.Outcome{Reports: []hierarchy.Report{{Specialists: []hierarchy.SpecialistResult{
		{AgentID: "rhymer", Score: 90, ReviewStatus: "approved", Output: []byte(`"rain"`), Attempts: make([]hierarchy.Attempt, 1)},
		{AgentID: "singer", Score: 40, ReviewStatus: "rejected", Output: []byte(`"la"`), Attempts: make([]hierarchy.Attempt, 4)},
	}}}}
	experience := hierarchy.Learn(past)
	fmt.Println(experience.SuccessRates, experience.History["singer"])
	// Output: map[rhymer:100 singer:0] [40]
}
