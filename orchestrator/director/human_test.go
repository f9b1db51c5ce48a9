package director_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// hopeless is a case in which all reviews of db_build fail up to an attempt, and a person
// answers.
func hopeless(attempts int, answers map[string]any) script {
	s := one(map[string]func(asked) any{"qa": failing("db_build", attempts)})
	s.cfg.Policy.ReturnWhenWaiting = false
	s.cfg.Policy.Retry.Attempts = 1
	s.reply = answers
	return s
}

func TestPeople(t *testing.T) {
	t.Parallel()
	t.Run("BX26 retry, with guidance, from zero", func(t *testing.T) {
		s := hopeless(1, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry, Guidance: "use ISO dates"}})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA WAITING_HUMAN READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "db_build"))
		assert.Zero(t, p.task(t, "db_build").RetryCount)
		assert.Equal(t, 2, p.task(t, "db_build").Attempt, "BC60")
		memory := p.last(t, "db_build").req.History
		require.Len(t, memory, 2)
		assert.Equal(t, providers.System, memory[0].Role)
		assert.Contains(t, memory[1].Text, "use ISO dates")
		assert.Len(t, p.events(t, director.EventAttemptReset), 1)
	})
	t.Run("BX26 BC45 an answer waits for what the task needs, and is carried out once", func(t *testing.T) {
		s := hopeless(2, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry}, "ask/db_build/2": director.Answer{Action: director.ActionRetry}})
		qa := s.roles["qa"]
		s.roles["qa"] = func(a asked) any {
			if a.task == "db_build" && a.attempt == 1 {
				r := fail(a.req)
				r.PlanWrong = true
				return r
			}
			return qa(a)
		}
		s.roles["work"] = func(a asked) any {
			if a.task == "slow_plan" {
				return slow{5 * time.Minute, nil}
			}
			return nil
		}
		s.roles["replan"] = func(asked) any {
			return director.Replan{
				Abandon: []director.AbandonPlan{{ID: "gone_plan"}}, Edit: []director.TaskEdit{{ID: "db_build", AddNeeds: []string{"slow_plan", "gone_plan"}}},
			}
		}
		s.in.Tasks = append(s.in.Tasks, define("slow_plan"), define("gone_plan", "slow_plan"))
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, slow_plan COMPLETE, gone_plan ABANDONED")
		assert.Equal(t, []string{"slow_plan"}, p.task(t, "db_build").DependsOn, "what was abandoned is no longer needed")
		assert.Len(t, p.events(t, director.EventHumanAsked), 2)
		var order []string
		for _, e := range p.events(t, director.EventTaskMoved) {
			if e.To == string(blackboard.Active) || e.Task == "slow_plan" && e.To == string(blackboard.Complete) {
				order = append(order, e.Task+" "+e.To)
			}
		}
		assert.Equal(t, []string{"slow_plan ACTIVE", "db_build ACTIVE", "slow_plan COMPLETE", "db_build ACTIVE", "db_build ACTIVE"}, order)
	})
	t.Run("BX26 BA89 a worker whose question is answered continues: the attempt before has failed, not its own", func(t *testing.T) {
		s := one(roles{
			"qa": failing("db_build", 1),
			"work": func(a asked) any {
				if a.attempt != 2 {
					return nil
				}
				return director.WorkerResult{
					Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"},
					Checkpoint: &director.CheckpointPlan{Resume: "write the handler"},
				}
			},
			"escalate": always(director.Resolution{}),
		}).replied(map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry, Guidance: "8080"}})
		p := s.play(t)
		require.NoError(t, p.err)
		last := p.last(t, "db_build")
		require.NotNil(t, workInput(last).Checkpoint)
		assert.Equal(t, "write the handler", workInput(last).Checkpoint.Resume)
		memory := last.req.History
		assert.Contains(t, memory[0].Text, "Attempt 1 at this task has failed")
		assert.Contains(t, memory[len(memory)-2].Text, "which port?")
		assert.Contains(t, memory[len(memory)-1].Text, "8080")
		assert.Len(t, p.events(t, director.EventAttemptReset), 1)
	})
	t.Run("BX26 B78 a task whose last attempt has failed begins anew, whatever an earlier one has left", func(t *testing.T) {
		s := one(roles{"work": func(a asked) any {
			switch a.attempt {
			case 1:
				return escalates("db_build", director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"})(a)
			case 2:
				return errors.New("boom")
			}
			return nil
		}, "escalate": always(director.Resolution{Resolved: true})}).under(once).replied(map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry}})
		p := s.play(t)
		require.NoError(t, p.err)
		last := p.last(t, "db_build")
		assert.Nil(t, workInput(last).Checkpoint)
		require.Len(t, last.req.History, 1)
		assert.Contains(t, last.req.History[0].Text, "Attempt 2 at this task has failed")
	})
	t.Run("BX26 edit", func(t *testing.T) {
		p := hopeless(1, map[string]any{"ask/db_build/1": director.Answer{
			Action: director.ActionEdit, Criteria: []string{"dates are text"}, Spec: map[string]json.RawMessage{"db": json.RawMessage(`"text"`)},
		}}).play(t)
		require.NoError(t, p.err)
		in := workInput(p.last(t, "db_build"))
		assert.Equal(t, []string{"dates are text"}, in.Task.Criteria)
		assert.JSONEq(t, `"text"`, string(in.Spec["db"]))
	})
	t.Run("BX26 BC55 accept takes what was delivered", func(t *testing.T) {
		s := hopeless(9, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionAccept}})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA WAITING_HUMAN READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "db_build"))
		assert.Len(t, p.of("work"), 1, "no worker")
		assert.Len(t, p.of("qa"), 1, "no further review")
		assert.Equal(t, "db_build by attempt 1", p.out.Files["artifacts/db_build.md"])
		assert.Equal(t, 1, p.task(t, "db_build").Attempt)
		var by []string
		for _, e := range p.events(t, director.EventTaskMoved) {
			if e.On == "pass" {
				by = append(by, e.Who)
			}
		}
		assert.Equal(t, []string{"human"}, by)
		assert.Len(t, p.task(t, "db_build").QA.Criteria, 1, "as they were reviewed")
	})
	t.Run("BX25 BX26 who is asked about work that was not judged learns what the answers do", func(t *testing.T) {
		s := hopeless(0, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionAccept}})
		s.roles["qa"] = func(asked) any { return errors.New("the disk is full") }
		p := s.play(t)
		require.NoError(t, p.err)
		asked := p.events(t, director.EventHumanAsked)
		require.Len(t, asked, 1)
		assert.Equal(t, "Task db_build waits for a person: it could not be reviewed: the disk is full\n"+
			"Its work is kept. Once the cause is mended, accept has it merged without another review; retry has the task done again.", asked[0].Text)
		assert.Equal(t, "db_build by attempt 1", p.out.Files["artifacts/db_build.md"])
	})
	t.Run("BC72 accept is offered only where there is something to accept", func(t *testing.T) {
		offered := func(t *testing.T, p played) (all [][]string) {
			t.Helper()
			for _, rec := range p.log {
				if rec.Kind == runlog.Asked {
					var q struct {
						Options []string `json:"options"`
					}
					require.NoError(t, json.Unmarshal(rec.Data, &q))
					all = append(all, q.Options)
				}
			}
			return all
		}
		nothing := one(map[string]func(asked) any{"work": first(errors.New("boom"))})
		nothing.cfg.Policy.Retry.Attempts = 1
		nothing = nothing.replied(map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry}})
		p := nothing.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, [][]string{{"retry", "edit", "abandon", "abandon_branch"}}, offered(t, p))
		p = hopeless(1, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry}}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, [][]string{{"retry", "edit", "accept", "abandon", "abandon_branch"}}, offered(t, p))

		nothing.cfg.Policy.ReturnWhenWaiting, nothing.reply = true, nil
		p = nothing.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		again := p.from(nothing)
		again.in.Answers = map[string]director.Answer{"db_build": {Action: director.ActionAccept}}
		p = again.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.True(t, p.warned("answer"))
		assert.Empty(t, p.of("work"))
	})
	t.Run("BX26 abandon", func(t *testing.T) {
		s := hopeless(9, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionAbandonBranch, Guidance: "not needed"}})
		s.in.Tasks = append(s.in.Tasks, define("db_test", "db_build"), define("api_plan"))
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, db_test ABANDONED, api_plan COMPLETE")
		assert.Equal(t, orchestrator.Completed, p.out.Status, "BC55: by decision")
		assert.Equal(t, "not needed", p.task(t, "db_test").Reason)
	})
	t.Run("BC45 an answer that does not fit is asked for again", func(t *testing.T) {
		p := hopeless(1, map[string]any{
			"ask/db_build/1":   director.Answer{Action: director.ActionEdit},
			"ask/db_build/1-2": director.Answer{Action: director.ActionEdit, Criteria: []string{" "}},
			"ask/db_build/1-3": director.Answer{Action: director.ActionRetry},
		}).play(t)
		require.NoError(t, p.err)
		asked := p.events(t, director.EventHumanAsked)
		require.Len(t, asked, 3)
		assert.Contains(t, asked[1].Text, `criteria and spec are empty`)
		for i, key := range []string{"ask/db_build/1", "ask/db_build/1-2", "ask/db_build/1-3"} {
			assert.Equal(t, key, asked[i].On)
			assert.Equal(t, key, p.events(t, director.EventHumanAnswered)[i].On)
		}
	})
	t.Run("BX25 nobody answers in time", func(t *testing.T) {
		s := hopeless(9, nil)
		s.cfg.Bounds.HumanTime = time.Hour
		s.in.Tasks = append(s.in.Tasks, define("api_plan"))
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, time.Hour, p.out.Elapsed.Round(time.Second))
		assert.True(t, p.warned("silence"))
		p.is(t, "db_build WAITING_HUMAN, api_plan COMPLETE")
		s.cfg.Policy.OnSilence = "abandon"
		p = s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED")
		assert.Equal(t, orchestrator.Partial, p.out.Status, "BC55: given up")
	})
	t.Run("BX25 B41 BC45 late, double and unknown answers", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			cfg := config()
			cfg.Policy.Retry.Attempts, cfg.Policy.NoTestPlaceholders = 1, true
			flow, err := director.New(cfg)
			require.NoError(t, err)
			roster := agent.Roster{}
			for _, name := range flow.Agents {
				roster[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
					a := read(name, req)
					if a.op == director.OpQA && a.task == "db_build" && a.attempt == 1 {
						return respond(ctx, req, fail(req))
					}
					return respond(ctx, req, good(a))
				})
			}
			engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			run, err := flow.Start(t.Context(), engine, director.Input{Objective: "x", Tasks: []blackboard.Definition{define("db_build"), define("db_test", "db_build")}}, orchestrator.StartOptions{})
			require.NoError(t, err)
			for _, err := range run.Events(t.Context(), 0) {
				require.NoError(t, err)
				info, err := run.Info(t.Context())
				require.NoError(t, err)
				if len(info.Questions) > 0 {
					assert.Equal(t, "ask/db_build/1", info.Questions[0].Key)
					var s director.State
					require.NoError(t, run.State(t.Context(), &s), "B41")
					assert.Equal(t, director.Working, s.Phase)
					assert.Equal(t, []string{"ask/db_build/1"}, s.Asked)
					assert.Empty(t, s.Ready)
					assert.Empty(t, s.Active)
					assert.Equal(t, []director.BlockedTask{{ID: "db_test", Reason: *s.Board.Tasks[1].Blocked}}, s.Blocked)
					assert.Empty(t, s.Board.Memories)
					break
				}
			}
			err = run.Answer(t.Context(), "ask/db_build/1", director.Answer{Action: director.ActionProvided})
			require.ErrorIs(t, err, orchestrator.ErrMalformed, "N12")
			require.ErrorContains(t, err, `action is "provided", want one of "retry", "edit", "accept", "abandon", "abandon_branch"`)
			retry := director.Answer{Action: director.ActionRetry}
			require.NoError(t, run.Answer(t.Context(), "ask/db_build/1", retry))
			require.ErrorIs(t, run.Answer(t.Context(), "ask/db_build/1", director.Answer{Action: director.ActionAbandon}), orchestrator.ErrAnswered)
			out, err := flow.Result(t.Context(), run)
			require.NoError(t, err)
			assert.Equal(t, orchestrator.Completed, out.Status)
			var last director.State
			require.NoError(t, run.State(t.Context(), &last))
			assert.Equal(t, director.Completed, last.Phase)
			assert.Empty(t, last.Asked)
			require.Error(t, run.Answer(t.Context(), "ask/db_build/2", retry))
			require.NoError(t, engine.Close(t.Context()))
		})
	})
	t.Run("BC55 ReturnWhenWaiting, and another run goes on with the answer", func(t *testing.T) {
		s := hopeless(1, nil)
		s.cfg.Policy.ReturnWhenWaiting = true
		s.in.Tasks = append(s.in.Tasks, define("db_test", "db_build"))
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Empty(t, p.events(t, director.EventHumanAsked))
		assert.Empty(t, p.of("replan"), "a person can help")
		s.in = director.Input{Board: p.out.Board, Files: p.out.Files, Drafts: p.out.Drafts, Answers: map[string]director.Answer{"db_build": {Action: director.ActionRetry}}}
		p = s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, db_test COMPLETE")
		assert.Equal(t, 2, p.task(t, "db_build").Attempt)
	})
	t.Run("N12 an answer of the input for a task that the board does not have is refused, for one that is done it is a warning", func(t *testing.T) {
		s := one(nil)
		s = s.play(t).from(s)
		s.in.Answers = map[string]director.Answer{"db_build": {Action: director.ActionRetry}}
		p := s.play(t)
		require.NoError(t, p.err)
		require.Len(t, p.out.Warnings, 1)
		assert.Equal(t, orchestrator.Warning{Code: "director/answer", Who: "db_build", Message: "it waits for no answer any more: it is COMPLETE"}, p.out.Warnings[0])
		s.in.Answers["nobody"] = director.Answer{Action: director.ActionRetry}
		p = s.play(t)
		require.ErrorIs(t, p.err, director.ErrInput)
		require.ErrorContains(t, p.err, `answers["nobody"]: the board has no such task`)
	})
	t.Run("N12 an answer of the input whose task waits no more is a warning, and who gave them is on record", func(t *testing.T) {
		s := one(roles{"work": func(a asked) any { return errors.New("boom") }}).also(define("orm_build"))
		s.cfg.Policy.ReturnWhenWaiting, s.cfg.Policy.Retry.Attempts = true, 1
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		b := p.out.Board
		for i := range b.Tasks { // it waits for a person itself, and needs db_build
			if b.Tasks[i].ID == "orm_build" {
				b.Tasks[i].DependsOn = []string{"db_build"}
			}
		}
		s.in = director.Input{
			Board: b, Files: p.out.Files, Drafts: p.out.Drafts,
			Answers: map[string]director.Answer{
				"db_build": {Action: director.ActionAbandonBranch}, "orm_build": {Action: director.ActionRetry},
			},
			AnsweredBy: map[string]string{"db_build": "ann"},
		}
		p = s.play(t)
		require.ErrorIs(t, p.err, director.ErrNothingDone)
		p.is(t, "db_build ABANDONED, orm_build ABANDONED")
		assert.True(t, p.warned("answer"))
		answered := p.events(t, director.EventHumanAnswered)
		require.Len(t, answered, 1)
		assert.Equal(t, director.Event{Event: team.Event{Who: "ann", Text: director.ActionAbandonBranch}, Task: "db_build"}, answered[0])
		s.in.AnsweredBy["other"] = "ann"
		p = s.play(t)
		require.ErrorIs(t, p.err, director.ErrInput)
	})
	t.Run("BC53 another run goes on where the tasks were", func(t *testing.T) {
		s := one(nil)
		s.in.Tasks = append(s.in.Tasks, define("api_plan"), define("old_plan"))
		s.cfg.Bounds.Parallel = 1
		s.cfg.Limits.Calls = 3 // old_plan is complete, api_plan delivered
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "api_plan COMPLETE, old_plan AWAITING_QA, db_build READY")
		b := p.out.Board
		b.Tasks[1].Profile = "painter" // a profile that the team had once
		b.Tasks[0].Status, b.Tasks[0].Attempt = blackboard.Active, 1
		s.in = director.Input{Board: b, Objective: "Build a Todo Board", Files: p.out.Files, Drafts: p.out.Drafts, Tasks: []blackboard.Definition{define("more_build")}}
		s.cfg.Limits.Calls, s.cfg.Policy.NoTestPlaceholders = 0, false
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, map[blackboard.State]int{blackboard.Complete: 4}, p.out.Summary)
		assert.Len(t, p.of("work"), 2, "of db_build and more_build")
		var in director.ReviewInput
		decode(p.of("qa")[0].req.Input, &in)
		assert.Equal(t, "old_plan by attempt 1", in.Artifact.Text)
		assert.Equal(t, "Build a Todo Board", in.Objective)
		assert.Len(t, p.out.Files, 4)
		assert.Zero(t, p.task(t, "db_build").RetryCount)
		assert.Equal(t, 2, p.task(t, "db_build").Attempt)
	})
	t.Run("BC53 a failure that the old run had not followed up", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 1)})
		s.cfg.Policy.Retry.Attempts = 1
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		task := &p.out.Board.Tasks[0]
		task.Status = blackboard.FailedQA
		s.in, s.cfg.Policy.Retry.Attempts = director.Input{Board: p.out.Board, Drafts: p.out.Drafts}, 2
		again := s.play(t)
		require.NoError(t, again.err)
		assert.Contains(t, again.last(t, "db_build").req.History[0].Text, "the rule on dates is missing")
		for kind, why := range map[blackboard.FailureKind]string{blackboard.MergeConflict: "no attempt is left, and the last merge failed: ", blackboard.NoReview: ""} {
			task.QA.Kind, task.ConflictCount = kind, 4
			again = s.play(t)
			require.ErrorIs(t, again.err, director.ErrWaiting)
			assert.Equal(t, why+"the rule on dates is missing", again.task(t, "db_build").Reason)
		}
	})
}

