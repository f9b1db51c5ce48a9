package director_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
)

// failing makes reviews of a task fail the first n times.
func failing(task string, n int) func(asked) any {
	return func(a asked) any {
		if a.task == task && a.attempt <= n {
			return fail(a.req)
		}
		return nil
	}
}

// bare leaves out what BC4 adds, and ends instead of waiting.
func bare() director.Config {
	return director.Config{Policy: director.Policy{NoTestPlaceholders: true, ReturnWhenWaiting: true}}
}

func TestTodoBoard(t *testing.T) {
	t.Parallel()
	play := func(t *testing.T, cfg director.Config, qa func(asked) any) played {
		t.Helper()
		return script{cfg: cfg, in: director.Input{Tasks: seven()}, roles: map[string]func(asked) any{"qa": qa}}.play(t)
	}
	t.Run("BA15 B113 B112 all pass", func(t *testing.T) {
		p := play(t, bare(), nil)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, director.Completed, p.out.End)
		assert.Equal(t, "PLANNED BLOCKED READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "views_build"))
		assert.Zero(t, p.task(t, "views_build").RetryCount)
		assert.Equal(t, 1, p.task(t, "views_build").Attempt)
		assert.Equal(t, map[blackboard.State]int{blackboard.Complete: 7}, p.out.Summary, "BA105")
		assert.Len(t, p.of("work"), 7)
		assert.Len(t, p.of("qa"), 7)
		assert.Empty(t, p.out.Warnings)
		assert.Empty(t, p.out.Drafts)
		assert.Equal(t, "views_build by attempt 1", p.out.Files["artifacts/views_build.md"])
	})
	t.Run("BA16 B75 it fails once", func(t *testing.T) {
		p := play(t, bare(), failing("views_build", 1))
		require.NoError(t, p.err)
		assert.Equal(t, "PLANNED BLOCKED READY ACTIVE AWAITING_QA FAILED_QA READY ACTIVE AWAITING_QA COMPLETE", p.states(t, "views_build"))
		assert.Equal(t, 1, p.task(t, "views_build").RetryCount)
		assert.Equal(t, 2, p.task(t, "views_build").Attempt)
	})
	t.Run("BA17 BA20 BA99 it fails three times", func(t *testing.T) {
		p := play(t, bare(), failing("views_build", 3))
		require.NoError(t, p.err)
		assert.Equal(t, 3, p.task(t, "views_build").RetryCount)
		assert.Equal(t, 4, p.task(t, "views_build").Attempt)
		require.Len(t, p.of("replan"), 1)
		assert.Len(t, p.events(t, director.EventRunStagnated), 1)
		assert.Equal(t, blackboard.Progressing, p.out.Board.Strategy)
		var order []string
		for _, a := range p.asked {
			if a.op == "replan" || a.op == "work" && a.task == "views_build" {
				order = append(order, a.op)
			}
		}
		assert.Equal(t, []string{"work", "work", "work", "replan", "work"}, order, "before the fourth attempt")
	})
	t.Run("BA18 B77 it fails four times", func(t *testing.T) {
		p := play(t, bare(), failing("views_build", 4))
		require.ErrorIs(t, p.err, director.ErrWaiting)
		require.ErrorContains(t, p.err, "views_build is WAITING_HUMAN")
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, director.Waiting, p.out.End)
		p.is(t, "views_build WAITING_HUMAN")
		assert.Equal(t, 4, p.task(t, "views_build").RetryCount)
		assert.Equal(t, 4, p.task(t, "views_build").Attempt)
		assert.Equal(t, []string{"views_build"}, p.out.Pending)
	})
	t.Run("BA19 db_build fails four times", func(t *testing.T) {
		p := play(t, bare(), failing("db_build", 4))
		require.ErrorIs(t, p.err, director.ErrWaiting)
		p.is(t, "db_build WAITING_HUMAN, db_test BLOCKED, api_build BLOCKED, views_build BLOCKED, db_plan COMPLETE, api_plan COMPLETE, views_plan COMPLETE")
		assert.Equal(t, blackboard.ByDependency, p.task(t, "api_build").Blocked.Type)
	})
	t.Run("BA21 B33 B34 after the first evaluation", func(t *testing.T) {
		p := play(t, bare(), nil)
		moved := p.events(t, director.EventTaskMoved)
		var first []string
		for _, e := range moved[:7] {
			first = append(first, e.Task+" "+e.To)
		}
		assert.Equal(t, []string{
			"db_plan READY", "db_build BLOCKED", "db_test BLOCKED", "api_plan BLOCKED", "api_build BLOCKED", "views_plan BLOCKED", "views_build BLOCKED",
		}, first)
	})
	t.Run("BA22 B114 BC10 the path from the root", func(t *testing.T) {
		p := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("views_build")}}, roles: map[string]func(asked) any{
			"work": func(a asked) any {
				r := done(a.task, a.attempt)
				r.ResultPath = "/artifacts/frontend/todo_board.jsx"
				return r
			},
		}}.play(t)
		assert.Equal(t, "artifacts/frontend/todo_board.jsx", p.task(t, "views_build").ResultPath)
	})
	t.Run("B32 BC4 the board of nine", func(t *testing.T) {
		p := play(t, director.Config{}, nil)
		require.NoError(t, p.err)
		require.Len(t, p.out.Board.Tasks, 9)
		assert.Equal(t, "test-api", p.out.Board.Tasks[7].ID)
		assert.Equal(t, []string{"views_build"}, p.task(t, "test-views").DependsOn)
		assert.True(t, p.task(t, "test-api").Placeholder)
		s := script{in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("db_build2")}}}
		s.in.Tasks[1].Phase, s.in.Tasks[1].Priority = "build", 20
		assert.Equal(t, 20, s.play(t).task(t, "test-db").Priority, "the highest of what it tests")
	})
	t.Run("BA28 B49 a worker that crashes", func(t *testing.T) {
		p := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_build")}}, roles: map[string]func(asked) any{
			"work": func(a asked) any { return errors.New("boom") },
		}}.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, "PLANNED READY ACTIVE READY ACTIVE READY ACTIVE READY ACTIVE WAITING_HUMAN", p.states(t, "db_build"))
		assert.Equal(t, 4, p.task(t, "db_build").RetryCount)
		var next []int
		for _, e := range p.events(t, director.EventAttemptReset) {
			next = append(next, e.Attempt)
		}
		assert.Equal(t, []int{2, 3, 4}, next)
	})
}
