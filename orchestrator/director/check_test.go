package director_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// checked is a case in which tests are run; result says how they come out at a commit.
func checked(r *repo, result func(files string) director.CheckResult, tasks ...blackboard.Definition) script {
	s := script{cfg: bare(), in: director.Input{Tasks: tasks}, roles: map[string]func(asked) any{
		"work": func(a asked) any { return writes(a, a.task+".txt", "by "+a.task) },
		"check": func(a asked) any {
			var in director.CheckInput
			decode(a.req.Input, &in)
			out, err := r.Run(r.tb.Context(), "ls-tree", "--name-only", in.Commit)
			if err != nil {
				return err
			}
			return result(out)
		},
	}}
	s.cfg.Agents.Worktree, s.cfg.Agents.Check = "worktree", "check"
	s.cfg = s.whole()
	s.cfg.Profiles[1].Check = []string{"go", "test", "-json", "./..."}
	return s
}

var green, red = director.CheckResult{Passed: true, Ran: 3}, director.CheckResult{Failed: []string{"TestBoth"}, Ran: 3, Output: "exit code 1"}

func TestChecked(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Parallel()
	t.Run("BC61 B68 the reviewer sees what the command did at the frozen commit", func(t *testing.T) {
		r := newRepo(t)
		s := checked(r, nil, define("db_build"))
		s.roles["check"] = func(asked) any { return costs(green, 1) }
		p := r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Equal(t, 2*providers.USD/100, p.out.Board.Spent.Cost, "BX28")
		assert.Equal(t, 2*providers.USD/100, p.task(t, "db_build").Spent.Cost, "B116: by its task")
		var in director.ReviewInput
		decode(p.of("qa")[0].req.Input, &in)
		require.NotNil(t, in.Checks)
		assert.Equal(t, 3, in.Checks.Ran)
		var first, second director.CheckInput
		require.Len(t, p.of("check"), 2, "for the review, and of the merge before it is on main")
		decode(p.of("check")[0].req.Input, &first)
		decode(p.of("check")[1].req.Input, &second)
		assert.Equal(t, p.task(t, "db_build").Frozen.Commit, first.Commit)
		assert.Equal(t, r.run("rev-parse", "main^{tree}"), r.run("rev-parse", second.Commit+"^{tree}"))
		assert.Equal(t, []string{"go", "test", "-json", "./..."}, first.Command)
	})
	both := func(files string) director.CheckResult {
		if strings.Contains(files, "db_build.txt") && strings.Contains(files, "api_build.txt") && !strings.Contains(files, "fixed") {
			return red
		}
		return green
	}
	t.Run("BC61 BA26 tests that fail on the merged tree alone are a conflict", func(t *testing.T) {
		r := newRepo(t)
		merged := make(chan struct{})
		s := checked(r, both, define("db_build"), define("api_build"))
		s.roles["work"] = func(a asked) any {
			if a.task == "api_build" && a.attempt == 1 {
				<-merged
			}
			if a.attempt == 2 {
				_ = writes(a, "fixed", "x")
			}
			return writes(a, a.task+".txt", "by "+a.task)
		}
		p := r.play(t, s, func(kind team.Kind, e director.Event) {
			if kind == director.EventCommitMerged && e.Task == "db_build" {
				close(merged)
			}
		})
		require.NoError(t, p.err)
		task := p.task(t, "api_build")
		assert.Equal(t, 1, task.ConflictCount)
		assert.Zero(t, task.RetryCount)
		failed := p.events(t, director.EventMergeFailed)
		require.Len(t, failed, 1)
		assert.Equal(t, string(blackboard.MergeBroken), failed[0].On)
		assert.Equal(t, []string{"TestBoth"}, failed[0].Files)
		assert.Contains(t, p.last(t, "api_build").req.History[0].Text, "TestBoth")
		assert.Contains(t, r.run("ls-tree", "--name-only", "main"), "fixed", "main was never broken")
	})
	t.Run("BC61 tests that fail on main, too, are nobody's fault", func(t *testing.T) {
		r := newRepo(t)
		s := checked(r, func(string) director.CheckResult { return red }, define("db_build"))
		s.roles["qa"] = edits("db_build", 0, func(r *director.Review) {
			r.Tests = []blackboard.TestAnalysis{{Test: "TestBoth", Fault: blackboard.TestWrong}}
		})
		p := r.play(t, s, nil)
		require.NoError(t, p.err)
		assert.Zero(t, p.task(t, "db_build").ConflictCount)
	})
	t.Run("B71 BC26 nothing passes whose tests fail, unless the tests are wrong", func(t *testing.T) {
		for want, result := range map[string]director.CheckResult{"TestBoth": red, "names no test": {Output: "exit code 2"}} {
			r := newRepo(t)
			s := checked(r, both, define("db_build"))
			s.roles["check"] = func(asked) any { return result }
			p := r.play(t, s, nil)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			assert.Len(t, p.of("qa"), 4, "a review that passes it all the same cannot be used")
			assert.Contains(t, p.of("qa")[1].req.Prompt, want)
			assert.Equal(t, blackboard.NoReview, p.task(t, "db_build").QA.Kind)
			s.roles["qa"], s.cfg.Policy.Retry.Attempts = failing("db_build", 9), 1
			assert.Len(t, newRepo(t).play(t, s, nil).of("qa"), 1, "one that fails it is taken as it is")
		}
	})
	t.Run("BX19 BX29 a check or a merge that the machine could not make is no verdict", func(t *testing.T) {
		for _, tt := range []struct {
			broken int // check
			reason string
			qa     int
		}{{1, "it could not be reviewed: the disk is full", 0}, {2, "it could not be merged: the disk is full", 1}} {
			r := newRepo(t)
			s := checked(r, func(string) director.CheckResult { return green }, define("db_build"))
			n, check := 0, s.roles["check"]
			s.roles["check"] = func(a asked) any {
				if n++; n == tt.broken {
					return errors.New("the disk is full")
				}
				return check(a)
			}
			p := r.play(t, s, nil)
			require.ErrorIs(t, p.err, director.ErrWaiting)
			task := p.task(t, "db_build")
			assert.Equal(t, blackboard.WaitingHuman, task.Status)
			assert.Equal(t, blackboard.NoReview, task.QA.Kind)
			assert.Zero(t, task.RetryCount+task.ConflictCount)
			assert.Equal(t, tt.reason, task.Reason)
			assert.Len(t, p.of("work"), 1)
			assert.Len(t, p.of("qa"), tt.qa)
			s.in = director.Input{Board: p.out.Board, Answers: map[string]director.Answer{"db_build": {Action: director.ActionAccept}}}
			p = r.play(t, s, nil)
			require.NoError(t, p.err)
			assert.Equal(t, "by db_build", r.show("db_build.txt"), "a person has it merged as it is")
		}
	})
}
