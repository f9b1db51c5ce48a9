package director_test

import (
	"encoding/json"
	"fmt"
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
)

// wants is a worker whose first attempt at a task answers otherwise.
func wants(task string, first director.WorkerResult) func(asked) any {
	return func(a asked) any {
		if a.task == task && a.attempt == 1 {
			return first
		}
		return nil
	}
}

// escalates is a worker whose first attempt escalates.
func escalates(task string, e director.EscalationRequest) func(asked) any {
	return wants(task, director.WorkerResult{Status: director.StatusFailed, Escalation: &e, Checkpoint: &director.CheckpointPlan{Resume: "write the handler", Partial: json.RawMessage(`{"half":1}`), Files: []string{"handler.go"}}})
}

func plan(id, phase string, needs ...string) director.TaskPlan {
	return director.TaskPlan{ID: id, Component: "api", Phase: phase, DependsOn: needs, Criteria: []string{id + " is done"}}
}

// last is the last request to a worker for a task.
func (p played) last(t *testing.T, task string) asked {
	t.Helper()
	var found *asked
	for _, a := range p.of("work") {
		if a.task == task {
			found = &a
		}
	}
	require.NotNil(t, found, task)
	return *found
}

func workInput(a asked) (in director.WorkInput) {
	decode(a.req.Input, &in)
	return in
}

func TestPause(t *testing.T) {
	t.Parallel()
	paused := director.WorkerResult{
		Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}},
		Checkpoint: &director.CheckpointPlan{Resume: "write the handler", Partial: json.RawMessage(`{"half":1}`)},
	}
	t.Run("BA87 B64 B65 B50 it goes on with its checkpoint when the subtask is complete", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": wants("db_build", paused)})
		s.cfg.Bounds.Parallel = 1
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "PLANNED READY ACTIVE BLOCKED READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "db_build"))
		task := p.task(t, "db_build")
		assert.Zero(t, task.RetryCount, "B66")
		assert.Equal(t, []string{"find"}, task.WaitingFor)
		assert.Equal(t, "db_build", p.task(t, "find").Parent)
		in := workInput(p.last(t, "db_build"))
		assert.Equal(t, 2, in.Attempt)
		assert.Equal(t, "write the handler", in.Checkpoint.Resume)
		assert.JSONEq(t, `{"half":1}`, string(in.Checkpoint.Partial))
		require.Len(t, in.Subtasks, 1)
		assert.Equal(t, "find by attempt 1", in.Subtasks[0].Text)
		assert.Len(t, p.last(t, "db_build").req.History, 2, "what it said before")
		assert.Contains(t, p.last(t, "db_build").req.Prompt, "checkpoint")
		assert.Empty(t, p.of("review"), "B67")
	})
	t.Run("BX13 BX15 a subtask that cannot be added is told to the worker", func(t *testing.T) {
		bad := paused
		bad.Spawn = []director.Suggestion{{TaskPlan: plan("find", "plan", "db_build")}}
		answers := 0
		p := one(map[string]func(asked) any{"work": func(a asked) any {
			if a.task == "db_build" && a.n == 1 {
				answers++
				return bad
			}
			return nil
		}}).play(t)
		require.NoError(t, p.err)
		require.Len(t, p.of("work"), 2)
		assert.Contains(t, p.of("work")[1].req.Prompt, "dependency cycle")
		assert.Len(t, p.out.Board.Tasks, 1)
		assert.Equal(t, 1, p.task(t, "db_build").Attempt)
	})
	t.Run("BX19 an answer that stays unusable fails the attempt", func(t *testing.T) {
		p := one(map[string]func(asked) any{"work": func(a asked) any {
			if a.attempt == 1 {
				return director.WorkerResult{Status: director.StatusComplete, ResultPath: "../x", Artifact: "x"}
			}
			return nil
		}}).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.of("work"), 4, "BX7: two repairs, then another attempt")
		assert.Contains(t, p.of("work")[1].req.Prompt, "unsafe path")
		assert.Equal(t, 1, p.task(t, "db_build").RetryCount)
	})
	t.Run("BA94 BX17 the subtask is abandoned", func(t *testing.T) {
		s := one(map[string]func(asked) any{
			"work": wants("db_build", paused), "qa": failing("find", 9),
		})
		s.cfg.Policy.GiveUp, s.cfg.Policy.Retry.Attempts = true, 1
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		p.is(t, "find ABANDONED, db_build BLOCKED")
		assert.Equal(t, blackboard.ByAbandoned, p.task(t, "db_build").Blocked.Type)
		assert.Equal(t, orchestrator.Failed, p.out.Status)
		assert.Len(t, p.of("replan"), 1, "BX23")
	})
	t.Run("BX17 the director decides whether what waits for an abandoned subtask goes on", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": wants("db_build", paused), "qa": failing("find", 9), "review": func(a asked) any {
			var in director.ChangeInput
			decode(a.req.Input, &in)
			return director.ChangeReview{CanProceed: in.Dependents}
		}})
		s.cfg.Policy.Retry.Attempts, s.cfg.Policy.ReturnWhenWaiting = 1, false
		s.reply = map[string]any{"ask/find/1": director.Answer{Action: director.ActionAbandon}}
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "find ABANDONED, db_build COMPLETE")
		assert.Empty(t, p.out.Pending)
		assert.NotContains(t, p.out.Drafts, "find")
	})
}