func TestAbandonment(t *testing.T) {
	t.Parallel()
	// cut abandons api_plan: its only review fails, a person gives it up.
	cut := func(cfg director.Config, review func(asked) any) script {
		cfg.Policy.NoTestPlaceholders, cfg.Policy.Retry.Attempts = true, 1
		return script{cfg: cfg, in: director.Input{Tasks: seven()}, reply: map[string]any{
			"ask/api_plan/1": director.Answer{Action: director.ActionAbandon, Guidance: "no API"},
		}, roles: map[string]func(asked) any{"qa": failing("api_plan", 9), "review": review}}
	}
	t.Run("BA83 BC43 B102 the director answers nobody", func(t *testing.T) {
		p := cut(director.Config{}, nil).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		p.is(t, "api_plan ABANDONED, api_build BLOCKED, views_plan BLOCKED, views_build BLOCKED, db_test COMPLETE")
		assert.Equal(t, []string{"api_build", "views_plan", "views_build"}, p.out.Pending)
		assert.Empty(t, p.out.Drafts)
		assert.Equal(t, blackboard.ByAbandoned, p.task(t, "api_build").Blocked.Type)
		assert.Equal(t, blackboard.ByDependency, p.task(t, "views_build").Blocked.Type)
		require.Len(t, p.of("review"), 1)
		var in director.ChangeInput
		decode(p.of("review")[0].req.Input, &in)
		assert.Equal(t, []string{"api_build", "views_plan"}, in.Dependents)
		assert.Equal(t, "no API", in.Abandoned)
	})
	t.Run("BA84 the director answers api_build", func(t *testing.T) {
		p := cut(director.Config{}, func(asked) any { return director.ChangeReview{CanProceed: []string{"api_build"}} }).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		assert.Equal(t, []string{"db_build"}, p.task(t, "api_build").DependsOn)
		p.is(t, "api_build COMPLETE, views_plan BLOCKED")
		assert.Equal(t, blackboard.ByAbandoned, p.task(t, "views_plan").Blocked.Type)
	})
	t.Run("BC43 block asks nobody, and rubbish blocks", func(t *testing.T) {
		p := cut(director.Config{Policy: director.Policy{OnAbandoned: "block"}}, nil).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		assert.Empty(t, p.of("review"))
		p = cut(director.Config{}, func(asked) any { return "rubbish" }).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		p.is(t, "api_build BLOCKED")
		assert.True(t, p.warned("dependents"))
	})
	// overtaken is a run whose re-plan, after three minutes, abandons api_plan while it is
	// worked on.
	overtaken := func(more ...director.AbandonPlan) script {
		return script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("api_plan")}}, roles: map[string]func(asked) any{
			"qa": failing("db_build", 3),
			"work": func(a asked) any {
				if a.task == "api_plan" {
					return slow{9 * time.Minute, nil}
				}
				return slow{time.Minute, nil}
			},
			"replan": func(asked) any {
				return director.Replan{Abandon: append(more, director.AbandonPlan{ID: "api_plan", Reason: "no API"})}
			},
		}}
	}
	t.Run("BA85 BX16 BX18 a task that is worked on", func(t *testing.T) {
		s := overtaken()
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, api_plan ABANDONED")
		assert.Less(t, p.out.Elapsed, 5*time.Minute, "nobody waits for it")
		assert.NotContains(t, p.out.Files, "artifacts/api_plan.md")
		require.Len(t, p.events(t, director.EventResultDropped), 1)
		assert.Equal(t, 1, p.events(t, director.EventResultDropped)[0].Attempt)
		assert.Equal(t, p.at(t, director.EventRunReplanned), p.at(t, director.EventResultDropped), "its worker is stopped at once")
	})
	t.Run("BX27 without money for the re-plan, the worker may finish", func(t *testing.T) {
		s := overtaken()
		s.cfg.Limits.Calls = 7 // three attempts with their reviews, and the worker
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "db_build READY, api_plan AWAITING_QA")
	})
	t.Run("BX16 whatever is under way for it is canceled at once", func(t *testing.T) {
		never := slow{9 * time.Minute, nil}
		for name, roles := range map[string]map[string]func(asked) any{
			"its work": {},
			"its review": {
				"work": func(a asked) any { return slow{time.Minute, nil} },
				"qa": func(a asked) any {
					if a.task == "api_plan" {
						return never
					}
					return failing("db_build", 3)(a)
				},
			},
			"its question": {
				"work": func(a asked) any {
					if a.task == "api_plan" {
						return director.WorkerResult{Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"}}
					}
					return slow{time.Minute, nil}
				},
				"escalate": func(asked) any { return director.Resolution{} },
			},
		} {
			s := overtaken(director.AbandonPlan{ID: "db_build"})
			s.cfg.Policy.ReturnWhenWaiting, s.cfg.Bounds.HumanTime = false, time.Hour
			maps.Copy(s.roles, roles)
			p := s.play(t)
			require.ErrorIs(t, p.err, director.ErrNothingDone, name)
			assert.Equal(t, 3*time.Minute, p.out.Elapsed.Round(time.Second), name)
			assert.Empty(t, p.out.Drafts)
		}
	})
	t.Run("BX16 BX18 what comes in the moment in which it is abandoned is dropped", func(t *testing.T) {
		for _, first := range []any{
			nil, "rubbish",
			agent.Response{More: true, Messages: messages(1)},
			director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}}},
		} {
			s := overtaken()
			work := s.roles["work"]
			s.roles["work"] = func(a asked) any {
				if a.task == "api_plan" {
					return slow{3 * time.Minute, first}
				}
				return work(a)
			}
			p := s.play(t)
			require.NoError(t, p.err)
			p.is(t, "db_build COMPLETE")
			c, _ := s.open(t)
			c.Determinism(t)
		}
	})
	t.Run("BX16 its worktree and branch are removed when its worker has ended", func(t *testing.T) {
		s := overtaken()
		maps.Copy(s.roles, forks())
		s.cfg.Agents.Worktree = "worktree"
		var ended atomic.Bool
		work := s.roles["work"]
		s.roles["work"] = func(a asked) any {
			if a.task != "api_plan" {
				return work(a)
			}
			return func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				<-ctx.Done()
				ended.Store(true)
				return agent.Response{}, context.Cause(ctx)
			}
		}
		s.roles[director.OpRemove] = func(a asked) any {
			assert.True(t, ended.Load() || !strings.Contains(string(a.req.Input), "api_plan"))
			return struct{}{}
		}
		p := s.play(t)
		require.NoError(t, p.err)
		removed, committed := -1, -1
		for i, a := range p.asked {
			var in director.RemoveRequest
			if a.op == director.OpRemove {
				decode(a.req.Input, &in)
				if in.Trees[0].Task == "api_plan" && in.Branches {
					removed = i
				}
			}
			if a.op == director.OpCommit {
				committed = i
			}
		}
		assert.Positive(t, removed)
		assert.Less(t, removed, committed, "before db_build delivers, not at the end of the run")
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	t.Run("BX1 BC55 canceled", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			cfg := config()
			cfg.Policy.NoTestPlaceholders = true
			flow, err := director.New(cfg)
			require.NoError(t, err)
			roster := agent.Roster{}
			for _, name := range flow.Agents {
				roster[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
					a := read(name, req)
					if a.task == "api_plan" {
						return respond(ctx, req, slow{time.Hour, good(a)})
					}
					return respond(ctx, req, good(a))
				})
			}
			engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := flow.Run(ctx, engine, director.Input{Objective: "x", Tasks: []blackboard.Definition{define("db_build"), define("api_plan")}})
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.Equal(t, orchestrator.Canceled, out.Status)
			assert.Equal(t, director.Canceled, out.End)
			assert.Equal(t, map[blackboard.State]int{blackboard.Complete: 1, blackboard.Ready: 1}, out.Summary)
			assert.Zero(t, out.Board.Tasks[1].RetryCount)
			assert.Equal(t, "canceled", out.Board.Tasks[1].Reason)
			require.NoError(t, engine.Close(t.Context()))
		})
	})
	t.Run("BC55 nothing is done", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 9)})
		s.cfg.Policy.Retry.Attempts, s.cfg.Policy.GiveUp = 1, true
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrNothingDone)
		assert.Equal(t, director.Completed, p.out.End)
		assert.Equal(t, orchestrator.Failed, p.out.Status)
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA ABANDONED", p.states(t, "db_build"), "BA24")
	})
	t.Run("BX29 agents fail again and again", func(t *testing.T) {
		tasks := []blackboard.Definition{define("a_plan"), define("b_plan"), define("c_plan"), define("d_plan")}
		s := script{cfg: bare(), in: director.Input{Tasks: tasks}, roles: map[string]func(asked) any{"work": func(a asked) any {
			if a.attempt == 1 {
				return slow{time.Second, errors.New("down")}
			}
			return slow{time.Minute, nil}
		}}}
		s.cfg.Policy.Retry.Attempts, s.cfg.Bounds.Parallel = 2, 4
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, director.Waiting, p.out.End)
		require.Len(t, p.out.Warnings, 1, "not one for each further failure")
		assert.Equal(t, "director/outage", p.out.Warnings[0].Code)
		for _, d := range tasks {
			assert.Zero(t, p.task(t, d.ID).RetryCount, "nobody loses a retry")
		}
		s.cfg.Policy.ReturnWhenWaiting = false
		s.reply = map[string]any{"ask/run/1": director.Answer{Action: director.ActionRetry}}
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		work := s.roles["work"]
		s.roles["work"] = func(a asked) any {
			if a.task == "a_plan" && a.attempt == 2 {
				return slow{time.Second, errors.New("down")}
			}
			return work(a)
		}
		require.NoError(t, s.play(t).err, "after a pause failures are counted anew")
		s.roles["work"] = func(a asked) any {
			if a.attempt == 2 {
				return slow{time.Second, errors.New("down")}
			}
			return work(a)
		}
		s.reply["ask/run/2"] = director.Answer{Action: director.ActionRetry}
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.events(t, director.EventHumanAsked), 2)
		s.reply = map[string]any{"ask/run/1": director.Answer{Action: director.ActionStop}}
		p = s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
	})
	t.Run("BX29 failures in a row: one that works ends it", func(t *testing.T) {
		for name, third := range map[string]any{
			"a pause":   director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}}},
			"a refusal": director.WorkerResult{Status: director.StatusFailed, Summary: "I cannot"},
			"a review":  nil,
			"a failure": errors.New("down"),
		} {
			order := map[string]time.Duration{"a_plan": 1, "b_plan": 2, "c_plan": 3, "d_plan": 4}
			s := script{cfg: bare(), roles: map[string]func(asked) any{"work": func(a asked) any {
				switch {
				case a.attempt > 1 || order[a.task] == 0:
					return slow{time.Minute, nil}
				case a.task == "c_plan" && third == nil:
					return slow{3 * time.Second, nil}
				case a.task == "c_plan":
					return slow{3 * time.Second, third}
				}
				return slow{order[a.task] * time.Second, errors.New("down")}
			}}}
			s.in.Tasks = []blackboard.Definition{define("a_plan"), define("b_plan"), define("c_plan"), define("d_plan")}
			s.cfg.Bounds.Parallel = 4
			assert.Equal(t, name == "a failure", s.play(t).warned("outage"), name)
		}
	})
	t.Run("BX29 BX19 reviews that fail count, too, and one that comes ends the row", func(t *testing.T) {
		for third, want := range map[string]bool{"rubbish": true, "pass": false, "fail": false} {
			order := map[string]time.Duration{"a_plan": 1, "b_plan": 2, "c_plan": 9, "d_plan": 3}
			s := script{cfg: bare(), roles: map[string]func(asked) any{"qa": func(a asked) any {
				answer := any("rubbish")
				switch {
				case a.task == "c_plan" && third == "pass":
					answer = nil
				case a.task == "c_plan" && third == "fail":
					answer = fail(a.req)
				}
				return slow{order[a.task] * time.Second, answer}
			}}}
			s.in.Tasks = []blackboard.Definition{define("a_plan"), define("b_plan"), define("c_plan"), define("d_plan")}
			s.cfg.Bounds.Parallel, s.cfg.Policy.Retry.Attempts = 4, 1
			p := s.play(t)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			assert.Equal(t, want, p.warned("outage"), third)
		}
	})
	t.Run("BX27 BC55 an attempt that the end of the money cuts while its answer is carried out is given back", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": escalates("db_build", director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"})})
		s.cfg.Limits.Calls = 1
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "db_build READY")
		assert.Zero(t, p.task(t, "db_build").RetryCount)
	})
	t.Run("BX29 a retry is given back once, and only one that the row has cost", func(t *testing.T) {
		for _, paused := range []bool{false, true} {
			order := map[string]time.Duration{"a_plan": 1, "b_plan": 2, "c_plan": 3, "d_plan": 4, "e_plan": 5}
			s := script{cfg: bare(), roles: map[string]func(asked) any{"work": func(a asked) any {
				switch {
				case paused && a.task == "b_plan" && a.attempt == 1: // which ends the row that a_plan has begun
					return slow{2 * time.Second, director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}}}}
				case !paused && a.task == "a_plan" && a.attempt == 1: // its review fails, which is no outage
					return nil
				case !paused && a.task == "a_plan" && a.attempt == 2, a.attempt == 1 && order[a.task] > 0:
					return slow{order[a.task] * time.Second, errors.New("down")}
				}
				return slow{time.Minute, nil}
			}, "qa": failing("a_plan", 1)}}
			s.in.Tasks = []blackboard.Definition{define("a_plan"), define("b_plan"), define("c_plan"), define("d_plan"), define("e_plan")}
			s.cfg.Bounds.Parallel = 5
			p := s.play(t)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			assert.True(t, p.warned("outage"))
			assert.Equal(t, 1, p.task(t, "a_plan").RetryCount)
			assert.Zero(t, p.task(t, "c_plan").RetryCount)
		}
	})
	t.Run("BX29 BX26 a task that a person has let begin anew has no retry to give back", func(t *testing.T) {
		order := map[string]time.Duration{"a_plan": 1, "b_plan": 2, "c_plan": 3}
		s := script{roles: map[string]func(asked) any{"work": func(a asked) any {
			if a.attempt == 1 {
				return slow{order[a.task] * time.Second, errors.New("down")}
			}
			return slow{time.Minute, nil}
		}}, reply: map[string]any{"ask/run/1": director.Answer{Action: director.ActionRetry}}}
		for _, id := range slices.Sorted(maps.Keys(order)) {
			s.in.Tasks = append(s.in.Tasks, define(id))
			s.reply["ask/"+id+"/1"] = director.Answer{Action: director.ActionRetry}
		}
		s.cfg.Policy.Retry.Attempts = 1
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	t.Run("BX27 without money no person is asked, and none is waited for", func(t *testing.T) {
		s := hopeless(9, nil)
		s.in.Tasks = append(s.in.Tasks, define("api_plan"))
		s.roles["work"] = func(a asked) any {
			if a.task == "api_plan" {
				return slow{time.Minute, nil}
			}
			return nil
		}
		for _, calls := range []int64{2, 3} { // both work, and one is reviewed; of three calls a person is asked before the money ends
			s.cfg.Limits.Calls, s.cfg.Bounds.HumanTime = calls, time.Hour
			p := s.play(t)
			require.ErrorIs(t, p.err, orchestrator.ErrBudget)
			assert.Less(t, p.out.Elapsed, 2*time.Minute)
			assert.Equal(t, director.BudgetExhausted, p.out.End)
			assert.Len(t, p.events(t, director.EventHumanAsked), int(calls)-2)
		}
	})
	t.Run("BC55 all is done, and the budget allows no more", func(t *testing.T) {
		r := done("db_build", 1)
		r.Suggested = []director.Suggestion{{TaskPlan: plan("more", "build")}}
		s := one(map[string]func(asked) any{"work": wants("db_build", r)})
		s.cfg.Limits.Calls = 2
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
}

func TestAnswersOfPeople(t *testing.T) {
	t.Parallel()
	t.Run("BX26 what is accepted is dispatched as the attempt that it was", func(t *testing.T) {
		p := hopeless(9, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionAccept}}).play(t)
		var attempts []int
		for _, e := range p.events(t, director.EventTaskDispatched) {
			attempts = append(attempts, e.Attempt)
		}
		assert.Equal(t, []int{1, 1}, attempts)
	})
	t.Run("BX26 a part of an answer that cannot be used is a warning", func(t *testing.T) {
		p := hopeless(1, map[string]any{"ask/db_build/1": director.Answer{
			Action: director.ActionEdit, Criteria: []string{"dates are text"}, Spec: map[string]json.RawMessage{" ": json.RawMessage(`1`)},
		}}).play(t)
		require.NoError(t, p.err)
		assert.True(t, p.warned("answer"))
		assert.Equal(t, []string{"dates are text"}, p.task(t, "db_build").Criteria)
	})
	t.Run("BC45 criteria of an answer must say something, and requirements alone are an edit", func(t *testing.T) {
		p := hopeless(1, map[string]any{
			"ask/db_build/1":   director.Answer{Action: director.ActionEdit, Criteria: []string{"dates are text", " "}},
			"ask/db_build/1-2": director.Answer{Action: director.ActionEdit, Spec: map[string]json.RawMessage{"db": json.RawMessage(`"text"`)}},
		}).play(t)
		require.NoError(t, p.err)
		asked := p.events(t, director.EventHumanAsked)
		require.Len(t, asked, 2)
		assert.Contains(t, asked[1].Text, "criteria[1] is empty")
	})
	t.Run("BX26 BX25 a task that waits for others is abandoned at once, and who needed it before is not asked about", func(t *testing.T) {
		s := hopeless(9, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionAbandon}})
		qa := s.roles["qa"]
		s.roles["qa"] = func(a asked) any {
			if a.task != "db_build" {
				return qa(a)
			}
			r := fail(a.req)
			r.PlanWrong = true
			return r
		}
		s.roles["work"] = func(a asked) any {
			if a.task == "slow_plan" {
				return slow{5 * time.Minute, nil}
			}
			return nil
		}
		s.roles["replan"] = always(director.Replan{
			Edit: []director.TaskEdit{{ID: "db_build", AddNeeds: []string{"slow_plan"}}}, Abandon: []director.AbandonPlan{{ID: "gone_test"}},
		})
		p := s.also(define("slow_plan"), define("gone_test", "db_build")).play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, slow_plan COMPLETE, gone_test ABANDONED")
		var order []string
		for _, e := range p.events(t, director.EventTaskMoved) {
			if e.To == string(blackboard.Abandoned) || e.To == string(blackboard.Complete) {
				order = append(order, e.Task)
			}
		}
		assert.Equal(t, []string{"gone_test", "db_build", "slow_plan"}, order)
		assert.Empty(t, p.of("review"))
	})
	t.Run("BC55 BX27 the director who decides about dependents cannot be paid: nothing is abandoned", func(t *testing.T) {
		s := one(roles{
			"work":     escalates("db_build", director.EscalationRequest{Type: "NEEDS_REPLANNING", Reason: "r"}),
			"escalate": always(director.Resolution{Abandon: true}),
		}).also(define("db_test", "db_build"))
		s.cfg.Limits.Calls = 2
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "db_build READY")
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("BC53 answers for a board must fit, and a spec must have names", func(t *testing.T) {
		p := hopeless(9, nil).under(func(cfg *director.Config) { cfg.Policy.ReturnWhenWaiting = true }).play(t)
		s := p.from(one(nil))
		s.in.Answers = map[string]director.Answer{"db_build": {Action: director.ActionProvided}}
		again := s.play(t)
		require.ErrorIs(t, again.err, director.ErrInput)
		require.ErrorContains(t, again.err, `answers["db_build"]: action is "provided"`)
		s = p.from(one(nil))
		s.in.Spec = map[string]json.RawMessage{" ": json.RawMessage(`1`)}
		require.ErrorIs(t, s.play(t).err, director.ErrInput)
	})
	t.Run("BC53 a board without the text that a person has accepted", func(t *testing.T) {
		p := hopeless(9, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionAccept}}).also(define("api_plan")).under(func(cfg *director.Config) { cfg.Limits.Calls = 4 }).play(t)
		require.NoError(t, p.err)
		p.out.Board.Tasks[0].Status, p.out.Board.Tasks[0].Accepted = blackboard.Ready, true
		require.ErrorContains(t, p.from(one(nil)).play(t).err, `drafts has no "db_build"`)
	})
}

