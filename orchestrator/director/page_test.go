package director_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// ended is the outcome of a run with a task of each kind.
func ended() director.Outcome {
	define := func(id, title string) blackboard.Definition {
		return blackboard.Definition{ID: id, Title: title, Component: "db", Phase: "build", Profile: "coder", Criteria: []string{"it stores"}}
	}
	b := &blackboard.Board{
		RunID: "r", Objective: "Build <b>", Spent: providers.Usage{Cost: 3 * providers.USD},
		DesignLog: []blackboard.Decision{{Area: "db", Summary: "SQLite", Reason: "one file"}},
		Insights:  []blackboard.Insight{{SourceTask: "store", Topic: []string{"db"}, Summary: "<i>rows</i> are few"}},
		Tasks: []blackboard.Task{
			{
				Definition: define("store", "Store todos"), Status: blackboard.Complete, ResultPath: "store.go", Summary: "It stores <todos>", Attempt: 2,
				Spent: providers.Usage{Cost: 2 * providers.USD}, QA: &blackboard.QA{By: "human", Passed: true, Outcome: "PASS_WITH_NOTES", Feedback: "well done", Notes: []string{"mind the index"}, Criteria: []blackboard.CriterionResult{{Criterion: "it stores", Passed: true, Reasoning: "seen"}}},
			},
			{
				Definition: define("api", ""), Status: blackboard.WaitingHuman, Attempt: 4, Reason: "no attempts are left",
				QA: &blackboard.QA{Kind: "qa", Outcome: "FAIL", Feedback: "it does not compile", Criteria: []blackboard.CriterionResult{{Criterion: "it stores"}}},
			},
			{Definition: define("ui", "Show todos"), Status: blackboard.Blocked, Blocked: &blackboard.BlockedReason{Type: blackboard.ByDependency, WaitingOn: []string{"api"}}},
		},
	}
	return director.Outcome{
		Outcome: orchestrator.Outcome{
			Asked: "Build <b>", Status: orchestrator.Partial, Spent: providers.Usage{Calls: 9, Cost: 3 * providers.USD}, Elapsed: 3 * time.Minute,
			Warnings: []orchestrator.Warning{{Code: "director/outage", Who: "api", Message: "the agent was away"}}, Unverified: []string{"store"},
		},
		End: director.Waiting, Board: b, Files: map[string]string{"store.go": "package store // <script>alert(1)</script>"}, Drafts: map[string]string{"api": "package api"},
		Pending: []string{"api", "ui"}, Summary: map[blackboard.State]int{blackboard.Complete: 1, blackboard.WaitingHuman: 1, blackboard.Blocked: 1},
	}
}

func TestPage(t *testing.T) {
	html, err := director.Page(ended())
	require.NoError(t, err)
	golden := filepath.Join("testdata", "page.html")
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(golden, []byte(html), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), html, "run with -update if the change is meant")
	for _, want := range []string{
		"1 of 3 tasks are complete", "The open tasks wait for people.", "1 blocked, 1 complete, 1 waiting for a person", "3.0000 USD", "the agent was away",
		"Store todos", "attempts: 2", "2.0000 USD", "well done", "mind the index", "it stores: seen", "it does not compile", "no attempts are left",
		"SQLite", "one file", "are few", "package api", "Not passed",
	} {
		assert.Contains(t, html, want)
	}
	assert.NotContains(t, html, "waiting human")
	assert.NotContains(t, html, "attempts: 0", "what never ran has no attempts and no cost")
	assert.NotContains(t, html, "0.0000 USD")
	assert.NotContains(t, html, "<script")
	assert.NotContains(t, html, "<i>rows")
	t.Run("nothing is complete", func(t *testing.T) {
		o := ended()
		o.Board.Tasks[2].Blocked.Description, o.Summary[blackboard.Complete] = "it needs a key", 0
		html, err := director.Page(o)
		require.NoError(t, err)
		assert.Contains(t, html, "it needs a key")
		assert.NotContains(t, html, `class="card winner"`)
	})
	t.Run("without a board", func(t *testing.T) {
		html, err := director.Page(director.Outcome{End: director.Failed})
		require.NoError(t, err)
		assert.Contains(t, html, "There is no result")
		assert.Contains(t, html, "The run has failed.")
	})
	t.Run("of a run that was played", func(t *testing.T) {
		p := one(nil).play(t)
		require.NoError(t, p.err)
		html, err := director.Page(p.out)
		require.NoError(t, err)
		assert.Contains(t, html, "Every task is complete or abandoned.")
		assert.NotEmpty(t, p.out.Result())
		assert.Contains(t, html, p.out.Result())
	})
}

func TestResult(t *testing.T) {
	o := ended()
	assert.Equal(t, "package store // <script>alert(1)</script>", o.Result(), "the one artifact")
	o.Files["api.go"] = "package api"
	assert.Equal(t, "## api.go\n\npackage api\n\n## store.go\n\npackage store // <script>alert(1)</script>", o.Result())
	o.Files, o.Branch = nil, "main"
	o.Board.Files = map[string]blackboard.File{"store.go": {Task: "store"}, "ui.go": {Task: "ui"}, "x": {Task: "gone"}}
	assert.Equal(t, "- store.go: It stores <todos>\n- ui.go: Show todos\n- x: gone", o.Result())
	assert.Empty(t, director.Outcome{}.Result())
}

// The JSON of an outcome has money in USD and times as texts, and is read back.
func TestOutcomeJSON(t *testing.T) {
	data, err := json.Marshal(ended())
	require.NoError(t, err)
	for _, want := range []string{`"elapsed":"3m0s"`, `"spent":{"calls":9,"cost":3}`, `"spent":{"cost":2}`, `"designLog":[`, `"end":"waiting_human"`} {
		assert.Contains(t, string(data), want)
	}
	var back director.Outcome
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, ended(), back)
	for _, read := range []any{new(director.Outcome), new(director.State), new(director.Event)} {
		require.NoError(t, json.Unmarshal([]byte(`{"later":1}`), read), "a later edition has more fields")
	}
	var in director.Input
	require.ErrorContains(t, json.Unmarshal([]byte(`{"objective":"x","tasks":[{"id":"a","depends_on":[]}]}`), &in), "tasks[0].depends_on is unknown")
	require.NoError(t, json.Unmarshal([]byte(`{"objective":"x","tasks":[{"id":"a","dependsOn":["b"],"criteria":["c"]}]}`), &in))
	assert.Equal(t, []string{"b"}, in.Tasks[0].DependsOn)
}

// Limits of the Input stand over those of the Config, and a run tells how it begins.
func TestInputLimits(t *testing.T) {
	s := one(nil)
	s.cfg.Limits.Calls = 100
	s.in.Limits.Calls = 1
	p := s.play(t)
	require.ErrorIs(t, p.err, orchestrator.ErrBudget)
	s.in.Limits = team.Limits{Calls: orchestrator.None, Time: time.Hour}
	s.cfg.Limits.Calls = 1
	p = s.play(t)
	require.NoError(t, p.err)
	started := p.events(t, "director.run.started")
	require.Len(t, started, 1)
	assert.Equal(t, p.out.Asked, started[0].Asked)
	assert.NotEmpty(t, p.out.Asked)
	s.in.Limits = team.Limits{Cost: -2}
	p = s.play(t)
	require.ErrorIs(t, p.err, director.ErrInput)
	require.ErrorContains(t, p.err, "limits.Cost is ")
}
