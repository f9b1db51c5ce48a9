package research_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

// strategyExample is the plan of e7 and its limits.
func strategyExample() (research.Plan, research.Room) {
	return research.Plan{Complexity: 0.6, Steps: []research.Step{
		{ID: "research", Category: research.Researching, Mode: "PARALLEL", Workers: []string{"web_search", "academic_search", "news_search"}},
		{ID: "extra", Category: research.Researching, Mode: "SEQUENTIAL", Workers: []string{"social_media"}},
		{ID: "analysis", Category: research.Analysing, Mode: "SEQUENTIAL", Workers: []string{"content_synthesizer"}},
		{ID: "writing", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"article_writer"}},
		{ID: "quality", Category: research.Checking, Mode: "SEQUENTIAL", Workers: []string{"fact_checker", "editor", "citation_formatter"}},
	}}, research.Room{Cost: cents(250), Time: 20 * time.Minute}
}

// documentPlan is the plan of four steps and eight workers.
func documentPlan() research.Plan {
	p, _ := strategyExample()
	p.Steps = append(p.Steps[:1], p.Steps[2:]...)
	p.Steps[3].Mode = "PARALLEL"
	return p
}

func optimise(t require.TestingT, p research.Plan, within research.Room, reg []research.Worker) (research.Plan, research.Report) {
	got, report, err := research.BestFit{}.Optimise(p, within, reg)
	require.NoError(t, err)
	return got, report
}

// members are all workers of a plan.
func members(p research.Plan) []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Workers...)
	}
	return all
}

