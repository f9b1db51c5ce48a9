package director_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
)

// While git removes a worktree, other branches of the run change the board.
func TestBoardChangesWhileWorktreesAreRemoved(t *testing.T) {
	removing := func(branches bool) func(a asked) any {
		return func(a asked) any {
			var in director.RemoveRequest
			if decode(a.req.Input, &in); in.Trees[0].Task == "db_build" && in.Branches == branches {
				return slow{2 * time.Minute, struct{}{}}
			}
			return struct{}{}
		}
	}
	t.Run("BX16 B99 a re-plan abandons two tasks, and the merge of one ends meanwhile", func(t *testing.T) {
		s := forked(map[string]func(asked) any{
			"qa": func(a asked) any {
				if a.task == "db_build" {
					return slow{time.Second, agent.Response{Data: agent.JSON(fail(a.req))}}
				}
				return nil
			},
			"replan": func(asked) any {
				return director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build"}, {ID: "api_build"}}}
			},
			director.OpMerge: func(a asked) any {
				return slow{time.Minute, forks()[director.OpMerge](a)}
			},
			director.OpRemove: removing(true),
		}, define("db_build"), define("api_build"))
		s.cfg.Retry.Stagnation = 1
		p := s.play(t)
		p.is(t, "db_build ABANDONED, api_build ABANDONED")
		s.sweep(t)
	})
	t.Run("BC38 B77 what is given up gets no further attempt", func(t *testing.T) {
		s := forked(map[string]func(asked) any{
			"work": func(a asked) any {
				if a.task == "db_build" {
					return director.WorkerResult{Status: director.StatusFailed, Summary: "I cannot"}
				}
				return slow{time.Minute, nil}
			},
			director.OpRemove: removing(true),
		}, define("db_build"), define("api_build"))
		s.cfg.Retry.Tasks, s.cfg.Policy.GiveUp = orchestrator.None, true
		p := s.play(t)
		p.is(t, "db_build ABANDONED, api_build COMPLETE")
		assert.Equal(t, 1, p.task(t, "db_build").Attempt)
		assert.Empty(t, p.events(t, director.EventAttemptReset))
		s.sweep(t)
	})
	t.Run("BX26 what a person says reaches the attempt that follows", func(t *testing.T) {
		s := forked(map[string]func(asked) any{
			"qa":              failing("db_build", 1),
			"work":            func(asked) any { return slow{time.Minute, nil} },
			director.OpRemove: removing(false),
		}, define("db_build"), define("api_build"))
		s.cfg.Retry.Tasks, s.cfg.Policy.ReturnWhenWaiting = orchestrator.None, false
		s.reply = map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry, Guidance: "use a map"}}
		p := s.play(t)
		require.NoError(t, p.err)
		memory := p.last(t, "db_build").req.History
		require.Len(t, memory, 2)
		assert.Contains(t, memory[1].Text, "use a map")
	})
	t.Run("BX29 a git that takes too long is no fault of the worker", func(t *testing.T) {
		p := forked(map[string]func(asked) any{director.OpCommit: func(asked) any { return slow{time.Hour, nil} }}, define("db_build")).play(t)
		for _, e := range p.events(t, director.EventAttemptFailed) {
			assert.Equal(t, string(board.Crashed), e.On)
		}
		assert.True(t, p.warned("outage") || len(p.events(t, director.EventAttemptFailed)) > 0)
	})
}
