package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/research"
)

// asked collects the moves about which Permits were asked, as "team path move".
type asked map[string]bool

var aName = regexp.MustCompile(`(dept|spec|plan|step|task)/[^/]+`)

func (a asked) by(team string) orchestrator.Permit {
	return orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
		a[team+" "+aName.ReplaceAllString(m.Path, "$1/<id>")+" "+m.Event] = true
		return nil
	})
}

// The table of moves about which a Permit is asked is that of the teams: a run of each makes
// most of them, and none that the page lacks.
func TestMovesOfPermits(t *testing.T) {
	text, err := os.ReadFile("seams.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| team | path of a Move |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| (\\w+) \\| `([^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(table, -1) {
		for _, move := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[3], -1) {
			listed = append(listed, row[1]+" "+row[2]+" "+move[1])
		}
	}
	require.Greater(t, len(listed), 30)

	seen := asked{}
	seen.hierarchy(t)
	seen.discussion(t)
	seen.research(t)
	seen.delivery(t)
	seen.director(t)
	for move := range seen {
		assert.Contains(t, listed, move, "seams.md lacks a move")
	}
	for _, move := range listed {
		if !seen[move] {
			assert.Contains(t, unmade, move, "no run has made it")
		}
		team, on := strings.Fields(move)[0], strings.Fields(move)[2]
		if of, ok := events[team]; ok {
			assert.Contains(t, of, on, "%s has no such event", team)
		}
	}
}

// unmade are moves of runs in which much has to go wrong first. The teams' own tests make them.
var unmade = []string{
	"delivery run continue", "delivery plan/<id> plan_unverified", "delivery plan/<id> goal_unmet", "delivery step/<id> subplan_started", "director run replan",
}

// events are those of the machines of teams that show them.
var events = map[string][]string{
	"hierarchy":  slices.Concat(texts(hierarchy.Phases()), texts(hierarchy.DepartmentPhases()), texts(hierarchy.SpecialistPhases())),
	"discussion": texts(discussion.Phases()),
	"director":   append(texts(director.Phases()), "pass"),
}

func texts[S, E ~string](of *fsm.Table[S, E, string]) (all []string) {
	for _, e := range of.Events() {
		all = append(all, string(e))
	}
	return all
}

func (a asked) hierarchy(t *testing.T) {
	t.Helper()
	verse := hierarchy.NewDepartment("verse", "editor", hierarchy.Agent{ID: "poet"}, hierarchy.Agent{ID: "bard"})
	prose := hierarchy.NewDepartment("prose", "writer")
	verse.Keywords, prose.Keywords, prose.DependsOn = map[string]int{"verse": 90}, map[string]int{"prose": 90}, []string{"verse"}
	for score, answers := range map[float64]map[string]string{90: nil, 10: {"writer": ""}} {
		flow, err := hierarchy.New(hierarchy.Config{
			Departments: []hierarchy.Department{verse, prose},
			Rules: hierarchy.Rules{Permit: a.by("hierarchy"), Grader: orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) {
				return hierarchy.Grade{Score: &score}, nil
			})},
		})
		require.NoError(t, err)
		played(t, flow, hierarchy.Input{Prompt: "A detailed verse, and prose"}, answers)
	}
}

func (a asked) discussion(t *testing.T) {
	t.Helper()
	graded := discussion.Standard(nil)
	graded.Rules.Permit, graded.Rounds.Max = a.by("discussion"), 2
	ungraded := graded
	ungraded.Team = slices.DeleteFunc(slices.Clone(graded.Team), func(m discussion.Member) bool { return m.Role == discussion.Moderator })
	ungraded.Policy.RequireThreshold = false
	for _, cfg := range []discussion.Config{graded, ungraded} {
		flow, err := discussion.New(cfg)
		require.NoError(t, err)
		played(t, flow, discussion.Input{Topic: "Rain"}, map[string]string{
			string(discussion.Ideation):  `{"ideas":[{"title":"Podcast lab"},{"title":"Game night"},{"title":"Repair café"}]}`,
			string(discussion.Moderator): `{"evaluations":[{"idea_id":"idea-1","score":7},{"idea_id":"idea-2","score":9},{"idea_id":"idea-3","score":5}]}`,
		})
	}
}

func (a asked) research(t *testing.T) {
	t.Helper()
	for _, mark := range []string{"0.9", "0.1"} {
		flow, err := research.New(research.Config{Rules: research.Rules{Permit: a.by("research")}, Policy: research.Policy{MinShare: orchestrator.None}, Workers: []research.Worker{
			{ID: "web", Category: research.Researching, Produces: []string{"sources"}},
			{ID: "writer", Category: research.Writing, Critical: true, Needs: []string{"sources"}, Produces: []string{"article"}},
		}})
		require.NoError(t, err)
		played(t, flow, research.Input{Topic: "Rain", MinSources: 1}, map[string]string{
			"planner": `{"complexity":0.3,"steps":[{"id":"find","category":"research","mode":"PARALLEL","workers":["web"]},
				{"id":"write","category":"writing","mode":"SEQUENTIAL","workers":["writer"],"depends_on":["find"]}]}`,
			"web":        `{"sources":[{"title":"A book","url":"https://example.com/book"}]}`,
			"writer":     `{"title":"Rain","content":"It falls."}`,
			"supervisor": `{"article":` + mark + `,"source":` + mark + `,"factual":` + mark + `,"writing":` + mark + `}`,
		})
	}
}

func (a asked) delivery(t *testing.T) {
	t.Helper()
	flow, err := delivery.New(delivery.Config{
		Agents: delivery.Agents{Planner: "planner", Coder: "coder", Tester: "tester", Supervisor: "supervisor"}, Rules: delivery.Rules{Permit: a.by("delivery")},
	})
	require.NoError(t, err)
	played(t, flow, delivery.Input{Goal: "a package for durations"}, map[string]string{
		"planner":    `{"steps":[{"number":1,"description":"parse a duration","complexity":"medium"},{"number":2,"description":"format it","complexity":"simple"}]}`,
		"coder":      `{"summary":"written","files":[{"path":"a.go","content":"package a"}],"tests":[{"path":"a_test.go","content":"package a"}]}`,
		"tester":     `{"passed":true}`,
		"supervisor": `{"approved":true,"score":90,"evidence":["the tests pass"]}`,
	})
}

func (a asked) director(t *testing.T) {
	t.Helper()
	cfg := director.Software()
	cfg.Agents, cfg.Rules.Permit = director.Agents{Director: "director", Strategist: "strategist", Guardian: "guardian"}, a.by("director")
	flow, err := director.New(cfg)
	require.NoError(t, err)
	worker := `{"status":"complete","result_path":"todo.md","artifact":"A table of todos."}`
	played(t, flow, director.Input{Objective: "a todo board"}, map[string]string{
		"director":   `{"tasks":[{"id":"db","component":"db","phase":"build","acceptance_criteria":["todos are stored"]}]}`,
		"strategist": `{"passed":true,"criteria":[{"number":1,"passed":true,"reasoning":"it is there"}]}`,
		"guardian":   worker, "code_worker": worker, "test_worker": worker,
	})
}
