package delivery_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/providers"
)

// everything are runs that together have every message.
func everything() map[string]project {
	return map[string]project{
		"goes well, with a reminder": {cast: map[string][]any{"verify test": {marks(65)}}},
		"a fix, a correction, a sub-plan and a second iteration": {cfg: delivery.Config{Rules: iterations(2)}, cast: map[string][]any{
			"plan": {steps(1), steps(2)}, "check": {failed}, "code": {code(), tooMuch}, "verify plan": {marks(90), marks(60)}, "subplan": {steps(1), steps(2)},
			"verify goal": {marks(75)}, "verify code": {marks(65)}, "verify test": {with(marks(90), object{"approved": false})},
		}},
		"steps fail":          {cfg: delivery.Config{Rules: iterations(1)}, cast: map[string][]any{"plan": {needing(nil, []int{1})}, "check": {always{failed}}}},
		"too many steps fail": {cfg: delivery.Config{Rules: iterations(1), Bounds: delivery.Bounds{FailedSteps: 1}}, cast: map[string][]any{"check": {always{failed}}}},
		"aborted":             {cast: map[string][]any{"verify code": times(3, marks(55)), "subplan": {steps(1), steps(2)}, "verify plan": {marks(90), marks(55), marks(55)}}},
	}
}

// What a run records, and what its members get: one with a reminder, a fix and a sub-plan.
// The prompts are golden files of their own.
func TestTranscript(t *testing.T) {
	t.Run("SC50 SX11 SC43 the transcript of a run", func(t *testing.T) {
		p := project{space: newFolder(), cast: map[string][]any{
			"check": {failed}, "code": {writes("a.go", "one"), tooMuch, writes("b.go", "two")}, "fix": {writes("a.go", "one, fixed")},
			"verify code": {marks(65)}, "verify step": {errBoom},
		}}.play(t)
		require.NoError(t, p.err)
		var b strings.Builder
		for _, rec := range p.log {
			if strings.HasPrefix(rec.Kind, "delivery.") {
				fmt.Fprintf(&b, "%s %s\n", rec.Kind, rec.Data)
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(p.asked)) {
			for i, req := range p.asked[kind] {
				fmt.Fprintf(&b, "\n=== %s %d\n%s\n", kind, i+1, req.Input)
			}
		}
		golden(t, "transcript.txt", b.String())
	})
}

// golden compares got with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run with -update if the change is meant")
}

// The sender and receiver of each message, and which message it answers.
func TestMessages(t *testing.T) {
	want := map[string][]string{
		delivery.PlanRequest: {"orchestrator > planner"}, delivery.PlanResponse: {"planner > orchestrator"},
		delivery.ReplanRequest: {"orchestrator > planner"}, delivery.SubPlanResponse: {"planner > orchestrator"},
		delivery.CodeRequest: {"orchestrator > coder"}, delivery.CodeResponse: {"coder > orchestrator"},
		delivery.CodeFixRequest: {"orchestrator > coder"},
		delivery.TestRequest:    {"orchestrator > tester"}, delivery.TestResponse: {"tester > orchestrator"},
		delivery.FixPlanMessage: {"tester > coder"},
		delivery.VerifyRequest:  {"orchestrator > supervisor"}, delivery.VerifyResponse: {"supervisor > orchestrator"},
		delivery.Correction:     {"supervisor > coder", "supervisor > planner", "supervisor > tester"},
		delivery.EscalationSent: {"orchestrator > supervisor", "supervisor > orchestrator"},
		delivery.StepComplete:   {"supervisor > orchestrator"}, delivery.StepIsBlocked: {"coder > orchestrator"},
		delivery.GoalComplete: {"supervisor > orchestrator"}, delivery.Abort: {"supervisor > all"},
	}
	answers := map[string][]string{
		delivery.PlanResponse: {delivery.PlanRequest}, delivery.SubPlanResponse: {delivery.ReplanRequest},
		delivery.CodeResponse: {delivery.CodeRequest, delivery.CodeFixRequest}, delivery.TestResponse: {delivery.TestRequest},
		delivery.VerifyResponse: {delivery.VerifyRequest},
	}
	seen := map[string]map[string]bool{}
	for _, p := range everything() {
		said := map[string]string{}
		for _, e := range p.play(t).events(t, delivery.EventMessageSent) {
			require.NotEmpty(t, e.ID)
			h := e.Header
			if seen[h.Message] == nil {
				seen[h.Message] = map[string]bool{}
			}
			seen[h.Message][fmt.Sprintf("%s > %s", h.From, h.To)] = true
			if to := answers[h.Message]; to == nil {
				assert.Empty(t, h.Answers, "%s answers nothing", h.Message)
			} else {
				assert.Contains(t, to, said[h.Answers], "S16 what %s %s answers was said before", h.Message, h.ID)
			}
			assert.NotContains(t, said, h.ID)
			said[h.ID] = h.Message
		}
	}
	t.Run("S15 SC50 there are eighteen, each is said", func(t *testing.T) {
		assert.Len(t, delivery.Messages, 18)
		assert.ElementsMatch(t, delivery.Messages, slices.Collect(maps.Keys(seen)))
	})
	for _, m := range delivery.Messages {
		t.Run("S16 SC43 from and to: "+string(m), func(t *testing.T) {
			assert.Equal(t, want[m], slices.Sorted(maps.Keys(seen[m])))
		})
	}
}

