package research_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

// strategyExample is the plan of e7 and its limits.
func strategyExample() (research.Plan, research.Brief) {
	return research.Plan{Complexity: 0.6, Steps: []research.Step{
		{ID: "research", Category: research.Researching, Mode: research.Parallel, Workers: []string{"web_search", "academic_search", "news_search"}},
		{ID: "extra", Category: research.Researching, Mode: research.Sequential, Workers: []string{"social_media"}},
		{ID: "analysis", Category: research.Analysing, Mode: research.Sequential, Workers: []string{"content_synthesizer"}},
		{ID: "writing", Category: research.Writing, Mode: research.Sequential, Workers: []string{"article_writer"}},
		{ID: "quality", Category: research.Checking, Mode: research.Sequential, Workers: []string{"fact_checker", "editor", "citation_formatter"}},
	}}, research.Brief{Topic: "x", MaxBudget: cents(250), MaxTime: 20 * time.Minute}
}

func TestOptimise(t *testing.T) {
	reg := research.Catalogue()
	proves(t, []string{"RA72 RA73 RA74 RA75 R50 R52 R54 R57 the whole example", "RA73 the whole example", "RA74 the whole example", "R52 the whole example"}, func(t *testing.T) {
		p, b := strategyExample()
		got, report := research.Optimise(p, b, reg)
		assert.Equal(t, 17*time.Minute, got.EstTime)
		assert.Equal(t, cents(240), got.EstCost)
		assert.Len(t, got.Steps, 4)
		assert.Equal(t, research.Report{
			Parallelised: []string{"quality"}, Merged: []string{"extra"}, Removed: []string{"social_media"},
			TimeSaved: 11 * time.Minute, CostSaved: cents(140),
		}, report)
		assert.Equal(t, []string{"web_search", "academic_search", "news_search"}, got.Steps[0].Workers)
	})
	proves(t, []string{"RA79 R51 nothing is removed where nothing must be", "R51 nothing is removed where nothing must be"}, func(t *testing.T) {
		p, b := strategyExample()
		b.MaxBudget, b.MaxTime = cents(500), 17*time.Minute
		got, report := research.Optimise(p, b, reg)
		assert.Equal(t, 17*time.Minute, got.EstTime)
		assert.Equal(t, cents(380), got.EstCost)
		assert.Empty(t, report.Removed)
		assert.Empty(t, report.Unmet)
	})
	t.Run("RA76 R56 a plan that fits passes through", func(t *testing.T) {
		p, b := strategyExample()
		fit, _ := research.Optimise(p, b, reg)
		got, report := research.Optimise(fit, b, reg)
		assert.Equal(t, fit, got)
		assert.Equal(t, research.Report{}, report)
	})
	proves(t, []string{"RA77 RA78 RC35 RC36 critical workers stay, and what is unmet is said", "RA78 critical workers stay, and what is unmet is said"}, func(t *testing.T) {
		p := research.Plan{Steps: []research.Step{{ID: "w", Category: research.Writing, Mode: research.Sequential, Workers: []string{"article_writer"}}}}
		got, report := research.Optimise(p, research.Brief{Topic: "x", MaxBudget: cents(80)}, reg)
		assert.Equal(t, []string{"article_writer"}, got.Steps[0].Workers)
		assert.Equal(t, []string{"it costs about 0.90 USD, the limit is 0.80"}, report.Unmet)
		assert.Empty(t, report.Removed)
	})
	t.Run("R50 of equals the last in the plan goes first", func(t *testing.T) {
		p, b := strategyExample()
		p.Steps = append(p.Steps[:1], p.Steps[2:]...)
		b.MaxBudget = cents(225)
		_, report := research.Optimise(p, b, reg)
		assert.Equal(t, []string{"citation_formatter"}, report.Removed)
	})
	t.Run("R45 R51 a short time drops optional workers that save time", func(t *testing.T) {
		p, b := strategyExample()
		b.MaxBudget, b.MaxTime = cents(500), 16*time.Minute
		got, report := research.Optimise(p, b, reg)
		assert.LessOrEqual(t, got.EstTime, 16*time.Minute)
		assert.NotContains(t, report.Removed, "article_writer")
		assert.NotEmpty(t, report.Removed)
		b.MaxTime = time.Minute
		_, report = research.Optimise(p, b, reg)
		assert.Len(t, report.Unmet, 1)
		assert.Contains(t, report.Unmet[0], "the limit is 1m0s")
	})
	t.Run("R50 cheaper workers once nobody can go", func(t *testing.T) {
		cheap := append(slices.Clone(reg), research.Worker{ID: "quick_writer", Category: research.Writing, Critical: true, Needs: []string{"sources"}, Produces: []string{"article"}, EstCost: cents(20), EstTime: time.Minute})
		i := slices.IndexFunc(cheap, func(w research.Worker) bool { return w.ID == "article_writer" })
		cheap[i].Cheaper = "quick_writer"
		p := research.Plan{Steps: []research.Step{{ID: "w", Category: research.Writing, Mode: research.Sequential, Workers: []string{"article_writer"}}}}
		got, report := research.Optimise(p, research.Brief{Topic: "x", MaxBudget: cents(80)}, cheap)
		assert.Equal(t, []string{"quick_writer"}, got.Steps[0].Workers)
		assert.Equal(t, []string{"article_writer -> quick_writer"}, report.Swapped)
		assert.Equal(t, cents(70), report.CostSaved)
		assert.Empty(t, report.Unmet)
	})
	t.Run("R38 R46 workers that need each other stay in turn", func(t *testing.T) {
		p := research.Plan{Steps: []research.Step{{ID: "all", Category: research.Researching, Mode: research.Sequential, Workers: []string{"web_search", "content_synthesizer"}}}}
		got, _ := research.Optimise(p, research.Brief{Topic: "x"}, reg)
		assert.Equal(t, research.Sequential, got.Steps[0].Mode)
		assert.Equal(t, 7*time.Minute, got.EstTime)
		assert.Equal(t, cents(50), got.EstCost)
	})
}

