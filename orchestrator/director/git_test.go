package director_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// repo is a repository with a file.
type repo struct {
	tb testing.TB
	git.Repo
}

func newRepo(tb testing.TB) *repo {
	tb.Helper()
	return repoIn(tb, tb.TempDir())
}

// repoIn makes it in a folder, whose content goes. Its first commit is always the same.
func repoIn(tb testing.TB, dir string) *repo {
	tb.Helper()
	require.NoError(tb, os.RemoveAll(dir))
	require.NoError(tb, os.Mkdir(dir, 0o750))
	r := &repo{tb, git.Repo{Dir: dir, At: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}}
	r.run("init", "--quiet", "--initial-branch=main")
	require.NoError(tb, os.WriteFile(filepath.Join(r.Dir, "main.txt"), []byte("1\n2\n3\n"), 0o600))
	r.run("add", "main.txt")
	r.run("commit", "--quiet", "-m", "first")
	return r
}

func (r *repo) run(args ...string) string {
	r.tb.Helper()
	out, err := r.Run(r.tb.Context(), args...)
	require.NoError(r.tb, err)
	return strings.TrimSpace(out)
}

// show is a file on the main branch.
func (r *repo) show(path string) string { return r.run("show", "main:"+path) }

// branches are those of tasks.
func (r *repo) branches() string {
	return strings.ReplaceAll(r.run("for-each-ref", "--format=%(refname:short)", "refs/heads/task"), "\n", " ")
}

// play runs a case in the repository, by the clock of the machine: git is a program. each
// sees the run's own records.
func (r *repo) play(t *testing.T, s script, each func(kind team.Kind, e director.Event)) played {
	t.Helper()
	s.cfg.Agents.Worktree = "worktree"
	flow, in := s.flow(t)
	d := newDiary()
	roster := s.roster(t, flow.Agents, d)
	roster["worktree"] = trees.New(worktree.Config{Repo: r.Dir})
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close(context.WithoutCancel(t.Context()))) }()
	run, err := flow.Start(t.Context(), engine, in, orchestrator.StartOptions{})
	require.NoError(t, err)
	var p played
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	for rec, err := range run.Events(ctx, 0) {
		require.NoError(t, err)
		p.log = append(p.log, rec)
		if strings.HasPrefix(rec.Kind, "director.") && each != nil {
			var e director.Event
			decode(rec.Data, &e)
			each(team.Kind(rec.Kind), e)
		}
	}
	require.NoError(t, ctx.Err(), "the run does not end")
	p.out, p.err = flow.Result(t.Context(), run)
	p.asked = d.all
	return p
}

// writes is a worker that writes a file into its worktree and delivers it.
func writes(a asked, path, text string) any {
	var in struct {
		Worktree trees.Place `json:"worktree"`
	}
	decode(a.req.Input, &in)
	full := filepath.Join(in.Worktree.Path, path)
	err := os.MkdirAll(filepath.Dir(full), 0o750)
	if err = errors.Join(err, os.WriteFile(full, []byte(text), 0o600)); err != nil {
		return err
	}
	return director.WorkerResult{Status: director.StatusComplete, ResultPath: path, Summary: "wrote " + path}
}

// TestGitSweep kills a run before each answer is on record, while git works: what git has
// done is done again, and comes to the same commits.
func TestGitSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "repo")
	s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("api_build")}}, roles: map[string]func(asked) any{
		"work": func(a asked) any {
			return writes(a, "main.txt", fmt.Sprintf("1\n%s, attempt %d\n3\n", a.task, a.attempt))
		},
	}}
	s.cfg.Agents.Worktree = "worktree"
	flow, in := s.flow(t)
	c := flowtest.New(flow, in, func(tb testing.TB) agent.Roster {
		tb.Helper()
		r := repoIn(tb, dir)
		tb.Cleanup(func() {
			out, err := r.Run(context.Background(), "show", "main:main.txt")
			require.NoError(tb, err)
			assert.Contains(tb, out, "_build, attempt 2", "of the one that was second")
			left, err := r.Run(context.Background(), "for-each-ref", "refs/heads/task", "refs/convene/merge")
			require.NoError(tb, err)
			assert.Empty(tb, left)
		})
		roster := s.roster(tb, flow.Agents, newDiary())
		roster["worktree"] = trees.New(worktree.Config{Repo: dir})
		return roster
	})
	c.Quick = true
	out, _, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, map[blackboard.State]int{blackboard.Complete: 2}, out.Summary)
	assert.Equal(t, 1, out.Board.Tasks[0].ConflictCount+out.Board.Tasks[1].ConflictCount)
	t.Run("BX30 BA117 BA119 the same commits", func(t *testing.T) { c.Sweep(t) })
}

