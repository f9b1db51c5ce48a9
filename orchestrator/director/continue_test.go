package director_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/team"
)

// cut plays a case in a repository, nil for none, and cancels the run at an event.
func cut(t *testing.T, r *repo, s script, at func(kind team.Kind, e director.Event) bool) director.Outcome {
	t.Helper()
	if r != nil {
		s.cfg.Agents.Worktree = "worktree"
	}
	flow, in := s.flow(t)
	roster := s.roster(t, flow.Agents, newDiary())
	if r != nil {
		roster["worktree"] = trees.New(worktree.Config{Repo: r.Dir})
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close(context.WithoutCancel(t.Context()))) }()
	run, err := flow.Start(t.Context(), engine, in, orchestrator.StartOptions{})
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for rec, err := range run.Events(ctx, 0) {
		require.NoError(t, err)
		var e director.Event
		if json.Unmarshal(rec.Data, &e) == nil && at(team.Kind(rec.Kind), e) {
			require.NoError(t, run.Cancel(ctx, "enough"))
		}
	}
	require.NoError(t, ctx.Err(), "the run does not end")
	out, err := flow.Result(t.Context(), run)
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	return out
}

// hang is an answer that comes when the call is canceled.
func hang(ctx context.Context, _ agent.Request) (agent.Response, error) {
	<-ctx.Done()
	return agent.Response{}, context.Cause(ctx)
}

// further continues a case with what a run of it has left, with answers that are all good
// but for those of roles.
func (s script) further(out director.Outcome, roles map[string]func(asked) any) script {
	s.in = director.Input{Board: out.Board, Files: out.Files, Drafts: out.Drafts}
	s.roles, s.cfg.Limits.Calls = roles, 0
	return s
}

