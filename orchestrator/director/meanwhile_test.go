package director_test

import (
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// A task may be abandoned while an agent works for it: what comes back for it then neither
// stops the run nor ends it.
func TestAbandonedMeanwhile(t *testing.T) {
	t.Parallel()
	// replanned is a run whose re-plan abandons db_build after a minute, and then api_plan,
	// which is worked on. Git removes the worktree of db_build for two minutes, in which
	// nothing is canceled yet.
	replanned := func(roles map[string]func(asked) any) script {
		s := forked(map[string]func(asked) any{
			"qa": func(a asked) any {
				if a.task == "db_build" {
					return slow{time.Minute, fail(a.req)}
				}
				return nil
			},
			"replan": always(director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build"}, {ID: "api_plan", Reason: "no API"}}}),
			director.OpRemove: func(a asked) any {
				var in director.RemoveRequest
				if decode(a.req.Input, &in); in.Trees[0].Task == "db_build" && in.Branches {
					return slow{2 * time.Minute, struct{}{}}
				}
				return struct{}{}
			},
		}, define("db_build"), define("api_plan"), define("ui_plan")).with(roles)
		s.cfg.Policy.Retry.Stagnation, s.cfg.Policy.DropFailed = 1, false
		return s
	}
	check := func(t *testing.T, s script) {
		t.Helper()
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, api_plan ABANDONED, ui_plan COMPLETE")
		s.sweep(t)
	}
	// committing is git whose commit of what api_plan delivers takes 90 seconds.
	committing := func(answer director.Committed) map[string]func(asked) any {
		return map[string]func(asked) any{director.OpCommit: func(a asked) any {
			var in director.CommitRequest
			if decode(a.req.Input, &in); in.Tree.Task == "api_plan" {
				return slow{90 * time.Second, answer}
			}
			return forks()[director.OpCommit](a)
		}}
	}
	t.Run("BX16 BX18 its commit has no result", func(t *testing.T) {
		check(t, replanned(committing(director.Committed{Commit: "c"})))
	})
	t.Run("BX16 BX18 its commit is unsafe", func(t *testing.T) {
		check(t, replanned(committing(director.Committed{Commit: "base", Unsafe: "../x leaves the worktree"})))
	})
	t.Run("BX16 B99 its worktree and branch are removed at once", func(t *testing.T) {
		s := replanned(committing(director.Committed{Commit: "c", Found: true})).with(roles{"work": func(a asked) any {
			if a.task == "ui_plan" {
				return slow{5 * time.Minute, nil}
			}
			return nil
		}})
		p := s.play(t)
		require.NoError(t, p.err)
		removed, delivered := -1, -1
		for i, rec := range p.log {
			var e director.Event
			decode(rec.Data, &e)
			if team.Kind(rec.Kind) == director.EventTaskMoved && e.Task == "ui_plan" && e.On == "deliver" {
				delivered = i
			}
		}
		for _, a := range p.of(director.OpRemove) {
			var in director.RemoveRequest
			if decode(a.req.Input, &in); in.Trees[0].Task == "api_plan" && in.Branches && a.at.Before(p.log[delivered].At) {
				removed = a.n
			}
		}
		assert.Positive(t, removed)
	})
	for kind, op := range map[string]string{"NEEDS_CLARIFICATION": director.OpEscalate, "SCOPE_TOO_LARGE": director.OpSplit} {
		t.Run("BX16 B45 the director has failed at its escalation "+kind, func(t *testing.T) {
			check(t, replanned(roles{
				"work": escalates("api_plan", director.EscalationRequest{Type: kind, Reason: "which port?"}),
				op:     always(slow{90 * time.Second, errors.New("down")}),
			}))
		})
	}
	t.Run("BX16 BX25 no answer to its question has come in time", func(t *testing.T) {
		s := replanned(roles{
			"work":              escalates("api_plan", director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"}),
			director.OpEscalate: always(director.Resolution{}),
		})
		s.cfg.Policy.ReturnWhenWaiting, s.cfg.Bounds.HumanTime = false, 90*time.Second
		check(t, s)
	})
	t.Run("BC22 B99 a task that starts from its work is abandoned, too", func(t *testing.T) {
		s := forked(map[string]func(asked) any{
			"work": func(a asked) any {
				switch a.task {
				case "db_build":
					return director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{
						{TaskPlan: plan("from", "plan"), FromParent: true}, {TaskPlan: plan("beside", "plan")},
					}}
				case "ui_plan":
					return slow{time.Minute, nil}
				}
				return slow{3 * time.Minute, nil}
			},
			"qa":     failing("ui_plan", 1),
			"replan": always(director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build", Reason: "no database"}}}),
		}, define("db_build"), define("ui_plan"))
		s.cfg.Policy.Retry.Stagnation = 1
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, from ABANDONED, beside COMPLETE, ui_plan COMPLETE")
		for _, a := range p.of(director.OpMerge) {
			var in director.MergeRequest
			decode(a.req.Input, &in)
			assert.NotEqual(t, "from", in.Tree.Task, "it has work of db_build, which was not reviewed")
		}
	})
}

func TestAnswersMeanwhile(t *testing.T) {
	t.Parallel()
	t.Run("BX26 B65 a person's answer to an escalation keeps the work, also after an earlier failure", func(t *testing.T) {
		s := forked(map[string]func(asked) any{
			"qa": failing("db_build", 1),
			"work": func(a asked) any {
				if a.attempt == 2 {
					return agent.Response{
						Messages: []providers.Message{{Role: providers.Assistant, Text: "half is done"}},
						Data: agent.JSON(director.WorkerResult{
							Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"},
							Checkpoint: &director.CheckpointPlan{Resume: "write the handler"},
						}),
					}
				}
				return nil
			},
			director.OpEscalate: always(director.Resolution{}),
		}, define("db_build")).replied(map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry, Guidance: "8080"}})
		p := s.play(t)
		require.NoError(t, p.err)
		last := p.last(t, "db_build")
		assert.Equal(t, 3, last.attempt)
		assert.Equal(t, 2, p.of(director.OpEscalate)[0].attempt)
		require.NotNil(t, workInput(last).Checkpoint)
		assert.Equal(t, "write the handler", workInput(last).Checkpoint.Resume)
		said := ""
		for _, m := range last.req.History {
			said += m.Text + "\n"
		}
		assert.Contains(t, said, "half is done")
		assert.Contains(t, said, "8080")
		assert.NotContains(t, said, "Attempt 2")
	})
	t.Run("BX26 BC45 an answer that waits is carried out when what it waited for is abandoned", func(t *testing.T) {
		s := hopeless(1, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry}, "ask/slow_plan/1": director.Answer{Action: director.ActionAbandon}})
		s = s.with(roles{
			"qa": func(a asked) any {
				if a.attempt > 1 {
					return nil
				}
				r := fail(a.req)
				r.PlanWrong = a.task == "db_build"
				return r
			},
			"work": func(a asked) any {
				if a.task == "slow_plan" {
					return slow{5 * time.Minute, nil}
				}
				return nil
			},
			"replan": always(director.Replan{Edit: []director.TaskEdit{{ID: "db_build", AddNeeds: []string{"slow_plan"}}}}),
		}).also(define("slow_plan"))
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, slow_plan ABANDONED")
	})
	t.Run("BC45 BX29 a task may be named as the questions of the run are", func(t *testing.T) {
		down := func(a asked) any {
			if a.attempt == 1 {
				return slow{time.Second, errors.New("down")}
			}
			return nil
		}
		s := script{cfg: bare(), roles: roles{"work": func(a asked) any {
			if a.task == "run" {
				return wants("run", director.WorkerResult{Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "BLOCKED_EXTERNAL", Reason: "a key"}})(a)
			}
			return down(a)
		}}}.replied(map[string]any{
			"ask/run/1": director.Answer{Action: director.ActionProvided}, "ask/run/2": director.Answer{Action: director.ActionRetry},
		}).also(define("run"), define("a_plan"), define("b_plan"))
		s.cfg.Policy.Retry.Outages = 2
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "run COMPLETE, a_plan COMPLETE, b_plan COMPLETE")
	})
	t.Run("BX26 BC53 what another run delivered is accepted only with its text", func(t *testing.T) {
		s := hopeless(9, nil)
		s.cfg.Policy.ReturnWhenWaiting = true
		out := s.play(t).out
		s.in = director.Input{Board: out.Board, Answers: map[string]director.Answer{"db_build": {Action: director.ActionAccept}}}
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.True(t, p.warned("answer"))
		assert.Empty(t, p.out.Files)
		s.in.Drafts = out.Drafts
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "db_build by attempt 1", p.out.Files["artifacts/db_build.md"])
	})
	t.Run("BC45 BX32 an ID may have slashes", func(t *testing.T) {
		s := hopeless(0, map[string]any{"ask/db/build/1": director.Answer{Action: director.ActionRetry}})
		d := define("db/build")
		d.Component = "db"
		s.in.Tasks = []blackboard.Definition{d}
		s.roles["qa"] = failing("db/build", 1)
		p := s.play(t)
		require.NoError(t, p.err)
		for _, kind := range []team.Kind{director.EventHumanAsked, director.EventHumanAnswered} {
			require.Len(t, p.events(t, kind), 1)
			assert.Equal(t, "db/build", p.events(t, kind)[0].Task)
		}
	})
}