func TestWhenMessagesAreSent(t *testing.T) {
	count := func(p played) map[string]int {
		n := map[string]int{}
		for _, e := range p.events(t, delivery.EventMessageSent) {
			n[e.Message]++
		}
		return n
	}
	t.Run("SC43 plans that are revised, and of a second iteration", func(t *testing.T) {
		n := count(project{cast: map[string][]any{"plan": {steps(3)}, "verify plan": {marks(60)}, "verify goal": {marks(75)}}}.play(t))
		assert.Equal(t, 3, n[delivery.PlanRequest])
		assert.Equal(t, 3, n[delivery.PlanResponse])
		assert.Zero(t, n[delivery.ReplanRequest]+n[delivery.SubPlanResponse])
	})
	t.Run("SC43 sub-plans that are revised", func(t *testing.T) {
		n := count(project{cast: map[string][]any{"code": {tooMuch}, "subplan": {steps(2)}, "verify plan": {marks(90), marks(60)}}}.play(t))
		assert.Equal(t, 1, n[delivery.PlanRequest])
		assert.Equal(t, 2, n[delivery.ReplanRequest])
		assert.Equal(t, 2, n[delivery.SubPlanResponse])
	})
	t.Run("SC43 corrections from REMIND on, escalations when the level rises", func(t *testing.T) {
		// NONE, REMIND, REMIND, NONE, …: the second REMIND is a correction and no escalation.
		n := count(project{cast: map[string][]any{"verify code": {marks(65)}, "verify test": {marks(65)}}}.play(t))
		assert.Equal(t, 2, n[delivery.Correction])
		assert.Equal(t, 1, n[delivery.EscalationSent])
	})
	t.Run("SC31 SC43 who is corrected", func(t *testing.T) {
		once := delivery.Config{Rules: iterations(1)}
		for kind, tt := range map[string]struct {
			project
			want delivery.Role
		}{
			"a plan":          {project{cast: map[string][]any{"plan": {steps(3)}, "verify plan": {marks(60)}}}, delivery.Planner},
			"code":            {project{cast: map[string][]any{"verify code": {marks(65)}}}, delivery.Coder},
			"a report":        {project{cast: map[string][]any{"verify test": {marks(65)}}}, delivery.Tester},
			"a step":          {project{cast: map[string][]any{"verify step": {marks(60)}}}, delivery.Coder},
			"the goal":        {project{cast: map[string][]any{"verify goal": {marks(60)}}}, delivery.Planner},
			"an unmet goal":   {project{cfg: once, cast: map[string][]any{"check": {always{failed}}}}, delivery.Planner},
			"code by a rule":  {project{cast: map[string][]any{"code": {with(code(), object{"tests": []object{}})}}}, delivery.Coder},
			"a plan's number": {project{cast: map[string][]any{"plan": {steps(1)}}}, delivery.Planner},
		} {
			var to []delivery.Role
			for _, h := range tt.play(t).out.State.EventLog {
				if h.Message == delivery.Correction {
					to = append(to, h.To)
				}
			}
			assert.Equal(t, []delivery.Role{tt.want}, to, kind)
		}
	})
	t.Run("SC43 SC50 too many failed steps leave the level as it is", func(t *testing.T) {
		// The steps fail by their tests, which is no issue: ESCALATION says REFOCUS, and the
		// goal's rejection after it is REMIND, above the NONE of the verdict before.
		p := project{cfg: delivery.Config{Rules: iterations(1), Bounds: delivery.Bounds{FailedSteps: 1}}, cast: map[string][]any{"check": {always{failed}}}}.play(t)
		assert.Equal(t, 2, count(p)[delivery.EscalationSent])
		for _, e := range p.events(t, delivery.EventMessageSent) {
			if e.Message == delivery.EscalationSent && e.To == delivery.Supervisor {
				assert.Equal(t, map[string]any{"issues": 1.0, "level": "REFOCUS"}, e.Payload, "SC23")
			}
		}
		assert.Equal(t, remind, p.out.State.Escalation.Level)
	})
	t.Run("SC43 SC19 a step is blocked by a sub-plan, or by a step that failed", func(t *testing.T) {
		assert.Equal(t, 1, count(project{cast: map[string][]any{"code": {tooMuch}}}.play(t))[delivery.StepIsBlocked])
		p := project{cfg: delivery.Config{Policy: delivery.Policy{AcceptableFailures: 2}}, cast: map[string][]any{"plan": {needing(nil, []int{1})}, "check": {always{failed}}}}
		assert.Equal(t, 1, count(p.play(t))[delivery.StepIsBlocked])
	})
}

