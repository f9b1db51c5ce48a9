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
	"github.com/convene-go/convene/providers"
)

// costs is an answer that costs so many cents.
func costs(answer any, cents providers.NanoUSD) agent.Response {
	return agent.Response{Data: agent.JSON(answer), Usage: providers.Usage{Calls: 1, Cost: cents * providers.USD / 100}}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	tasks := func(n int) (all []board.Definition) {
		for _, id := range []string{"a_plan", "b_plan", "c_plan", "d_plan", "e_plan", "f_plan"}[:n] {
			all = append(all, define(id))
		}
		return all
	}
	// priced is a team whose workers cost 10 cents an attempt and whose reviews cost 1.
	priced := func(n int, budget providers.NanoUSD) script {
		s := script{cfg: bare(), in: director.Input{Tasks: tasks(n)}, roles: map[string]func(asked) any{
			"work": func(a asked) any { return slow{time.Second, costs(done(a.task, a.attempt), 10)} },
			"qa":   func(a asked) any { return costs(pass(a.req), 1) },
		}}
		s.cfg.Limits.Cost = budget
		return s
	}
	t.Run("B116 BX28 what is used is on the board, by task and run", func(t *testing.T) {
		p := priced(2, 0).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 11*providers.USD/100, p.task(t, "a_plan").Spent.Cost)
		assert.Equal(t, 22*providers.USD/100, p.out.Board.Spent.Cost)
		assert.Equal(t, p.out.Spent.Cost, p.out.Board.Spent.Cost)
	})
	t.Run("BX28 failed attempts count", func(t *testing.T) {
		s := priced(1, 0)
		s.roles["qa"] = func(a asked) any {
			if a.attempt == 1 {
				return costs(fail(a.req), 1)
			}
			return costs(pass(a.req), 1)
		}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 22*providers.USD/100, p.task(t, "a_plan").Spent.Cost)
	})
	t.Run("BX27 BC65 BC55 the money ends: what is finished is reviewed", func(t *testing.T) {
		s := priced(6, 40*providers.USD/100)
		s.cfg.Limits.Parallel = 1
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, director.BudgetExhausted, p.out.End)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, map[board.State]int{board.Complete: 3, board.Ready: 3}, p.out.Summary, "3 x 0.11; 0.07 are left and the fourth attempt is refused")
		for _, id := range []string{"d_plan", "e_plan", "f_plan"} {
			assert.Zero(t, p.task(t, id).RetryCount)
		}
		s.in = director.Input{Board: p.out.Board, Files: p.out.Files, Drafts: p.out.Drafts}
		s.cfg.Limits.Cost = providers.USD
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status, "it goes on with a larger budget")
		assert.Len(t, p.out.Files, 6)
		assert.NotEqual(t, "old", p.out.Board.RunID)
	})
	t.Run("BC55 no money for anything", func(t *testing.T) {
		s := priced(2, providers.USD/10000)
		s.roles["work"] = func(a asked) any { return costs(done(a.task, a.attempt), 10) }
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, director.BudgetExhausted, p.out.End)
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
	})
	t.Run("BX28 a call that failed has its cost, too", func(t *testing.T) {
		s := priced(1, 0)
		work := s.roles["work"]
		s.roles["work"] = func(a asked) any {
			if a.attempt == 1 {
				return &agent.Error{Message: "down", Usage: providers.Usage{Calls: 1, Cost: providers.USD / 20}}
			}
			return work(a)
		}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 16*providers.USD/100, p.task(t, "a_plan").Spent.Cost)
	})
	t.Run("BX27 calls without a price, where they are allowed", func(t *testing.T) {
		s := priced(1, providers.USD)
		s.budget = orchestrator.Budget{Cost: providers.USD, AllowUnpriced: true}
		s.roles["work"] = func(a asked) any {
			return agent.Response{Data: agent.JSON(done(a.task, a.attempt)), Usage: providers.Usage{Calls: 1, Unpriced: 1}}
		}
		require.NoError(t, s.play(t).err)
	})
	t.Run("BC65 no call outlasts the run", func(t *testing.T) {
		s := priced(1, 0)
		s.budget.Wall = 100 * time.Second
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 99*time.Second, p.of("qa")[0].req.Limits.Total.Round(time.Second))
	})
	t.Run("BX27 whatever comes back first, its replay is the same", func(t *testing.T) {
		c, _ := priced(3, 30*providers.USD/100).open(t)
		c.Determinism(t)
	})
}

