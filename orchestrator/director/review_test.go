package director_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// edits changes a good review.
func edits(task string, attempt int, edit func(r *director.Review)) func(asked) any {
	return func(a asked) any {
		if a.task != task || attempt > 0 && a.attempt != attempt {
			return nil
		}
		r := pass(a.req)
		edit(&r)
		return r
	}
}

func TestReviews(t *testing.T) {
	t.Parallel()
	t.Run("B68 B123 what the strategist sees", func(t *testing.T) {
		s := one(nil)
		s.in.Tasks[0].Criteria = []string{"It stores todos", "It refuses unknown states"}
		s.in.Spec = map[string]json.RawMessage{"db": json.RawMessage(`{"todos":["id"]}`)}
		p := s.play(t)
		var in director.ReviewInput
		decode(p.of("qa")[0].req.Input, &in)
		assert.Equal(t, []director.Criterion{{Number: 1, Text: "It stores todos"}, {Number: 2, Text: "It refuses unknown states"}}, in.Criteria)
		assert.Equal(t, "db_build by attempt 1", in.Artifact.Text)
		assert.Equal(t, "made db_build", in.Summary)
		assert.Contains(t, in.Spec, "db")
	})
	t.Run("B68 B123 a long text is cut for members, and kept", func(t *testing.T) {
		p := one(roles{"work": always(at("x.md", strings.Repeat("x", 100<<10)))}).only("db_build").also(define("api_plan", "db_build")).play(t)
		require.NoError(t, p.err)
		var in director.ReviewInput
		decode(p.of("qa")[0].req.Input, &in)
		assert.EqualValues(t, 100<<10, in.Artifact.Size)
		assert.Less(t, len(in.Artifact.Text), 70<<10)
		assert.Less(t, len(inputs(p.last(t, "api_plan"))["db_build"]), 70<<10)
		assert.Len(t, p.out.Files["x.md"], 100<<10)
	})
	t.Run("BA31 BC26 passed by the model, and a criterion is not met", func(t *testing.T) {
		p := one(map[string]func(asked) any{"qa": edits("db_build", 1, func(r *director.Review) { r.Criteria[0].Passed = false })}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.task(t, "db_build").RetryCount)
		assert.True(t, p.warned("review"))
	})
	t.Run("BA25 B78 B126 BA23 what the next attempt begins with", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 1), "work": func(a asked) any {
			if a.task == "db_build" && a.attempt == 1 {
				return agent.Response{Messages: messages(5), Data: agent.JSON(done(a.task, 1)), Usage: providers.Usage{ToolCalls: 5}}
			}
			return nil
		}})
		s.in.Tasks = append(s.in.Tasks, define("api_plan"))
		s.in.Tasks[0].Criteria = append(s.in.Tasks[0].Criteria, "It keeps todos")
		p := s.play(t)
		require.NoError(t, p.err)
		memory := p.last(t, "db_build").req.History
		require.Len(t, memory, 1)
		assert.NotContains(t, memory[0].Text, "It keeps todos", "this is met")
		assert.Equal(t, providers.System, memory[0].Role)
		for _, text := range []string{"The db build", "It does what db_build is for", "it is not there", "add it", "the rule on dates is missing", "start with the calendar"} {
			assert.Contains(t, memory[0].Text, text)
		}
		assert.Contains(t, p.last(t, "db_build").req.Prompt, "Earlier attempts have failed")
		assert.NotEmpty(t, p.out.Board.Memories["api_plan"], "others keep theirs")
		assert.Nil(t, workInput(p.last(t, "db_build")).Checkpoint)
	})
	t.Run("BA29 BC56 BX19 no review: two reviews, four calls, no attempt", func(t *testing.T) {
		p := one(map[string]func(asked) any{"qa": func(asked) any { return "rubbish" }}).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Len(t, p.of("qa"), 4)
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA WAITING_HUMAN", p.states(t, "db_build"))
		assert.Zero(t, p.task(t, "db_build").RetryCount)
		assert.Equal(t, blackboard.NoReview, p.task(t, "db_build").QA.Kind)
		assert.Equal(t, string(blackboard.NoReview), p.events(t, director.EventReviewFinished)[0].On)
		assert.True(t, p.warned("ungraded"))
	})
	t.Run("BC56 whose fault it is must be one that is known", func(t *testing.T) {
		p := one(map[string]func(asked) any{"qa": func(a asked) any {
			if a.n == 1 {
				r := pass(a.req)
				r.Tests = []blackboard.TestAnalysis{{Test: "TestX", Fault: "nobody"}}
				return r
			}
			return nil
		}}).play(t)
		require.NoError(t, p.err)
		require.Len(t, p.of("qa"), 2)
		assert.Contains(t, p.of("qa")[1].req.Prompt, "want code_wrong, test_wrong or both")
	})
	build := func(qa func(asked) any, tasks ...blackboard.Definition) script {
		s := script{cfg: director.Config{}, in: director.Input{Tasks: tasks}, roles: map[string]func(asked) any{"qa": qa}}
		s.cfg.Policy.ReturnWhenWaiting = true
		return s
	}
	t.Run("BA38 B72 the criteria of the placeholder follow from what was built", func(t *testing.T) {
		p := build(edits("api_build", 0, func(r *director.Review) { r.Refined = []string{"GET /todos returns 200", " "} }), define("api_build")).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"GET /todos returns 200"}, p.task(t, "test-api").Criteria)
		assert.False(t, p.task(t, "test-api").Placeholder)
		assert.Len(t, p.of("qa"), 2, "one call a review")
		var in director.ReviewInput
		decode(p.of("qa")[0].req.Input, &in)
		assert.Equal(t, "test-api", in.Refine.ID)
		assert.Contains(t, p.of("qa")[0].req.Prompt, "refined_test_criteria")
	})
	t.Run("BA38 BC53 so do those of a placeholder that an earlier run has left", func(t *testing.T) {
		s := build(nil, define("api_build"))
		s.cfg.Limits.Calls = 1 // the worker's
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p = s.further(p.out, roles{"qa": edits("api_build", 0, func(r *director.Review) { r.Refined = []string{"GET /todos returns 200"} })}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"GET /todos returns 200"}, p.task(t, "test-api").Criteria)
	})
	t.Run("B72 B117 work that passes with notes refines, too", func(t *testing.T) {
		p := build(edits("api_build", 0, func(r *director.Review) {
			r.Refined, r.Notes = []string{"GET /todos returns 200"}, []string{"names could be shorter"}
		}), define("api_build")).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "PASS_WITH_NOTES", p.task(t, "api_build").QA.Outcome)
		assert.Equal(t, []string{"GET /todos returns 200"}, p.task(t, "test-api").Criteria)
	})
	t.Run("BA39 a build that fails refines nothing", func(t *testing.T) {
		s := build(func(a asked) any {
			r := fail(a.req)
			r.Refined = []string{"x"}
			return r
		}, define("api_build"))
		s.cfg.Policy.Retry.Attempts = 1
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.True(t, p.task(t, "test-api").Placeholder)
	})
	t.Run("BA40 a plan that passes refines nothing", func(t *testing.T) {
		p := build(edits("api_plan", 0, func(r *director.Review) { r.Refined = []string{"x"} }), define("api_plan"), define("api_build", "api_plan")).play(t)
		require.NoError(t, p.err)
		assert.True(t, p.task(t, "test-api").Placeholder)
	})
	t.Run("BC25 a TEST task that has begun gets an insight", func(t *testing.T) {
		s := build(edits("api_build", 0, func(r *director.Review) { r.Refined = []string{"GET /todos returns 200"} }), define("api_test"), define("api_build", "api_test"))
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"It does what api_test is for"}, p.task(t, "api_test").Criteria)
		require.Len(t, p.out.Board.Insights, 1)
		assert.Contains(t, p.out.Board.Insights[0].Summary, "GET /todos returns 200")
	})
	t.Run("BC25 a TEST task that was abandoned gets nothing", func(t *testing.T) {
		s := build(func(a asked) any {
			if a.task == "api_test" {
				return fail(a.req)
			}
			r := pass(a.req)
			r.Refined = []string{"GET /todos returns 200"}
			return r
		}, define("api_test"), define("api_build"))
		s.roles["work"] = func(a asked) any {
			if a.task == "api_build" {
				return slow{time.Second, nil}
			}
			return nil
		}
		s.cfg.Policy.GiveUp, s.cfg.Policy.Retry.Attempts = true, 1
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "api_test ABANDONED, api_build COMPLETE")
		assert.Empty(t, p.out.Board.Insights)
	})
	t.Run("BC23 B71 tests that find wrong code wait for its fix", func(t *testing.T) {
		s := build(edits("api_test", 1, func(r *director.Review) {
			r.Passed, r.Tests = false, []blackboard.TestAnalysis{{Test: "TestToday", Analysis: "today is overdue", Fault: blackboard.CodeWrong}, {Test: "TestWrong", Fault: blackboard.TestWrong}}
		}), define("api_build"), define("api_test", "api_build"))
		p := s.play(t)
		require.NoError(t, p.err)
		fix := p.task(t, "fix-api-1")
		assert.Equal(t, director.PhaseBuild, fix.Phase)
		assert.Equal(t, "code_worker", fix.Profile)
		assert.Equal(t, "api_test", fix.Parent)
		assert.Equal(t, 10, fix.Priority)
		assert.Equal(t, []string{"The test TestToday passes: today is overdue"}, fix.Criteria)
		assert.Equal(t, "PLANNED BLOCKED READY ACTIVE AWAITING_QA FAILED_QA BLOCKED READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "api_test"))
		assert.Equal(t, 1, p.task(t, "api_test").RetryCount)
		p.is(t, "fix-api-1 COMPLETE")
		for _, name := range []string{"TestToday", "TestWrong"} {
			assert.Contains(t, p.last(t, "api_test").req.History[0].Text, name)
		}
		s.cfg.Bounds.Tasks = 1
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 2, "no fix beyond the limit of tasks: only another attempt")
	})
	t.Run("BA36 BC24 B71 tests that are wrong are revised", func(t *testing.T) {
		wrong := func(r *director.Review) {
			r.Tests = []blackboard.TestAnalysis{{Test: "T1", Fault: blackboard.TestWrong}}
		}
		p := build(edits("api_build", 0, wrong), define("api_build")).play(t)
		require.NoError(t, p.err)
		assert.Contains(t, p.task(t, "test-api").Criteria, "The test T1 is revised: what it expects is wrong")
		p = build(func(a asked) any { // two tasks find the same
			r := pass(a.req)
			if wrong(&r); a.task == "test-api" {
				return nil
			}
			return r
		}, define("api_build"), blackboard.Definition{ID: "more", Component: "api", Phase: "build", Criteria: []string{"c"}}).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.task(t, "test-api").Criteria, 2)
		p = build(edits("api_build", 0, wrong), define("api_test"), define("api_build", "api_test")).play(t)
		require.NoError(t, p.err)
		more := p.task(t, "revise-tests-api-1")
		assert.NotContains(t, p.task(t, "api_test").Criteria, more.Criteria[0])
		assert.Equal(t, "test_worker", more.Profile)
		assert.Equal(t, blackboard.Complete, more.Status)
	})
	t.Run("BC24 B71 a TEST task that has begun and waits is not changed: there is a further one", func(t *testing.T) {
		s := build(edits("api_build", 0, func(r *director.Review) {
			r.Tests, r.Refined = []blackboard.TestAnalysis{{Test: "T1", Fault: blackboard.TestWrong}}, []string{"GET /todos returns 200"}
		}), define("api_test"), define("api_build"))
		s.roles["work"] = func(a asked) any {
			if a.task == "api_test" && a.attempt == 1 {
				return director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}}}
			}
			if a.task == "find" {
				return slow{time.Minute, nil}
			}
			return nil
		}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, define("api_test").Criteria, p.task(t, "api_test").Criteria)
		p.is(t, "revise-tests-api-1 COMPLETE")
		require.Len(t, p.out.Board.Insights, 1)
		assert.Equal(t, "Tests should cover: GET /todos returns 200", p.out.Board.Insights[0].Summary)
	})
	t.Run("B117 PASS_WITH_NOTES", func(t *testing.T) {
		p := one(map[string]func(asked) any{"qa": edits("db_build", 1, func(r *director.Review) { r.Notes = []string{"names could be shorter", " "} })}).play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.out.Warnings)
		require.Len(t, p.out.Board.Insights, 1)
		assert.Equal(t, []string{"qa"}, p.out.Board.Insights[0].Topic)
		assert.Equal(t, "PASS_WITH_NOTES", p.task(t, "db_build").QA.Outcome)
	})
	partial := edits("db_build", 1, func(r *director.Review) { r.Passed, r.Criteria[1].Passed = false, false })
	t.Run("B117 BC55 PARTIAL completes with what passed, and the rest follows", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": partial})
		s.in.Tasks[0].Criteria = []string{"a", "b"}
		s.cfg.Policy.AllowPartial = true
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"db_build"}, p.out.Unverified)
		rest := p.task(t, "rest-db_build-1")
		assert.Equal(t, []string{"b"}, rest.Criteria)
		assert.Equal(t, "db_build", rest.Parent)
		assert.Equal(t, 10, rest.Priority)
		p.is(t, "db_build COMPLETE, rest-db_build-1 COMPLETE")
		s.in.Tasks, s.cfg.Bounds.Tasks = append(s.in.Tasks, define("db_test", "db_build")), 1
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 2, "there is a live task, and no more may be")
		assert.True(t, p.warned("task"))
	})
	t.Run("B117 PARTIAL is FAIL otherwise", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": partial})
		s.in.Tasks[0].Criteria = []string{"a", "b"}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2, p.task(t, "db_build").Attempt)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, "FAIL", p.events(t, director.EventReviewFinished)[0].On)
	})
	t.Run("B40 as many reviews at once as workers", func(t *testing.T) {
		reviewing := crowd{}
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("a_plan"), define("b_plan"), define("c_plan"), define("d_plan")}}, roles: map[string]func(asked) any{
			"qa": func(asked) any {
				return func(ctx context.Context, req agent.Request) (agent.Response, error) {
					reviewing.stay(time.Minute)
					return respond(ctx, req, pass(req))
				}
			},
		}}
		s.cfg.Bounds.Parallel = 2
		require.NoError(t, s.play(t).err)
		assert.Equal(t, 2, reviewing.most)
	})
}