// Each header has the plans that are being executed.
func TestPlanPath(t *testing.T) {
	t.Run("SX16 where a message was sent", func(t *testing.T) {
		p := project{cast: map[string][]any{"code": {tooMuch, code(), tooMuch}, "verify goal": {marks(75)}}}.play(t)
		paths := map[string][]string{}
		for _, h := range p.out.State.EventLog {
			if h.Message == delivery.CodeRequest {
				paths[h.Target] = h.PlanPath
				assert.Len(t, h.PlanPath, h.Depth+1)
			}
		}
		assert.Equal(t, map[string][]string{"p1.s1": {"p1"}, "p2.s1": {"p1", "p2"}, "p1.s2": {"p1"}, "p3.s1": {"p1", "p3"}, "p4.s1": {"p4"}, "p4.s2": {"p4"}}, paths)
	})
	t.Run("SX16 percent of the root's steps", func(t *testing.T) {
		var percents []int
		p := project{cast: map[string][]any{"plan": {steps(3)}, "code": {tooMuch}, "subplan": {steps(2)}}}.play(t)
		for _, e := range p.events(t, delivery.EventStepCompleted) {
			percents = append(percents, *e.Percent)
		}
		assert.Equal(t, []int{0, 0, 33, 66, 100}, percents)
	})
}