func TestOptimise(t *testing.T) {
	reg := research.Catalogue()
	proves(t, []string{"RA72 RA73 RA74 RA75 R50 R52 R54 R57 the whole example", "RA73 the whole example", "RA74 the whole example", "R52 the whole example", "R57 the whole example"}, func(t *testing.T) {
		p, within := strategyExample()
		got, report := optimise(t, p, within, reg)
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
		p, _ := strategyExample()
		got, report := optimise(t, p, research.Room{Cost: cents(500), Time: 17 * time.Minute}, reg)
		assert.Equal(t, 17*time.Minute, got.EstTime)
		assert.Equal(t, cents(380), got.EstCost)
		assert.Empty(t, report.Removed)
		assert.Empty(t, report.Unmet)
	})
	t.Run("RA76 R56 a plan that fits passes through", func(t *testing.T) {
		p, within := strategyExample()
		fit, _ := optimise(t, p, within, reg)
		got, report := optimise(t, fit, within, reg)
		assert.Equal(t, fit, got)
		assert.Equal(t, research.Report{}, report)
	})
	t.Run("R56 a step of one keeps its mode", func(t *testing.T) {
		got, report := optimise(t, documentPlan(), research.Room{}, reg)
		assert.Equal(t, "SEQUENTIAL", got.Steps[1].Mode)
		assert.Empty(t, report.Parallelised)
	})
	writer := research.Plan{Steps: []research.Step{{ID: "w", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"article_writer"}}}}
	proves(t, []string{"RA77 RA78 RC35 RC36 critical workers stay, and what is unmet is said", "RA78 critical workers stay, and what is unmet is said"}, func(t *testing.T) {
		got, report := optimise(t, writer, research.Room{Cost: cents(80)}, reg)
		assert.Equal(t, []string{"article_writer"}, got.Steps[0].Workers)
		assert.Equal(t, []string{"it costs at least 0.90 USD, the limit is 0.80"}, report.Unmet)
		assert.Empty(t, report.Removed)
	})
	t.Run("RC36 where no plan fits, what must stay is left", func(t *testing.T) {
		got, report := optimise(t, documentPlan(), research.Room{Cost: cents(50), Time: time.Minute}, reg)
		assert.Equal(t, []string{"news_search", "article_writer"}, members(got))
		assert.Equal(t, []string{"it costs at least 1.05 USD, the limit is 0.50", "it takes at least 9 minutes, the limit is 1"}, report.Unmet)
		_, report = optimise(t, documentPlan(), research.Room{Cost: -1}, reg)
		assert.Equal(t, []string{"it costs at least 1.05 USD, the limit is 0.00"}, report.Unmet, "a negative bound allows nothing")
	})
	t.Run("RC55 the least that would do is said", func(t *testing.T) {
		got, report := optimise(t, documentPlan(), research.Room{Cost: cents(80)}, reg)
		assert.Equal(t, []string{"it costs at least 1.05 USD, the limit is 0.80"}, report.Unmet)
		assert.Equal(t, cents(105), got.EstCost)
		got, report = optimise(t, documentPlan(), research.Room{Cost: cents(500), Time: 8 * time.Minute}, reg)
		assert.Equal(t, []string{"it takes at least 9 minutes, the limit is 8"}, report.Unmet)
		assert.Equal(t, []string{"news_search", "article_writer"}, members(got))
		two := []research.Worker{
			{ID: "dear", Category: research.Writing, Critical: true, Cheaper: "slow", EstCost: cents(50), EstTime: 61 * time.Second},
			{ID: "slow", Category: research.Writing, Critical: true, EstCost: cents(20) + 1, EstTime: 9 * time.Minute},
		}
		p := research.Plan{Steps: []research.Step{{ID: "w", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"dear"}}}}
		got, report = optimise(t, p, research.Room{Cost: cents(30), Time: 5 * time.Minute}, two)
		assert.Equal(t, []string{"it takes at least 9 minutes, the limit is 5", "or it costs at least 0.50 USD, the limit is 0.30, in that time"}, report.Unmet)
		assert.Equal(t, []string{"slow"}, members(got), "the money is not exceeded")
		_, report = optimise(t, p, research.Room{Cost: cents(10), Time: time.Minute}, two)
		assert.Equal(t, []string{"it costs at least 0.50 USD, the limit is 0.10", "it takes at least 1.1 minutes, the limit is 1"}, report.Unmet, "rounded up")
		_, report = optimise(t, p, research.Room{Cost: cents(10)}, two)
		assert.Equal(t, []string{"it costs at least 0.21 USD, the limit is 0.10"}, report.Unmet)
	})
	t.Run("R50 RC43 cheaper workers", func(t *testing.T) {
		cheap := append(slices.Clone(reg), research.Worker{ID: "quick_writer", Category: research.Writing, Critical: true, Needs: []string{"sources"}, Produces: []string{"article"}, EstCost: cents(20), EstTime: time.Minute})
		cheap[6].Cheaper = "quick_writer"
		got, report := optimise(t, writer, research.Room{Cost: cents(80)}, cheap)
		assert.Equal(t, []string{"quick_writer"}, got.Steps[0].Workers)
		assert.Equal(t, []string{"article_writer -> quick_writer"}, report.Swapped)
		assert.Equal(t, cents(70), report.CostSaved)
		assert.Empty(t, report.Unmet)
		both := writer
		both.Steps = append(slices.Clone(writer.Steps), research.Step{ID: "x", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"quick_writer"}})
		_, report = optimise(t, both, research.Room{Cost: cents(80)}, cheap)
		assert.NotEmpty(t, report.Unmet, "a worker that is in the plan replaces no other")
		cheap[11].EstCost = cents(90)
		_, report = optimise(t, writer, research.Room{Cost: cents(80)}, cheap)
		assert.Empty(t, report.Swapped, "it must cost less")
	})
	t.Run("RC43 a cheaper worker stands for one worker", func(t *testing.T) {
		pair := []research.Worker{
			{ID: "a", Category: research.Checking, EstCost: 10, Cheaper: "c"},
			{ID: "b", Category: research.Checking, EstCost: 10, Cheaper: "c"},
			{ID: "c", Category: research.Checking, EstCost: 1},
			{ID: "w", Category: research.Writing, Critical: true},
		}
		p := research.Plan{Steps: []research.Step{
			{ID: "w", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"w"}},
			{ID: "q", Category: research.Checking, Mode: "PARALLEL", Workers: []string{"a", "b"}},
			{ID: "r", Category: research.Checking, Mode: "PARALLEL", Workers: []string{"a"}, DependsOn: []string{"q"}},
		}}
		_, report := optimise(t, p, research.Room{Cost: 2}, pair)
		assert.Equal(t, []string{"a -> c", "a -> c"}, report.Swapped, "in each of its places")
		assert.Equal(t, []string{"b"}, report.Removed)
	})
	t.Run("R38 R46 workers that need each other stay in turn", func(t *testing.T) {
		p := research.Plan{Steps: []research.Step{{ID: "all", Category: research.Researching, Mode: "SEQUENTIAL", Workers: []string{"web_search", "content_synthesizer"}}, writer.Steps[0]}}
		got, _ := optimise(t, p, research.Room{}, reg)
		assert.Equal(t, "SEQUENTIAL", got.Steps[0].Mode)
		assert.Equal(t, 13*time.Minute, got.EstTime)
		assert.Equal(t, cents(140), got.EstCost)
		p.Steps[0].Mode = "PARALLEL"
		got, report := optimise(t, p, research.Room{}, reg)
		assert.Equal(t, "SEQUENTIAL", got.Steps[0].Mode, "whatever the planner says")
		assert.Zero(t, report.TimeSaved)
	})
	t.Run("R57 RC44 what depends on a joined or an empty step depends on what is in its place", func(t *testing.T) {
		p := research.Plan{Steps: []research.Step{
			{ID: "a", Category: research.Researching, Mode: "PARALLEL", Workers: []string{"web_search"}},
			{ID: "b", Category: research.Researching, Mode: "PARALLEL", Workers: []string{"news_search"}},
			{ID: "c", Category: research.Researching, Mode: "PARALLEL", Workers: []string{"social_media"}, DependsOn: []string{"b"}},
			{ID: "d", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"article_writer"}, DependsOn: []string{"c"}},
		}}
		got, report := optimise(t, p, research.Room{Cost: cents(130)}, reg)
		assert.Equal(t, []string{"b"}, report.Merged, "c wants to wait for b")
		assert.Equal(t, []string{"social_media"}, report.Removed)
		assert.Equal(t, []string{"a"}, got.Steps[1].DependsOn)
	})
	t.Run("R57 a worker is not joined to itself", func(t *testing.T) {
		p := research.Plan{Steps: []research.Step{
			{ID: "a", Category: research.Researching, Mode: "PARALLEL", Workers: []string{"web_search"}},
			{ID: "b", Category: research.Researching, Mode: "PARALLEL", Workers: []string{"web_search"}},
			writer.Steps[0],
		}}
		got, _ := optimise(t, p, research.Room{}, reg)
		assert.Len(t, got.Steps, 3)
	})
	t.Run("RX9 a worker is in a step once, and no step is empty", func(t *testing.T) {
		p := research.Plan{ID: "plan-7", Steps: []research.Step{{ID: "a", Category: research.Researching, Mode: "parallel", Workers: []string{"web_search", "web_search"}}, {ID: "e"}, writer.Steps[0]}}
		got, _ := optimise(t, p, research.Room{}, reg)
		assert.Equal(t, []string{"web_search", "article_writer"}, members(got))
		assert.Equal(t, "plan-7", got.ID)
	})
	t.Run("RC43 plans that are too large", func(t *testing.T) {
		var p research.Plan
		for i := range 65 {
			p.Steps = append(p.Steps, research.Step{ID: strconv.Itoa(i), Workers: []string{"article_writer"}})
		}
		_, _, err := research.BestFit{}.Optimise(p, research.Room{}, reg)
		require.ErrorIs(t, err, research.ErrInvalidPlan)
		require.EqualError(t, err, "the plan has 65 steps and 65 workers, want at most 64 and 256")
		p.Steps = p.Steps[:1]
		p.Steps[0].Workers = slices.Repeat([]string{"web_search"}, 257)
		_, _, err = research.BestFit{}.Optimise(p, research.Room{}, reg)
		require.ErrorIs(t, err, research.ErrInvalidPlan)
	})
	t.Run("RC43 plans that are too complex", func(t *testing.T) {
		all := []research.Worker{{ID: "w", Category: research.Writing, Critical: true, Needs: []string{"p"}}}
		var p research.Plan
		for i := range 40 { // each of 10 needs can be met by four, at a cost that never fits
			all = append(all, research.Worker{ID: "r" + strconv.Itoa(i), Category: research.Analysing, EstCost: 10, EstTime: time.Minute, Produces: []string{"p" + strconv.Itoa(i/4)}})
			if i%4 == 0 { // steps that wait for each other are not joined, so each costs little to weigh
				p.Steps = append(p.Steps, research.Step{ID: strconv.Itoa(i / 4), Mode: "PARALLEL", DependsOn: []string{strconv.Itoa(max(i/4-1, 0))}})
			}
			s := &p.Steps[i/4]
			s.Workers = append(s.Workers, all[i+1].ID)
		}
		for i := range 10 {
			all[0].Needs = append(all[0].Needs, "p"+strconv.Itoa(i))
		}
		all = append(all, research.Worker{ID: "x", Category: research.Checking, Needs: all[0].Needs})
		p.Steps = append(p.Steps, research.Step{ID: "w", Mode: "SEQUENTIAL", Workers: []string{"w"}}, research.Step{ID: "x", Mode: "SEQUENTIAL", Workers: []string{"x"}})
		_, _, err := research.BestFit{}.Optimise(p, research.Room{Cost: 95}, all)
		require.ErrorIs(t, err, research.ErrInvalidPlan)
		require.ErrorContains(t, err, "more than 100000 combinations")
	})
	t.Run("R49 the plan that was given is not changed", func(t *testing.T) {
		p, within := strategyExample()
		optimise(t, p, within, reg)
		same, _ := strategyExample()
		require.Equal(t, same, p)
	})
}

