package director_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
)

// later tries again after a time, by the ID of a task and by "run" for the run.
func later(after map[string]time.Duration) orchestrator.Retrier {
	return orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
		again := orchestrator.Attempts{}.Next(of, tries)
		again.After = after[of.ID]
		return again
	})
}

func TestDelays(t *testing.T) {
	t.Parallel()
	t.Run("BC1 BX29 the host's Retrier decides how long no attempt begins when agents fail", func(t *testing.T) {
		s := one(roles{"work": first(errors.New("down"))}).also(define("api_plan", "db_build"))
		s.cfg.Rules.Retrier = later(map[string]time.Duration{"run": time.Hour})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.GreaterOrEqual(t, p.last(t, "db_build").at.Sub(p.of("work")[0].at), time.Hour)
	})
	t.Run("BC1 BC53 another run waits for a delayed task, too", func(t *testing.T) {
		s := one(roles{"work": first(director.WorkerResult{Status: director.StatusFailed})})
		s.cfg.Rules.Retrier, s.budget.Wall = later(map[string]time.Duration{"db_build": time.Hour}), time.Minute
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.GreaterOrEqual(t, p.out.Elapsed, time.Minute, "it does not end before")
		s.budget.Wall = 0
		p = p.from(s).play(t)
		require.NoError(t, p.err)
		assert.Greater(t, p.out.Elapsed, 50*time.Minute)
	})
	t.Run("BC1 a run does not wait for a delayed task that is abandoned", func(t *testing.T) {
		s := one(roles{
			"work": func(a asked) any {
				switch {
				case a.task == "ui_plan":
					return slow{5 * time.Minute, nil}
				case a.attempt == 1:
					return director.WorkerResult{Status: director.StatusFailed}
				}
				return director.WorkerResult{Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "BLOCKED_EXTERNAL", Reason: "a key"}}
			},
			"qa":     edits("ui_plan", 1, func(r *director.Review) { r.Passed, r.Criteria[0].Passed, r.PlanWrong = false, false, true }),
			"replan": always(director.Replan{Abandon: []director.AbandonPlan{{ID: "api_plan"}}}),
		}).also(define("api_plan"), define("ui_plan"))
		s.cfg.Rules.Retrier = later(map[string]time.Duration{"db_build": time.Minute, "api_plan": time.Hour})
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		p.is(t, "db_build BLOCKED, api_plan ABANDONED, ui_plan COMPLETE")
		assert.Less(t, p.out.Elapsed, 30*time.Minute, "db_build was delayed, and is not any more")
	})
}