func TestLongRun(t *testing.T) {
	t.Run("SX12 SC49 the state keeps the last 1,000 messages", func(t *testing.T) {
		p := project{cast: map[string][]any{"plan": {always{steps(15)}}, "verify goal": {always{marks(75)}}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		sent := p.events(t, delivery.EventMessageSent)
		require.Greater(t, len(sent), 1000)
		assert.Len(t, p.out.State.EventLog, 1000)
		assert.Equal(t, len(sent)-1000, p.out.State.Dropped)
		assert.Equal(t, fmt.Sprintf("m%d", len(sent)-999), p.out.State.EventLog[0].ID)
		assert.Equal(t, sent[len(sent)-1].Header, p.out.State.EventLog[999])
	})
}

// What a host sees of a running run.
func TestState(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  string
		n     int
		phase delivery.Phase
		role  delivery.Role
		stack []string
		plan  string
	}{
		{"S22 S23 SC37 a plan is made", "plan", 1, "planning", delivery.Planner, []string{}, ""},
		{"SC37 and reviewed", "verify plan", 1, "planning", delivery.Supervisor, []string{}, "p1"},
		{"SC37 code is written", "code", 1, "executing", delivery.Coder, []string{"p1"}, "p1"},
		{"SC37 and reviewed", "verify code", 1, "executing", delivery.Supervisor, []string{"p1"}, "p1"},
		{"SC37 tests", "check", 1, "testing", delivery.Tester, []string{"p1"}, "p1"},
		{"SC37 and their report", "verify test", 1, "testing", delivery.Supervisor, []string{"p1"}, "p1"},
		{"SC37 a fix", "fix", 1, "executing", delivery.Coder, []string{"p1"}, "p1"},
		{"SC37 a step's gate", "verify step", 1, "verifying", delivery.Supervisor, []string{"p1"}, "p1"},
		{"SC37 a sub-plan is made", "subplan", 1, "planning", delivery.Planner, []string{"p1"}, "p1"},
		{"SC37 a sub-plan's code", "code", 3, "executing", delivery.Coder, []string{"p1", "p2"}, "p2"},
		{"SC37 the whole is tested", "integrate", 1, "testing", delivery.Tester, []string{"p1"}, "p1"},
		{"SC37 the goal's gate", "verify goal", 1, "verifying", delivery.Supervisor, []string{"p1"}, "p1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := project{cast: map[string][]any{"check": {failed}, "code": {code(), tooMuch}}}.stateAt(t, tt.kind, tt.n)
			assert.Equal(t, tt.phase, s.Status)
			assert.Equal(t, tt.role, s.CurrentRole)
			assert.Equal(t, tt.stack, s.PlanStack)
			assert.Equal(t, tt.plan, s.CurrentPlan)
			assert.Equal(t, "working", s.Agents[tt.role].Status, "S24")
			assert.Equal(t, "a parser of durations", s.PrimaryGoal)
			assert.Nil(t, s.EndTime)
			assert.False(t, s.StartTime.IsZero())
			assert.NotEmpty(t, s.ID)
			assert.Equal(t, 1, s.Iteration)
			approved := 0
			for _, plan := range s.Plans {
				if plan.Approved {
					approved += len(plan.Steps)
				}
			}
			assert.Equal(t, approved, s.Metrics.TotalSteps, "SC34")
		})
	}
	t.Run("S24 what roles have done", func(t *testing.T) {
		p := project{cast: map[string][]any{"code": {costs(0.5, code()), &agent.Error{Message: "boom", Usage: providers.Usage{Calls: 1, Cost: providers.Dollars(0.25)}}}, "check": times(4, errBoom)}}.play(t)
		require.NoError(t, p.err)
		agents := p.out.State.Agents
		assert.Len(t, agents, 4)
		assert.Equal(t, "idle", agents[delivery.Coder].Status)
		assert.Equal(t, 3, agents[delivery.Coder].Requests, "two steps and a fix")
		assert.Zero(t, agents[delivery.Coder].Failures, "the second try has answered")
		assert.EqualValues(t, 750_000_000, agents[delivery.Coder].Usage.Cost, "of the try that failed, too")
		assert.JSONEq(t, string(agent.JSON(code())), agents[delivery.Coder].LastOutput)
		assert.Equal(t, 4, agents[delivery.Tester].Requests)
		assert.Equal(t, 1, agents[delivery.Tester].Failures)
	})
	t.Run("S24 the last output is cut", func(t *testing.T) {
		p := project{cast: map[string][]any{"code": {always{with(code(), object{"summary": strings.Repeat("x", 5000)})}}}}.play(t)
		assert.Less(t, len(p.out.State.Agents[delivery.Coder].LastOutput), 4200)
	})
	t.Run("S24 a role that failed says so until it is asked again", func(t *testing.T) {
		p := project{cfg: delivery.Config{Rules: fixes(1, 0)}, cast: map[string][]any{"check": {always{errBoom}}}}.play(t)
		assert.Equal(t, "failed", p.out.State.Agents[delivery.Tester].Status)
		assert.Equal(t, 2, p.out.State.Agents[delivery.Tester].Failures)
	})
	t.Run("S52 the same warning is given once", func(t *testing.T) {
		p := project{cfg: delivery.Config{Rules: fixes(1, 1), Bounds: delivery.Bounds{FailedSteps: 1}}, cast: map[string][]any{"check": {always{errBoom}}}}.play(t)
		assert.Equal(t, []orchestrator.Warning{{Code: "delivery/agent-failed", Who: "tester", Message: "p1.s1: boom"}}, p.out.Warnings)
		assert.Len(t, p.events(t, delivery.EventWarningRaised), 1)
		assert.Len(t, p.events(t, delivery.EventAgentFailed), 2)
	})
	t.Run("S22 the end", func(t *testing.T) {
		p := project{}.play(t)
		require.NotNil(t, p.out.State.EndTime)
		assert.Equal(t, p.out.Elapsed, p.out.State.EndTime.Sub(p.out.State.StartTime))
		assert.Equal(t, 2*60*60, int(p.out.State.TimeLimit.Seconds()))
		assert.Empty(t, p.out.State.CurrentRole)
	})
}

