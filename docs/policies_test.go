package docs_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/routing"
)

// Policies are held against closed forms, without a model: work is good with a known
// probability, and judges err with known rates. The figures stand in seams.md.

// experiment is how many runs there are, and how far a share may be from its closed form.
// The standard error of a share of n runs is at most 1/(2√n). 0.01 is 2.8 of them for 20,000
// runs; of 500 runs, 4 are 0.09. Dice have a seed, so a test that passes once passes always.
func experiment() (runs int, tolerance float64) {
	if testing.Short() {
		return 500, 4 / (2 * math.Sqrt(500))
	}
	return 20_000, 0.01
}

// bench is a worker and a judge: work is good with probability quality, and accepted with
// probability hit if it is good, and alarm if it is not.
type bench struct {
	quality, hit, alarm float64
	tries               int
}

var (
	strictJudge = bench{quality: 0.5, hit: 0.9, alarm: 0.2, tries: 3}
	laxJudge    = bench{quality: 0.5, hit: 0.9, alarm: 0.6, tries: 3}
	rareWork    = bench{quality: 0.2, hit: 0.9, alarm: 0.2, tries: 6}
)

// findings are what comes of a policy: the shares of runs whose work passed, and whose work
// passed and is good, and the mean number of tries.
type findings struct{ passed, good, tries float64 }

// outcome is what came of one run.
type outcome struct {
	passed, good bool
	tries        int
}

// meanOf returns the findings of runs.
func meanOf(runs []outcome) (f findings) {
	share := 1 / float64(len(runs))
	for _, o := range runs {
		f.tries += float64(o.tries) * share
		if o.passed {
			f.passed += share
		}
		if o.passed && o.good {
			f.good += share
		}
	}
	return f
}

// closed is what must come of tries until one is accepted. A try is accepted with
// p = quality*hit + (1-quality)*alarm, whatever came before. So the work passes unless all
// tries are refused: 1-(1-p)^n. What passes is good with quality*hit/p. The number of tries is
// that of a geometric distribution that is cut off at n: its mean is the sum over k < n of
// (1-p)^k, the probability that there is a try after k.
func (b bench) closed() findings {
	p := b.quality*b.hit + (1-b.quality)*b.alarm
	passed := 1 - math.Pow(1-p, float64(b.tries))
	return findings{passed, passed * b.quality * b.hit / p, passed / p}
}

// work is true if it is good.
type work bool

// work returns good or bad work.
func (b bench) work(dice *rand.Rand) work { return dice.Float64() < b.quality }

// score is 100 for work that the judge accepts, else 0.
func (b bench) score(dice *rand.Rand, w work) float64 {
	accepted := b.alarm
	if w {
		accepted = b.hit
	}
	if dice.Float64() < accepted {
		return 100
	}
	return 0
}

// near compares what was measured with a closed form.
func near(t *testing.T, want, got findings) {
	t.Helper()
	runs, tolerance := experiment()
	assert.InDelta(t, want.passed, got.passed, tolerance, "share that passed, of %d", runs)
	assert.InDelta(t, want.good, got.good, tolerance, "share that passed and is good, of %d", runs)
	assert.InDelta(t, want.tries, got.tries, 3*tolerance, "tries; their deviation is up to 3 times that of a share")
}

// benches are the experiments with a judge who says yes or no, as seams.md names them.
var benches = map[string]bench{"strict judge": strictJudge, "lax judge": laxJudge, "rare work, strict judge": rareWork}

func TestRefineAgainstClosedForm(t *testing.T) {
	for name, b := range benches {
		t.Run(name, func(t *testing.T) {
			runs, _ := experiment()
			dice := rand.New(rand.NewPCG(1, 2))
			got := make([]outcome, runs)
			for i := range got {
				out, err := orchestrator.Refine(nil, orchestrator.Refinement[work]{
					Attempts: b.tries, Gate: 50,
					Try: func(*orchestrator.Context, orchestrator.Refined[work]) (work, error) { return b.work(dice), nil },
					Grade: func(_ *orchestrator.Context, w work) (orchestrator.Verdict, error) {
						return orchestrator.Verdict{Score: b.score(dice, w)}, nil
					},
				})
				require.NoError(t, err)
				got[i] = outcome{out.Pass, bool(out.Value), out.Tries}
			}
			near(t, b.closed(), meanOf(got))
		})
	}
}

