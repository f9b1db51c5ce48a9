package teamtest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/research"
)

// refused runs a flow on an input that it must refuse before it asks anybody.
func refused[In, Out any](t *testing.T, flow orchestrator.Flow[In, Out], err error, in In) error {
	t.Helper()
	require.NoError(t, err)
	_, _, err = flowtest.New(flow, in, func(tb testing.TB) agent.Roster {
		tb.Helper()
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			roster[name] = flowtest.NewScript(tb) // has no answer, so a call fails the test
		}
		return roster
	}).Run(t)
	return err
}

// All teams refuse the same texts, and say where the fault is.
func TestTextsOfInputs(t *testing.T) {
	teams := map[string]func(*testing.T, string) error{
		"hierarchy": func(t *testing.T, s string) error {
			flow, err := hierarchy.New(hierarchy.Config{Departments: []hierarchy.Department{hierarchy.NewDepartment("a", "head", hierarchy.Agent{ID: "b"})}})
			return refused(t, flow, err, hierarchy.Input{Prompt: s})
		},
		"discussion": func(t *testing.T, s string) error {
			flow, err := discussion.New(discussion.Standard(nil))
			return refused(t, flow, err, discussion.Input{Topic: s})
		},
		"research": func(t *testing.T, s string) error {
			flow, err := research.New(research.Config{Workers: []research.Worker{
				{ID: "writer", Category: research.Writing, Critical: true},
			}})
			return refused(t, flow, err, research.Input{Topic: s})
		},
		"delivery": func(t *testing.T, s string) error {
			flow, err := delivery.New(delivery.Config{Agents: delivery.Agents{Planner: "a", Coder: "b", Tester: "c", Supervisor: "d"}})
			return refused(t, flow, err, delivery.Input{Goal: s})
		},
		"director": func(t *testing.T, s string) error {
			cfg := director.Software()
			cfg.Agents = director.Agents{Director: "a", Strategist: "b", Guardian: "c"}
			flow, err := director.New(cfg)
			return refused(t, flow, err, director.Input{Objective: s})
		},
		"portfolio": func(t *testing.T, s string) error {
			var cfg portfolio.Config[json.RawMessage, string]
			cfg.Work = orchestrator.Flow[json.RawMessage, string]{Name: "work", Do: func(*orchestrator.Context, json.RawMessage) (string, error) { return "", nil }}
			cfg.Rules.Score = func(portfolio.Project, string) *float64 { return nil }
			flow, err := portfolio.New(cfg)
			return refused(t, flow, err, portfolio.Input[json.RawMessage]{Projects: []portfolio.Entry[json.RawMessage]{{Project: portfolio.Project{ID: s}, Input: json.RawMessage("{}")}}})
		},
	}
	for name, run := range teams {
		for fault, text := range map[string]string{
			"line 1, character 3 is U+001B, a control character": "é \x1b",
			"line 1, character 2 is not UTF-8":                   "a\xffb",
			"it has 2 characters, and none that can be seen":     "\u200b\u200d",
		} {
			t.Run("N20 "+name+": "+fault, func(t *testing.T) {
				t.Parallel()
				assert.ErrorContains(t, run(t, text), fault)
			})
		}
		t.Run("N20 "+name+" names the line", func(t *testing.T) {
			t.Parallel()
			want := "line 2, character 2 is U+0000, a control character"
			if name == "portfolio" { // an ID has one line
				want = "character 2 is U+000D, which no name has"
			}
			assert.ErrorContains(t, run(t, "a\r\nb\x00"), want)
		})
	}
}
