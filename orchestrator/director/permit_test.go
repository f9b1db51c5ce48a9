package director_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
)

// asks has people asked about one move.
func asks(path, event string) director.Rules {
	return director.Rules{Permit: orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool { return m.Path == path && m.Event == event }}}
}

// late has people asked about all moves of a path, after a time.
func late(path string, wait time.Duration) director.Rules {
	return director.Rules{Permit: orchestrator.PermitFunc(func(c *orchestrator.Context, m orchestrator.Move) error {
		if m.Path != path {
			return nil
		}
		if err := c.Sleep(wait); err != nil {
			return err
		}
		return orchestrator.AskFirst{}.Allow(c, m)
	})}
}

// answered is a team with such rules that stays open, and the answers of people.
func answered(rules director.Rules, answers map[string]any) script {
	s := ruled(rules)
	s.cfg.Policy.ReturnWhenWaiting, s.reply = false, answers
	return s
}

// planned has the director plan the tasks that the script has.
func planned(s script) script {
	var plans []director.TaskPlan
	for _, d := range s.in.Tasks {
		plans = append(plans, director.TaskPlan{ID: d.ID, Component: d.Component, Phase: d.Phase, Profile: d.Profile, Criteria: d.Criteria})
	}
	s.in.Tasks = nil
	return s.role("decompose", always(director.Decomposition{Tasks: plans}))
}

func TestPermitOfThePlan(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer bool
		states map[blackboard.State]int
	}{
		"BC1 allowed": {true, map[blackboard.State]int{blackboard.Complete: 3}},
		"BC1 refused": {false, map[blackboard.State]int{blackboard.Planned: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := planned(answered(asks("run", "decomposed"), map[string]any{"permit/run/decomposed": tt.answer}))
			p := s.play(t)
			assert.Equal(t, tt.states, p.out.Summary, "the plan is on the board in any case")
			if !tt.answer {
				require.ErrorIs(t, p.err, director.ErrNotPermitted)
				assert.Equal(t, director.Failed, p.out.End)
				assert.True(t, p.warned("not-permitted"))
				assert.Empty(t, p.of("work"))
			}
			s.sweep(t)
		})
	}
	t.Run("BC1 given tasks are not asked about", func(t *testing.T) {
		p := answered(asks("run", "decomposed"), nil).play(t)
		require.NoError(t, p.err)
	})
	t.Run("BC49 a run that returns when it waits ends with the plan", func(t *testing.T) {
		s := planned(ruled(asks("run", "decomposed")))
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, director.Waiting, p.out.End)
		assert.Len(t, p.out.Board.Tasks, 3)
		s.in = director.Input{Board: p.out.Board}
		p = s.play(t)
		require.NoError(t, p.err, "its board was looked at between the runs")
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
}

