package director_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// costs is an answer that costs so many cents.
func costs(answer any, cents providers.NanoUSD) agent.Response {
	return agent.Response{Data: agent.JSON(answer), Usage: providers.Usage{Calls: 1, Cost: cents * providers.USD / 100}}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	tasks := func(n int) (all []blackboard.Definition) {
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
	t.Run("B116 BX28 what a call has used that was cut is on the board's account, too", func(t *testing.T) {
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_build"), define("api_plan")}}, roles: map[string]func(asked) any{
			"qa": failing("db_build", 3),
			"work": func(a asked) any {
				if a.task != "api_plan" {
					return slow{time.Minute, costs(done(a.task, a.attempt), 10)}
				}
				return func(ctx context.Context, _ agent.Request) (agent.Response, error) {
					<-ctx.Done()
					return agent.Response{}, &agent.Error{Message: "cut", Usage: providers.Usage{Calls: 1, Cost: 7 * providers.USD / 100}}
				}
			},
			"replan": func(asked) any { return director.Replan{Abandon: []director.AbandonPlan{{ID: "api_plan"}}} },
		}}
		c, _ := s.open(t)
		c.Determinism(t)
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, api_plan ABANDONED")
		assert.Equal(t, 47*providers.USD/100, p.out.Spent.Cost, "four attempts and the cut one")
		assert.Equal(t, p.out.Spent, p.out.Board.Spent)
		s.in, s.roles["work"] = director.Input{Board: p.out.Board, Files: p.out.Files, Tasks: []blackboard.Definition{define("ui_build")}}, nil
		s.roles["qa"] = func(a asked) any { return costs(pass(a.req), 1) }
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, providers.USD/100, p.out.Spent.Cost, "of this run")
		assert.Equal(t, 48*providers.USD/100, p.out.Board.Spent.Cost, "of both")
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
		s.cfg.Bounds.Parallel = 1
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, director.BudgetExhausted, p.out.End)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, map[blackboard.State]int{blackboard.Complete: 3, blackboard.Ready: 3}, p.out.Summary, "3 x 0.11; 0.07 are left and the fourth attempt is refused")
		for _, id := range []string{"d_plan", "e_plan", "f_plan"} {
			assert.Zero(t, p.task(t, id).RetryCount)
		}
		asked := p.out.Asked
		p.out.Board.RunID = "old"
		s.in = director.Input{Board: p.out.Board, Files: p.out.Files, Drafts: p.out.Drafts}
		s.cfg.Limits.Cost = providers.USD
		p = s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status, "it goes on with a larger budget")
		assert.Len(t, p.out.Files, 6)
		assert.NotEqual(t, "old", p.out.Board.RunID)
		assert.Equal(t, asked, p.out.Asked)
	})
	t.Run("BX1 BC65 the time ends: what is under way is released, and has lost no attempt", func(t *testing.T) {
		s := one(nil).also(define("api_plan")).hanging("api_plan")
		s.budget.Wall = time.Minute
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "db_build COMPLETE, api_plan READY")
		assert.Zero(t, p.task(t, "api_plan").RetryCount)
		assert.Equal(t, "the budget is used up", p.task(t, "api_plan").Reason)
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
}

func TestShares(t *testing.T) {
	t.Parallel()
	// three are tasks that need nothing of each other.
	three := []blackboard.Definition{}
	for _, id := range []string{"a", "b", "c"} {
		three = append(three, blackboard.Definition{ID: id, Component: id, Phase: "plan", Profile: "planner_worker", Criteria: []string{"it is there"}})
	}
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "director", Strategist: "strategist"}
	cfg.Policy.NoTestPlaceholders = true
	cfg.Limits = team.Limits{Cost: 10 * providers.USD, Estimate: providers.Dollars(0.5)}
	cfg.Bounds.Parallel, cfg.Bounds.Reserve = 2, 10
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
	t.Run("BC65 BX27 a task that needs more than its share waits for a larger one, and the run has not ended", func(t *testing.T) {
		for i := range cfg.Profiles {
			cfg.Profiles[i].Estimate = 5 * providers.USD // no call fits into 4.5
			defer func() { cfg.Profiles[i].Estimate = providers.USD }()
		}
		p, limits := play(t, 1)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		// One after the other gets all there is: 10 - 1, then without 1 for each that is done
		// and 0.5 for each that is reviewed, which the last one is not yet.
		assert.Equal(t, []providers.NanoUSD{9 * providers.USD, 8 * providers.USD, providers.Dollars(6.5)}, limits)
		for _, id := range []string{"a", "b", "c"} {
			assert.Zero(t, p.task(t, id).RetryCount)
		}
		assert.Len(t, p.events(t, director.EventTaskDispatched), 6, "each is given back once")
	})
	t.Run("BC65 BX27 a task that all there is does not suffice for ends the run", func(t *testing.T) {
		for i := range cfg.Profiles {
			cfg.Profiles[i].Estimate = providers.Dollars(8.5)
			defer func() { cfg.Profiles[i].Estimate = providers.USD }()
		}
		p, limits := play(t, 1)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, director.BudgetExhausted, p.out.End)
		assert.Equal(t, []providers.NanoUSD{9 * providers.USD}, limits)
		assert.Equal(t, map[blackboard.State]int{blackboard.Complete: 1, blackboard.Ready: 2}, p.out.Summary)
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
		assert.Equal(t, 2, p.out.Summary[blackboard.Complete])
		assert.Equal(t, []string{"c"}, p.out.Pending)
	})
}