// anyPlan draws a plan of the catalogue's workers, with the writer among them.
func anyPlan(t *rapid.T, reg research.Registry) research.Plan {
	p := research.Plan{Complexity: 0.5}
	modes := rapid.SampledFrom([]research.Mode{research.Parallel, research.Sequential})
	for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
		s := research.Step{ID: string(rune('a' + i)), Mode: modes.Draw(t, "mode")}
		for range rapid.IntRange(1, 4).Draw(t, "workers") {
			w := rapid.SampledFrom(reg).Draw(t, "worker")
			s.Workers = append(s.Workers, w.ID)
			s.Category = w.Category
		}
		p.Steps = append(p.Steps, s)
	}
	p.Steps = append(p.Steps, research.Step{ID: "w", Category: research.Writing, Mode: research.Sequential, Workers: []string{"article_writer"}})
	return p
}

func TestOptimiseLaws(t *testing.T) {
	reg := research.Catalogue()
	each := func(name string, law func(t *rapid.T, p, got research.Plan, b research.Brief, report research.Report)) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := anyPlan(t, reg)
				b := research.Brief{
					Topic: "x", MaxBudget: providers.NanoUSD(rapid.Int64Range(int64(cents(50)), int64(cents(600))).Draw(t, "budget")),
					MaxTime: time.Duration(rapid.Int64Range(0, int64(40*time.Minute)).Draw(t, "time")),
				}
				got, report := research.Optimise(p, b, reg)
				law(t, p, got, b, report)
			})
		})
	}
	categories := func(p research.Plan) map[research.Category]int {
		n := map[research.Category]int{}
		for _, s := range p.Steps {
			for _, id := range s.Workers {
				w, _ := reg.Worker(id)
				n[w.Category]++
			}
		}
		return n
	}
	each("RC35 it never removes a critical worker or the last of a required category", func(t *rapid.T, p, got research.Plan, _ research.Brief, report research.Report) {
		assert.NotContains(t, report.Removed, "article_writer")
		before, after := categories(p), categories(got)
		for _, c := range []research.Category{research.Researching, research.Writing} {
			if before[c] > 0 {
				assert.Positive(t, after[c], c)
			}
		}
	})
	each("R54 it never raises cost or time", func(t *rapid.T, _, _ research.Plan, _ research.Brief, report research.Report) {
		assert.GreaterOrEqual(t, report.CostSaved, providers.NanoUSD(0))
		assert.GreaterOrEqual(t, report.TimeSaved, time.Duration(0))
	})
	each("R56 a second time changes nothing", func(t *rapid.T, _, got research.Plan, b research.Brief, first research.Report) {
		again, report := research.Optimise(got, b, reg)
		assert.Equal(t, got, again)
		assert.Equal(t, research.Report{Unmet: first.Unmet}, report)
	})
	each("R54 what is not unmet is met", func(t *rapid.T, _, got research.Plan, b research.Brief, report research.Report) {
		if len(report.Unmet) == 0 {
			assert.LessOrEqual(t, got.EstCost, b.MaxBudget)
			if b.MaxTime > 0 {
				assert.LessOrEqual(t, got.EstTime, b.MaxTime)
			}
		}
	})
	each("R57 R58 nobody comes before what he needs who came behind it", func(t *rapid.T, p, got research.Plan, _ research.Brief, _ research.Report) {
		at := func(p research.Plan, id string) int {
			return slices.IndexFunc(p.Steps, func(s research.Step) bool { return slices.Contains(s.Workers, id) })
		}
		all := map[string]int{}
		for _, s := range p.Steps {
			for _, id := range s.Workers {
				all[id]++
			}
		}
		for _, a := range reg {
			for _, b := range reg {
				if all[a.ID] != 1 || all[b.ID] != 1 {
					continue // of one that works twice, either may go
				}
				if i, j := at(p, a.ID), at(p, b.ID); i >= 0 && j > i && at(got, a.ID) >= 0 && at(got, b.ID) >= 0 {
					assert.LessOrEqual(t, at(got, a.ID), at(got, b.ID))
				}
			}
		}
	})
	t.Run("R49 the plan that was given is not changed", func(t *testing.T) {
		p, b := strategyExample()
		research.Optimise(p, b, reg)
		same, _ := strategyExample()
		require.Equal(t, same, p)
	})
}
