package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

var brief = Brief{Goal: "tea", Sections: 3}

// scripts answer by the prompt, because writers run in parallel.
func scripts(t testing.TB) agent.Roster {
	return agent.Roster{
		"planner": flowtest.NewScript(t, plan{Titles: []string{"leaves", "water", "time", "cups"}}),
		"writer": flowtest.NewScript(t).
			On("warmer", "good water").
			On("leaves", "good leaves").
			On("water", "weak water").
			On("time", "good time"),
		"critic": flowtest.NewScript(t).
			On("weak", orchestrator.Verdict{Score: 40, Feedback: "warmer"}).
			On("good", orchestrator.Verdict{Score: 90}),
		"reviewer": flowtest.NewScript(t).
			On("leaves", flowtest.Delay(time.Hour, "late")).
			On("water", flowtest.Delay(time.Second, "first")).
			On("time", flowtest.Delay(time.Minute, "second")),
	}
}

func newCase() *flowtest.Case[Brief, Report] {
	c := flowtest.New(report, brief, scripts)
	c.Answers = map[string]any{publish: true}
	return c
}

func TestReport(t *testing.T) {
	out, _, err := newCase().Run(t)
	require.NoError(t, err)
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Equal(t, []Section{
		{Title: "leaves", Text: "good leaves", Score: 90},
		{Title: "water", Text: "good water", Score: 90},
		{Title: "time", Text: "good time", Score: 90},
	}, out.Sections, "the brief wants three sections, and weak water was tried again")
	assert.Equal(t, []string{"water: first", "time: second"}, out.Reviews)
}

func TestPersonRefuses(t *testing.T) {
	c := newCase()
	c.Answers[publish] = false
	out, _, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, orchestrator.Partial, out.Status)
}

func TestPersonDoesNotAnswer(t *testing.T) {
	c := newCase()
	c.Answers = nil
	out, _, err := c.Run(t) // 24 hours of virtual time
	require.NoError(t, err)
	assert.Equal(t, orchestrator.Partial, out.Status)
	assert.Len(t, out.Sections, 3)
}

// Each of five shares allows three calls: enough for a section that passes at once,
// not for one that is tried twice.
func TestBudget(t *testing.T) {
	c := flowtest.New(report, brief, scripts)
	c.Answers = map[string]any{publish: true}
	c.Options.Budget = orchestrator.Budget{Calls: 13} // one is the planner's
	out, _, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"water"}, out.Unverified)
	assert.Equal(t, Section{Title: "water", Text: "weak water", Score: 40}, out.Sections[1], "the best so far")
}

func TestPlannerFails(t *testing.T) {
	const down = agent.Code("acme/down")
	_, _, err := flowtest.New(report, brief, func(t testing.TB) agent.Roster {
		s := flowtest.NewScript(t)
		return agent.Roster{"planner": flowtest.NewScript(t, down), "writer": s, "critic": s, "reviewer": s}
	}).Run(t)
	require.ErrorIs(t, err, down)
	assert.ErrorContains(t, err, "plan: ")
}

func TestNothingToWrite(t *testing.T) {
	for titles, sections := range map[string]int{"": 3, "leaves": -1} {
		_, _, err := flowtest.New(report, Brief{Goal: "tea", Sections: sections}, func(t testing.TB) agent.Roster {
			s := flowtest.NewScript(t)
			return agent.Roster{"planner": flowtest.NewScript(t, plan{Titles: strings.Fields(titles)}), "writer": s, "critic": s, "reviewer": s}
		}).Run(t)
		require.ErrorContains(t, err, "no section to write")
	}
}

func TestCrash(t *testing.T) { newCase().Sweep(t) }

func TestOrder(t *testing.T) {
	c := flowtest.New(report, brief, func(t testing.TB) agent.Roster {
		r := scripts(t)
		r["reviewer"] = flowtest.NewScript(t).On("good", "fine") // in any order: the log decides it
		return r
	})
	c.Answers = map[string]any{publish: true}
	c.Determinism(t)
}

func TestProgramRuns(t *testing.T) { require.NoError(t, run(t.Context())) }
