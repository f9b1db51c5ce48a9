package portfolio_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/providers"
)

var (
	now    = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	policy = portfolio.Shares{Promote: 0.7, Kill: 0.2, StaleAfter: 30 * 24 * time.Hour}
)

func project(id string, stage portfolio.Stage, score float64, days int) portfolio.Project {
	return portfolio.Project{ID: id, Stage: stage, Score: &score, LastProgress: now.AddDate(0, 0, -days)}
}

func allocate(t require.TestingT, budget providers.NanoUSD, s portfolio.Shares, projects ...portfolio.Project) []portfolio.Order {
	return within(t, portfolio.Means{Budget: budget, Now: now}, s, projects...)
}

// within returns the orders without their reasons, which TestWhy has.
func within(t require.TestingT, has portfolio.Means, s portfolio.Shares, projects ...portfolio.Project) []portfolio.Order {
	orders, err := s.Allocate(projects, has)
	require.NoError(t, err)
	for i := range orders {
		require.Equal(t, orders[i].Action == portfolio.Kill, orders[i].Why != "", "each kill has a reason")
		orders[i].Why = ""
	}
	return orders
}

func TestWhy(t *testing.T) {
	orders, err := policy.Allocate([]portfolio.Project{project("weak", portfolio.Idea, 0.1, 31), project("stale", portfolio.Idea, 0.9, 31), project("c", portfolio.Idea, 0.1, 2)}, portfolio.Means{Now: now})
	require.NoError(t, err)
	assert.Equal(t, "no progress for more than 30 days", orders[0].Why, "this comes first")
	assert.Equal(t, "no progress for more than 30 days", orders[1].Why)
	assert.Equal(t, "its score of 0.10 is below 0.20", orders[2].Why)
}