func TestEscalations(t *testing.T) {
	t.Parallel()
	t.Run("BA88 B58 NEEDS_RESEARCH", func(t *testing.T) {
		p := one(map[string]func(asked) any{"work": escalates("db_build", director.EscalationRequest{
			Type: "NEEDS_RESEARCH", Reason: "which date format?", Spawn: []director.Suggestion{{TaskPlan: director.TaskPlan{
				ID: "dates", Component: "db", Phase: "plan", Profile: "research_worker", Criteria: []string{"a format is recommended"},
			}}},
		})}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "PLANNED READY ACTIVE BLOCKED READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "db_build"))
		assert.Equal(t, "research_worker", p.task(t, "dates").Profile)
		assert.Equal(t, blackboard.NeedsResearch, p.task(t, "db_build").Escalation.Type)
		assert.Equal(t, "write the handler", workInput(p.last(t, "db_build")).Checkpoint.Resume)
	})
	t.Run("BA88 the director says what is to be found out", func(t *testing.T) {
		p := one(map[string]func(asked) any{
			"work": escalates("db_build", director.EscalationRequest{Type: "NEEDS_RESEARCH", Reason: "which date format?"}),
			"escalate": func(asked) any {
				return director.Resolution{Resolved: true, Tasks: []director.TaskPlan{{ID: "dates", Component: "db", Phase: "plan", Profile: "research_worker", Criteria: []string{"x"}}}}
			},
		}).play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, dates COMPLETE")
		assert.Equal(t, "db_build", p.task(t, "dates").Parent)
	})
	clarify := director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "is today overdue?"}
	t.Run("BA89 B61 the director clarifies", func(t *testing.T) {
		p := one(map[string]func(asked) any{"work": escalates("db_build", clarify), "escalate": func(a asked) any {
			var in director.EscalationInput
			decode(a.req.Input, &in)
			assert.Equal(t, "is today overdue?", in.Escalation.Reason)
			assert.Equal(t, "db_build", in.Task.ID)
			assert.Len(t, in.Graph.Tasks, 1, "B125")
			return director.Resolution{Resolved: true, Clarification: "No, it is not."}
		}}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "PLANNED READY ACTIVE READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "db_build"))
		memory := p.last(t, "db_build").req.History
		assert.Equal(t, providers.User, memory[len(memory)-1].Role)
		assert.Contains(t, memory[len(memory)-1].Text, "No, it is not.")
		assert.Zero(t, p.task(t, "db_build").RetryCount, "B66")
	})
	t.Run("BA89 B61 the director does not", func(t *testing.T) {
		p := one(map[string]func(asked) any{"work": escalates("db_build", clarify), "escalate": func(asked) any { return director.Resolution{} }}).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		p.is(t, "db_build WAITING_HUMAN")
		assert.Contains(t, p.task(t, "db_build").Reason, "is today overdue?")
		p = one(map[string]func(asked) any{"work": escalates("db_build", clarify), "escalate": func(asked) any { return director.Resolution{Reason: "ask the mayor"} }}).play(t)
		assert.Equal(t, "ask the mayor", p.task(t, "db_build").Reason)
	})
	t.Run("BC56 B61 an answer that cannot be used is for a person", func(t *testing.T) {
		p := one(map[string]func(asked) any{"work": escalates("db_build", clarify), "escalate": func(asked) any { return "rubbish" }}).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Len(t, p.of("escalate"), 3, "two repairs")
		p.is(t, "db_build WAITING_HUMAN")
	})
	t.Run("BA90 B60 SPEC_MISMATCH", func(t *testing.T) {
		s := one(map[string]func(asked) any{
			"work": escalates("db_build", director.EscalationRequest{Type: "SPEC_MISMATCH", Reason: "two colors"}),
			"escalate": func(asked) any {
				return director.Resolution{
					Resolved: true, Spec: map[string]json.RawMessage{"ui": json.RawMessage(`{"overdue":"#ef4444"}`)},
					Decisions: []director.DecisionPlan{{Area: "ui", Summary: "red it is", Reason: "the spec is older"}},
				}
			},
		})
		s.in.Spec = map[string]json.RawMessage{"ui": json.RawMessage(`{"overdue":"red"}`)}
		p := s.play(t)
		require.NoError(t, p.err)
		require.Len(t, p.out.Board.DesignLog, 1)
		assert.Equal(t, "red it is", p.out.Board.DesignLog[0].Summary)
		assert.JSONEq(t, `{"overdue":"#ef4444"}`, string(workInput(p.last(t, "db_build")).Spec["ui"]))
		assert.Equal(t, "PLANNED READY ACTIVE READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "db_build"))
	})
	t.Run("BA91 B62 BLOCKED_EXTERNAL", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": escalates("db_build", director.EscalationRequest{Type: "BLOCKED_EXTERNAL", Reason: "no access", Needs: "API key"})})
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		task := p.task(t, "db_build")
		assert.Equal(t, blackboard.ByExternal, task.Blocked.Type)
		assert.Equal(t, []string{"API key"}, task.Blocked.WaitingOn)
		assert.Equal(t, "API key", task.Escalation.Needs)
		named := one(map[string]func(asked) any{"work": func(a asked) any {
			reason := ""
			if a.n == 2 {
				reason = "no access"
			}
			return escalates("db_build", director.EscalationRequest{Type: "BLOCKED_EXTERNAL", Reason: reason})(a)
		}}).play(t)
		assert.Contains(t, named.of("work")[1].req.Prompt, "escalation.needs is empty")
		assert.Equal(t, []string{"no access"}, named.task(t, "db_build").Blocked.WaitingOn)
		s.cfg.Policy.ReturnWhenWaiting = false
		s.reply = map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionProvided, Guidance: "it is in the vault"}}
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "PLANNED READY ACTIVE BLOCKED READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "db_build"))
		memory := p.last(t, "db_build").req.History
		assert.Contains(t, memory[len(memory)-1].Text, "it is in the vault")
	})
	t.Run("BA92 B59 NEEDS_REPLANNING", func(t *testing.T) {
		replan := director.EscalationRequest{Type: "NEEDS_REPLANNING", Reason: "the schema is wrong"}
		p := one(map[string]func(asked) any{"work": escalates("db_build", replan), "escalate": func(asked) any {
			return director.Resolution{Tasks: []director.TaskPlan{plan("schema", "plan")}}
		}}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "PLANNED READY ACTIVE BLOCKED READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "db_build"))
		p.is(t, "schema COMPLETE")
		s := one(map[string]func(asked) any{"work": escalates("db_build", replan), "escalate": func(asked) any {
			return director.Resolution{Abandon: true, Reason: "not needed"}
		}})
		s.in.Tasks = append(s.in.Tasks, define("api_plan"))
		p = s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, api_plan COMPLETE")
		assert.Equal(t, "not needed", p.task(t, "db_build").Reason)
		assert.Equal(t, orchestrator.Completed, p.out.Status, "BC55: by a decision")
	})
	t.Run("BA93 B63 SCOPE_TOO_LARGE", func(t *testing.T) {
		s := script{cfg: director.Config{}, in: director.Input{Tasks: seven()}, roles: map[string]func(asked) any{
			"work": escalates("api_build", director.EscalationRequest{Type: "SCOPE_TOO_LARGE", Reason: "too much"}),
			"split": func(asked) any {
				return director.Decomposition{Tasks: []director.TaskPlan{plan("s1", "build"), plan("s2", "build", "s1")}}
			},
		}}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		p.is(t, "api_build ABANDONED, s1 COMPLETE, s2 COMPLETE, test-api COMPLETE, views_build COMPLETE")
		assert.Equal(t, []string{"s2", "views_plan"}, p.task(t, "views_build").DependsOn)
		assert.Equal(t, []string{"s2"}, p.task(t, "test-api").DependsOn)
		assert.ElementsMatch(t, []string{"api_plan", "db_build"}, p.task(t, "s1").DependsOn)
		assert.Equal(t, "split", p.task(t, "api_build").Reason)
		assert.Equal(t, "PLANNED BLOCKED READY ACTIVE ABANDONED", p.states(t, "api_build"))
		for _, e := range p.events(t, director.EventTaskAdded) {
			assert.Equal(t, e.Task == "s1" || e.Task == "s2", e.Who == "api_build", e.Task)
		}
	})
	t.Run("B63 of a task that is split, nothing is left that was not merged", func(t *testing.T) {
		p := one(map[string]func(asked) any{
			"work": func(a asked) any {
				if a.task == "db_build" && a.attempt == 2 {
					return director.WorkerResult{Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "SCOPE_TOO_LARGE", Reason: "too much"}}
				}
				return nil
			},
			"qa":    failing("db_build", 1),
			"split": func(asked) any { return director.Decomposition{Tasks: []director.TaskPlan{plan("s1", "build")}} },
		}).play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, s1 COMPLETE")
		assert.Empty(t, p.out.Drafts)
	})
	t.Run("BC56 a split that cannot be used is for a person", func(t *testing.T) {
		p := one(map[string]func(asked) any{
			"work": escalates("db_build", director.EscalationRequest{Type: "SCOPE_TOO_LARGE", Reason: "too much"}),
			"split": func(asked) any {
				return director.Decomposition{Tasks: []director.TaskPlan{plan("s1", "build", "s2"), plan("s2", "build", "s1")}}
			},
		}).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		require.Len(t, p.of("split"), 3)
		assert.Contains(t, p.of("split")[1].req.Prompt, "dependency cycle")
		p.is(t, "db_build WAITING_HUMAN")
		assert.Len(t, p.out.Board.Tasks, 1)
	})
	t.Run("B56 d3 one that does not block is recorded, and delivery goes on", func(t *testing.T) {
		r := done("db_build", 1)
		r.Escalation = &director.EscalationRequest{Type: "SPEC_MISMATCH", Reason: "two colors", NonBlocking: true}
		p := one(map[string]func(asked) any{"work": wants("db_build", r)}).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.events(t, director.EventEscalationRaised), 1)
		assert.True(t, p.warned("escalation"))
	})
}

