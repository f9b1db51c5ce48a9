// Team is a team of your own: a planner, a writer behind a critic's gate, an editor, and a
// person who publishes. docs/writing-a-team.md builds it from nothing.
package main

import (
	"context"
	"embed"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/page"
)

type Config struct { // the team; each field has a default
	Agents struct {
		Planner string `default:"planner" json:"planner,omitzero"` // splits the goal into titles
		Writer  string `default:"writer"  json:"writer,omitzero"`  // writes a section
		Critic  string `default:"critic"  json:"critic,omitzero"`  // grades it
		Editor  string `default:"editor"  json:"editor,omitzero"`  // makes one text of all
	} `json:"agents,omitzero"`
	Gate   float64     `default:"75"             json:"gate,omitzero"  max:"100" min:"0"` // least score of a section
	Tries  int         `default:"3"              json:"tries,omitzero" max:"9"   min:"1"` // tries of a section
	Limits team.Limits `json:"limits,omitzero"`                                           // money and time of a run
}

type Brief struct { // what a run is asked
	Goal     string `json:"goal"     required:"true"`
	Sections int    `json:"sections" max:"9"         min:"1"` // number of sections at most
}

type Report struct { // what a run returns
	orchestrator.Outcome
	Titles   []string                       `json:"titles,omitempty"`
	Sections []orchestrator.Refined[string] `json:"sections,omitempty"` // sections by their titles
	Text     string                         `json:"text,omitempty"`
}

func (r Report) MarshalJSON() ([]byte, error)     { return team.Encode(r) } // money in USD, times as "5m"
func (r *Report) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, r) }

//go:embed prompts
var prompts embed.FS

var gazette = team.Definition[Config, Brief, Report]{
	Name: "gazette", Prompts: prompts, Begin: func(_ Config, in Brief, s *team.Start) { s.Asked = in.Goal }, Do: work,
	Samples: map[string][]any{"plan.tmpl": {Brief{}}, "write.tmpl": {team.Draft[string]{Data: ""}}, "grade.tmpl": {team.Draft[string]{}}, "edit.tmpl": {Report{}}},
}

func work(c *orchestrator.Context, r *team.Run, cfg Config, in Brief, out *Report) error {
	plan, err := team.Ask[struct{ Titles []string }](c, r, cfg.Agents.Planner, "plan.tmpl", in)
	if err != nil {
		return err
	}
	out.Titles = plan.Titles[:min(len(plan.Titles), in.Sections)]
	writer := team.Seat[string]{Agent: cfg.Agents.Writer, Prompt: "write.tmpl"}
	critic := team.Seat[orchestrator.Verdict]{Agent: cfg.Agents.Critic, Prompt: "grade.tmpl"}
	share := c.Left().Split(len(out.Titles) + 1) // one is the editor's
	for i, done := range orchestrator.Map(c, out.Titles, 0, func(c *orchestrator.Context, title string) (orchestrator.Refined[string], error) {
		return team.Refine(c.WithBudget(share), r, writer, critic, orchestrator.Refinement[string]{Attempts: cfg.Tries, Gate: cfg.Gate}, title)
	}) {
		out.Sections = append(out.Sections, done.Value) // with an error, too: the best so far
		if !done.Value.Pass {
			out.Unverified = append(out.Unverified, out.Titles[i])
		}
		r.Emit(c, "gazette.section.written", &team.Event{Who: cfg.Agents.Writer, Try: done.Value.Tries, Text: out.Titles[i]})
	}
	if out.Text, err = team.Ask[string](c, r, cfg.Agents.Editor, "edit.tmpl", out); err != nil {
		return err
	}
	yes, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "publish", Text: "Publish this?", Timeout: 24 * time.Hour})
	if err != nil || yes {
		return err
	}
	return fmt.Errorf("the person did not publish it")
}

func Page(o Report) (string, error) { // the report as HTML
	p := page.Of("Gazette", o.Asked, o.Outcome)
	p.Result = page.Card{Won: true, Title: "Report", Text: o.Text}
	return p.HTML()
}

func scripted(ctx context.Context, req agent.Request) (agent.Response, error) { // for all agents, in the place of agent.LLM values
	return agent.Response{Text: map[string]string{
		"planner false": `{"Titles": ["Leaves", "Water"]}`, "writer false": "So.", "critic false": `{"score": 60, "feedback": "Say because."}`,
		"writer true": "Because.", "critic true": `{"score": 90}`, "editor true": "Tea needs both.",
	}[fmt.Sprint(agent.InfoFrom(ctx).Agent, " ", strings.Contains(req.Prompt, "ecause"))]}, nil
}

func main() {
	ctx, a := context.Background(), agent.Func(scripted)
	flow, err := team.Read(gazette, []byte(`{"gate": 80, "limits": {"calls": 50, "time": "25h"}}`))
	check(err)
	all := agent.Roster{"planner": a, "writer": a, "critic": a, "editor": a}
	run, err := flow.Start(ctx, orchestrator.Local(all), Brief{"How to make tea", 3}, orchestrator.StartOptions{})
	check(err)
	for rec, err := range run.Events(ctx, 0) {
		check(err)
		if log.Println(rec.Kind, rec.Name); rec.Kind == runlog.Asked {
			check(run.Answer(ctx, rec.Name, true)) // the person
		}
	}
	out, err := flow.Result(ctx, run)
	check(err)
	html, err := Page(out)
	check(err)
	fmt.Print(html)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