// What the end of the run's time cuts has not failed.
func TestTime(t *testing.T) {
	t.Parallel()
	minute := func(asked) any { return slow{time.Minute, nil} }
	for _, tt := range []struct {
		name  string
		op    string
		wall  time.Duration
		a     blackboard.State
		b     blackboard.State
		state orchestrator.Status
	}{
		{"a worker", "work", 90 * time.Second, blackboard.Complete, blackboard.Ready, orchestrator.Partial},
		{"a review", "qa", 30 * time.Second, blackboard.AwaitingQA, blackboard.Blocked, orchestrator.OutOfBudget},
		{"the second review", "qa", 90 * time.Second, blackboard.Complete, blackboard.AwaitingQA, orchestrator.Partial},
	} {
		t.Run("BX27 BC55 the run's time ends: "+tt.name, func(t *testing.T) {
			p := script{
				cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("a_plan"), define("b_plan", "a_plan")}},
				roles: map[string]func(asked) any{tt.op: minute}, budget: orchestrator.Budget{Wall: tt.wall},
			}.play(t)
			require.ErrorIs(t, p.err, orchestrator.ErrBudget)
			assert.Equal(t, director.BudgetExhausted, p.out.End)
			assert.Equal(t, tt.state, p.out.Status)
			assert.Equal(t, tt.a, p.task(t, "a_plan").Status)
			assert.Equal(t, tt.b, p.task(t, "b_plan").Status)
			assert.Zero(t, p.task(t, "a_plan").RetryCount+p.task(t, "b_plan").RetryCount)
			assert.Empty(t, p.out.Warnings)
		})
	}
	t.Run("BX27 BC55 the run's time ends: the plan", func(t *testing.T) {
		p := script{cfg: bare(), roles: map[string]func(asked) any{"decompose": minute}, budget: orchestrator.Budget{Wall: time.Second}}.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, director.BudgetExhausted, p.out.End, "not failed: the plan was not bad")
	})
}

// shares is a run whose tasks share money. draw draws a number from 1 to most.
func shares(draw func(name string, most int64) int64) script {
	cents := func(name string, most int64) providers.NanoUSD {
		return providers.NanoUSD(draw(name, most)) * providers.USD / 100
	}
	s := script{cfg: director.Software(), roles: map[string]func(asked) any{}}
	s.cfg.Agents, s.cfg.Policy = director.Agents{Director: "director", Strategist: "strategist"}, bare().Policy
	s.cfg.Bounds = director.Bounds{Parallel: int(draw("parallel", 4)), Reserve: 10}
	s.cfg.Limits = team.Limits{Cost: cents("limit", 300), Estimate: 1}
	estimate := cents("estimate", 80)
	for i := range s.cfg.Profiles {
		s.cfg.Profiles[i].Estimate = estimate
	}
	costly := map[string]providers.NanoUSD{}
	for i := range draw("tasks", 6) {
		d := define(string(rune('a'+i)) + "_plan")
		s.in.Tasks = append(s.in.Tasks, d)
		costly[d.ID] = min(cents("cost", 80), estimate)
	}
	s.roles["work"] = func(a asked) any {
		return slow{time.Second, agent.Response{Data: agent.JSON(done(a.task, a.attempt)), Usage: providers.Usage{Calls: 1, Cost: costly[a.task]}}}
	}
	return s
}

// Whatever tasks cost and are thought to cost, a run ends, and for want of money only if
// what is left does not suffice for a task.
func TestSharesEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := shares(func(name string, most int64) int64 { return rapid.Int64Range(1, most).Draw(r, name) })
		p := s.play(t)
		left := s.cfg.Limits.Cost - p.out.Spent.Cost
		require.GreaterOrEqual(r, left, providers.NanoUSD(0))
		if p.out.End == director.Completed {
			return
		}
		require.Equal(r, director.BudgetExhausted, p.out.End)
		require.Less(r, left-s.cfg.Limits.Cost/10, s.cfg.Profiles[0].Estimate, "what is left without the reserve is for the next task")
	})
}