func TestKnowledge(t *testing.T) {
	t.Parallel()
	t.Run("BA95 B44 suggestions: approved, rejected, not decided, merged", func(t *testing.T) {
		r := done("db_build", 1)
		dup := plan("other", "plan")
		dup.Title, dup.Criteria = "the API  plan", []string{"it has examples"}
		dup.Criteria = append(dup.Criteria, "It does what api_plan is for")
		r.Suggested = []director.Suggestion{{TaskPlan: plan("more", "document")}, {TaskPlan: plan("less", "document")}, {TaskPlan: plan("none", "document")}, {TaskPlan: dup}}
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			if a.task == "db_build" {
				return r
			}
			return nil
		}, "review": func(a asked) any {
			return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}, {Number: 2, Reason: "out of scope"}, {Number: 4, Approve: true}}}
		}})
		s.in.Tasks = append(s.in.Tasks, define("api_plan", "db_build"))
		s.cfg.Bounds.Parallel = 1
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 3)
		p.is(t, "more COMPLETE")
		assert.Equal(t, "db_build", p.task(t, "more").Parent)
		assert.Equal(t, []string{"It does what api_plan is for", "it has examples"}, p.task(t, "api_plan").Criteria, "BX14")
		how := map[string]string{}
		for _, e := range p.events(t, director.EventSuggestionReviewed) {
			how[e.Who] = e.On
		}
		assert.Equal(t, map[string]string{"more": "approved", "less": "rejected", "none": "rejected", "other": "merged"}, how)
	})
	t.Run("BX14 the same title in another phase, or of a task that is final, is another task", func(t *testing.T) {
		r := done("api_build", 1)
		r.Suggested = []director.Suggestion{{TaskPlan: plan("x", "document")}, {TaskPlan: plan("y", "plan")}}
		r.Suggested[0].Title, r.Suggested[1].Title = "The api build", "The api plan"
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("api_plan"), define("api_build", "api_plan")}}, roles: map[string]func(asked) any{
			"work": wants("api_build", r), "review": func(a asked) any {
				if a.n == 1 {
					return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 3, Approve: true}}}
				}
				return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}, {Number: 2, Approve: true}}}
			},
		}}
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "x COMPLETE, y COMPLETE")
		require.Len(t, p.of("review"), 2)
		assert.Contains(t, p.of("review")[1].req.Prompt, "number is 3, want 1 to 2")
		s.roles["review"] = func(asked) any { return "rubbish" }
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 2, "BX19")
		assert.True(t, p.warned("suggestions"))
	})
	t.Run("BX15 how deep tasks may cause tasks", func(t *testing.T) {
		find := director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}}}
		for name, second := range map[string]director.WorkerResult{
			"a subtask":    {Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("deeper", "plan")}}},
			"a split":      {Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "SCOPE_TOO_LARGE", Reason: "too much"}},
			"a suggestion": {Status: director.StatusComplete, ResultPath: "a.md", Artifact: "a", Suggested: []director.Suggestion{{TaskPlan: plan("deeper", "plan")}}},
		} {
			for depth, tasks := range map[int]int{1: 2, 2: 3} {
				s := one(map[string]func(asked) any{
					"work": func(a asked) any {
						if a.task == "find" && a.n == 1 {
							return second
						}
						return wants("db_build", find)(a)
					},
					"review": func(asked) any {
						return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}}}
					},
					"split": func(asked) any {
						return director.Decomposition{Tasks: []director.TaskPlan{plan("deeper", "plan")}}
					},
				})
				s.cfg.Bounds.Depth = depth
				assert.Len(t, s.play(t).out.Board.Tasks, tasks, "%s, %d", name, depth)
			}
		}
	})
	t.Run("BA96 BX13 a suggestion that closes a cycle", func(t *testing.T) {
		r := done("db_build", 1)
		r.Suggested = []director.Suggestion{{TaskPlan: plan("x", "build", "x")}}
		p := one(map[string]func(asked) any{"work": wants("db_build", r), "review": func(asked) any {
			return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}}}
		}}).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 1)
		assert.Equal(t, "rejected", p.events(t, director.EventSuggestionReviewed)[0].On)
	})
	t.Run("BX15 a suggestion beyond the limit of tasks is rejected, which its component is told", func(t *testing.T) {
		r := done("db_build", 1)
		r.Suggested = []director.Suggestion{{TaskPlan: plan("one", "document")}, {TaskPlan: plan("two", "document")}}
		s := one(map[string]func(asked) any{"work": wants("db_build", r), "review": func(asked) any {
			return slow{time.Second, director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}, {Number: 2, Approve: true}}}}
		}})
		s.cfg.Bounds.Tasks = 1
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, one COMPLETE")
		assert.Len(t, p.out.Board.Tasks, 2)
		require.Len(t, p.out.Board.Insights, 1)
		assert.Equal(t, []string{"api"}, p.out.Board.Insights[0].Topic)
		assert.Equal(t, "Not done, though suggested: two (there are 1 tasks already)", p.out.Board.Insights[0].Summary)
	})
	t.Run("BA97 B12 an insight reaches workers that are at work", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			if a.task == "db_build" {
				return toils(40, time.Second)(a)
			}
			r := done(a.task, a.attempt)
			r.Insights = []director.InsightPlan{{Topic: []string{"db"}, Summary: "SQLite has no dates"}, {Topic: []string{"css"}, Summary: "of no interest"}}
			return slow{20 * time.Second, r}
		}})
		s.in.Tasks = append(s.in.Tasks, define("api_plan"))
		p := s.play(t)
		require.NoError(t, p.err)
		var told []string
		for _, a := range p.of("work") {
			if a.task == "db_build" && a.slice > 1 {
				told = append(told, a.req.Prompt)
			}
		}
		require.Len(t, told, 2)
		assert.Empty(t, told[0], "15 s: not yet")
		assert.Contains(t, told[1], "SQLite has no dates")
		assert.NotContains(t, told[1], "of no interest")
		assert.Empty(t, p.of("review"), "no approval")
	})
	t.Run("B12 an insight is told once, and does not hide what is wrong with an answer", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			r := done(a.task, a.attempt)
			switch {
			case a.task == "api_plan":
				r.Insights = []director.InsightPlan{{Summary: "SQLite locks"}, {Summary: "SQLite locks"}}
				return slow{time.Second, r}
			case a.task == "css_plan":
				r.Insights = []director.InsightPlan{{Topic: []string{"css"}, Summary: "of no interest"}}
				return r
			case a.task == "ui_plan":
				r.Insights = []director.InsightPlan{{Summary: "dates are UTC"}}
				return slow{10 * time.Second, r}
			case a.slice == 1:
				return slow{20 * time.Second, "rubbish"}
			}
			return slow{10 * time.Second, agent.Response{More: a.slice < 4, Messages: messages(1), Data: agent.JSON(r)}}
		}})
		s.in.Tasks = append(s.in.Tasks, define("css_plan"), define("api_plan"), define("ui_plan"))
		s.in.Tasks[0].DependsOn = []string{"api_plan"}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.out.Warnings, "BX34")
		var prompts []string
		for _, a := range p.of("work") {
			if a.task == "db_build" {
				prompts = append(prompts, a.req.Prompt)
			}
		}
		require.Len(t, prompts, 4)
		assert.Contains(t, prompts[1], "Your answer cannot be used")
		assert.Contains(t, prompts[2], "dates are UTC")
		assert.NotContains(t, strings.Join(prompts, ""), "SQLite", "it is in the first input")
		assert.Empty(t, prompts[3])
	})
	t.Run("BA98 BC42 decisions are logged when the task passes", func(t *testing.T) {
		r := done("db_plan", 1)
		r.Decisions = []director.DecisionPlan{{Area: "db", AppliesTo: []string{"db_build"}, Summary: "dates are text"}, {Area: "db", AppliesTo: []string{"no_such"}, Summary: "x"}}
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			if a.task == "db_plan" {
				return r
			}
			return nil
		}, "qa": failing("db_plan", 1)})
		s.in.Tasks = []blackboard.Definition{define("db_plan"), define("db_build", "db_plan")}
		p := s.play(t)
		require.NoError(t, p.err)
		require.Len(t, p.out.Board.DesignLog, 1, "not the first time, which failed")
		assert.Equal(t, "dates are text", workInput(p.last(t, "db_build")).Decisions[0].Summary)
		var in director.ReviewInput
		decode(p.of("qa")[2].req.Input, &in)
		assert.Equal(t, "dates are text", in.Decisions[0].Summary)
		decode(p.of("qa")[1].req.Input, &in)
		assert.Equal(t, 2, in.Attempt)
		assert.True(t, p.warned("decision"), "one was for a task that is unknown")
		assert.Empty(t, workInput(p.last(t, "db_plan")).Decisions)
	})
}