func TestReplans(t *testing.T) {
	t.Parallel()
	t.Run("BA101 B104 three reviews in a row", func(t *testing.T) {
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("a_plan"), define("b_plan"), define("c_plan")}}, roles: map[string]func(asked) any{
			"qa": func(a asked) any {
				if a.attempt == 1 {
					return fail(a.req)
				}
				return nil
			},
		}}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.of("replan"), 1)
		var in director.ReplanInput
		decode(p.of("replan")[0].req.Input, &in)
		assert.Len(t, in.Failures, 3, "B125")
		assert.Contains(t, in.Why, "3 reviews")
	})
	t.Run("BA102 B43 at most two", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 99)})
		s.cfg.Policy.Retry.Attempts = 13
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, 13, p.task(t, "db_build").RetryCount)
		assert.Len(t, p.of("replan"), 2)
		s.roles["qa"] = failing("db_build", 5)
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.of("replan"), 1, "BC9: failures are counted anew")
		s.roles["qa"], s.cfg.Policy.Retry.Replans = failing("db_build", 3), orchestrator.None
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.of("replan"))
		assert.Equal(t, blackboard.Progressing, p.out.Board.Strategy, "a pass ends what no re-plan can")
	})
	t.Run("BA100 a pass ends the row", func(t *testing.T) {
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("a_plan"), define("b_plan"), define("c_plan"), define("d_plan")}}, roles: map[string]func(asked) any{
			"qa": func(a asked) any {
				if a.attempt == 1 && a.task != "c_plan" {
					return fail(a.req)
				}
				return nil
			},
			"work": func(a asked) any {
				order := map[string]time.Duration{"a_plan": 1, "b_plan": 2, "c_plan": 3, "d_plan": 4}[a.task]
				return slow{(order + 10*time.Duration(a.attempt)) * time.Second, nil}
			},
		}}
		s.cfg.Bounds.Parallel = 4
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.of("replan"))
	})
	t.Run("BA103 the plan is wrong", func(t *testing.T) {
		p := one(map[string]func(asked) any{"qa": func(a asked) any {
			if a.task == "db_build" && a.attempt == 1 {
				r := fail(a.req)
				r.PlanWrong = true
				return r
			}
			return nil
		}, "replan": func(asked) any {
			return director.Replan{
				Add:       []director.TaskPlan{plan("extra", "document")},
				Edit:      []director.TaskEdit{{ID: "db_build", Title: "Dates", Priority: new(7), Description: "with dates", AddNeeds: []string{"extra"}}},
				Decisions: []director.DecisionPlan{{Area: "db", Summary: "dates are text"}},
				Reason:    "dates were missing",
			}
		}}).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.of("replan"), 1)
		assert.Empty(t, p.events(t, director.EventRunStagnated))
		p.is(t, "extra COMPLETE, db_build COMPLETE")
		assert.Equal(t, "with dates", p.task(t, "db_build").Description)
		assert.Equal(t, "Dates", p.task(t, "db_build").Title)
		assert.Equal(t, 7, p.task(t, "db_build").Priority)
		assert.Equal(t, []string{"extra"}, p.task(t, "db_build").DependsOn)
		assert.Equal(t, "changed", p.events(t, director.EventRunReplanned)[0].On)
	})
	t.Run("BX13 BX19 a re-plan that cannot be applied changes nothing", func(t *testing.T) {
		p := one(map[string]func(asked) any{"qa": failing("db_build", 3), "replan": func(asked) any {
			return director.Replan{Add: []director.TaskPlan{plan("x", "build")}, Abandon: []director.AbandonPlan{{ID: "nobody"}}}
		}}).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.of("replan"), 3)
		assert.Len(t, p.out.Board.Tasks, 1)
		assert.True(t, p.warned("replan"))
	})
	t.Run("BC55 a re-plan may abandon a branch", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 3), "replan": func(asked) any {
			return director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build", Branch: true, Reason: "too hard"}, {ID: "db_test"}}}
		}})
		s.in.Tasks = append(s.in.Tasks, define("db_test", "db_build"), define("api_plan"))
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, db_test ABANDONED, api_plan COMPLETE")
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		s.roles["replan"] = func(asked) any {
			return director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build", CanProceed: []string{"db_test"}}}}
		}
		p = s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, db_test COMPLETE")
		s.roles["replan"] = always(director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build"}}})
		p = s.play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		assert.Equal(t, blackboard.ByAbandoned, p.task(t, "db_test").Blocked.Type)
	})
	t.Run("BC37 B59 what is blocked for a re-plan goes on after one, unless that changes nothing or abandons it", func(t *testing.T) {
		for want, replan := range map[string]director.Replan{
			"db_build COMPLETE":  {Decisions: []director.DecisionPlan{{Area: "db", Summary: "one table"}}},
			"db_build BLOCKED":   {},
			"db_build ABANDONED": {Abandon: []director.AbandonPlan{{ID: "db_build"}}},
		} {
			s := one(map[string]func(asked) any{
				"replan": func(asked) any { return replan },
				"work":   escalates("api_plan", director.EscalationRequest{Type: "BLOCKED_EXTERNAL", Reason: "no key"}),
			})
			s.in.Tasks = append(s.in.Tasks, define("api_plan"))
			b, err := blackboard.New("old", "x", nil)
			require.NoError(t, err)
			e, err := blackboard.Open(b, routing.Preference{Phases: []string{"plan", "build"}})
			require.NoError(t, err)
			require.NoError(t, e.Apply(blackboard.Change{By: blackboard.RoleDirector, At: time.Unix(1, 0), Do: blackboard.AddTasks{Tasks: s.in.Tasks}}))
			require.NoError(t, e.Apply(blackboard.Change{By: blackboard.RoleDirector, At: time.Unix(1, 0), Task: "db_build", Do: blackboard.Move{Event: blackboard.EventBlock, Blocked: &blackboard.BlockedReason{Type: blackboard.ByReplanning}}}))
			s.in = director.Input{Board: b}
			p := s.play(t)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			p.is(t, want+", api_plan BLOCKED")
			assert.Len(t, p.of("replan"), 1)
		}
	})
	t.Run("BA104 BX23 BC55 nothing can be done", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 9)})
		s.in.Tasks = append(s.in.Tasks, define("db_test", "db_build"), define("api_plan"))
		s.cfg.Policy.GiveUp, s.cfg.Policy.Retry.Attempts = true, 1
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		assert.Equal(t, director.Stuck, p.out.End)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Len(t, p.of("replan"), 1)
		p.is(t, "db_build ABANDONED, db_test BLOCKED")
		assert.Equal(t, blackboard.ByAbandoned, p.task(t, "db_test").Blocked.Type)
		require.ErrorContains(t, p.err, "db_test is BLOCKED")
		var in director.ReplanInput
		decode(p.of("replan")[0].req.Input, &in)
		assert.Equal(t, blackboard.ByAbandoned, in.Graph.Tasks[1].Blocked.Type)
	})
	t.Run("BX23 what waits for a decision is planned anew though a person is asked about another task", func(t *testing.T) {
		s := one(map[string]func(asked) any{
			"work": func(a asked) any {
				return escalates(a.task, map[string]director.EscalationRequest{"db_build": {Type: "NEEDS_REPLANNING", Reason: "r"}, "api_plan": {Type: "BLOCKED_EXTERNAL", Reason: "no key"}}[a.task])(a)
			},
			"escalate": func(asked) any { return director.Resolution{Abandon: true} },
		})
		s.in.Tasks = append(s.in.Tasks, define("db_test", "db_build"), define("api_plan"))
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		p.is(t, "db_build ABANDONED, db_test BLOCKED, api_plan BLOCKED")
		assert.Len(t, p.of("replan"), 1)
	})
	t.Run("BX27 nothing can be done, and the budget does not allow a re-plan", func(t *testing.T) {
		s := one(map[string]func(asked) any{
			"work":     escalates("db_build", director.EscalationRequest{Type: "NEEDS_REPLANNING", Reason: "r"}),
			"escalate": func(asked) any { return director.Resolution{Abandon: true} },
		})
		s.in.Tasks = append(s.in.Tasks, define("db_test", "db_build"))
		s.cfg.Limits.Calls = 3 // work, escalate, review
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, director.BudgetExhausted, p.out.End)
	})
	t.Run("BX23 the re-plan helps", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 9), "replan": func(asked) any {
			return director.Replan{Edit: []director.TaskEdit{{ID: "db_test", DropNeeds: []string{"db_build"}}}}
		}})
		s.in.Tasks = append(s.in.Tasks, define("db_test", "db_build"))
		s.cfg.Policy.GiveUp, s.cfg.Policy.Retry.Attempts = true, 1
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, db_test COMPLETE")
		assert.Equal(t, orchestrator.Partial, p.out.Status, "BC55: given up")
	})
}