// The table of limits for the document's plan.
func TestDocumentPlan(t *testing.T) {
	short := map[string]string{
		"web": "web_search", "acad": "academic_search", "news": "news_search", "synth": "content_synthesizer",
		"writer": "article_writer", "fact": "fact_checker", "edit": "editor", "cite": "citation_formatter",
	}
	const infeasible = ""
	for _, tt := range []struct {
		id       string
		min, usd float64
		limit    int
		kept     string
		took     int
		cost     float64
	}{
		{"RA81 RC43 the plan", 8, 0, 0, infeasible, 0, 0},
		{"RA82 RC43 the plan", 9, 0, 0, "news writer !", 9, 1.05},
		{"RA83 RC43 the plan", 10, 0, 0, "acad news writer !", 10, 1.20},
		{"RA84 RC43 the plan", 11, 0, 0, "news synth writer", 11, 1.35},
		{"RA85 RC43 the plan", 12, 0, 0, "acad news synth writer", 12, 1.50},
		{"RA86 RC43 the plan", 13, 0, 0, "web acad news synth writer", 13, 1.70},
		{"RA86 RC43 the plan", 15, 0, 0, "web acad news synth writer", 13, 1.70},
		{"RA87 RC43 the plan", 16, 0, 0, "web acad news synth writer cite", 16, 1.90},
		{"RA88 RC43 the plan", 17, 0, 0, "web acad news synth writer fact edit cite", 17, 2.40},
		{"RA89 RC43 the plan", 0, 0.50, 0, infeasible, 0, 0},
		{"RA89 RC43 the plan", 0, 1.04, 0, infeasible, 0, 0},
		{"RA90 RC43 the plan", 0, 1.05, 0, "acad writer !", 10, 1.05},
		{"RA91 RC43 the plan", 0, 1.10, 0, "web writer !", 11, 1.10},
		{"RA91 RC43 the plan", 0, 1.24, 0, "web writer !", 11, 1.10},
		{"RA92 RC43 the plan", 0, 1.25, 0, "web acad writer !", 11, 1.25},
		{"RA93 RC43 the plan", 0, 1.35, 0, "acad synth writer", 12, 1.35},
		{"RA94 RC43 the plan", 0, 1.40, 0, "web synth writer", 13, 1.40},
		{"RA95 RC43 the plan", 0, 1.55, 0, "web acad synth writer", 13, 1.55},
		{"RA96 RC43 the plan", 0, 1.70, 0, "web acad news synth writer", 13, 1.70},
		{"RA97 RC43 the plan", 0, 1.90, 0, "web acad news synth writer edit", 17, 1.90},
		{"RA98 RC43 the plan", 0, 2.00, 0, "web acad news synth writer fact", 17, 2.00},
		{"RA99 RC43 the plan", 0, 2.20, 0, "web acad news synth writer fact edit", 17, 2.20},
		{"RA99 RC43 the plan", 0, 2.39, 0, "web acad news synth writer fact edit", 17, 2.20},
		{"RA100 RC43 the plan", 0, 2.40, 0, "web acad news synth writer fact edit cite", 17, 2.40},
		{"RA101 RC43 the plan", 11, 1.50, 0, "news synth writer", 11, 1.35},
		{"RA102 RC43 the plan", 12, 1.20, 0, "web writer !", 11, 1.10},
		{"RA103 RC43 the plan", 13, 0, 2, "web acad synth writer", 13, 1.55},
		{"RA103 RC43 the plan", 14, 0, 2, "web acad synth writer", 13, 1.55},
		{"RA103 RC43 the plan", 15, 0, 2, "web acad news synth writer", 15, 1.70},
		{"RA103 RC43 the plan", 17, 0, 2, "web acad news synth writer", 15, 1.70},
		{"RA103 RC43 the plan", 18, 0, 2, "web acad news synth writer cite", 18, 1.90},
	} {
		t.Run(fmt.Sprintf("%s within %v minutes, %v USD, %d at once", tt.id, tt.min, tt.usd, tt.limit), func(t *testing.T) {
			within := research.Room{Cost: providers.Dollars(tt.usd), Time: time.Duration(tt.min * float64(time.Minute)), StepLimit: tt.limit}
			got, report := optimise(t, documentPlan(), within, research.Catalogue())
			if tt.kept == infeasible {
				assert.NotEmpty(t, report.Unmet)
				return
			}
			var want, unmet []string
			for name := range strings.FieldsSeq(tt.kept) {
				if name == "!" {
					unmet = []string{"article_writer needs analysis"}
					continue
				}
				want = append(want, short[name])
			}
			assert.Equal(t, want, members(got))
			assert.Equal(t, unmet, report.UnmetNeeds)
			assert.Empty(t, report.Unmet)
			assert.Equal(t, time.Duration(tt.took)*time.Minute, got.EstTime)
			assert.Equal(t, providers.Dollars(tt.cost), got.EstCost)
		})
	}
}

