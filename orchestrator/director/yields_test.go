package director_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
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
		s.cfg.Policy.Retry.Stagnation = 1
		p := s.play(t)
		p.is(t, "db_build ABANDONED, api_build ABANDONED")
		if !testing.Short() {
			s.sweep(t)
		}
	})
	t.Run("BX16 BX4 what is abandoned while its merge waits or is checked is not merged", func(t *testing.T) {
		for _, first := range []director.Merged{{Merge: worktree.Merge{Moved: true}}, {Prepared: "p", Onto: "main"}} {
			s := forked(map[string]func(asked) any{
				"qa": func(a asked) any {
					if a.task == "db_build" {
						return slow{500 * time.Millisecond, agent.Response{Data: agent.JSON(fail(a.req))}}
					}
					return nil
				},
				"replan": func(asked) any {
					return director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build"}, {ID: "api_build"}}}
				},
				"check": func(a asked) any {
					var in director.CheckInput
					if decode(a.req.Input, &in); in.Commit == "p" {
						return slow{time.Minute, green}
					}
					return green
				},
				director.OpMerge: func(a asked) any {
					if a.n == 1 {
						return first
					}
					return forks()[director.OpMerge](a)
				},
				director.OpRemove: removing(true),
			}, define("db_build"), define("api_build"))
			s.cfg.Agents.Check, s.cfg.Policy.Retry.Stagnation = "check", 1
			s.cfg = s.whole()
			s.cfg.Profiles[1].Check = []string{"true"}
			p := s.play(t)
			p.is(t, "db_build ABANDONED, api_build ABANDONED")
			assert.Len(t, p.of(director.OpMerge), 1)
			assert.Empty(t, p.events(t, director.EventCommitMerged))
		}
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
		s.cfg.Policy.Retry.Attempts, s.cfg.Policy.GiveUp = 1, true
		p := s.play(t)
		p.is(t, "db_build ABANDONED, api_build COMPLETE")
		assert.Equal(t, 1, p.task(t, "db_build").Attempt)
		assert.Empty(t, p.events(t, director.EventAttemptReset))
		if !testing.Short() {
			s.sweep(t)
		}
	})
	t.Run("BX26 what a person says reaches the attempt that follows", func(t *testing.T) {
		s := forked(map[string]func(asked) any{
			"qa":              failing("db_build", 1),
			"work":            func(asked) any { return slow{time.Minute, nil} },
			director.OpRemove: removing(false),
		}, define("db_build"), define("api_build"))
		s.cfg.Policy.Retry.Attempts, s.cfg.Policy.ReturnWhenWaiting = 1, false
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
			assert.Equal(t, string(blackboard.Crashed), e.On)
		}
		assert.True(t, p.warned("outage") || len(p.events(t, director.EventAttemptFailed)) > 0)
	})
	t.Run("BX16 BX18 B99 whatever ends for a task that has been abandoned is dropped", func(t *testing.T) {
		late := func(answer any) any { return slow{30 * time.Second, answer} }
		more := agent.Response{More: true, Messages: messages(15), Usage: providers.Usage{ToolCalls: 15}}
		waiting := director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}}}
		raises := func(kind string) director.WorkerResult {
			return director.WorkerResult{Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: kind, Reason: "r"}}
		}
		split := director.Decomposition{Tasks: []director.TaskPlan{plan("s1", "build")}}
		for name, answers := range map[string]map[string]any{
			"its answer":                  {"work": late(nil)},
			"an answer that does not fit": {"work": late("rubbish")},
			"a slice":                     {"work": late(more)},
			"a silent slice":              {"work": late(agent.Response{More: true})},
			"its commit":                  {director.OpCommit: late(nil)},
			"the commit of a slice":       {"work": more, director.OpCommit: late(nil)},
			"the commit before a pause":   {"work": waiting, director.OpCommit: late(nil)},
			"the commit before a split":   {"work": raises("SCOPE_TOO_LARGE"), director.OpCommit: late(nil), "split": split},
			"its check":                   {"work": more, "assess": late(director.Assessment{Alignment: 40})},
			"a decision":                  {"work": raises("SPEC_MISMATCH"), "escalate": late(director.Resolution{})},
			"a decision to abandon it":    {"work": raises("SPEC_MISMATCH"), "escalate": late(director.Resolution{Abandon: true})},
			"a decision that never comes": {"work": raises("SPEC_MISMATCH"), "escalate": slow{time.Hour, director.Resolution{}}},
			"a split":                     {"work": raises("SCOPE_TOO_LARGE"), "split": late(split)},
			"its review":                  {"qa": late(nil)},
			"a review without a verdict":  {director.OpInspect: late(errors.New("the disk is full"))},
			"its merge":                   {director.OpMerge: late(nil)},
			"what to do about a conflict": {director.OpMerge: director.Merged{}, "conflict": late(director.ConflictAnswer{DependsOn: []string{"ui_plan"}})},
		} {
			s := forked(roles{
				"qa": func(a asked) any {
					if a.task == "db_build" {
						return slow{time.Second, fail(a.req)}
					}
					return nil
				},
				"replan":          always(director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build"}, {ID: "api_build"}}}),
				director.OpRemove: removing(true),
			}, define("db_build"), define("api_build"), define("ui_plan"))
			s.cfg.Policy.Retry.Stagnation = 1
			for op, answer := range answers {
				usual := s.roles[op]
				s.roles[op] = func(a asked) any {
					var in struct{ Tree worktree.Tree }
					if decode(a.req.Input, &in); in.Tree.Task != "api_build" && a.task != "api_build" {
						if usual == nil {
							return nil
						}
						return usual(a)
					}
					if wait, ok := answer.(slow); ok && wait.then == nil && usual != nil {
						return slow{wait.d, usual(a)}
					}
					return answer
				}
			}
			p := s.play(t)
			p.is(t, "db_build ABANDONED, api_build ABANDONED")
			assert.Equal(t, 2*time.Minute+time.Second, p.out.Elapsed.Round(time.Second), name)
			assert.Len(t, p.out.Board.Tasks, 3, name)
			assert.Empty(t, p.out.Board.Guardian.Watches["api_build"], name)
			assert.Zero(t, p.task(t, "api_build").RetryCount, name)
			assert.Empty(t, p.out.Warnings, name)
			for _, op := range []string{"split", "escalate", "conflict"} {
				asked := 0
				if _, ok := answers[op].(slow); ok {
					asked = 1
				}
				assert.Len(t, p.of(op), asked, "%s: %s", name, op)
			}
		}
	})
}
