package discussion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"testing/fstest"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// saying is an agent that always says the same.
func saying(text string) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: text}, nil
	})
}

func troupe() agent.Roster {
	return agent.Roster{
		"team_leader": saying("I would take the night shift."),
		"ideation":    saying(`{"ideas": [{"title": "Night shift"}, {"title": "Repair café"}, {"title": "Podcast lab"}]}`),
		"moderator":   saying(`{"evaluations": [{"idea_id": "idea-1", "score": 6.4}, {"idea_id": "idea-2", "score": 8.1}, {"idea_id": "idea-3", "score": 5}]}`),
		"ui_creator":  saying("<h1>Repair café</h1>"),
	}
}

func run(cfg discussion.Config, agents agent.Roster) discussion.Outcome {
	flow, err := discussion.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(context.Background()) //nolint:errcheck // nothing is left to close
	out, err := flow.Run(context.Background(), engine, discussion.Input{Topic: "How might a small library attract teenagers?"})
	if err != nil {
		log.Fatal(err)
	}
	return out
}

func ExampleNew() {
	out := run(discussion.Standard(nil), troupe())
	fmt.Println(out.Status)
	fmt.Println(out.FinalIdea.Title, out.FinalIdea.Score, "by", out.SelectedBy)
	fmt.Println("the leader preferred:", out.LeaderChoice.Title)
	for _, idea := range out.Ranked() {
		fmt.Println(idea.Score, idea.Title)
	}
	// Output:
	// completed
	// Repair café 8.1 by score
	// the leader preferred: Night shift
	// 8.1 Repair café
	// 6.4 Night shift
	// 5 Podcast lab
}

// One prompt is the host's own; the others are the package's.
func ExampleConfig_prompts() {
	cfg := discussion.Standard(nil)
	cfg.Prompts = fstest.MapFS{"ideate.tmpl": {Data: []byte("{{.Context}}\n\nThree ideas that cost nothing, as JSON: {\"ideas\":[{\"title\":\"…\"}]}")}}
	agents := troupe()
	ideation := agents["ideation"]
	agents["ideation"] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		fmt.Println(req.Prompt[strings.LastIndex(req.Prompt, "\n")+1:])
		return ideation.Call(ctx, req)
	})
	run(cfg, agents)
	_, err := discussion.New(discussion.Config{
		Team: cfg.Team, Rounds: cfg.Rounds, Prompts: fstest.MapFS{"idea.tmpl": {Data: []byte("…")}},
	})
	fmt.Println(strings.SplitN(err.Error(), ",", 2)[0])
	// Output:
	// Three ideas that cost nothing, as JSON: {"ideas":[{"title":"…"}]}
	// discussion: prompts: idea.tmpl is no template of the team
}

// A hook makes the report of the finished outcome, without a model.
func ExampleRules() {
	cfg := discussion.Standard(nil)
	cfg.Rules.Report = func(o discussion.Outcome) (string, error) {
		return fmt.Sprintf("<p>%s (%s, %d calls)</p>", o.FinalIdea.Title, o.Status, o.Spent.Calls), nil
	}
	fmt.Println(run(cfg, troupe()).Report)
	// Output: <p>Repair café (completed, 6 calls)</p>
}

// A team may come out of a file or a database.
func ExampleConfig_json() {
	var cfg discussion.Config
	err := json.Unmarshal([]byte(`{
		"team": [
			{"role": "team_leader", "agent": "team_leader", "temperature": 0.2},
			{"role": "ideation", "agent": "ideation"},
			{"role": "moderator", "agent": "moderator", "estimate": 0.02}
		],
		"rounds": {"max": 1},
		"policy": {"threshold": 8.5, "minIdeas": 3},
		"limits": {"cost": 0.5, "time": "5m", "allowUnpriced": true}
	}`), &cfg)
	if err != nil {
		log.Fatal(err)
	}
	out := run(cfg, troupe())
	fmt.Println(out.Status, out.Unverified)
	for _, w := range out.Warnings {
		fmt.Println(w.Code, w.Who, w.Message)
	}
	// Output:
	// partial [idea-2]
	// discussion/below-threshold idea-2 the best score is 8.1, want at least 8.5
}
