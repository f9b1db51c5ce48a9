package main

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

// scripts answer by the prompt, because sections are written in parallel.
func scripts(t testing.TB) agent.Roster {
	return agent.Roster{
		"planner": flowtest.NewScript(t, `{"Titles": ["leaves", "water", "time", "cups"]}`),
		"writer": flowtest.NewScript(t).
			On("warmer", "good water").
			On("leaves", "good leaves").
			On("water", "weak water").
			On("time", "good time"),
		"critic": flowtest.NewScript(t).
			On("weak", orchestrator.Verdict{Score: 40, Feedback: "warmer"}).
			On("good", orchestrator.Verdict{Score: 90}),
		"editor": flowtest.NewScript(t).On("leaves", "All about tea."),
	}
}

// play is a run of a team with a config in JSON, whose person answers yes or no.
func play(t *testing.T, config string, yes bool) *flowtest.Case[Brief, Report] {
	t.Helper()
	flow, err := team.Read(gazette, []byte(config))
	require.NoError(t, err)
	c := flowtest.New(flow, Brief{Goal: "tea", Sections: 3}, scripts)
	c.Answers = map[string]any{"publish": yes}
	return c
}

func TestReport(t *testing.T) {
	c := play(t, `{"gate": 80}`, true)
	out, log, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Equal(t, []string{"leaves", "water", "time"}, out.Titles, "the brief wants three sections")
	assert.Equal(t, "good water", out.Sections[1].Value)
	assert.Equal(t, 2, out.Sections[1].Tries, "weak water was tried again with the feedback")
	assert.Equal(t, "All about tea.", out.Text)
	count := map[string]int{}
	for _, rec := range log {
		count[rec.Kind]++
	}
	assert.Equal(t, 3, count["gazette.section.written"])
	assert.Equal(t, count["called"], count["gazette.agent.finished"])
	assert.Equal(t, 1, count["gazette.run.finished"])

	html, err := Page(out)
	require.NoError(t, err)
	for _, want := range []string{"<h1>tea</h1>", "All about tea.", "Completed"} {
		assert.Contains(t, html, want)
	}
	data, err := json.Marshal(out)
	require.NoError(t, err)
	var again Report
	require.NoError(t, json.Unmarshal(data, &again))
	assert.Equal(t, out, again)
	assert.Regexp(t, `"elapsed":"[0-9.]+ms"`, string(data))
}

func TestPersonRefuses(t *testing.T) {
	out, _, err := play(t, `{}`, false).Run(t)
	require.ErrorContains(t, err, "gazette: the person did not publish it")
	assert.Equal(t, orchestrator.Failed, out.Status)
	assert.Equal(t, "All about tea.", out.Text, "the work is there")
}

// Each of four shares has three calls: enough for a section that passes at once, not for
// one that is tried twice.
func TestBudget(t *testing.T) {
	out, _, err := play(t, `{"limits": {"calls": 13}}`, true).Run(t) // one is the planner's
	require.NoError(t, err)
	assert.Equal(t, []string{"water"}, out.Unverified)
	assert.Equal(t, orchestrator.Partial, out.Status)
	assert.Equal(t, "weak water", out.Sections[1].Value, "the best so far")
	for limits, want := range map[string]error{`{}`: orchestrator.ErrTimeout, `{"time": "1h"}`: orchestrator.ErrBudget} {
		c := play(t, `{"limits": `+limits+`}`, true)
		c.Answers = nil // nobody answers, for 24 hours of virtual time
		out, _, err = c.Run(t)
		require.ErrorIs(t, err, want)
		assert.Equal(t, errors.Is(want, orchestrator.ErrBudget), out.Status == orchestrator.OutOfBudget)
		assert.GreaterOrEqual(t, out.Elapsed, time.Hour)
	}
}

func TestFaults(t *testing.T) {
	for config, want := range map[string]string{
		`{"gate": 101, "tries": 10}`:  "gazette: Gate is 101, want 0 to 100\nTries is 10, want 1 to 9",
		`{"limits": {"tme": "5m"}}`:   "gazette: limits.tme is unknown",
		`{"agents": {"planner": 1}}`:  "gazette: agents.planner is a JSON number, want a string",
		`{"limits": {"calls": -2}}`:   "gazette: Limits.Calls is -2, want 0 or more",
		`{"limits": {"time": "5 m"}}`: `gazette: limits.time is "5 m", want a duration such as "5m", or a number of seconds`,
	} {
		_, err := team.Read(gazette, []byte(config))
		assert.EqualError(t, err, want)
	}
	flow, err := team.Read(gazette, []byte(`{"agents": {"critic": "critc"}}`))
	require.NoError(t, err)
	nobody := agent.Func(nil)
	_, err = flow.Run(t.Context(), orchestrator.Local(agent.Roster{"planner": nobody, "writer": nobody, "critic": nobody, "editor": nobody}), Brief{Goal: "tea", Sections: 3})
	require.ErrorContains(t, err, `"critc", which Agents.Critic of the team wants: did you mean "critic"?`)
	c := flowtest.New(flow, Brief{Sections: 12}, func(testing.TB) agent.Roster {
		return agent.Roster{"planner": nobody, "writer": nobody, "critc": nobody, "editor": nobody}
	})
	out, _, err := c.Run(t)
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	assert.ErrorContains(t, err, "Goal is empty")
	assert.Equal(t, orchestrator.Failed, out.Status)
}

// Killed behind every record, with every answer of the person, it ends the same.
func TestCrash(t *testing.T) {
	play(t, `{}`, true).Sweep(t)
	play(t, `{}`, false).Sweep(t)
	play(t, `{"limits": {"calls": 13}}`, true).Sweep(t)
}

func TestOrder(t *testing.T) { play(t, `{}`, true).Determinism(t) }

func TestProgramRuns(*testing.T) { main() }
