// Package teamtest tests a small team of each kind on a store, for authors of stores. Each
// team is killed after every record of its log and resumed, and replayed with other orders
// of completion.
package teamtest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/research"
)

// Sweep tests a small team of each kind, in parallel, on the stores that open returns.
// Each team has to complete its task in a plain run first; then flowtest's Sweep and
// Determinism test it. open is as [flowtest.Case.Store]. An author of a store calls it:
//
//	func TestTeams(t *testing.T) {
//		teamtest.Sweep(t, func(tb testing.TB) runlog.Store { return openMine(tb) })
//	}
func Sweep(t *testing.T, open func(tb testing.TB) runlog.Store) {
	t.Helper()
	for _, team := range []struct {
		name string
		test func(*testing.T, func(testing.TB) runlog.Store)
	}{
		{"hierarchy", testHierarchy},
		{"discussion", testDiscussion},
		{"delivery", testDelivery},
		{"director", testDirector},
		{"research", testResearch},
	} {
		t.Run(team.name, func(t *testing.T) {
			t.Parallel()
			team.test(t, open)
		})
	}
}

// testHierarchy tests a department of a head and two members.
func testHierarchy(t *testing.T, open func(testing.TB) runlog.Store) {
	t.Helper()
	flow, err := hierarchy.New(hierarchy.Config{Departments: []hierarchy.Department{hierarchy.NewDepartment("character", "head",
		hierarchy.Agent{ID: "looks"}, hierarchy.Agent{ID: "mind"},
	)}})
	require.NoError(t, err)
	run(t, open, flow, hierarchy.Input{Prompt: "A detailed character of a bread thief"}, map[string]agent.Func{"head": head})
}

// testDiscussion tests a discussion of three ideas.
func testDiscussion(t *testing.T, open func(testing.TB) runlog.Store) {
	t.Helper()
	flow, err := discussion.New(discussion.Standard(nil))
	require.NoError(t, err)
	run(t, open, flow, discussion.Input{Topic: "How might a small library attract teenagers?"}, map[string]agent.Func{
		string(discussion.Ideation): answers(`{"ideas":[{"title":"Podcast lab"},{"title":"Game night"},{"title":"Repair café"}]}`),
		string(discussion.Moderator): answers(
			`{"evaluations":[{"idea_id":"idea-1","score":7},{"idea_id":"idea-2","score":9},{"idea_id":"idea-3","score":5}]}`),
	})
}

// testDirector tests a plan of one task, which passes its review.
func testDirector(t *testing.T, open func(testing.TB) runlog.Store) {
	t.Helper()
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "director", Strategist: "strategist", Guardian: "guardian"}
	flow, err := director.New(cfg)
	require.NoError(t, err)
	worker := answers(`{"status":"complete","result_path":"todo.md","artifact":"A table of todos."}`)
	run(t, open, flow, director.Input{Objective: "a todo board"}, map[string]agent.Func{
		"director":    answers(`{"tasks":[{"id":"db","component":"db","phase":"build","acceptance_criteria":["todos are stored"]}]}`),
		"strategist":  answers(`{"passed":true,"criteria":[{"number":1,"passed":true,"reasoning":"it is there"}]}`),
		"code_worker": worker, "test_worker": worker,
	})
}

// testResearch tests two workers side by side, and a third one on their results.
func testResearch(t *testing.T, open func(testing.TB) runlog.Store) {
	t.Helper()
	flow, err := research.New(research.Config{Policy: research.Policy{MinShare: orchestrator.None}, Workers: []research.Worker{
		{ID: "web", Category: research.Researching, Produces: []string{"sources"}},
		{ID: "library", Category: research.Researching, Produces: []string{"sources"}},
		{ID: "writer", Category: research.Writing, Critical: true, Needs: []string{"sources"}, Produces: []string{"article"}},
	}})
	require.NoError(t, err)
	sources := answers(`{"sources":[{"title":"A book","url":"https://example.com/book"}]}`)
	run(t, open, flow, research.Input{Topic: "AI in healthcare", MinSources: 1}, map[string]agent.Func{
		"planner": answers(`{"complexity":0.3,"steps":[
			{"id":"find","category":"research","mode":"PARALLEL","workers":["web","library"]},
			{"id":"write","category":"writing","mode":"SEQUENTIAL","workers":["writer"],"depends_on":["find"]}]}`),
		"web": sources, "library": sources,
		"writer":     answers(`{"title":"AI in care","content":"It helps."}`),
		"supervisor": answers(`{"article":0.9,"source":0.9,"factual":0.9,"writing":0.9}`),
	})
}

// testDelivery tests a project of two steps, which succeed.
func testDelivery(t *testing.T, open func(testing.TB) runlog.Store) {
	t.Helper()
	flow, err := delivery.New(delivery.Config{Agents: delivery.Agents{Planner: "planner", Coder: "coder", Tester: "tester", Supervisor: "supervisor"}})
	require.NoError(t, err)
	run(t, open, flow, delivery.Input{Goal: "a package for durations"}, map[string]agent.Func{
		"planner": answers(`{"steps":[{"number":1,"description":"parse a duration","complexity":"medium"},
			{"number":2,"description":"format it again","complexity":"simple","dependsOn":[1]}]}`),
		"coder":      answers(`{"summary":"written","files":[{"path":"a.go","content":"package a"}],"tests":[{"path":"a_test.go","content":"package a"}]}`),
		"tester":     answers(`{"passed":true}`),
		"supervisor": answers(`{"approved":true,"score":90,"evidence":["the tests pass"]}`),
	})
}

// run runs a team once, sweeps it, and replays it. cast has agents by name; the others talk.
// The team must complete its task, because a run that fails early would test little.
func run[In, Out any](t *testing.T, open func(tb testing.TB) runlog.Store, flow orchestrator.Flow[In, Out], in In, cast map[string]agent.Func) {
	t.Helper()
	c := flowtest.New(flow, in, func(testing.TB) agent.Roster {
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			roster[name] = talks
			if a, ok := cast[name]; ok {
				roster[name] = a
			}
		}
		return roster
	})
	c.Store = open
	_, log, err := c.Run(t)
	require.NoError(t, err)
	require.Contains(t, string(log[len(log)-1].Data), `"status":"completed"`)
	c.Sweep(t)
	c.Determinism(t)
}

// answers returns an agent that gives the same answer to each request.
func answers(text string) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: text}, nil }
}

// talks is an agent that answers with a few sentences.
var talks = answers(strings.Repeat("A lean boy in a torn vest, cheeky and kind. ", 5))

// head is an agent that grades if the request wants JSON, and talks otherwise.
func head(ctx context.Context, req agent.Request) (agent.Response, error) {
	if req.Output == nil {
		return talks(ctx, req)
	}
	return agent.Response{Text: `{"quality":0.9,"relevance":0.9,"consistency":0.9}`}, nil
}