func TestAllocate(t *testing.T) {
	orders := allocate(t, 300*providers.USD, policy,
		project("a", portfolio.Validating, 0.8, 5), project("b", portfolio.Researching, 0.4, 10),
		project("c", portfolio.Idea, 0.1, 2), project("d", portfolio.Building, 0.6, 31))
	for i, want := range []struct {
		name  string
		order portfolio.Order
	}{
		{"BA123 B120 a promising one", portfolio.Order{Project: "a", Action: portfolio.Promote, Stage: portfolio.Building, Budget: 200 * providers.USD, Runs: true}},
		{"BA124 one in between", portfolio.Order{Project: "b", Action: portfolio.Keep, Stage: portfolio.Researching, Budget: 100 * providers.USD, Runs: true}},
		{"BA125 a weak one", portfolio.Order{Project: "c", Action: portfolio.Kill, Stage: portfolio.Killed}},
		{"BA126 a stale one", portfolio.Order{Project: "d", Action: portfolio.Kill, Stage: portfolio.Killed}},
	} {
		t.Run(want.name, func(t *testing.T) { assert.Equal(t, want.order, orders[i]) })
	}
	t.Run("BA125 BA126 bounds", func(t *testing.T) {
		orders := allocate(t, 0, policy, project("kill", portfolio.Idea, 0.2, 30), project("promote", portfolio.Idea, 0.7, 0), project("below", portfolio.Idea, 0.699999, 0))
		assert.Equal(t, portfolio.Keep, orders[0].Action, "a score of Kill and exactly StaleAfter")
		assert.Equal(t, portfolio.Promote, orders[1].Action)
		assert.Equal(t, portfolio.Keep, orders[2].Action)
		assert.Equal(t, portfolio.Keep, allocate(t, 0, policy, project("rounded", portfolio.Idea, 0.1999999, 0))[0].Action, "scores have six decimals")
		assert.Equal(t, portfolio.Keep, allocate(t, 0, portfolio.Shares{Promote: orchestrator.None}, project("all", portfolio.Idea, 1, 0))[0].Action)
		forever := policy
		forever.StaleAfter = 0
		assert.Equal(t, portfolio.Keep, allocate(t, 0, forever, project("old", portfolio.Idea, 0.3, 9999))[0].Action)
	})
	t.Run("BC67 rounded down, nothing for a sum of 0, nothing for what is ungraded", func(t *testing.T) {
		orders := allocate(t, 10, policy, project("a", portfolio.Idea, 0.5, 0), project("b", portfolio.Idea, 0.5, 0), project("c", portfolio.Idea, 0.5, 0))
		assert.Equal(t, []providers.NanoUSD{3, 3, 3}, []providers.NanoUSD{orders[0].Budget, orders[1].Budget, orders[2].Budget})
		none := policy
		none.Kill = 0
		orders = allocate(t, 1e6, none, project("a", portfolio.Idea, 0.000249, 0), project("b", portfolio.Idea, 0.999751, 0))
		assert.Equal(t, providers.NanoUSD(249), orders[0].Budget, "1e6 * 0.000249 is less than 249 as a float64")
		assert.Equal(t, portfolio.Order{Project: "a", Action: portfolio.Keep, Stage: portfolio.Idea}, allocate(t, 10, none, project("a", portfolio.Idea, 0, 0))[0])
		tiny := allocate(t, 3, none, project("a", portfolio.Idea, 0.9, 0), project("b", portfolio.Idea, 0.000001, 0))
		assert.Equal(t, portfolio.Order{Project: "b", Action: portfolio.Keep, Stage: portfolio.Idea}, tiny[1], "a share of less than 1 is no money, and no slot")
		assert.True(t, allocate(t, 0, none, project("b", portfolio.Idea, 0.000001, 0))[0].Runs, "slots alone")
		ungraded := portfolio.Project{ID: "u", Stage: portfolio.Launching, LastProgress: now}
		assert.Equal(t, portfolio.Order{Project: "u", Action: portfolio.Keep, Stage: portfolio.Launching}, allocate(t, 10, policy, ungraded)[0])
		ungraded.LastProgress = time.Time{}
		assert.Equal(t, portfolio.Kill, allocate(t, 10, policy, ungraded)[0].Action, "stale is stale")
	})
	t.Run("B120 slots go to the highest scores, of equals to the smallest ID", func(t *testing.T) {
		orders := within(t, portfolio.Means{Budget: 100, Slots: 2, Now: now}, policy, project("z", portfolio.Idea, 0.5, 0), project("b", portfolio.Idea, 0.4, 0), project("a", portfolio.Idea, 0.4, 0), project("k", portfolio.Killed, 1, 0))
		require.Len(t, orders, 3, "killed ones have no order")
		assert.Equal(t, []bool{true, false, true}, []bool{orders[0].Runs, orders[1].Runs, orders[2].Runs})
	})
	t.Run("BA127 what operates is not promoted", func(t *testing.T) {
		assert.Equal(t, portfolio.Order{Project: "a", Action: portfolio.Keep, Stage: portfolio.Operating, Budget: 10, Runs: true}, allocate(t, 10, policy, project("a", portfolio.Operating, 1, 0))[0])
	})
	t.Run("BC67 bad input, all at once", func(t *testing.T) {
		_, err := portfolio.Shares{Promote: 2, Kill: -0.5}.Allocate([]portfolio.Project{project("", "MOON", math.NaN(), 0), project("a", portfolio.Idea, 1.5, 0), project("a", portfolio.Idea, 0, 0)}, portfolio.Means{Budget: -1, Now: now})
		require.EqualError(t, err, "Promote is 2, want 0 to 1\nKill is -0.5, want 0 to 1\nbudget is -1, want 0 or more\n"+
			"projects[0]: id \"\" is empty or taken\nprojects[0] \"\": stage is \"MOON\", want one of [\"IDEA\" \"RESEARCHING\" \"VALIDATING\" \"BUILDING\" \"LAUNCHING\" \"OPERATING\" \"KILLED\"]\nprojects[0] \"\": score is NaN, want 0 to 1\n"+
			"projects[1] \"a\": score is 1.5, want 0 to 1\nprojects[2]: id \"a\" is empty or taken")
	})
	t.Run("BC67 no more than the budget, and more for a higher score", rapid.MakeCheck(func(t *rapid.T) {
		var projects []portfolio.Project
		for i := range rapid.IntRange(0, 8).Draw(t, "projects") {
			projects = append(projects, project(fmt.Sprint(i), portfolio.Idea, rapid.Float64Range(0, 1).Draw(t, "score"), rapid.IntRange(0, 60).Draw(t, "days")))
		}
		budget := providers.NanoUSD(rapid.Int64Range(0, math.MaxInt64).Draw(t, "budget"))
		var spent providers.NanoUSD
		orders := allocate(t, budget, policy, projects...)
		for i, order := range orders {
			require.GreaterOrEqual(t, order.Budget, providers.NanoUSD(0))
			require.LessOrEqual(t, order.Budget, budget-spent)
			spent += order.Budget
			for j := range orders[:i] {
				if orders[j].Action != portfolio.Kill && order.Action != portfolio.Kill && *projects[j].Score <= *projects[i].Score {
					assert.LessOrEqual(t, orders[j].Budget, order.Budget)
				}
			}
		}
	}))
}