// anyPlan draws a plan of the catalogue's workers, with the writer among them.
func anyPlan(t *rapid.T, reg []research.Worker) research.Plan {
	p := research.Plan{Complexity: 0.5}
	modes := rapid.SampledFrom([]string{"PARALLEL", "SEQUENTIAL"})
	for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
		s := research.Step{ID: string(rune('a' + i)), Mode: modes.Draw(t, "mode")}
		for range rapid.IntRange(1, 4).Draw(t, "workers") {
			w := rapid.SampledFrom(reg).Draw(t, "worker")
			s.Workers = append(s.Workers, w.ID)
			s.Category = w.Category
		}
		p.Steps = append(p.Steps, s)
	}
	p.Steps = append(p.Steps, research.Step{ID: "w", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"article_writer"}})
	return p
}

func TestOptimiseLaws(t *testing.T) {
	reg := research.Catalogue()
	each := func(name string, law func(t *rapid.T, p, got research.Plan, within research.Room, report research.Report)) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := anyPlan(t, reg)
				within := research.Room{
					Cost:      providers.NanoUSD(rapid.Int64Range(int64(cents(50)), int64(cents(600))).Draw(t, "budget")),
					Time:      time.Duration(rapid.Int64Range(0, int64(40*time.Minute)).Draw(t, "time")),
					StepLimit: rapid.IntRange(0, 3).Draw(t, "limit"),
				}
				got, report := optimise(t, p, within, reg)
				law(t, p, got, within, report)
			})
		})
	}
	categories := func(p research.Plan) map[research.Category]int {
		n := map[research.Category]int{}
		for _, id := range members(p) {
			n[worker(reg, id).Category]++
		}
		return n
	}
	each("RC35 it never removes a critical worker or the last of research", func(t *rapid.T, p, got research.Plan, _ research.Room, report research.Report) {
		assert.NotContains(t, report.Removed, "article_writer")
		if categories(p)[research.Researching] > 0 {
			assert.Positive(t, categories(got)[research.Researching])
		}
	})
	each("R54 it never raises cost or time", func(t *rapid.T, _, _ research.Plan, _ research.Room, report research.Report) {
		assert.GreaterOrEqual(t, report.CostSaved, providers.NanoUSD(0))
		assert.GreaterOrEqual(t, report.TimeSaved, time.Duration(0))
	})
	each("R56 RC43 a second time changes nothing", func(t *rapid.T, _, got research.Plan, within research.Room, first research.Report) {
		again, report := optimise(t, got, within, reg)
		assert.Equal(t, got, again)
		require.Equal(t, len(first.Unmet) > 0, len(report.Unmet) > 0)
		assert.Subset(t, first.Unmet, report.Unmet, "what is left may have only one way")
		report.Unmet = nil
		assert.Equal(t, research.Report{}, report)
	})
	each("R54 what is not unmet is met", func(t *rapid.T, _, got research.Plan, within research.Room, report research.Report) {
		if len(report.Unmet) == 0 {
			assert.LessOrEqual(t, got.EstCost, within.Cost)
			assert.True(t, within.Time == 0 || got.EstTime <= within.Time)
		}
	})
	each("R57 R58 no worker moves before the makers of its needs", func(t *rapid.T, p, got research.Plan, _ research.Room, _ research.Report) {
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
}

// dice is what random plans are made of.
type dice struct{ *rand.Rand }

func (d dice) names(n int) []string {
	var all []string
	for range d.IntN(3) {
		if name := string(rune('p' + d.IntN(n))); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// puzzle is a random small plan with its workers and bounds.
func (d dice) puzzle() (research.Plan, research.Room, []research.Worker) {
	kinds := []research.Category{research.Researching, research.Analysing, research.Writing, research.Checking}
	workers := []research.Worker{{ID: "w", Category: research.Writing, Critical: true, Needs: d.names(3), Produces: d.names(3)}}
	for i := range 6 {
		w := research.Worker{
			ID: string(rune('a' + i)), Category: kinds[d.IntN(4)], Critical: d.IntN(6) == 0, Needs: d.names(3), Produces: d.names(3),
			Priority: []string{"", "HIGH", "MEDIUM", "LOW"}[d.IntN(4)],
		}
		workers = append(workers, w)
	}
	for i := range workers {
		w := &workers[i]
		w.EstCost, w.EstTime = providers.NanoUSD(d.IntN(6)), time.Duration(d.IntN(6))
	}
	for i := range workers {
		for range 2 {
			if j := d.IntN(len(workers)); i != j && workers[j].Category == workers[i].Category && workers[j].Critical == workers[i].Critical {
				workers[i].Cheaper = workers[j].ID
			}
		}
	}
	var p research.Plan
	for i := range 1 + d.IntN(4) {
		s := research.Step{ID: strconv.Itoa(i), Category: kinds[d.IntN(4)], Mode: []string{"PARALLEL", "SEQUENTIAL"}[d.IntN(2)]}
		if i > 0 && d.IntN(4) == 0 {
			s.DependsOn = []string{strconv.Itoa(d.IntN(i))}
		}
		for range 1 + d.IntN(2) {
			if w := workers[d.IntN(len(workers))]; !slices.Contains(s.Workers, w.ID) {
				s.Workers = append(s.Workers, w.ID)
			}
		}
		p.Steps = append(p.Steps, s)
	}
	if !slices.Contains(members(p), "w") {
		p.Steps = append(p.Steps, research.Step{ID: "z", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"w"}})
	}
	return p, research.Room{Cost: providers.NanoUSD(d.IntN(20)), Time: time.Duration(d.IntN(20)), StepLimit: d.IntN(3)}, workers
}

// oracle decides by trying everything: each place of a worker at
// each level, the first of the highest objective. nil: nothing is valid.
type oracle struct {
	workers []research.Worker
	within  research.Room
	plan    research.Plan
	steps   []int               // of the places
	options [][]research.Worker // of the places; the last one, a zero Worker, is out
}

func newOracle(p research.Plan, within research.Room, workers []research.Worker) oracle {
	r := oracle{workers: workers, within: within, plan: p}
	for i, s := range p.Steps {
		for _, id := range s.Workers {
			w := worker(workers, id)
			levels := []research.Worker{w}
			if c := worker(workers, w.Cheaper); c.ID != "" && c.EstCost < w.EstCost && !slices.Contains(members(p), c.ID) {
				levels = append(levels, c)
			}
			if !w.Critical {
				levels = append(levels, research.Worker{})
			}
			r.steps, r.options = append(r.steps, i), append(r.options, levels)
		}
	}
	return r
}

func (r oracle) best() (kept []research.Worker, objective []int) {
	r.each(func(pick []research.Worker) {
		if o := r.objective(pick); kept == nil || slices.Compare(o, objective) > 0 {
			kept, objective = slices.Clone(pick), o
		}
	})
	return kept, objective
}

// each calls f with each valid choice.
func (r oracle) each(f func(pick []research.Worker)) {
	pick := make([]research.Worker, len(r.options))
	var try func(i int)
	try = func(i int) {
		if i == len(pick) {
			if r.valid(pick) {
				f(pick)
			}
			return
		}
		for _, w := range r.options[i] {
			pick[i] = w
			try(i + 1)
		}
	}
	try(0)
}

// least are the bounds, raised as little as a plan needs: the time, if there is a plan for
// that money; else the cost, if there is one in that time; else the time, and the cost.
func (r oracle) least() research.Room {
	const none = 1 << 40
	lowest := func(within research.Room, of func(cost providers.NanoUSD, took time.Duration) int64) int64 {
		low, try := int64(none), r
		try.within.Cost, try.within.Time = within.Cost, within.Time
		try.each(func(pick []research.Worker) { low = min(low, of(r.takes(pick))) })
		return low
	}
	money := func(cost providers.NanoUSD, _ time.Duration) int64 { return int64(cost) }
	clock := func(_ providers.NanoUSD, took time.Duration) int64 { return int64(took) }
	if took := lowest(research.Room{Cost: r.within.Cost}, clock); took < none {
		return research.Room{Cost: r.within.Cost, Time: time.Duration(took)}
	}
	within := research.Room{Time: r.within.Time}
	if lowest(within, money) == none {
		within.Time = time.Duration(lowest(research.Room{}, clock))
	}
	within.Cost = providers.NanoUSD(lowest(within, money))
	return within
}

// possible tells whether a worker before a place can make a product.
func (r oracle) possible(i int, product string) bool {
	return slices.ContainsFunc(r.options[:i], func(levels []research.Worker) bool {
		return slices.ContainsFunc(levels, func(w research.Worker) bool { return slices.Contains(w.Produces, product) })
	})
}

func made(before []research.Worker, product string) bool {
	return slices.ContainsFunc(before, func(w research.Worker) bool { return slices.Contains(w.Produces, product) })
}

func (r oracle) valid(pick []research.Worker) bool {
	standsFor := map[string]string{}
	researching, wanted := false, false
	for i, w := range pick {
		itself := r.options[i][0]
		wanted = wanted || itself.Category == research.Researching
		researching = researching || w.ID != "" && w.Category == research.Researching
		if w.ID != "" && w.ID != itself.ID {
			if was, ok := standsFor[w.ID]; ok && was != itself.ID {
				return false
			}
			standsFor[w.ID] = itself.ID
		}
		if itself.Critical {
			continue
		}
		for _, need := range w.Needs {
			if r.possible(i, need) && !made(pick[:i], need) {
				return false
			}
		}
	}
	cost, took := r.takes(pick)
	return researching == wanted && (r.within.Cost == 0 || cost <= r.within.Cost) && (r.within.Time == 0 || took <= r.within.Time)
}

// takes is the cost, and the least time of all ways to join neighbors.
func (r oracle) takes(pick []research.Worker) (cost providers.NanoUSD, took time.Duration) {
	var steps [][]research.Worker
	var ids []int
	for step := range r.plan.Steps {
		var all []research.Worker
		for i, w := range pick {
			if r.steps[i] == step && w.ID != "" {
				all = append(all, w)
				cost += w.EstCost
			}
		}
		if all != nil {
			steps, ids = append(steps, all), append(ids, step)
		}
	}
	var least func(from int) time.Duration
	least = func(from int) time.Duration {
		if from == len(steps) {
			return 0
		}
		best := r.span(steps[from]) + least(from+1)
		for end := from + 2; end <= len(steps) && r.mayJoin(steps[from:end], ids[from:end]); end++ {
			best = min(best, r.span(slices.Concat(steps[from:end]...))+least(end))
		}
		return best
	}
	return cost, least(0)
}

// mayJoin tells whether steps can be one: each of one category, none in two of them, and
// nobody needs anything of another.
func (r oracle) mayJoin(steps [][]research.Worker, ids []int) bool {
	seen := map[string]bool{}
	for i, step := range steps {
		for _, w := range step {
			if seen[w.ID] {
				return false
			}
			seen[w.ID] = true
		}
		if r.plan.Steps[ids[i]].Category != r.plan.Steps[ids[0]].Category {
			return false
		}
		for _, before := range ids[:i] {
			if r.waits(ids[i], before) {
				return false
			}
		}
	}
	return !needy(slices.Concat(steps...))
}

// waits tells whether a step depends on another one, also through others.
func (r oracle) waits(step, on int) bool {
	return slices.ContainsFunc(r.plan.Steps[step].DependsOn, func(id string) bool {
		i := slices.IndexFunc(r.plan.Steps, func(s research.Step) bool { return s.ID == id })
		return i == on || r.waits(i, on)
	})
}

// needy tells whether one of these needs what another one makes.
func needy(all []research.Worker) bool {
	for i, a := range all {
		for j, b := range all {
			if i != j && slices.ContainsFunc(a.Needs, func(need string) bool { return slices.Contains(b.Produces, need) }) {
				return true
			}
		}
	}
	return false
}

// span is the clock of a shop where each customer goes to the first counter that is free.
func (r oracle) span(all []research.Worker) (end time.Duration) {
	inTurn := r.within.StepLimit == 1 || needy(all)
	var running []time.Duration // until when
	now := time.Duration(0)
	for _, w := range all {
		for (inTurn && len(running) > 0) || r.within.StepLimit > 0 && len(running) >= r.within.StepLimit {
			now = slices.Min(running)
			i := slices.Index(running, now)
			running = slices.Delete(running, i, i+1)
		}
		running = append(running, now+w.EstTime)
		end = max(end, now+w.EstTime)
	}
	return end
}

func (r oracle) objective(pick []research.Worker) []int {
	order := make([]int, len(pick))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) []int {
		w := r.options[i][0]
		priority := w.Priority
		if priority == "" {
			priority = "MEDIUM"
			if w.Critical {
				priority = "HIGH"
			}
		}
		critical := 1
		if w.Critical {
			critical = 0
		}
		return []int{
			critical, strings.Index("HIGH MEDIUM LOW", string(priority)), strings.Index("writing analysis research quality", string(w.Category)), i,
		}
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(rank(a), rank(b)) })
	level := func(i int) int {
		return -slices.IndexFunc(r.options[i], func(w research.Worker) bool { return w.ID == pick[i].ID })
	}
	var first, needs, others []int
	for _, i := range order {
		if !r.options[i][0].Critical {
			others = append(others, level(i))
			continue
		}
		first = append(first, level(i))
		for _, need := range pick[i].Needs {
			if !r.possible(i, need) {
				continue
			}
			if made(pick[:i], need) {
				needs = append(needs, 1)
			} else {
				needs = append(needs, 0)
			}
		}
	}
	return slices.Concat(first, needs, others)
}