func TestOutages(t *testing.T) {
	t.Parallel()
	four := func(work func(asked) any) script {
		s := one(roles{"work": work})
		s.in.Tasks, s.cfg.Bounds.Parallel = nil, 4
		return s.also(define("a_plan"), define("b_plan"), define("c_plan"), define("d_plan"))
	}
	down := func(a asked) any {
		if a.task == "d_plan" {
			return slow{9 * time.Minute, nil}
		}
		if a.attempt > 1 {
			return slow{time.Minute, nil}
		}
		return slow{map[string]time.Duration{"a_plan": 1, "b_plan": 2, "c_plan": 3}[a.task] * time.Second, fmt.Errorf("down at %s", a.task)}
	}
	t.Run("BX29 a run that a person stops ends at once", func(t *testing.T) {
		p := four(down).replied(map[string]any{"ask/run/1": director.Answer{Action: director.ActionStop}}).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		require.ErrorContains(t, p.err, "down at c_plan", "the last failure")
		assert.Less(t, p.out.Elapsed, time.Minute)
		p.is(t, "d_plan READY")
		assert.Zero(t, p.task(t, "d_plan").RetryCount)
	})
	t.Run("BX29 BC55 what was given up before the pause stays given up", func(t *testing.T) {
		p := four(down).under(gaveUp).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		p.is(t, "a_plan ABANDONED, b_plan ABANDONED, c_plan READY, d_plan COMPLETE")
	})
	t.Run("BX29 BC38 without a limit of failures no run is paused", func(t *testing.T) {
		p := four(down).under(func(cfg *director.Config) { cfg.Policy.Retry.Outages = orchestrator.None }).play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("BX29 B91 workers that take too long are no outage", func(t *testing.T) {
		p := four(first(slow{time.Hour, nil})).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.task(t, "a_plan").RetryCount)
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("BX29 a git that does not work is one, though workers do", func(t *testing.T) {
		for _, answer := range []any{errors.New("the disk is full"), slow{time.Hour, nil}} {
			s := four(nil).inTrees()
			s.cfg.Bounds.Parallel = 1
			s.roles[director.OpCommit] = always(answer)
			p := s.play(t)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			assert.True(t, p.warned("outage"))
			for _, e := range p.events(t, director.EventAttemptFailed) {
				assert.Equal(t, string(blackboard.Crashed), e.On)
			}
			for _, d := range s.in.Tasks {
				assert.Zero(t, p.task(t, d.ID).RetryCount, d.ID)
			}
		}
	})
}

func TestStateOfARun(t *testing.T) {
	t.Parallel()
	t.Run("B41 BX25 a question without an answer in time is not open", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := hopeless(9, nil).under(patient)
			flow, in := s.flow(t)
			engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: s.roster(t, flow.Agents, newDiary())})
			require.NoError(t, err)
			run, err := flow.Start(t.Context(), engine, in, orchestrator.StartOptions{})
			require.NoError(t, err)
			_, err = flow.Result(t.Context(), run)
			require.ErrorIs(t, err, director.ErrWaiting)
			var last director.State
			require.NoError(t, run.State(t.Context(), &last))
			assert.Empty(t, last.Asked)
			require.Len(t, last.Warnings, 1)
			assert.Equal(t, "director/silence", last.Warnings[0].Code)
			require.NoError(t, engine.Close(t.Context()))
		})
	})
	t.Run("B41 what is worked on, and what is next", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			cfg := config()
			cfg.Bounds.Parallel, cfg.Policy.NoTestPlaceholders = 1, true
			flow, err := director.New(cfg)
			require.NoError(t, err)
			roster, seen := agent.Roster{}, make(chan struct{})
			for _, name := range flow.Agents {
				roster[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
					<-seen
					return respond(ctx, req, good(read(name, req)))
				})
			}
			engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			run, err := flow.Start(t.Context(), engine, director.Input{Objective: "x", Tasks: []blackboard.Definition{define("b_plan"), define("a_plan"), define("c_plan")}}, orchestrator.StartOptions{})
			require.NoError(t, err)
			synctest.Wait()
			var s director.State
			require.NoError(t, run.State(t.Context(), &s))
			assert.Equal(t, []string{"b_plan"}, s.Active)
			assert.Equal(t, []string{"a_plan", "c_plan"}, s.Ready)
			assert.Equal(t, 1, s.Board.Tasks[0].Attempt)
			close(seen)
			_, err = flow.Result(t.Context(), run)
			require.NoError(t, err)
			require.NoError(t, engine.Close(t.Context()))
		})
	})
}

// A question has its task in the JSON that hosts read: names of the Go fields, money in USD.
func TestQuestionData(t *testing.T) {
	t.Parallel()
	s := hopeless(9, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionAbandon}})
	s.roles["work"] = func(a asked) any {
		return agent.Response{Data: agent.JSON(done(a.task, a.attempt)), Usage: providers.Usage{Cost: providers.Dollars(0.5)}}
	}
	p := s.play(t)
	i := slices.IndexFunc(p.log, func(rec runlog.Record) bool { return rec.Kind == runlog.Asked })
	require.GreaterOrEqual(t, i, 0)
	var q orchestrator.Question
	require.NoError(t, json.Unmarshal(p.log[i].Data, &q))
	assert.Contains(t, string(q.Data), `"id":"db_build"`)
	assert.Contains(t, string(q.Data), `"spent":{`)
	assert.Contains(t, string(q.Data), `"cost":0.5`)
	assert.NotContains(t, string(q.Data), `"cost":500000000`)
}