func TestDecomposition(t *testing.T) {
	t.Parallel()
	plans := func(answers ...any) script {
		return script{cfg: bare(), roles: map[string]func(asked) any{"decompose": func(a asked) any { return answers[min(a.n, len(answers))-1] }}}
	}
	good := director.Decomposition{Tasks: []director.TaskPlan{plan("p", "plan"), plan("b", " Implement", "p")}}
	t.Run("B31 B121 BC1 the director's tasks", func(t *testing.T) {
		p := plans(good).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "build", p.task(t, "b").Phase)
		assert.Equal(t, "code_worker", p.task(t, "b").Profile)
		var in director.PlanInput
		decode(p.of("decompose")[0].req.Input, &in)
		assert.Equal(t, "Build a Todo Board web app", in.Objective)
		assert.Len(t, in.Profiles, 5)
		assert.Equal(t, 200, in.MaxTasks)
	})
	for name, bad := range map[string]struct {
		plan director.Decomposition
		want string
	}{
		"BX12 a cycle":                 {director.Decomposition{Tasks: []director.TaskPlan{plan("a", "plan", "b"), plan("b", "plan", "a")}}, "dependency cycle: a, b"},
		"BX12 an unknown dependency":   {director.Decomposition{Tasks: []director.TaskPlan{plan("a", "plan", "x")}}, `"x"`},
		"BX12 on itself":               {director.Decomposition{Tasks: []director.TaskPlan{plan("a", "plan", "a")}}, "needs itself"},
		"BC1 an unknown phase":         {director.Decomposition{Tasks: []director.TaskPlan{plan("a", "ship")}}, `phase is "ship"`},
		"B121 no tasks":                {director.Decomposition{}, "want at least one"},
		"N20 an ID of two lines":       {director.Decomposition{Tasks: []director.TaskPlan{plan("a\nb", "plan")}}, `id has '\n' at character 2, want letters, digits and -_.:/ only`},
		"N20 an ID with a space":       {director.Decomposition{Tasks: []director.TaskPlan{plan("größe 1", "plan")}}, "id has ' ' at character 6"},
		"N20 an ID that is too long":   {director.Decomposition{Tasks: []director.TaskPlan{plan(strings.Repeat("é", 129), "plan")}}, "id has 129 characters, want at most 128"},
		"N20 a component of two lines": {director.Decomposition{Tasks: []director.TaskPlan{{ID: "a", Component: "a\x00b", Phase: "plan", Criteria: []string{"c"}}}}, `component has '\x00' at character 2`},
	} {
		t.Run(name, func(t *testing.T) {
			p := plans(bad.plan, bad.plan, good).play(t)
			require.NoError(t, p.err)
			require.Len(t, p.of("decompose"), 3)
			assert.Contains(t, p.of("decompose")[1].req.Prompt, bad.want)
			p = plans(bad.plan).play(t)
			require.ErrorIs(t, p.err, director.ErrDecomposition, "BX19")
			require.ErrorContains(t, p.err, bad.want)
			assert.Equal(t, director.Failed, p.out.End)
			assert.Equal(t, orchestrator.Failed, p.out.Status)
			assert.Empty(t, p.of("work"))
		})
	}
	t.Run("BC27 a task without criteria is repaired, and then gets one", func(t *testing.T) {
		naked := director.Decomposition{Tasks: []director.TaskPlan{{ID: "a", Component: "x", Phase: "plan"}}}
		p := plans(naked).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.of("decompose"), 3)
		assert.Equal(t, []string{"The artifact fulfils the task description"}, p.task(t, "a").Criteria)
	})
	t.Run("BX15 too many", func(t *testing.T) {
		s := plans(good)
		s.cfg.Bounds.Tasks = 1
		p := s.play(t)
		require.ErrorContains(t, p.err, "want at most 1 in all")
		s.cfg.Bounds.Tasks = 2
		require.NoError(t, s.play(t).err)
	})
	t.Run("BC53 a hook changes the plan", func(t *testing.T) {
		s := plans(good)
		s.cfg.Rules.Plan = func(tasks []blackboard.Definition) ([]blackboard.Definition, error) { return tasks[:1], nil }
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 1)
		s.cfg.Rules.Plan = func([]blackboard.Definition) ([]blackboard.Definition, error) { return nil, errors.New("too dear") }
		p = s.play(t)
		require.ErrorIs(t, p.err, director.ErrRule)
		require.ErrorContains(t, p.err, "too dear")
	})
	t.Run("BC4 a placeholder has the highest priority of what is built, and no ID that is taken", func(t *testing.T) {
		s := script{in: director.Input{Tasks: []blackboard.Definition{define("api_build"), define("more_build"), define("db_build"), define("test-db")}}}
		s.in.Tasks[1].Component, s.in.Tasks[0].Priority = "api", 20
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 20, p.task(t, "test-api").Priority)
		assert.Equal(t, director.PhaseBuild, p.task(t, "test-db").Phase)
		assert.Len(t, p.out.Board.Tasks, 6, "and for the component of test-db")
	})
	t.Run("BC27 tasks that are given must fit, too", func(t *testing.T) {
		for want, change := range map[string]func(d *blackboard.Definition){
			"acceptance_criteria is empty": func(d *blackboard.Definition) { d.Criteria = nil },
			`assigned_worker_profile is "painter", want one that takes the phase "build": ["code_worker" "research_worker"]`: func(d *blackboard.Definition) { d.Profile = "painter" },
			"id is": func(d *blackboard.Definition) { d.ID = "" },
		} {
			s := one(nil)
			change(&s.in.Tasks[0])
			p := s.play(t)
			require.ErrorIs(t, p.err, director.ErrInput, want)
			require.ErrorContains(t, p.err, want)
		}
	})
	t.Run("B1 no objective", func(t *testing.T) {
		s := one(nil)
		s.in.Objective = " "
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrInput)
		require.ErrorContains(t, p.err, "objective is empty")
		s.in.Answers = map[string]director.Answer{"db_build": {Action: director.ActionRetry}}
		require.ErrorContains(t, s.play(t).err, "answers is set, but board is not")
	})
}