func TestContinued(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Parallel()
	decided := func(a asked) any {
		result := done(a.task, a.attempt)
		result.Decisions = []director.DecisionPlan{{Area: "db", Summary: "SQLite", Reason: "one file"}}
		result.Suggested = []director.Suggestion{{TaskPlan: plan("backup", "build"), Rationale: "disks fail"}}
		return result
	}
	t.Run("BC42 BC53 BX27 what was delivered is reviewed, its decisions and suggestions are kept", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": decided})
		s.cfg.Limits.Calls = 1 // the worker's
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "db_build AWAITING_QA")
		assert.Empty(t, p.out.Board.DesignLog, "B55: it is not reviewed")
		s.sweep(t)
		s = s.further(p.out, map[string]func(asked) any{"review": func(a asked) any {
			var in director.ChangeInput
			decode(a.req.Input, &in)
			require.Len(t, in.Suggestions, 1)
			assert.Equal(t, "disks fail", in.Suggestions[0].Rationale)
			return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}}}
		}})
		p = s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, backup COMPLETE")
		require.Len(t, p.out.Board.DesignLog, 1)
		assert.Equal(t, "SQLite", p.out.Board.DesignLog[0].Summary)
		assert.Equal(t, "db_build by attempt 1", p.out.Files["artifacts/db_build.md"])
		assert.Len(t, p.of("work"), 1, "of the task that was suggested alone")
		assert.Len(t, p.of("review"), 1)
		assert.Empty(t, p.task(t, "db_build").Decisions)
		assert.Empty(t, p.task(t, "db_build").Suggested)
		s.sweep(t)
	})
	t.Run("BC53 what has passed and is not merged is merged, and not reviewed again", func(t *testing.T) {
		for _, changed := range []bool{false, true} {
			r := newRepo(t)
			s := checked(r, func(string) director.CheckResult { return green }, define("db_build"))
			check, n := s.roles["check"], 0
			s.roles["check"] = func(a asked) any {
				if n++; n == 2 { // of the merge
					return hang
				}
				return check(a)
			}
			s.roles["work"] = func(a asked) any {
				result := decided(a).(director.WorkerResult)
				result.Suggested = nil
				return result
			}
			s.roles["qa"] = edits("db_build", 0, func(r *director.Review) { r.Notes = []string{"mind the locks"} })
			out := cut(t, r, s, func(kind team.Kind, _ director.Event) bool { return kind == director.EventReviewFinished })
			assert.Equal(t, map[blackboard.State]int{blackboard.AwaitingQA: 1}, out.Summary)
			s = s.further(out, map[string]func(asked) any{"check": check})
			if changed {
				s.in.Spec = map[string]json.RawMessage{"db": json.RawMessage(`"Postgres"`)}
			}
			p := r.play(t, s, nil)
			require.NoError(t, p.err)
			p.is(t, "db_build COMPLETE")
			assert.Equal(t, "db_build by attempt 1", r.show("artifacts/db_build.md"))
			assert.Len(t, p.out.Board.DesignLog, 1)
			assert.Empty(t, p.of("work"))
			if changed {
				assert.Len(t, p.of("qa"), 1, "the spec is another one")
				continue
			}
			assert.Empty(t, p.of("qa"))
			require.Len(t, p.out.Board.Insights, 1)
			assert.Equal(t, "mind the locks", p.out.Board.Insights[0].Summary, "of the review")
		}
	})
	t.Run("BX26 BC53 what a person has accepted stays accepted", func(t *testing.T) {
		r := newRepo(t)
		s := checked(r, func(string) director.CheckResult { return green }, define("db_build"))
		s.cfg.Policy.Retry.Attempts = 1
		check := s.roles["check"]
		s.roles["qa"] = failing("db_build", 9)
		s.roles["work"] = func(a asked) any {
			result := writes(a, "db_build.txt", "by db_build").(director.WorkerResult)
			result.Decisions = []director.DecisionPlan{{Area: "db", Summary: "SQLite"}}
			return result
		}
		p := r.play(t, s, nil)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		s.in = director.Input{Board: p.out.Board, Answers: map[string]director.Answer{"db_build": {Action: director.ActionAccept}}}
		s.roles["check"] = func(asked) any { return hang }
		out := cut(t, r, s, func(_ team.Kind, e director.Event) bool { return e.On == string(blackboard.EventDeliver) })
		assert.Equal(t, map[blackboard.State]int{blackboard.AwaitingQA: 1}, out.Summary)
		s = s.further(out, map[string]func(asked) any{"check": check, "qa": failing("db_build", 9)})
		s.in.Spec = map[string]json.RawMessage{"db": json.RawMessage(`"Postgres"`)}
		p = r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, "by db_build", r.show("db_build.txt"))
		assert.Empty(t, p.of("qa"))
		assert.Len(t, p.out.Board.DesignLog, 1, "with what its worker has decided")
	})
	t.Run("BC53 B66 what a worker wants to have back is kept when nobody can be asked any more", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": escalates("db_build", director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"})})
		s.cfg.Limits.Calls = 1
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "db_build READY")
		p = s.further(p.out, nil).play(t)
		require.NoError(t, p.err)
		in := workInput(p.last(t, "db_build"))
		require.NotNil(t, in.Checkpoint)
		assert.Equal(t, "write the handler", in.Checkpoint.Resume)
		assert.JSONEq(t, `{"half":1}`, string(in.Checkpoint.Partial))
		assert.Zero(t, p.task(t, "db_build").RetryCount)
	})
	t.Run("BC53 BC22 a subtask's work in its parent's branch is kept, and stays there until the parent passes", func(t *testing.T) {
		for _, at := range []team.Kind{director.EventCommitMerged, team.Kind(blackboard.EventDeliver)} {
			r := newRepo(t)
			s := one(map[string]func(asked) any{"work": func(a asked) any {
				switch {
				case a.task == "sub":
					return writes(a, "sub.txt", "sub")
				case a.attempt == 1:
					_ = writes(a, "half.txt", "half")
					return director.WorkerResult{
						Status: director.StatusWaiting, Checkpoint: &director.CheckpointPlan{Resume: "go on"},
						Spawn: []director.Suggestion{{TaskPlan: plan("sub", "build"), FromParent: true}},
					}
				}
				return hang
			}, "qa": func(asked) any { return hang }})
			if at == director.EventCommitMerged {
				s.roles["qa"] = nil
			}
			out := cut(t, r, s, func(kind team.Kind, e director.Event) bool {
				return e.Task == "sub" && (kind == at || e.On == string(at))
			})
			p := r.play(t, s.further(out, map[string]func(asked) any{
				"work": func(a asked) any {
					in := workInput(a)
					for _, name := range []string{"half.txt", "sub.txt"} {
						_, err := os.Stat(filepath.Join(in.Worktree.Path, name))
						assert.NoError(t, err, name)
					}
					return writes(a, "whole.txt", "whole")
				},
				"qa": func(a asked) any {
					var in director.ReviewInput
					decode(a.req.Input, &in)
					assert.Contains(t, in.Diff, "+"+map[string]string{"sub": "sub", "db_build": "whole"}[a.task], "B74")
					if a.task == "sub" {
						assert.NotContains(t, in.Diff, "+half", "what it started from is not its own")
					}
					assert.Equal(t, "main.txt", r.run("ls-tree", "--name-only", "main"), "the parent's work is not on main before its review")
					return nil
				},
			}), nil)
			require.NoError(t, p.err)
			assert.Equal(t, "half.txt\nmain.txt\nsub.txt\nwhole.txt", r.run("ls-tree", "--name-only", "main"))
			assert.Len(t, p.of("work"), 1, "the parent's alone")
		}
	})
	t.Run("BC53 a board without the text that it has as delivered", func(t *testing.T) {
		s := one(nil)
		s.cfg.Limits.Calls = 1
		s = s.further(s.play(t).out, nil)
		s.in.Drafts = nil
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrInput)
		require.ErrorContains(t, p.err, `drafts has no "db_build"`)
	})
}