func TestShares(t *testing.T) {
	t.Parallel()
	// three are tasks that need nothing of each other.
	three := []board.Definition{}
	for _, id := range []string{"a", "b", "c"} {
		three = append(three, board.Definition{ID: id, Component: id, Phase: "plan", Profile: "planner_worker", Criteria: []string{"it is there"}})
	}
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "director", Strategist: "strategist"}
	cfg.Policy.NoTestPlaceholders = true
	cfg.Limits = director.Limits{Parallel: 2, Cost: 10 * providers.USD, Reserve: 10, Estimate: providers.Dollars(0.5)}
	for i := range cfg.Profiles {
		cfg.Profiles[i].Estimate = providers.USD
	}
	play := func(t *testing.T, worker float64, more ...func(s *script)) (played, []providers.NanoUSD) {
		t.Helper()
		s := script{
			cfg: cfg, in: director.Input{Objective: "three things", Tasks: three},
			roles: map[string]func(a asked) any{
				"work": func(a asked) any {
					return slow{time.Minute, costs(done(a.task, a.attempt), providers.NanoUSD(100*worker))}
				},
				"qa": func(a asked) any { return costs(pass(a.req), 50) },
			},
		}
		for _, change := range more {
			change(&s)
		}
		p := s.play(t)
		var limits []providers.NanoUSD
		for _, a := range p.of("work") {
			limits = append(limits, a.req.Limits.Cost)
		}
		return p, limits
	}
	t.Run("BC65 what is left without the reserve is divided by the free places", func(t *testing.T) {
		p, limits := play(t, 1)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		// (10 - 1) / 2 each; then a has cost 1, and b 1 of its 4.5: what is left is for c alone.
		assert.Equal(t, []providers.NanoUSD{providers.Dollars(4.5), providers.Dollars(4.5)}, limits[:2])
		assert.Len(t, limits, 3)
		assert.Equal(t, providers.Dollars(4.5), p.out.Spent.Cost)
	})
	t.Run("BC65 what the plan has cost is no money of the workers", func(t *testing.T) {
		_, limits := play(t, 1, func(s *script) {
			var plans []director.TaskPlan
			for _, d := range three {
				plans = append(plans, director.TaskPlan{ID: d.ID, Component: d.Component, Phase: d.Phase, Criteria: d.Criteria})
			}
			s.in.Tasks = nil
			s.roles["decompose"] = func(asked) any { return costs(director.Decomposition{Tasks: plans}, 100) }
		})
		assert.Equal(t, []providers.NanoUSD{providers.Dollars(4), providers.Dollars(4)}, limits[:2], "(10 - 1 - 1) / 2")
	})
	t.Run("BX27 without money for another attempt nothing is planned anew", func(t *testing.T) {
		p, _ := play(t, 4.5, func(s *script) {
			s.roles["qa"] = func(a asked) any {
				r := fail(a.req)
				r.PlanWrong = true
				return slow{time.Minute, costs(r, 10)}
			}
		})
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Empty(t, p.of("replan"))
		assert.Len(t, p.events(t, director.EventBudgetExceeded), 1)
	})
	t.Run("BX27 without money for another attempt, what is done is reviewed from the reserve", func(t *testing.T) {
		p, limits := play(t, 4.5)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, director.BudgetExhausted, p.out.End)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Len(t, limits, 2)
		assert.Len(t, p.of("qa"), 2)
		assert.Equal(t, 2, p.out.Summary[board.Complete])
		assert.Equal(t, []string{"c"}, p.out.Pending)
	})
}