// A specialist of a hierarchy tries until the grader's score passes, as Refine does.
func TestHierarchyAgainstClosedForm(t *testing.T) {
	b, dice := strictJudge, rand.New(rand.NewPCG(3, 4))
	department := hierarchy.NewDepartment("d", "head", hierarchy.Agent{ID: "worker", Attempts: b.tries, PassingThreshold: new(50.0)})
	team, err := hierarchy.New(hierarchy.Config{Departments: []hierarchy.Department{department}, Rules: hierarchy.Rules{
		Grader: orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
			return hierarchy.Grade{Score: new(b.score(dice, hierarchy.Text(w.Output) == "good"))}, nil
		}),
		Analyzer: routing.AnalyzerFunc(func(string, []string) routing.Analysis {
			return routing.Analysis{Complexity: routing.Complex, Estimate: 1}
		}),
	}})
	require.NoError(t, err)
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{
		"worker": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			if b.work(dice) {
				return agent.Response{Text: "good"}, nil
			}
			return agent.Response{Text: "bad"}, nil
		}),
		"head": agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: "done"}, nil }),
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, eng.Close(context.WithoutCancel(t.Context()))) }()
	runs, _ := experiment()
	got := make([]outcome, runs)
	for i := range got {
		out, err := team.Run(t.Context(), eng, hierarchy.Input{Prompt: "work"})
		require.NoError(t, err)
		s := out.Reports[0].Specialists[0]
		got[i] = outcome{s.ReviewStatus == grading.Approved, hierarchy.Text(s.Output) == "good", len(s.Attempts)}
	}
	near(t, b.closed(), meanOf(got))
}

// Scores are even on 50 to 100 for good work, and on 20 to 80 for bad work. A bound of 60
// accepts 0.8 of the good and 1/3 of the bad; 75 accepts 0.5 and 1/12. With Bands the bound is
// 60 in every try. With Hysteresis it is 75 from the second try on, so that the shares of the
// later tries are those of another bench: passed = p1 + (1-p1)(1-(1-p2)^2), and so on.
func TestHysteresisAgainstClosedForm(t *testing.T) {
	first, later := bench{0.5, 0.8, 1.0 / 3, 1}, bench{0.5, 0.5, 1.0 / 12, 2}
	p, rest := first.closed(), later.closed()
	left := 1 - p.passed
	want := map[string]findings{
		"Bands":      bench{0.5, 0.8, 1.0 / 3, 3}.closed(),
		"Hysteresis": {p.passed + left*rest.passed, p.good + left*rest.good, p.tries + left*rest.tries},
	}
	for name, gate := range map[string]grading.Gate[grading.Standing, grading.Decision]{
		"Bands": grading.DefaultBands, "Hysteresis": grading.Hysteresis{Bands: grading.DefaultBands, Extra: 15},
	} {
		t.Run(name, func(t *testing.T) {
			runs, _ := experiment()
			dice := rand.New(rand.NewPCG(5, 6))
			got := make([]outcome, runs)
			for i := range got {
				out, err := orchestrator.Refine(nil, orchestrator.Refinement[work]{
					Attempts: 3, GateBy: grading.At(60, gate),
					Try: func(*orchestrator.Context, orchestrator.Refined[work]) (work, error) { return dice.IntN(2) == 0, nil },
					Grade: func(_ *orchestrator.Context, w work) (orchestrator.Verdict, error) {
						if w {
							return orchestrator.Verdict{Score: 50 + 50*dice.Float64()}, nil
						}
						return orchestrator.Verdict{Score: 20 + 60*dice.Float64()}, nil
					},
				})
				require.NoError(t, err)
				got[i] = outcome{out.Pass, bool(out.Value), out.Tries}
			}
			near(t, want[name], meanOf(got))
		})
	}
	page(t, fmt.Sprintf("| `Bands`, 3 tries | %s |", want["Bands"]), fmt.Sprintf("| `Hysteresis{Extra: 15}`, 3 tries | %s |", want["Hysteresis"]))
}