// puzzles is how many random plans are compared; 30,000 were once.
var puzzles = flag.Int("puzzles", 1200, "random plans that are compared with the oracle")

func TestOptimiseAgainstReference(t *testing.T) {
	t.Run("RC55 RC43 as looking at everything", func(t *testing.T) {
		infeasible, compared, cut := 0, 0, 0
		for seed := range *puzzles {
			d := dice{rand.New(rand.NewPCG(uint64(seed), 43))} //nolint:gosec // repeatable on purpose
			p, within, workers := d.puzzle()
			r := newOracle(p, within, workers)
			kept, _ := r.best()
			got, report := optimise(t, p, within, workers)
			if kept == nil {
				infeasible++
				require.NotEmpty(t, report.Unmet, "seed %d", seed)
				needed := r.least()
				require.True(t, needed.Cost == 0 || got.EstCost <= needed.Cost, "seed %d: %v within %+v", seed, got, needed)
				require.True(t, needed.Time == 0 || got.EstTime <= needed.Time, "seed %d: %v within %+v", seed, got, needed)
				continue
			}
			compared++
			if len(report.Removed)+len(report.Swapped) > 0 {
				cut++
			}
			var want []string
			for _, w := range kept {
				if w.ID != "" {
					want = append(want, w.ID)
				}
			}
			require.Empty(t, report.Unmet, "seed %d", seed)
			require.Equal(t, want, members(got), "seed %d: %+v within %+v", seed, p, within)
			cost, took := r.takes(kept)
			require.Equal(t, cost, got.EstCost, "seed %d", seed)
			require.Equal(t, took, got.EstTime, "seed %d", seed)
		}
		t.Logf("%d plans compared, of which %d were cut; %d are infeasible", compared, cut, infeasible)
		assert.Greater(t, compared, *puzzles/2)
		assert.Greater(t, cut, *puzzles/5)
		assert.Greater(t, infeasible, *puzzles/20)
	})
	t.Run("RC43 more money or time is never worse", func(t *testing.T) {
		for seed := range *puzzles / 2 {
			d := dice{rand.New(rand.NewPCG(uint64(seed), 44))} //nolint:gosec // repeatable on purpose
			p, within, workers := d.puzzle()
			within.Cost, within.Time = within.Cost+1, within.Time+1
			more := within
			more.Cost, more.Time = more.Cost+providers.NanoUSD(d.IntN(4)), more.Time+time.Duration(d.IntN(4))
			r := newOracle(p, within, workers)
			_, less := optimise(t, p, within, workers)
			_, report := optimise(t, p, more, workers)
			if len(less.Unmet) == 0 {
				require.Empty(t, report.Unmet, "seed %d", seed)
			}
			_, before := r.best()
			r.within = more
			_, after := r.best()
			require.GreaterOrEqual(t, slices.Compare(after, before), 0)
		}
	})
}

