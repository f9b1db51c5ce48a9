package director_test

import (
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
)

// removals are the tasks and attempts whose worktrees were removed, one call after the
// other.
func (p played) removals() (all [][]string) {
	for _, a := range p.of(director.OpRemove) {
		var in director.RemoveRequest
		decode(a.req.Input, &in)
		var trees []string
		for _, tree := range in.Trees {
			trees = append(trees, tree.Branch)
		}
		all = append(all, trees)
	}
	return all
}

func TestTrees(t *testing.T) {
	t.Parallel()
	t.Run("B98 BC60 an attempt that begins while the one before is removed keeps its worktree, which the run removes", func(t *testing.T) {
		for drop, want := range map[bool][][]string{
			false: {{"task/db_build/a1"}, {"task/db_build/a1", "task/db_build/a2"}},
			true:  {{"task/db_build/a1"}, {"task/db_build/a2"}},
		} {
			s := forked(roles{
				"work": func(a asked) any {
					if a.task == "api_plan" {
						return slow{80 * time.Second, nil} // at its end the second attempt begins
					}
					return slow{time.Minute, nil}
				},
				"qa":              failing("db_build", 2),
				director.OpRemove: always(slow{90 * time.Second, struct{}{}}),
			}, define("db_build"), define("api_plan"))
			s.cfg.Policy.Retry.Attempts, s.cfg.Policy.DropFailed = 2, drop
			p := s.play(t)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			assert.Equal(t, want, slices.DeleteFunc(p.removals(), func(trees []string) bool { return trees[0] == "task/api_plan/a1" }))
			assert.Len(t, p.of(director.OpCreate), 3)
			assert.NotEqual(t, drop, strings.Contains(p.last(t, "db_build").req.History[0].Text, "/db_build/a1"), "it is told of a branch that is there")
		}
	})
	t.Run("B99 BC38 the worktree of what is given up is removed at once", func(t *testing.T) {
		p := forked(roles{"work": func(a asked) any {
			if a.task == "db_build" {
				return director.WorkerResult{Status: director.StatusFailed, Summary: "I cannot"}
			}
			return slow{time.Minute, nil}
		}}, define("db_build"), define("api_plan")).under(gaveUp).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, [][]string{{"task/db_build/a1"}, {"task/api_plan/a1"}}, p.removals())
	})
	t.Run("B99 BX16 the worktree of what is abandoned while its work is committed is removed at once", func(t *testing.T) {
		s := forked(roles{
			"work": func(a asked) any {
				if a.task == "ui_plan" {
					return slow{time.Hour, nil}
				}
				return nil
			},
			"qa": func(a asked) any {
				r := fail(a.req)
				if r.PlanWrong = true; a.task == "ui_plan" {
					return nil
				}
				return r
			},
			"replan": always(director.Replan{Abandon: []director.AbandonPlan{{ID: "api_plan"}, {ID: "db_build"}}}),
			director.OpCommit: func(a asked) any {
				var in director.CommitRequest
				if decode(a.req.Input, &in); in.Tree.Task == "api_plan" {
					return slow{time.Minute, forks()[director.OpCommit](a)}
				}
				return forks()[director.OpCommit](a)
			},
		}, define("db_build"), define("api_plan"), define("ui_plan"))
		s.cfg.Bounds.TaskTime, s.cfg.Bounds.Watch.Inactivity = 2*time.Hour, orchestrator.None
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build ABANDONED, api_plan ABANDONED, ui_plan COMPLETE")
		removals := p.removals()
		assert.Equal(t, []string{"task/ui_plan/a1"}, removals[len(removals)-1], "the last one")
		assert.Contains(t, removals, []string{"task/api_plan/a1"})
	})
	// works is a worker of slices that each commit something.
	works := func(s script) script {
		s.roles[director.OpCommit] = func(a asked) any {
			var in director.CommitRequest
			if decode(a.req.Input, &in); in.Path == "" {
				return director.Committed{Commit: in.Since + "+", Files: 1}
			}
			return forks()[director.OpCommit](a)
		}
		s.budget.Wall = 150 * time.Second
		return s
	}
	t.Run("BC53 BX1 what is cut continues from its commits, and only if there are any", func(t *testing.T) {
		s := works(forked(roles{"work": always(slow{time.Hour, nil})}, define("db_build")))
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "db_build READY")
		assert.Nil(t, p.task(t, "db_build").Checkpoint, "nothing was made")
		s.roles["work"] = always(slow{time.Minute, agent.Response{More: true, Messages: messages(1)}})
		p = s.play(t)
		k := p.task(t, "db_build").Checkpoint
		require.NotNil(t, k)
		assert.Equal(t, blackboard.Checkpoint{ID: "db_build/a1", Resume: "go on where you were interrupted", Branch: "task/db_build/a1", Commit: "base++"}, *k)
		var since []string
		for _, a := range p.of(director.OpCommit) {
			var in director.CommitRequest
			decode(a.req.Input, &in)
			since = append(since, in.Since)
		}
		assert.Equal(t, []string{"base", "base+"}, since)
	})
	t.Run("BC53 B50 what is cut after a pause still has what its worker wanted to have back", func(t *testing.T) {
		s := works(forked(roles{"work": func(a asked) any {
			if a.attempt == 1 {
				return escalates("db_build", director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"})(a)
			}
			return slow{time.Minute, agent.Response{More: true, Messages: messages(1)}}
		}, "escalate": always(director.Resolution{Resolved: true})}, define("db_build")))
		k := s.play(t).task(t, "db_build").Checkpoint
		require.NotNil(t, k)
		assert.Equal(t, "write the handler", k.Resume)
		assert.JSONEq(t, `{"half":1}`, string(k.Partial))
		assert.Equal(t, []string{"handler.go"}, k.Files)
		assert.Equal(t, "task/db_build/a2", k.Branch)
		var updates []bool
		for _, a := range s.play(t).of(director.OpCreate) {
			var in director.CreateRequest
			decode(a.req.Input, &in)
			updates = append(updates, in.Update)
		}
		assert.Equal(t, []bool{false, true}, updates, "what continues gets what was merged meanwhile")
	})
	t.Run("BC22 B50 a worker that continues is told where, and of the files that others have changed, too", func(t *testing.T) {
		p := forked(roles{
			"work": func(a asked) any {
				if a.attempt == 1 {
					return escalates("db_build", director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"})(a)
				}
				return nil
			},
			"escalate": always(director.Resolution{Resolved: true}),
			director.OpCreate: func(a asked) any {
				out := forks()[director.OpCreate](a).(director.Created)
				if out.Tree.Attempt == 2 {
					out.Head, out.Conflicts = "updated", []string{"main.txt"}
				}
				return out
			},
		}, define("db_build")).play(t)
		require.NoError(t, p.err)
		last := p.last(t, "db_build")
		assert.Equal(t, "updated", workInput(last).Worktree.Commit)
		assert.Equal(t, []string{"main.txt"}, workInput(last).Conflicts)
		assert.Contains(t, last.req.Prompt, "conflict markers")
	})
	t.Run("B94 BC22 of two subtasks one starts from its parent's work", func(t *testing.T) {
		p := forked(roles{"work": wants("db_build", director.WorkerResult{
			Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("alone", "build")}, {TaskPlan: plan("sub", "build"), FromParent: true}},
		})}, define("db_build")).play(t)
		require.NoError(t, p.err)
		bases := map[string]string{}
		for _, a := range p.of(director.OpCreate) {
			var in director.CreateRequest
			decode(a.req.Input, &in)
			bases[in.Task] = in.Base
		}
		assert.Equal(t, map[string]string{"alone": "", "sub": "task/db_build/a1", "db_build": "task/db_build/a1"}, bases)
	})
	t.Run("B98 a worktree that could not be removed in a pause is removed at the end", func(t *testing.T) {
		p := forked(roles{
			"work": escalates("db_build", director.EscalationRequest{Type: "BLOCKED_EXTERNAL", Reason: "no key"}),
			director.OpRemove: func(a asked) any {
				if a.n <= 2 {
					return errors.New("it is open")
				}
				return struct{}{}
			},
		}, define("db_build")).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Len(t, p.removals(), 3)
	})
	t.Run("BX7 a delivery that leaves its worktree by a link fails", func(t *testing.T) {
		p := forked(roles{director.OpCommit: func(a asked) any {
			if a.n == 1 {
				return director.Committed{Commit: "c", Found: true, Unsafe: "x leads out of the worktree"}
			}
			return forks()[director.OpCommit](a)
		}}, define("db_build")).play(t)
		require.NoError(t, p.err)
		lost := p.events(t, director.EventAttemptFailed)
		require.Len(t, lost, 1)
		assert.Equal(t, "x leads out of the worktree", lost[0].Text)
	})
	t.Run("BC22 BC61 the commit of a subtask knows its parent's branch, and what it changed is in the index", func(t *testing.T) {
		p := forked(roles{"work": wants("db_build", director.WorkerResult{
			Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("sub", "build"), FromParent: true}},
		})}, define("db_build")).play(t)
		require.NoError(t, p.err)
		for _, a := range p.of(director.OpCommit) {
			var in director.CommitRequest
			decode(a.req.Input, &in)
			want := ""
			if in.Tree.Task == "sub" {
				want = "task/db_build/a1"
			}
			assert.Equal(t, want, in.Into)
		}
		for _, a := range p.of(director.OpMerge) {
			var in director.MergeRequest
			decode(a.req.Input, &in)
			assert.False(t, in.Prepare, "there is nothing to check")
		}
		assert.Equal(t, "m-db_build", p.out.Board.Files["a.md"].Commit)
	})
}