func TestPermitOfAMerge(t *testing.T) {
	t.Parallel()
	t.Run("BC1 allowed", func(t *testing.T) {
		s := answered(late("task/b", 5*time.Hour), map[string]any{"permit/task/b/pass": true})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"a", "c", "b"}, p.tasks(t, director.EventCommitMerged), "others are merged meanwhile")
		s.sweep(t)
	})
	t.Run("BC1 refused", func(t *testing.T) {
		s := answered(asks("task/b", "pass"), map[string]any{"permit/task/b/pass": false, "ask/b/1": director.Answer{Action: director.ActionAbandon}})
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "a COMPLETE, b ABANDONED, c COMPLETE")
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA WAITING_HUMAN ABANDONED", p.states(t, "b"))
		assert.Equal(t, blackboard.NoReview, p.task(t, "b").QA.Kind)
		assert.Zero(t, p.task(t, "b").RetryCount, "it costs no retry")
		assert.True(t, p.warned("not-permitted"))
		assert.Len(t, p.of("work"), 3, "and no outage")
		s.sweep(t)
	})
	t.Run("BC1 a person takes the work in spite of it, and is asked again", func(t *testing.T) {
		s := answered(asks("task/b", "pass"), map[string]any{
			"permit/task/b/pass": false, "ask/b/1": director.Answer{Action: director.ActionAccept}, "permit/task/b/pass/2": true,
		})
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "a COMPLETE, b COMPLETE, c COMPLETE")
	})
	t.Run("BC49 a run that returns when it waits keeps the work", func(t *testing.T) {
		s := ruled(asks("task/b", "pass"))
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		require.ErrorContains(t, p.err, "pass of task/b waits for a person")
		p.is(t, "a COMPLETE, b AWAITING_QA, c COMPLETE")
		s.in, s.cfg.Rules = director.Input{Board: p.out.Board, Files: p.out.Files, Drafts: p.out.Drafts}, director.Rules{}
		p = s.play(t)
		require.NoError(t, p.err)
		p.is(t, "b COMPLETE")
		assert.Empty(t, p.of("qa"), "it has passed")
	})
	t.Run("BC1 a Permit that panics", func(t *testing.T) {
		p := ruled(director.Rules{Permit: orchestrator.PermitFunc(func(*orchestrator.Context, orchestrator.Move) error { panic("broken") })}).play(t)
		require.ErrorIs(t, p.err, director.ErrRule)
		p.is(t, "a WAITING_HUMAN, b WAITING_HUMAN, c WAITING_HUMAN")
	})
	t.Run("BC1 abandoned while its merge waits", func(t *testing.T) {
		s := answered(late("task/b", 9*time.Hour), nil)
		s.cfg.Bounds.Parallel = 2
		s.in.Tasks[0].ID, s.in.Tasks[0].Profile = "x", "cheap"
		s.in.Tasks = s.in.Tasks[:2]
		s.cfg.Rules.Gates.Stagnation = director.Patience{}
		s.cfg.Policy.Retry.Stagnation = 1
		s.role("qa", func(a asked) any {
			if a.task == "x" && a.attempt == 1 {
				return slow{time.Minute, fail(a.req)}
			}
			return nil
		}).role("replan", always(director.Replan{Abandon: []director.AbandonPlan{{ID: "b"}}}))
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "x COMPLETE, b ABANDONED")
	})
}

func TestPermitOfAReplan(t *testing.T) {
	t.Parallel()
	stagnates := func(rules director.Rules, answers map[string]any) script {
		s := answered(rules, answers)
		s.cfg.Policy.Retry.Stagnation = 1
		return s.role("qa", failing("a", 1))
	}
	t.Run("BC1 allowed", func(t *testing.T) {
		s := stagnates(late("run", time.Hour), map[string]any{"permit/run/replan": true})
		p := s.play(t)
		require.NoError(t, p.err)
		require.Len(t, p.of("replan"), 1)
		assert.Len(t, p.of("work"), 4)
		assert.GreaterOrEqual(t, p.of("work")[3].at.Sub(p.of("work")[0].at), time.Hour, "no attempt begins while it waits")
		s.sweep(t)
	})
	t.Run("BC1 refused", func(t *testing.T) {
		s := stagnates(asks("run", "replan"), map[string]any{"permit/run/replan": false})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.of("replan"))
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.True(t, p.warned("not-permitted"))
		s.sweep(t)
	})
	t.Run("BC1 refused, and nothing else can be done", func(t *testing.T) {
		s := ruled(director.Rules{Permit: orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
			if m.Event == "replan" {
				return errors.New("not before the holidays")
			}
			return nil
		})})
		s.in.Tasks[1].DependsOn = []string{"a"}
		s.in.Tasks = s.in.Tasks[:2]
		s.cfg.Policy.GiveUp, s.cfg.Policy.OnAbandoned, s.cfg.Policy.Retry.Attempts = true, "block", 1
		p := s.role("qa", failing("a", 9)).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		require.ErrorIs(t, p.err, director.ErrNotPermitted)
		require.ErrorContains(t, p.err, "not before the holidays")
	})
	t.Run("BC49 a run that returns when it waits", func(t *testing.T) {
		s := stagnates(asks("run", "replan"), nil)
		s.cfg.Policy.ReturnWhenWaiting = true
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Equal(t, blackboard.Stagnating, p.out.Board.Strategy, "the next run asks")
		assert.Equal(t, 1, p.task(t, "a").Attempt)
	})
}
