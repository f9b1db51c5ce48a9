package director_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
)

// restless are workers that never do db_build, each with the answers of a director who lets
// them go on.
func restless() map[string]script {
	escalating := func(kind string, decision any, spawn ...director.Suggestion) script {
		return one(roles{"work": func(a asked) any {
			if a.task != "db_build" {
				return nil
			}
			for i := range spawn {
				spawn[i].ID = fmt.Sprint("find-", a.attempt)
			}
			return director.WorkerResult{Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: kind, Reason: "why", Spawn: spawn}}
		}, "escalate": always(decision)})
	}
	find := director.Suggestion{TaskPlan: plan("find", "plan")}
	return map[string]script{
		"NEEDS_CLARIFICATION": escalating("NEEDS_CLARIFICATION", director.Resolution{Resolved: true, Clarification: "go on"}),
		"SPEC_MISMATCH":       escalating("SPEC_MISMATCH", director.Resolution{Resolved: true}),
		"NEEDS_RESEARCH":      escalating("NEEDS_RESEARCH", nil, find),
		"waiting_subtask": one(roles{"work": func(a asked) any {
			if a.task != "db_build" {
				return nil
			}
			return director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan(fmt.Sprint("find-", a.attempt), "plan")}}}
		}}),
	}
}

// attempts are those at a task.
func (p played) attempts(task string) (n int) {
	for _, a := range p.of("work") {
		if a.task == task {
			n = max(n, a.attempt)
		}
	}
	return n
}

func TestPauses(t *testing.T) {
	t.Parallel()
	for name, s := range restless() {
		t.Run("BC69 ten pauses or escalations, then a person: "+name, func(t *testing.T) {
			p := s.play(t)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			p.is(t, "db_build WAITING_HUMAN")
			assert.Equal(t, 11, p.attempts("db_build"))
			assert.Zero(t, p.task(t, "db_build").RetryCount, "B66")
			assert.Contains(t, p.task(t, "db_build").Reason, "it has paused or escalated 10 times (Bounds.Pauses)")
		})
		t.Run("BC69 abandonment, as Policy says: "+name, func(t *testing.T) {
			p := s.under(func(cfg *director.Config) { cfg.Policy.GiveUp, cfg.Bounds.Pauses = true, 2 }).also(define("api_plan")).play(t)
			require.NoError(t, p.err)
			assert.Equal(t, orchestrator.Partial, p.out.Status)
			p.is(t, "db_build ABANDONED, api_plan COMPLETE")
			assert.Equal(t, 3, p.attempts("db_build"))
		})
		t.Run("BC69 None is none: "+name, func(t *testing.T) {
			p := s.under(func(cfg *director.Config) { cfg.Bounds.Pauses = orchestrator.None }).play(t)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			assert.Equal(t, 1, p.attempts("db_build"))
		})
	}
	t.Run("BC69 a person who has it done again lets it pause again, and its work is kept", func(t *testing.T) {
		s := restless()["NEEDS_CLARIFICATION"].under(func(cfg *director.Config) { cfg.Bounds.Pauses = 2 })
		s = s.replied(map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry}, "ask/db_build/2": director.Answer{Action: director.ActionAbandon}})
		s.in.Tasks = append(s.in.Tasks, define("api_plan"))
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 6, p.attempts("db_build"))
		assert.Equal(t, "db_build/a3", p.of("work")[4].checkpoint(), "the fourth attempt continues the third")
	})
	t.Run("BC69 each task has its own ten", func(t *testing.T) {
		both := restless()["NEEDS_CLARIFICATION"]
		work := both.roles["work"]
		p := both.with(roles{"work": func(a asked) any { a.task = "db_build"; return work(a) }}).also(define("api_plan")).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, 11, p.attempts("db_build"))
		assert.Equal(t, 11, p.attempts("api_plan"))
	})
	t.Run("BC69 B66 ten are no one too many", func(t *testing.T) {
		s := restless()["NEEDS_CLARIFICATION"]
		work := s.roles["work"]
		p := s.with(roles{"work": func(a asked) any {
			if a.attempt == 11 {
				return nil
			}
			return work(a)
		}}).play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE")
	})
}

// checkpoint is the ID of the checkpoint that a worker gets; "": none.
func (a asked) checkpoint() string {
	if in := workInput(a); in.Checkpoint != nil {
		return in.Checkpoint.ID
	}
	return ""
}

// caused counts the tasks that were not there at the beginning.
func (p played) caused(t *testing.T, before int) int {
	t.Helper()
	require.NotNil(t, p.out.Board)
	return len(p.out.Board.Tasks) - before
}