func TestFailedReviews(t *testing.T) {
	t.Parallel()
	faults := func(r *director.Review) {
		r.Passed, r.Tests = false, []blackboard.TestAnalysis{{Test: "TestToday", Fault: blackboard.CodeWrong}, {Test: "TestWrong", Fault: blackboard.TestWrong}}
	}
	t.Run("B71 B78 a build is not told of tests that are wrong: they are not its to change", func(t *testing.T) {
		p := one(roles{"qa": edits("db_build", 1, faults)}).play(t)
		require.NoError(t, p.err)
		memory := p.last(t, "db_build").req.History[0].Text
		assert.Contains(t, memory, "TestToday")
		assert.NotContains(t, memory, "TestWrong")
	})
	t.Run("BC23 B18 a team without a build phase fixes no code", func(t *testing.T) {
		s := one(roles{"qa": edits("db_test", 1, func(r *director.Review) {
			faults(r)
			r.Feedback = "today is not overdue"
		})})
		s.in.Tasks = []blackboard.Definition{define("db_test")}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "today is not overdue", p.task(t, "fix-db-1").Description)
		s.cfg.Policy.Phases = []string{"plan", "test", "document"}
		s.cfg = s.whole()
		s.cfg.Profiles = slices.DeleteFunc(s.cfg.Profiles, func(p director.Profile) bool { return slices.Contains(p.Phases, director.PhaseBuild) })
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 1)
		p.is(t, "db_test COMPLETE")
	})
	t.Run("BC23 a second fix has a name of its own", func(t *testing.T) {
		s := one(roles{"qa": func(a asked) any {
			if a.task == "db_test" && a.attempt < 3 {
				return edits("db_test", 0, faults)(a)
			}
			return nil
		}})
		s.in.Tasks = []blackboard.Definition{define("db_test")}
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "fix-db-1 COMPLETE, fix-db-2 COMPLETE, db_test COMPLETE")
	})
	t.Run("B72 BC24 what is found at a component is for its own tests", func(t *testing.T) {
		s := script{in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("api_build")}}, roles: roles{"qa": edits("api_build", 0, func(r *director.Review) {
			r.Refined, r.Tests = []string{"GET returns 200"}, []blackboard.TestAnalysis{{Test: "T1", Fault: blackboard.TestWrong}}
		})}}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.True(t, p.task(t, "test-db").Placeholder)
		assert.Len(t, p.task(t, "test-db").Criteria, 1)
		assert.Equal(t, []string{"GET returns 200", "The test T1 is revised: what it expects is wrong"}, p.task(t, "test-api").Criteria)
	})
	t.Run("B104 BC38 without a threshold nothing stagnates, and a re-plan that changes nothing says so", func(t *testing.T) {
		s := one(roles{"qa": failing("db_build", 3)})
		changed := s.play(t).events(t, director.EventRunReplanned)
		require.Len(t, changed, 1)
		assert.Equal(t, "unchanged", changed[0].On)
		s.cfg.Policy.Retry.Stagnation = orchestrator.None
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.of("replan"))
		assert.Empty(t, p.events(t, director.EventRunStagnated))
	})
	t.Run("B43 BA102 the director is told how many re-plans there were", func(t *testing.T) {
		s := one(roles{"qa": failing("db_build", 99)})
		s.cfg.Policy.Retry.Attempts = 13
		var before []int
		for _, a := range s.play(t).of("replan") {
			var in director.ReplanInput
			decode(a.req.Input, &in)
			before = append(before, in.Replans)
		}
		assert.Equal(t, []int{0, 1}, before)
	})
	t.Run("B117 what is left of a task in part goes to its profile", func(t *testing.T) {
		s := one(roles{"qa": edits("db_build", 1, func(r *director.Review) { r.Passed, r.Criteria[1].Passed = false, false })})
		s.in.Tasks[0].Criteria, s.in.Tasks[0].Profile, s.in.Tasks[0].Title, s.in.Tasks[0].Description = []string{"a", "b"}, "research_worker", "", "as in the books"
		s.cfg.Policy.AllowPartial = true
		p := s.play(t)
		require.NoError(t, p.err)
		rest := p.task(t, "rest-db_build-1")
		assert.Equal(t, "research_worker", rest.Profile)
		assert.Equal(t, "The rest of db_build", rest.Title)
		assert.Equal(t, "as in the books", rest.Description)
		assert.True(t, p.task(t, "db_build").QA.Passed)
		assert.Empty(t, p.task(t, "db_build").QA.Kind, "it has not failed")
	})
	t.Run("BX16 B40 the place of a review that is canceled is free", func(t *testing.T) {
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("api_plan"), define("ui_build", "db_build")}}, roles: roles{
			"qa": func(a asked) any {
				switch a.task {
				case "api_plan":
					return slow{time.Hour, nil}
				case "db_build":
					r := fail(a.req)
					if r.PlanWrong = true; a.attempt > 1 {
						return nil
					}
					return slow{time.Second, r}
				}
				return nil
			},
			"replan": always(director.Replan{Abandon: []director.AbandonPlan{{ID: "api_plan"}}}),
		}}
		s.cfg.Bounds.Parallel, s.cfg.Bounds.CallTime = 2, 2*time.Hour
		reviewing := crowd{}
		qa := s.roles["qa"]
		s.roles["qa"] = func(a asked) any {
			if a.task == "api_plan" || a.attempt == 1 && a.task == "db_build" {
				return qa(a)
			}
			return func(ctx context.Context, req agent.Request) (agent.Response, error) {
				reviewing.stay(time.Minute)
				return respond(ctx, req, pass(req))
			}
		}
		for _, id := range []string{"a", "b", "c"} {
			s.in.Tasks = append(s.in.Tasks, define(id+"_build", "db_build"))
		}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2, reviewing.most)
	})
}