// slowly is a second Allocate, of fractions and of a search for each slot.
func slowly(projects []portfolio.Project, budget providers.NanoUSD, slots int, p portfolio.Shares) (orders []portfolio.Order) {
	millionths := func(x float64) int64 { return int64(math.Round(x * 1e6)) }
	scores := map[string]int64{} // of those that are left
	var sum int64
	for _, project := range projects {
		if project.Stage == portfolio.Killed {
			continue
		}
		o := portfolio.Order{Project: project.ID, Action: portfolio.Keep, Stage: project.Stage}
		idle, score := now.Sub(project.LastProgress), int64(-1)
		if project.Score != nil {
			score = millionths(*project.Score)
		}
		switch {
		case p.StaleAfter > 0 && idle > p.StaleAfter || score >= 0 && score < millionths(p.Kill):
			o.Action, o.Stage = portfolio.Kill, portfolio.Killed
		case p.Promote != orchestrator.None && score >= millionths(p.Promote) && o.Stage != portfolio.Operating:
			o.Action, o.Stage = portfolio.Promote, line[slices.Index(line, o.Stage)+1]
		}
		if o.Action != portfolio.Kill && score > 0 {
			scores[o.Project], sum = score, sum+score
		}
		orders = append(orders, o)
	}
	for i := range orders {
		if score := scores[orders[i].Project]; score > 0 {
			share := new(big.Int).Mul(big.NewInt(int64(budget)), big.NewInt(score))
			orders[i].Budget = providers.NanoUSD(share.Div(share, big.NewInt(sum)).Int64())
		}
	}
	if slots <= 0 {
		slots = len(orders)
	}
	for range slots {
		best := -1
		for i, o := range orders {
			score := scores[o.Project]
			if o.Runs || score == 0 || budget > 0 && o.Budget == 0 {
				continue
			}
			if best < 0 || score > scores[orders[best].Project] || score == scores[orders[best].Project] && o.Project < orders[best].Project {
				best = i
			}
		}
		if best >= 0 {
			orders[best].Runs = true
		}
	}
	return orders
}

func TestAllocateSlowly(t *testing.T) {
	t.Run("BC67 B120 the same as with fractions and a search", rapid.MakeCheck(func(t *rapid.T) {
		bound := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, orchestrator.None}))
		score := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.0000004, 0.000001, 0.5, 1}))
		p := portfolio.Shares{
			Promote: bound.Draw(t, "promote"), Kill: bound.Draw(t, "kill"),
			StaleAfter: rapid.SampledFrom([]time.Duration{orchestrator.None, 0, 24 * time.Hour}).Draw(t, "stale"),
		}
		if p.Promote != orchestrator.None && p.Promote < p.Kill {
			p.Promote, p.Kill = p.Kill, p.Promote
		}
		slots := rapid.IntRange(0, 4).Draw(t, "slots")
		budget := providers.NanoUSD(rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "budget"))
		ids := rapid.Permutation([]string{"a", "b", "B", "é", "日本", "a/1", "~", "a b"}).Draw(t, "ids")
		var projects []portfolio.Project
		for _, id := range ids[:rapid.IntRange(0, len(ids)).Draw(t, "projects")] {
			one := project(id, rapid.SampledFrom(portfolio.Stages.States()).Draw(t, "stage"), score.Draw(t, "score"), rapid.IntRange(-1, 2).Draw(t, "days"))
			if rapid.IntRange(0, 5).Draw(t, "ungraded") == 0 {
				one.Score = nil
			}
			projects = append(projects, one)
		}
		before := slices.Clone(projects)
		require.Equal(t, append([]portfolio.Order{}, slowly(projects, budget, slots, p)...), within(t, portfolio.Means{Budget: budget, Slots: slots, Now: now}, p, projects...))
		require.Equal(t, before, projects)
	}))
}

var line = []portfolio.Stage{portfolio.Idea, portfolio.Researching, portfolio.Validating, portfolio.Building, portfolio.Launching, portfolio.Operating}

func TestStages(t *testing.T) {
	t.Run("BA127 B120 one step at a time, and killed from any", func(t *testing.T) {
		for i, from := range line {
			options := portfolio.Stages.Allowed(from)
			to, ok := portfolio.Stages.Next(from, portfolio.Promote)
			if from == portfolio.Operating {
				assert.False(t, ok)
				assert.Len(t, options, 1)
			} else {
				assert.Equal(t, line[i+1], to)
				assert.Len(t, options, 2)
			}
			to, _ = portfolio.Stages.Next(from, portfolio.Kill)
			assert.Equal(t, portfolio.Killed, to)
		}
		assert.Empty(t, portfolio.Stages.Allowed(portfolio.Killed))
	})
}