// largePlan has 256 workers who need each other, in 64 steps.
func largePlan() (research.Plan, []research.Worker) {
	var p research.Plan
	var all []research.Worker
	kinds := []research.Category{research.Researching, research.Analysing, research.Checking}
	for i := range 256 {
		w := research.Worker{
			ID: "w" + strconv.Itoa(i), Category: kinds[i%3], EstCost: providers.NanoUSD(10 + i%7), EstTime: time.Duration(1 + i%5),
			Produces: []string{"p" + strconv.Itoa(i%20)}, Cheaper: "c" + strconv.Itoa(i),
		}
		if i > 20 {
			w.Needs = []string{"p" + strconv.Itoa((i*7)%20)}
		}
		if i%64 == 63 {
			w.Category, w.Critical, w.Cheaper = research.Writing, true, ""
		}
		cheap := w
		cheap.ID, cheap.Cheaper, cheap.EstCost = "c"+strconv.Itoa(i), "", w.EstCost/2
		all = append(all, w, cheap)
		if i%4 == 0 {
			p.Steps = append(p.Steps, research.Step{ID: strconv.Itoa(i), Category: w.Category, Mode: "SEQUENTIAL"})
		}
		last := &p.Steps[len(p.Steps)-1]
		last.Workers = append(last.Workers, w.ID)
	}
	return p, all
}

// RC43: 256 workers in at most 50 ms.
func BenchmarkOptimise256(b *testing.B) {
	p, all := largePlan()
	var best research.BestFit
	for b.Loop() {
		if _, _, err := best.Optimise(p, research.Room{Cost: 1500, Time: 150, StepLimit: 3}, all); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/plan")
}
