package director_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// hopeless is a case in which all reviews of db_build fail up to an attempt, and a person
// answers.
func hopeless(attempts int, answers map[string]any) script {
	s := one(map[string]func(asked) any{"qa": failing("db_build", attempts)})
	s.cfg.Policy.ReturnWhenWaiting = false
	s.cfg.Retry.Tasks = orchestrator.None
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
	})
	t.Run("BX26 nothing to accept", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			if a.attempt == 1 {
				return errors.New("boom")
			}
			return nil
		}})
		s.cfg.Policy.ReturnWhenWaiting, s.cfg.Retry.Tasks = false, orchestrator.None
		s.reply = map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionAccept}, "ask/db_build/2": director.Answer{Action: director.ActionRetry}}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.True(t, p.warned("answer"))
		assert.Len(t, p.events(t, director.EventHumanAsked), 2)
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
			"ask/db_build/1":   director.Answer{Action: director.ActionProvided},
			"ask/db_build/1-2": director.Answer{Action: director.ActionEdit},
			"ask/db_build/1-3": director.Answer{Action: director.ActionRetry},
		}).play(t)
		require.NoError(t, p.err)
		asked := p.events(t, director.EventHumanAsked)
		require.Len(t, asked, 3)
		assert.Contains(t, asked[1].Text, `action is "provided"`)
	})
	t.Run("BX25 nobody answers in time", func(t *testing.T) {
		s := hopeless(9, nil)
		s.cfg.Limits.HumanTime = time.Hour
		s.in.Tasks = append(s.in.Tasks, define("api_plan"))
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.True(t, p.warned("silence"))
		p.is(t, "db_build WAITING_HUMAN, api_plan COMPLETE")
		s.cfg.Policy.OnSilence = director.Abandon
		p = s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED")
		assert.Equal(t, orchestrator.Partial, p.out.Status, "BC55: given up")
	})
	t.Run("BX25 B41 BC45 late, double and unknown answers", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			cfg := config()
			cfg.Retry.Tasks, cfg.Policy.NoTestPlaceholders = orchestrator.None, true
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
			run, err := flow.Start(t.Context(), engine, director.Input{Objective: "x", Tasks: []board.Definition{define("db_build"), define("db_test", "db_build")}}, orchestrator.StartOptions{})
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
			retry := director.Answer{Action: director.ActionRetry}
			require.NoError(t, run.Answer(t.Context(), "ask/db_build/1", retry))
			require.ErrorIs(t, run.Answer(t.Context(), "ask/db_build/1", director.Answer{Action: director.ActionAbandon}), orchestrator.ErrAnswered)
			out, err := flow.Result(t.Context(), run)
			require.NoError(t, err)
			assert.Equal(t, orchestrator.Completed, out.Status)
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
		s.in.Answers = map[string]director.Answer{"db_test": {Action: director.ActionRetry}}
		p = s.play(t)
		require.ErrorIs(t, p.err, director.ErrInput)
	})
}

func TestAbandonment(t *testing.T) {
	t.Parallel()
	// cut abandons api_plan: its only review fails, a person gives it up.
	cut := func(cfg director.Config, review func(asked) any) script {
		cfg.Policy.NoTestPlaceholders, cfg.Retry.Tasks = true, orchestrator.None
		return script{cfg: cfg, in: director.Input{Tasks: seven()}, reply: map[string]any{
			"ask/api_plan/1": director.Answer{Action: director.ActionAbandon, Guidance: "no API"},
		}, roles: map[string]func(asked) any{"qa": failing("api_plan", 9), "review": review}}
	}
	t.Run("BA83 BC43 B102 the director answers nobody", func(t *testing.T) {
		p := cut(director.Config{}, nil).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		p.is(t, "api_plan ABANDONED, api_build BLOCKED, views_plan BLOCKED, views_build BLOCKED, db_test COMPLETE")
		assert.Equal(t, board.ByAbandoned, p.task(t, "api_build").Blocked.Type)
		assert.Equal(t, board.ByDependency, p.task(t, "views_build").Blocked.Type)
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
		assert.Equal(t, board.ByAbandoned, p.task(t, "views_plan").Blocked.Type)
	})
	t.Run("BC43 block asks nobody, and rubbish blocks", func(t *testing.T) {
		p := cut(director.Config{Policy: director.Policy{OnAbandoned: director.Block}}, nil).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		assert.Empty(t, p.of("review"))
		p = cut(director.Config{}, func(asked) any { return "rubbish" }).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		p.is(t, "api_build BLOCKED")
		assert.True(t, p.warned("dependents"))
	})
	t.Run("BA85 BX16 BX18 a task that is worked on", func(t *testing.T) {
		s := script{cfg: bare(), in: director.Input{Tasks: []board.Definition{define("db_build"), define("api_plan")}}, roles: map[string]func(asked) any{
			"qa": failing("db_build", 3),
			"work": func(a asked) any {
				if a.task == "api_plan" {
					return slow{9 * time.Minute, nil}
				}
				return slow{time.Minute, nil}
			},
			"replan": func(asked) any {
				return director.Replan{Abandon: []director.AbandonPlan{{ID: "api_plan", Reason: "no API"}}}
			},
		}}
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, api_plan ABANDONED")
		assert.Less(t, p.out.Elapsed, 5*time.Minute, "nobody waits for it")
		assert.NotContains(t, p.out.Files, "artifacts/api_plan.md")
		assert.Len(t, p.events(t, director.EventResultDropped), 1)
		assert.Equal(t, p.at(t, director.EventRunReplanned), p.at(t, director.EventResultDropped), "its worker is stopped at once")
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
			out, err := flow.Run(ctx, engine, director.Input{Objective: "x", Tasks: []board.Definition{define("db_build"), define("api_plan")}})
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.Equal(t, orchestrator.Canceled, out.Status)
			assert.Equal(t, director.Canceled, out.End)
			assert.Equal(t, map[board.State]int{board.Complete: 1, board.Ready: 1}, out.Summary)
			assert.Zero(t, out.Board.Tasks[1].RetryCount)
			assert.Equal(t, "canceled", out.Board.Tasks[1].Reason)
			require.NoError(t, engine.Close(t.Context()))
		})
	})
	t.Run("BC55 nothing is done", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 9)})
		s.cfg.Retry.Tasks, s.cfg.Policy.GiveUp = orchestrator.None, true
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrNothingDone)
		assert.Equal(t, director.Completed, p.out.End)
		assert.Equal(t, orchestrator.Failed, p.out.Status)
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA ABANDONED", p.states(t, "db_build"), "BA24")
	})
	t.Run("BX29 agents fail again and again", func(t *testing.T) {
		tasks := []board.Definition{define("a_plan"), define("b_plan"), define("c_plan")}
		s := script{cfg: bare(), in: director.Input{Tasks: tasks}, roles: map[string]func(asked) any{"work": func(a asked) any {
			if a.attempt == 1 {
				return slow{time.Second, errors.New("down")}
			}
			return slow{time.Minute, nil}
		}}}
		s.cfg.Retry.Tasks = 1
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, director.Waiting, p.out.End)
		assert.True(t, p.warned("outage"))
		for _, d := range tasks {
			assert.Zero(t, p.task(t, d.ID).RetryCount, "nobody loses a retry")
		}
		s.cfg.Policy.ReturnWhenWaiting = false
		s.reply = map[string]any{"ask/run/1": director.Answer{Action: director.ActionRetry}}
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		s.reply = map[string]any{"ask/run/1": director.Answer{Action: director.ActionStop}}
		p = s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
	})
}
