package research_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing/fstest"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

// says is an agent with one answer.
func says(text string) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: text}, nil })
}

// newsroom are two workers, and agents for all who take part.
func newsroom() ([]research.Worker, agent.Roster) {
	workers := []research.Worker{
		{ID: "archive", Category: research.Researching, Produces: []string{"sources"}},
		{ID: "author", Category: research.Writing, Critical: true, Needs: []string{"sources"}, Produces: []string{"article"}},
	}
	return workers, agent.Roster{
		"planner": says(`{"complexity": 0.2, "steps": [{"category": "research", "mode": "PARALLEL", "workers": ["archive"]},
			{"category": "writing", "mode": "SEQUENTIAL", "workers": ["author"]}]}`),
		"archive":    says(`{"sources": [{"title": "Ferry timetables, 1911", "url": "https://archive.example/1911"}]}`),
		"author":     says(`{"title": "The ferry", "content": "In 1911 it crossed nine times a day."}`),
		"supervisor": says(`{"article": 0.9, "source": 0.8, "factual": 0.9, "writing": 0.9}`),
	}
}

func ExampleNew() {
	workers, roster := newsroom()
	flow, err := research.New(research.Config{Workers: workers, Policy: research.Policy{MinShare: orchestrator.None}})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	if err != nil {
		log.Fatal(err)
	}
	out, err := flow.Run(context.Background(), eng, research.Input{Topic: "The old ferry", MinSources: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Status, *out.Score)
	fmt.Println(out.Article.Content)
	fmt.Println(out.Sources[0].Title)
	// Output:
	// completed 0.875
	// In 1911 it crossed nine times a day.
	// Ferry timetables, 1911
}

// A result below its threshold is there all the same, and says so.
func ExampleOutcome() {
	workers, roster := newsroom()
	flow, err := research.New(research.Config{Workers: workers, Policy: research.Policy{Iterations: 1, MinShare: orchestrator.None}})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	if err != nil {
		log.Fatal(err)
	}
	out, err := flow.Run(context.Background(), eng, research.Input{Topic: "The old ferry", MinSources: 1, MinQuality: new(0.95)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Status, out.Unverified)
	fmt.Println(out.Article.Content)
	for _, w := range out.Warnings {
		fmt.Println(w.Code, "|", w.Message)
	}
	// Output:
	// partial [article]
	// > Partial result: quality 0.88, wanted 0.95; max iterations reached.
	//
	// In 1911 it crossed nine times a day.
	// research/below-target | Quality 0.88 below target 0.95, but max iterations reached
	// research/max-iterations | Max iterations reached
}

// A host's own template replaces the package's.
func ExampleConfig_prompts() {
	workers, roster := newsroom()
	roster["author"] = agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		return agent.Response{Text: "Asked: " + req.Prompt}, nil
	})
	flow, err := research.New(research.Config{Workers: workers, Policy: research.Policy{MinShare: orchestrator.None}, Prompts: fstest.MapFS{
		"work.tmpl": {Data: []byte(`{{.Worker}}: {{.Brief.Length}} words, {{.Brief.Tone}}.`)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	if err != nil {
		log.Fatal(err)
	}
	out, err := flow.Run(context.Background(), eng, research.Input{Topic: "The old ferry", MinSources: 1, Length: 600})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Article.Content)
	// Output: Asked: author: 600 words, professional.
}

// A rule refuses what the host does not want.
func ExampleRules() {
	workers, roster := newsroom()
	flow, err := research.New(research.Config{Workers: workers, Rules: research.Rules{Admit: func(in research.Input) error {
		if strings.Contains(strings.ToLower(in.Topic), "secret") {
			return errors.New("we do not write about secrets")
		}
		return nil
	}}})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	if err != nil {
		log.Fatal(err)
	}
	_, err = flow.Run(context.Background(), eng, research.Input{Topic: "The secret ferry"})
	fmt.Println(errors.Is(err, research.ErrRejected), err)
	// Output: true research: Rules.Admit: we do not write about secrets
}

// Twelve minutes are too few for the web search and the checks.
func ExampleBestFit() {
	plan := research.Plan{Steps: []research.Step{
		{ID: "search", Category: research.Researching, Mode: "PARALLEL", Workers: []string{"web_search", "academic_search", "news_search"}},
		{ID: "think", Category: research.Analysing, Mode: "SEQUENTIAL", Workers: []string{"content_synthesizer"}},
		{ID: "write", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"article_writer"}},
		{ID: "check", Category: research.Checking, Mode: "PARALLEL", Workers: []string{"fact_checker", "editor"}},
	}}
	fit, report, err := research.BestFit{}.Optimise(plan, research.Room{Cost: providers.Dollars(5), Time: 12 * time.Minute}, research.Catalogue())
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range fit.Steps {
		fmt.Println(step.ID, step.Workers, step.EstTime)
	}
	fmt.Println("without", report.Removed)
	// Output:
	// search [academic_search news_search] 4m0s
	// think [content_synthesizer] 2m0s
	// write [article_writer] 6m0s
	// without [web_search fact_checker editor]
}