func (f findings) String() string {
	return fmt.Sprintf("%.3f | %.3f | %.2f", f.passed, f.good/f.passed, f.tries)
}

// page looks for lines in seams.md.
func page(t *testing.T, lines ...string) {
	t.Helper()
	text, err := os.ReadFile("seams.md")
	require.NoError(t, err)
	for _, line := range lines {
		assert.Contains(t, string(text), line)
	}
}

func TestBenchesStandInThePage(t *testing.T) {
	for name, b := range benches {
		page(t, fmt.Sprintf("| %s: %d tries, quality %v, hits %v, false alarms %v | %s |", name, b.tries, b.quality, b.hit, b.alarm, b.closed()))
	}
}

// The quality X of a work is normal with mean 0 and deviation 1, and its score S is X and a
// noise of deviation s. The best by score of n has E[X | S] = S/(1+s²), and the highest of n
// scores has the mean m(n)·√(1+s²), m(n) being that of n standard normals. So its quality has
// the mean m(n)/√(1+s²). m(2) = 1/√π, and m(3) = 3/(2√π). Research returns the best of its
// iterations so.
func TestBestOfAgainstClosedForm(t *testing.T) {
	runs, tolerance := experiment()
	for n, m := range map[int]float64{2: 1 / math.Sqrt(math.Pi), 3: 1.5 / math.Sqrt(math.Pi)} {
		for _, noise := range []float64{0, 1} {
			want := m / math.Sqrt(1+noise*noise)
			for name, ranker := range map[string]grading.Ranker{"ByScore": grading.ByScore{}, "research.Best": research.Best{}} {
				dice, mean := rand.New(rand.NewPCG(7, 8)), 0.0
				for range runs {
					quality, entries := map[string]float64{}, []grading.Ranked(nil)
					for i := range n {
						x := dice.NormFloat64()
						id := fmt.Sprint(i)
						quality[id] = x
						entries = append(entries, grading.Ranked{ID: id, Score: new(x + noise*dice.NormFloat64())})
					}
					mean += quality[ranker.Rank(entries)[0].ID] / float64(runs)
				}
				// The deviation of a quality is at most 1, twice that of a share.
				assert.InDelta(t, want, mean, 2*tolerance, "%s: best of %d, noise %v", name, n, noise)
			}
			page(t, fmt.Sprintf("| best of %d, noise %v | %.3f |", n, noise, want))
		}
	}
}

// Of two ideas one is better by d, and each score has a normal noise of deviation s. The
// difference of the scores is normal with mean d and deviation s·√2, so the better one is
// ranked first with Φ(d/(s√2)) = (1+erf(d/2s))/2. Discussion picks its winner so.
func TestRankingAgainstClosedForm(t *testing.T) {
	runs, tolerance := experiment()
	for _, d := range []float64{0.5, 1, 2} {
		want := (1 + math.Erf(d/2)) / 2 // s is 1
		dice, share := rand.New(rand.NewPCG(9, 10)), 0.0
		for range runs {
			ranked := grading.ByScore{}.Rank([]grading.Ranked{
				{ID: "worse", Score: new(5 + dice.NormFloat64())}, {ID: "better", Score: new(5 + d + dice.NormFloat64())},
			})
			if ranked[0].ID == "better" {
				share += 1 / float64(runs)
			}
		}
		assert.InDelta(t, want, share, tolerance, "better by %v", d)
		page(t, fmt.Sprintf("| better by %v of the noise | %.3f |", d, want))
	}
}