func TestFollowUps(t *testing.T) {
	t.Parallel()
	wrongTest := roles{"qa": edits("", 0, nil)}
	wrongTest["qa"] = func(a asked) any {
		r := pass(a.req)
		r.Tests = []blackboard.TestAnalysis{{Test: "T1", Fault: blackboard.TestWrong}}
		return r
	}
	for _, phase := range []string{"build", "test"} {
		t.Run("BC69 a test that is always called wrong makes three tasks that revise it: "+phase, func(t *testing.T) {
			s := one(wrongTest)
			s.in.Tasks = []blackboard.Definition{define("db_" + phase)}
			p := s.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, 3, p.caused(t, 1))
			assert.Equal(t, 4, p.out.Summary[blackboard.Complete])
			assert.Equal(t, "revise-tests-db-2", p.task(t, "revise-tests-db-3").Parent)
			require.True(t, p.warned("task"))
			assert.Equal(t, "revise-tests-db-4 cannot be added: it would be caused by tasks, 4 deep", p.out.Warnings[len(p.out.Warnings)-1].Message)
		})
	}
	t.Run("BC69 the rest of what is always met in part", func(t *testing.T) {
		s := one(roles{"qa": func(a asked) any {
			r := pass(a.req)
			r.Passed = false
			if last := len(r.Criteria) - 1; last > 0 {
				r.Criteria[last].Passed = false
			}
			return r
		}})
		s.in.Tasks[0].Criteria = []string{"1", "2", "3", "4", "5", "6"}
		s.cfg.Policy.AllowPartial, s.cfg.Bounds.Depth = true, orchestrator.None
		p := s.play(t)
		assert.Zero(t, p.caused(t, 1), "None: tasks cause none")
		assert.Equal(t, []string{"db_build"}, p.out.Unverified)
	})
	t.Run("BC69 a fix of a fix of a fix", func(t *testing.T) {
		s := one(roles{"qa": func(a asked) any {
			var in director.ReviewInput
			decode(a.req.Input, &in)
			if in.Task.Phase != "test" {
				return nil
			}
			r := fail(a.req)
			r.Tests = []blackboard.TestAnalysis{{Test: "T1", Fault: blackboard.CodeWrong}}
			return r
		}})
		s.in.Tasks = []blackboard.Definition{define("db_test")}
		s.cfg.Policy.Retry.Stagnation = orchestrator.None
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, 3, p.caused(t, 1), "a fix after each of three failures")
		s.cfg.Bounds.Pauses = 1
		p = s.play(t)
		assert.Equal(t, 1, p.caused(t, 1))
		assert.Equal(t, 4, p.attempts("db_test"), "it is tried again without a fix")
		s.cfg.Bounds.Pauses, s.cfg.Bounds.Depth = 0, orchestrator.None
		assert.Zero(t, s.play(t).caused(t, 1))
	})
	suggests := func(n int) script {
		result := done("db_build", 1)
		var verdicts []director.SuggestionVerdict
		for i := range n {
			result.Suggested = append(result.Suggested, director.Suggestion{TaskPlan: plan(fmt.Sprint("more-", i+1), "document")})
			verdicts = append(verdicts, director.SuggestionVerdict{Number: i + 1, Approve: true})
		}
		return one(roles{"work": wants("db_build", result), "review": always(director.ChangeReview{Suggestions: verdicts})})
	}
	t.Run("N19 BC69 ten suggestions of one task", func(t *testing.T) {
		p := suggests(12).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 10, p.caused(t, 1))
		reviewed := p.events(t, director.EventSuggestionReviewed)
		require.Len(t, reviewed, 12)
		assert.Equal(t, "approved", reviewed[9].On)
		assert.Equal(t, "rejected", reviewed[10].On)
		assert.Equal(t, "10 tasks follow from db_build already (Bounds.Pauses)", reviewed[10].Text)
	})
	t.Run("N19 tasks that were not in the plan: those of the input are no additions", func(t *testing.T) {
		s := suggests(5).also(define("api_plan"), define("web_plan"))
		s.cfg.Bounds.Added = 3
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 3, p.caused(t, 3))
		assert.Equal(t, "3 tasks were added to the plan, and may be at most 3 (Bounds.Added)", p.events(t, director.EventSuggestionReviewed)[3].Text)
		s.cfg.Bounds.Added = orchestrator.None
		assert.Zero(t, s.play(t).caused(t, 3))
	})
	t.Run("N19 a task that is split without end", func(t *testing.T) {
		s := one(roles{
			"work": func(a asked) any {
				return director.WorkerResult{Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "SCOPE_TOO_LARGE", Reason: "why"}}
			},
			"split": func(a asked) any {
				return director.Decomposition{Tasks: []director.TaskPlan{plan(a.task+"x", "build")}}
			},
		})
		s.cfg.Bounds.Added = 20
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, 20, p.caused(t, 1))
	})
}