func TestTimeoutsNameTheirSetting(t *testing.T) {
	t.Parallel()
	s := one(roles{"work": func(asked) any { return slow{time.Hour, nil} }})
	s.cfg.Bounds.TaskTime, s.cfg.Policy.Retry.Attempts = 90*time.Second, 1
	p := s.play(t)
	require.ErrorIs(t, p.err, director.ErrWaiting)
	assert.Contains(t, p.task(t, "db_build").Reason, "Bounds.TaskTime is 1m30s")
	assert.Equal(t, blackboard.TimedOut, p.task(t, "db_build").QA.Kind)

	s = script{roles: roles{"decompose": func(asked) any { return slow{time.Hour, nil} }}, in: director.Input{Objective: "a board"}}
	s.cfg = bare()
	s.cfg.Bounds.CallTime = 3 * time.Minute
	p = s.play(t)
	require.ErrorIs(t, p.err, director.ErrDecomposition)
	require.ErrorContains(t, p.err, "Bounds.CallTime is 3m0s")
}

func TestGivenTasks(t *testing.T) {
	t.Parallel()
	t.Run("B31 B118 the risk that the director plans is the task's", func(t *testing.T) {
		risky := plan("p", "plan")
		risky.Risk = new(0.9)
		p := script{cfg: bare(), roles: roles{"decompose": always(director.Decomposition{Tasks: []director.TaskPlan{risky}})}}.play(t)
		require.NoError(t, p.err)
		require.NotNil(t, p.task(t, "p").Risk)
		assert.InDelta(t, 0.9, *p.task(t, "p").Risk, 0)
	})
	t.Run("B32 BC1 a task to implement is built, and gets a placeholder", func(t *testing.T) {
		for _, phase := range []string{"implement", " Implement", "Build"} {
			given := define("api_build")
			given.Phase = phase
			p := script{in: director.Input{Tasks: []blackboard.Definition{given}}}.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, []string{"api_build"}, p.task(t, "test-api").DependsOn, phase)
		}
	})
	t.Run("B32 B18 a team without a test phase gets no placeholders", func(t *testing.T) {
		s := script{in: director.Input{Tasks: []blackboard.Definition{define("api_build")}}}
		s.cfg.Policy.Phases = []string{"plan", "build", "document"}
		s.cfg = s.whole()
		s.cfg.Profiles = slices.DeleteFunc(s.cfg.Profiles, func(p director.Profile) bool { return slices.Contains(p.Phases, director.PhaseTest) })
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 1)
	})
	t.Run("BC27 B54 a profile must take the phase of its task", func(t *testing.T) {
		s := one(nil)
		s.in.Tasks[0].Profile = "test_worker"
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrInput)
		require.ErrorContains(t, p.err, `assigned_worker_profile is "test_worker"`)
	})
	t.Run("BC53 B31 a board without tasks is planned", func(t *testing.T) {
		down := forked(roles{director.OpOpen: func(asked) any { return errors.New("the repository is dirty") }})
		down.in = director.Input{Objective: "a board"}
		p := down.play(t)
		require.ErrorIs(t, p.err, director.ErrWorktree)
		require.NotNil(t, p.out.Board)
		s := script{cfg: bare(), roles: roles{"decompose": always(director.Decomposition{Tasks: []director.TaskPlan{plan("db_build", "build")}})}}
		s.in = director.Input{Board: p.out.Board}
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.of("decompose"), 1)
		p.is(t, "db_build COMPLETE")
	})
	t.Run("BC53 a board that is continued without further tasks asks no hook", func(t *testing.T) {
		s := one(roles{"qa": failing("db_build", 1)}).under(once)
		s = s.play(t).from(s)
		s.in.Answers = map[string]director.Answer{"db_build": {Action: director.ActionRetry}}
		s.cfg.Rules.Plan = func([]blackboard.Definition) ([]blackboard.Definition, error) {
			return nil, errors.New("there is no plan")
		}
		require.NoError(t, s.play(t).err)
	})
	t.Run("BC53 with another objective or spec what has passed is reviewed again", func(t *testing.T) {
		for i, changed := range []director.Input{{}, {Objective: "Build a calendar"}, {Spec: map[string]json.RawMessage{"db": json.RawMessage(`"Postgres"`)}}} {
			s := one(nil).under(func(cfg *director.Config) { cfg.Limits.Calls = 1 })
			p := s.play(t)
			p.is(t, "db_build AWAITING_QA")
			p.out.Board.Tasks[0].QA = &blackboard.QA{Passed: true, Outcome: "PASS"}
			s = p.from(one(nil))
			s.in.Objective, s.in.Spec = changed.Objective, changed.Spec
			p = s.play(t)
			require.NoError(t, p.err)
			assert.Len(t, p.of("qa"), min(i, 1))
		}
	})
}