func TestGit(t *testing.T) {
	t.Parallel()
	t.Run("B94 B95 B97 BA118 two tasks, different files", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("api_build")}}, roles: map[string]func(asked) any{
			"work": func(a asked) any { return writes(a, "artifacts/"+a.task+".md", "made by "+a.task) },
		}}
		r := newRepo(t)
		p := r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, "made by db_build", r.show("artifacts/db_build.md"))
		assert.Equal(t, "made by api_build", r.show("artifacts/api_build.md"))
		assert.Equal(t, "main", p.out.Branch)
		assert.Empty(t, r.branches())
		assert.Equal(t, p.task(t, "db_build").Merged, p.out.Board.Files["artifacts/db_build.md"].Commit)
		var in director.ReviewInput
		decode(p.of("qa")[0].req.Input, &in)
		assert.Equal(t, "made by "+in.Task.ID, in.Artifact.Text, "B68")
		assert.Contains(t, in.Diff, "+made by "+in.Task.ID, "B74")
		assert.Contains(t, r.run("log", "--format=%s", "main"), "[db_build] build: wrote artifacts/db_build.md")
		entries, err := os.ReadDir(filepath.Join(r.Dir, "worktrees"))
		require.NoError(t, err)
		for _, e := range entries {
			left, err := os.ReadDir(filepath.Join(r.Dir, "worktrees", e.Name()))
			require.NoError(t, err)
			assert.Empty(t, left)
		}
	})
	t.Run("B115 a component from plan to tests: a nudge, a review that fails, three merges", func(t *testing.T) {
		tasks := []blackboard.Definition{define("db_plan"), define("db_build", "db_plan"), define("db_test", "db_build")}
		r := newRepo(t)
		p := r.play(t, script{cfg: bare(), in: director.Input{Tasks: tasks}, roles: map[string]func(asked) any{
			"work": func(a asked) any {
				switch {
				case a.task == "db_build" && a.attempt == 1 && a.slice <= 1:
					return agent.Response{More: true, Messages: messages(15), Usage: providers.Usage{Calls: 1, ToolCalls: 15}}
				case a.slice > 1:
					return director.WorkerResult{Status: director.StatusComplete, ResultPath: a.task + ".md", Artifact: "by attempt 1", Summary: "wrote it"}
				}
				return writes(a, a.task+".md", fmt.Sprintf("%s by attempt %d", a.task, a.attempt))
			},
			"assess": func(asked) any { return director.Assessment{Alignment: 40, Nudge: "back to the database"} },
			"qa":     failing("db_build", 1),
		}}, nil)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		built := p.task(t, "db_build")
		assert.Equal(t, []int{1, 2}, []int{built.RetryCount, built.Attempt})
		var moves []string
		for _, e := range p.events(t, director.EventTaskMoved) {
			if e.Task == "db_build" {
				moves = append(moves, e.To)
			}
		}
		assert.Equal(t, []string{"BLOCKED", "READY", "ACTIVE", "AWAITING_QA", "FAILED_QA", "READY", "ACTIVE", "AWAITING_QA", "COMPLETE"}, moves)
		nudges := p.events(t, director.EventWorkerNudged)
		require.Len(t, nudges, 1)
		assert.Equal(t, "db_build", nudges[0].Task)
		assert.Equal(t, "direct", nudges[0].On)
		assert.Equal(t, "3", r.run("rev-list", "--count", "--merges", "main"))
		assert.Equal(t, "db_build by attempt 2", r.show("db_build.md"))
		assert.Equal(t, "db_test by attempt 1", r.show("db_test.md"))
		assert.Empty(t, r.branches())
	})
	t.Run("BA117 BA26 BC20 BC21 BC63 B100 two tasks change the same line", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		merged := make(chan struct{})
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("api_build")}}, roles: map[string]func(asked) any{
			"work": func(a asked) any {
				if a.attempt == 2 {
					return writes(a, "main.txt", "1\ndb_build and api_build\n3\n")
				}
				if a.task == "api_build" {
					<-merged
				}
				return writes(a, "main.txt", "1\n"+a.task+"\n3\n")
			},
			"conflict": func(a asked) any {
				var in director.ConflictInput
				decode(a.req.Input, &in)
				assert.Equal(t, []string{"main.txt"}, in.Files)
				assert.Equal(t, "api_build", in.Task)
				return nil
			},
		}}
		r := newRepo(t)
		p := r.play(t, s, func(kind team.Kind, e director.Event) {
			if kind == director.EventCommitMerged && e.Task == "db_build" {
				close(merged)
			}
		})
		require.NoError(t, p.err)
		assert.Equal(t, "1\ndb_build and api_build\n3", r.show("main.txt"))
		task := p.task(t, "api_build")
		assert.Equal(t, 1, task.ConflictCount)
		assert.Zero(t, task.RetryCount)
		assert.Equal(t, 2, task.Attempt)
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "api_build"))
		assert.Len(t, p.of("conflict"), 1)
		memory := p.last(t, "api_build").req.History
		require.Len(t, memory, 1)
		assert.Contains(t, memory[0].Text, "main.txt")
		assert.Contains(t, memory[0].Text, "could not be merged")
	})
	t.Run("BC63 the director lets it wait", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		merged, conflict := make(chan struct{}), make(chan struct{})
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("api_build"), define("late_build")}}, roles: map[string]func(asked) any{
			"work": func(a asked) any {
				switch {
				case a.task == "api_build" && a.attempt == 1:
					<-merged
				case a.task == "late_build":
					<-conflict
					return writes(a, "late.txt", "late")
				}
				return writes(a, "main.txt", a.task)
			},
			"conflict": func(asked) any { return director.ConflictAnswer{DependsOn: []string{"late_build"}} },
		}}
		p := newRepo(t).play(t, s, func(kind team.Kind, e director.Event) {
			if kind == director.EventCommitMerged && e.Task == "db_build" {
				close(merged)
			}
			if kind == director.EventAttemptReset {
				close(conflict)
			}
		})
		require.NoError(t, p.err)
		assert.Equal(t, []string{"late_build"}, p.task(t, "api_build").DependsOn)
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA BLOCKED READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "api_build"))
	})
	t.Run("BA27 conflicts without end go to a person", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := one(map[string]func(asked) any{"work": func(a asked) any { return writes(a, "main.txt", "mine") }})
		r := newRepo(t)
		s.roles["qa"] = func(a asked) any { // somebody else is always first
			r := r
			require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "main.txt"), []byte(strings.Repeat("theirs\n", a.attempt)), 0o600))
			r.run("commit", "--quiet", "--all", "-m", "theirs")
			return nil
		}
		p := r.play(t, s, nil)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		p.is(t, "db_build WAITING_HUMAN")
		assert.Equal(t, 4, p.task(t, "db_build").ConflictCount)
		assert.Len(t, p.of("conflict"), 3, "the last time there is nothing to decide")
		assert.Equal(t, blackboard.MergeConflict, p.task(t, "db_build").QA.Kind)
		assert.Zero(t, p.task(t, "db_build").RetryCount)
	})
	t.Run("BA121 BX10 a worker that has changed nothing, or not what it says", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		for name, first := range map[string]director.WorkerResult{
			"nothing was changed":    {Status: director.StatusComplete, ResultPath: "main.txt"},
			"there is no file x.txt": {Status: director.StatusComplete, ResultPath: "x.txt"},
		} {
			s := one(map[string]func(asked) any{"work": func(a asked) any {
				if a.attempt > 1 {
					return writes(a, "x.txt", "x")
				}
				if first.ResultPath == "x.txt" {
					_ = writes(a, "y.txt", "y")
				}
				return first
			}})
			r := newRepo(t)
			p := r.play(t, s, nil)
			require.NoError(t, p.err)
			lost := p.events(t, director.EventAttemptFailed)
			require.Len(t, lost, 1)
			assert.Equal(t, string(blackboard.EmptyResult), lost[0].On)
			assert.Contains(t, lost[0].Text, name)
		}
	})
	t.Run("BA122 B98 BC8 BC60 the branch of a failed attempt stays until the task is done", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		var during string
		s := one(map[string]func(asked) any{"work": func(a asked) any { return writes(a, "x.txt", "x") }, "qa": failing("db_build", 1)})
		r := newRepo(t)
		work := s.roles["work"]
		s.roles["work"] = func(a asked) any {
			if a.attempt == 2 {
				during = r.branches()
			}
			return work(a)
		}
		p := r.play(t, s, nil)
		require.NoError(t, p.err)
		run := worktree.Short(p.out.Board.RunID)
		assert.Equal(t, "task/"+run+"/db_build/a1 task/"+run+"/db_build/a2", during)
		assert.Contains(t, p.last(t, "db_build").req.History[0].Text, "/db_build/a1")
		assert.Empty(t, r.branches())
		s.cfg.Policy.DropFailed = true
		r = newRepo(t)
		p = r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, "task/"+worktree.Short(p.out.Board.RunID)+"/db_build/a2", during)
	})
	t.Run("BA87 BC22 BC59 BC60 a pause keeps the work, a subtask from it is merged there", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			switch {
			case a.task == "sub":
				in := workInput(a)
				_, err := os.Stat(filepath.Join(in.Worktree.Path, "half.txt"))
				assert.NoError(t, err, "it starts from its parent's work")
				return writes(a, "sub.txt", "sub")
			case a.attempt == 1:
				_ = writes(a, "half.txt", "half")
				return director.WorkerResult{
					Status: director.StatusWaiting, Checkpoint: &director.CheckpointPlan{Resume: "go on"},
					Spawn: []director.Suggestion{{TaskPlan: plan("sub", "build"), FromParent: true}},
				}
			}
			in := workInput(a)
			for _, name := range []string{"half.txt", "sub.txt"} {
				_, err := os.Stat(filepath.Join(in.Worktree.Path, name))
				assert.NoError(t, err, name)
			}
			return writes(a, "whole.txt", "whole")
		}})
		r := newRepo(t)
		s.roles["qa"] = func(a asked) any {
			if a.task == "db_build" {
				assert.Equal(t, "main.txt", r.run("ls-tree", "--name-only", "main"), "the parent's work is not on main before its review")
			}
			return nil
		}
		p := r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, "half.txt\nmain.txt\nsub.txt\nwhole.txt", r.run("ls-tree", "--name-only", "main"))
		assert.Empty(t, r.branches())
	})
	// waits is a worker of db_build that has written half.txt and waits for sub, which writes
	// a file for all; resume is what it does then.
	waits := func(file string, resume func(a asked, in director.WorkInput) any) script {
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			switch {
			case a.task == "sub":
				return writes(a, file, "sub")
			case len(workInput(a).Subtasks) > 0:
				return resume(a, workInput(a))
			case a.attempt > 2:
				return writes(a, "anew.txt", "anew")
			}
			_ = writes(a, "half.txt", "half")
			return director.WorkerResult{
				Status: director.StatusWaiting, Checkpoint: &director.CheckpointPlan{Resume: "use what sub has written"},
				Spawn: []director.Suggestion{{TaskPlan: plan("sub", "build")}},
			}
		}})
		return s
	}
	t.Run("B46 B65 BA87 what a subtask has merged is in the worktree of the one that waited", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := waits("sub.txt", func(a asked, in director.WorkInput) any {
			assert.Empty(t, in.Conflicts)
			assert.Contains(t, a.req.Prompt, "What was merged meanwhile is in your worktree")
			for _, name := range []string{"half.txt", "sub.txt"} {
				_, err := os.Stat(filepath.Join(in.Worktree.Path, name))
				assert.NoError(t, err, name)
			}
			return writes(a, "whole.txt", "whole")
		})
		r := newRepo(t)
		p := r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, "half.txt\nmain.txt\nsub.txt\nwhole.txt", r.run("ls-tree", "--name-only", "main"))
		var seen director.ReviewInput
		decode(p.of("qa")[1].req.Input, &seen)
		assert.Contains(t, seen.Diff, "+half", "B74: the work before the pause, too")
		assert.Contains(t, seen.Diff, "+whole")
		assert.NotContains(t, seen.Diff, "+sub", "and not that of others")
	})
	t.Run("B46 BC59 a worker decides what it and its subtask have both changed", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := waits("half.txt", func(a asked, in director.WorkInput) any {
			assert.Equal(t, []string{"half.txt"}, in.Conflicts)
			assert.Contains(t, a.req.Prompt, "leave no marker")
			both, err := os.ReadFile(filepath.Join(in.Worktree.Path, "half.txt"))
			require.NoError(t, err)
			assert.Contains(t, string(both), "half\n=======\nsub")
			return writes(a, "half.txt", "half and sub")
		})
		r := newRepo(t)
		p := r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, "half and sub", r.show("half.txt"))
		assert.Equal(t, 2, p.task(t, "db_build").Attempt)
		assert.Zero(t, p.task(t, "db_build").ConflictCount)
	})
	t.Run("B46 conflict markers never reach main", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := waits("half.txt", func(a asked, _ director.WorkInput) any { return writes(a, "whole.txt", "whole") })
		r := newRepo(t)
		p := r.play(t, s, nil)
		require.NoError(t, p.err)
		lost := p.events(t, director.EventAttemptFailed)
		require.Len(t, lost, 1)
		assert.Equal(t, "there are conflict markers left in half.txt", lost[0].Text)
		assert.Equal(t, "sub", r.show("half.txt"))
		assert.Equal(t, "anew.txt\nhalf.txt\nmain.txt", r.run("ls-tree", "--name-only", "main"))
	})
	t.Run("BA85 B99 an abandoned task leaves nothing", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := one(map[string]func(asked) any{"work": func(a asked) any { return writes(a, "x.txt", "x") }, "qa": failing("db_build", 9)})
		s.cfg.Policy.Retry.Attempts, s.cfg.Policy.GiveUp = 2, true
		r := newRepo(t)
		p := r.play(t, s, nil)
		require.ErrorIs(t, p.err, director.ErrNothingDone)
		assert.Empty(t, r.branches())
		assert.Equal(t, "main.txt", r.run("ls-tree", "--name-only", "main"))
	})
	t.Run("BA120 BX3 a dirty repository, before any model", func(t *testing.T) {
		r := newRepo(t)
		require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "main.txt"), []byte("changed"), 0o600))
		p := r.play(t, one(nil), nil)
		require.ErrorIs(t, p.err, director.ErrWorktree)
		require.ErrorContains(t, p.err, "not committed")
		assert.Equal(t, orchestrator.Failed, p.out.Status)
		assert.Empty(t, p.asked)
	})
	t.Run("BC53 BX26 another run takes what the first one left", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := one(map[string]func(asked) any{"work": func(a asked) any { return writes(a, "x.txt", "x") }, "qa": failing("db_build", 1)})
		s.cfg.Policy.Retry.Attempts = 1
		r := newRepo(t)
		p := r.play(t, s, nil)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		left, err := filepath.Glob(filepath.Join(r.Dir, "worktrees", "*", "*", "*"))
		require.NoError(t, err)
		assert.Empty(t, left, "no worktree is left behind")
		assert.Contains(t, r.branches(), "/db_build/a1", "its work is")
		s.in = director.Input{Board: p.out.Board, Answers: map[string]director.Answer{"db_build": {Action: director.ActionAccept}}}
		p = r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, "x", r.show("x.txt"))
		assert.Empty(t, p.of("work"))
	})
	t.Run("BC53 BX1 work that was cut goes on from its commits", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			if a.attempt == 1 && a.slice == 1 {
				_ = writes(a, "half.txt", "half")
				return costs2(agent.Response{More: true, Messages: messages(1)})
			}
			if a.attempt == 1 {
				return errors.New("never: there is no money for a second slice")
			}
			in := workInput(a)
			_, err := os.Stat(filepath.Join(in.Worktree.Path, "half.txt"))
			assert.NoError(t, err)
			assert.NotNil(t, in.Checkpoint)
			return writes(a, "whole.txt", "whole")
		}})
		s.cfg.Limits.Cost = providers.USD
		r := newRepo(t)
		p := r.play(t, s, nil)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "db_build READY")
		assert.Zero(t, p.task(t, "db_build").RetryCount)
		s.in, s.cfg.Limits.Cost = director.Input{Board: p.out.Board}, 0
		p = r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, "half.txt\nmain.txt\nwhole.txt", r.run("ls-tree", "--name-only", "main"))
	})
}

// costs2 is a response that costs two dollars.
func costs2(resp agent.Response) agent.Response {
	resp.Usage = providers.Usage{Calls: 1, Cost: 2 * providers.USD}
	return resp
}