func TestVerdictsAreCounted(t *testing.T) {
	t.Run("SC32 S2 all outputs are reviewed, fixes too", func(t *testing.T) {
		p := project{cast: map[string][]any{"check": {failed}}}.play(t)
		var gates []string
		for _, v := range p.out.Report.Verdicts {
			gates = append(gates, v.Kind)
		}
		assert.Equal(t, []string{"plan", "code", "test", "code", "test", "step", "code", "test", "step", "test", "goal"}, gates)
	})
	t.Run("SC36 every verdict, and every rejection without a model", func(t *testing.T) {
		p := project{cast: map[string][]any{
			"plan": {steps(1)}, "code": {with(code(), object{"tests": []object{}})}, "verify step": {marks(60)}, "verify test": {with(marks(90), object{"approved": false})},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 4, p.out.State.Metrics.VerificationsFailed)
		assert.Equal(t, len(p.out.Report.Verdicts)-4, p.out.State.Metrics.VerificationsPassed)
	})
	t.Run("SX19 the last five verdicts", func(t *testing.T) {
		p := project{cast: map[string][]any{"plan": {steps(3)}}}.play(t)
		last := input[delivery.VerifyInput](t, p.asked["verify goal"][0]).Last
		assert.Equal(t, p.out.Report.Verdicts[len(p.out.Report.Verdicts)-6:len(p.out.Report.Verdicts)-1], last)
	})
	t.Run("SX7 a completed step is planned again", func(t *testing.T) {
		p := project{cast: map[string][]any{"verify goal": {marks(75)}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		in := input[delivery.PlanInput](t, p.asked["plan"][1])
		require.NotNil(t, in.Last)
		require.Len(t, in.Last.Completed, 2, "the planner is told what exists")
		assert.Equal(t, "do part 1 of 2", in.Last.Completed[0].Description)
		assert.Contains(t, p.asked["plan"][1].Prompt, "which steps are done already")
		assert.Equal(t, p.out.State.Plans[0].Steps[0].Description, p.out.State.Plans[1].Steps[0].Description)
	})
}