// Wherever it was killed, a run shares its money out as before.
func TestSharesSweep(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // chance that can be repeated
	for n := range 4 {
		t.Run(fmt.Sprint("BC65 BX30 ", n), func(t *testing.T) {
			s := shares(func(_ string, most int64) int64 { return 1 + dice.Int64N(most) })
			s.sweep(t)
		})
	}
}

func TestSharesOfTwo(t *testing.T) {
	t.Parallel()
	// two are a plan and a build, of 10 USD without a reserve.
	two := func(work func(a asked) any) script {
		s := script{in: director.Input{Tasks: []blackboard.Definition{define("a_plan"), define("b_build")}}, roles: roles{"work": work}}
		s.cfg = config()
		s.cfg.Policy.NoTestPlaceholders = true
		s.cfg.Limits.Cost, s.cfg.Bounds = 10*providers.USD, director.Bounds{Parallel: 2, Reserve: orchestrator.None}
		return s
	}
	dispatched := func(p played) (all []string) {
		for _, e := range p.events(t, director.EventTaskDispatched) {
			all = append(all, fmt.Sprint(e.Task, " ", e.Attempt))
		}
		return all
	}
	t.Run("BC65 what an attempt has spent of its share is not kept for it, too", func(t *testing.T) {
		s := two(func(a asked) any {
			switch {
			case a.task == "a_plan":
				return slow{time.Minute, costs(done(a.task, a.attempt), 100)}
			case a.task == "b_build" && a.slice == 1:
				first := costs(nil, 300)
				first.More, first.Messages = true, messages(1)
				return slow{30 * time.Second, first}
			}
			return slow{time.Hour, costs(done(a.task, a.attempt), 100)}
		}).also(define("c_build"))
		s.cfg.Bounds.TaskTime, s.cfg.Bounds.Watch.Every, s.cfg.Bounds.Watch.Calls = 2*time.Hour, orchestrator.None, orchestrator.None
		for i := range s.cfg.Profiles {
			s.cfg.Profiles[i].Estimate = 1
		}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 4*providers.USD, p.last(t, "c_build").req.Limits.Cost, "10 - 1 - 3, of which 2 are kept for b_build")
	})
	t.Run("BC65 what an attempt has spent beyond its share is not given to others", func(t *testing.T) {
		s := two(func(a asked) any {
			switch {
			case a.task == "a_plan" && a.n == 1:
				first := costs(nil, 700) // of a share of 4.50
				first.More, first.Messages, first.Usage.ToolCalls = true, messages(15), 15
				return slow{time.Minute, first}
			case a.task == "b_build":
				return slow{2 * time.Minute, costs(done(a.task, a.attempt), 100)}
			}
			return costs(done(a.task, a.attempt), 10)
		}).also(define("c_build")).under(func(cfg *director.Config) { cfg.Bounds.Reserve, cfg.Limits.Estimate = 10, 1 })
		for i := range s.cfg.Profiles {
			s.cfg.Profiles[i].Estimate = 1
		}
		s.cfg.Rules.Graders.Conduct = orchestrator.GradeWith(func(c *orchestrator.Context, _ director.AssessInput) (director.Assessment, error) {
			return director.Assessment{Alignment: 95}, c.Sleep(3 * time.Minute) // its call would be refused
		})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, providers.USD, p.last(t, "c_build").req.Limits.Cost, "10 - 7 - 1, less the reserve of 1")
	})
	t.Run("BC65 a task whose share was too small waits for a larger one", func(t *testing.T) {
		s := two(func(a asked) any { return slow{time.Minute, costs(done(a.task, a.attempt), 100)} })
		for i := range s.cfg.Profiles {
			s.cfg.Profiles[i].Estimate = providers.USD
		}
		s.cfg.Profiles[0].Estimate = 6 * providers.USD // the planner's: it does not fit into 5
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"a_plan 1", "b_build 1", "a_plan 2"}, dispatched(p))
	})
	for name, limit := range map[string]func(s *script){
		"calls":  func(s *script) { s.cfg.Limits.Calls = 1 },
		"tokens": func(s *script) { s.budget.Tokens = 100 },
		"time":   func(s *script) { s.budget.Wall = 90 * time.Second },
	} {
		t.Run("BC65 BX27 an attempt that the run's "+name+" end does not begin again", func(t *testing.T) {
			s := two(func(a asked) any {
				first := costs(nil, 100)
				first.More, first.Messages, first.Usage.Input = true, messages(1), 200
				return slow{map[int]time.Duration{1: time.Minute, 2: time.Hour}[a.slice], first}
			})
			s.in.Tasks = s.in.Tasks[:1]
			limit(&s)
			p := s.play(t)
			require.ErrorIs(t, p.err, orchestrator.ErrBudget)
			assert.Equal(t, []string{"a_plan 1"}, dispatched(p))
		})
	}
}