func TestPausedRun(t *testing.T) {
	t.Run("BX29 B65 what a worker has committed before the run is paused is kept", func(t *testing.T) {
		s := forked(map[string]func(asked) any{
			"work": func(a asked) any {
				switch {
				case a.attempt == 1 && a.slice == 1:
					return agent.Response{More: true, Messages: messages(1)}
				case a.attempt == 1:
					return errors.New("down")
				}
				return nil
			},
			director.OpCommit: func(asked) any { return director.Committed{Commit: "half", Files: 1, Found: true} },
		}, define("db_build")).replied(map[string]any{"ask/run/1": director.Answer{Action: director.ActionRetry}})
		s.cfg.Policy.Retry.Outages = 1
		p := s.play(t)
		require.NoError(t, p.err)
		last := p.last(t, "db_build")
		assert.NotEmpty(t, last.req.History, "it knows what it has done")
		var in director.CreateRequest
		creates := p.of(director.OpCreate)
		decode(creates[len(creates)-1].req.Input, &in)
		assert.Equal(t, "task/db_build/a1", in.Base, "and has it")
		require.NotNil(t, workInput(last).Checkpoint)
	})
}

func TestEmptyNudge(t *testing.T) {
	t.Run("B126 B89 a template of the host that says nothing is no system message", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": toils(40, time.Second), "assess": always(director.Assessment{Alignment: 60})})
		s.cfg.Prompts = fstest.MapFS{"nudge.tmpl": {Data: []byte("{{.Issue}}")}}
		p := s.play(t)
		require.NoError(t, p.err)
		require.Len(t, p.out.Warnings, 1, "the same warning is given once")
		assert.Equal(t, "director/prompt", p.out.Warnings[0].Code)
		assert.Len(t, p.events(t, director.EventWorkerNudged), 2)
	})
}