func TestAnswersOfWorkers(t *testing.T) {
	t.Parallel()
	asks := director.EscalationRequest{Type: "NEEDS_REPLANNING", Reason: "the schema is wrong", Affected: []string{"api_plan"}}
	t.Run("B57 B56 d3 an escalation counts whatever the status says, and what was found out is kept", func(t *testing.T) {
		r := director.WorkerResult{
			Status: director.StatusComplete, Escalation: &asks, Insights: []director.InsightPlan{{Summary: "SQLite has no dates"}},
			Checkpoint: &director.CheckpointPlan{Resume: "write the handler", Files: []string{"handler.go"}},
		}
		p := one(roles{"work": wants("db_build", r), "escalate": always(director.Resolution{
			Tasks: []director.TaskPlan{plan("schema", "plan")}, Decisions: []director.DecisionPlan{{Area: "db", Summary: "dates are text"}},
		})}).play(t)
		require.NoError(t, p.err)
		require.Len(t, p.of("work"), 3, "it is asked for no path")
		last := workInput(p.last(t, "db_build"))
		assert.Equal(t, []string{"handler.go"}, last.Checkpoint.Files)
		assert.Equal(t, "SQLite has no dates", last.Insights[0].Summary)
		assert.Equal(t, "dates are text", last.Decisions[0].Summary, "beside tasks, too")
		assert.NotContains(t, p.last(t, "db_build").req.Prompt, "Earlier attempts have failed")
	})
	t.Run("BC56 BX26 a person who is asked instead of the director finds the work as it was", func(t *testing.T) {
		p := one(roles{
			"work":  escalates("db_build", director.EscalationRequest{Type: "SCOPE_TOO_LARGE", Reason: "too much"}),
			"split": always("rubbish"),
		}).replied(map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry}}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "write the handler", workInput(p.last(t, "db_build")).Checkpoint.Resume)
	})
	t.Run("BX19 insights and decisions that say nothing are told to the worker", func(t *testing.T) {
		p := one(roles{"work": func(a asked) any {
			r := done(a.task, a.attempt)
			switch a.n {
			case 1:
				r.Insights = []director.InsightPlan{{Topic: []string{"db"}, Summary: " "}}
			case 2:
				r.Decisions = []director.DecisionPlan{{Summary: "dates are text"}}
			}
			return r
		}}).play(t)
		require.NoError(t, p.err)
		require.Len(t, p.of("work"), 3)
		assert.Contains(t, p.of("work")[1].req.Prompt, "insights[0].summary is empty")
		assert.Contains(t, p.of("work")[2].req.Prompt, "decisions[0]: area or summary is empty")
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("BX10 an artifact without a text is an empty result", func(t *testing.T) {
		p := one(roles{"work": first(director.WorkerResult{Status: director.StatusComplete, ResultPath: "x.md", Artifact: " "})}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, string(blackboard.EmptyResult), p.events(t, director.EventAttemptFailed)[0].On)
	})
	t.Run("B64 BX13 two workers want a task of the same name at the same time", func(t *testing.T) {
		r := director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}}}
		p := forked(roles{
			"work": func(a asked) any {
				switch {
				case a.task == "find" || a.attempt > 1:
					return nil
				case a.task == "api_build":
					return slow{30 * time.Second, r}
				}
				return r
			},
			director.OpCommit: func(a asked) any {
				var in director.CommitRequest
				if decode(a.req.Input, &in); in.Tree.Attempt == 1 && in.Tree.Task == "db_build" {
					return slow{time.Minute, forks()[director.OpCommit](a)}
				}
				return forks()[director.OpCommit](a)
			},
		}, define("db_build"), define("api_build")).play(t)
		lost := p.events(t, director.EventAttemptFailed)
		require.NotEmpty(t, lost)
		assert.Equal(t, "db_build", lost[0].Task)
		assert.Contains(t, lost[0].Text, `"find"`)
		assert.Len(t, p.of("work"), 5, "it is no fault of its answer, which is not asked for again")
		p.is(t, "db_build COMPLETE")
	})
	t.Run("B44 what is not approved says so, and later suggestions of the task are reviewed, too", func(t *testing.T) {
		p := one(roles{"work": func(a asked) any {
			r := done(a.task, a.attempt)
			r.Suggested = []director.Suggestion{{TaskPlan: plan(fmt.Sprint("more", a.attempt), "document")}}
			if a.attempt > 2 || a.task != "db_build" {
				r.Suggested = nil
			}
			return slow{time.Minute, r}
		}, "review": func(a asked) any {
			if a.n == 1 { // the second attempt suggests meanwhile
				return slow{90 * time.Second, nil}
			}
			return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}}}
		}, "qa": failing("db_build", 1)}).play(t)
		require.NoError(t, p.err)
		var reviewed []string
		for _, e := range p.events(t, director.EventSuggestionReviewed) {
			reviewed = append(reviewed, e.Who+" "+e.On+" "+e.Text)
		}
		assert.Equal(t, []string{"more1 rejected not approved", "more2 approved "}, reviewed)
		p.is(t, "more2 COMPLETE")
		assert.Len(t, p.of("review"), 2)
	})
	t.Run("B44 BX27 suggestions that the budget keeps from being reviewed are kept", func(t *testing.T) {
		r := done("db_build", 1)
		r.Suggested = []director.Suggestion{{TaskPlan: plan("more", "document")}}
		s := one(roles{"work": wants("db_build", r)})
		s.cfg.Limits.Calls = 1
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Len(t, p.task(t, "db_build").Suggested, 1)
		assert.Empty(t, p.out.Warnings)
		assert.Empty(t, p.events(t, director.EventSuggestionReviewed))
	})
}
