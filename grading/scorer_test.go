package grading_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
)

// share is a figure of 0 to 1, as models give them or as floats come.
func share() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64Range(0, 1), rapid.Map(rapid.IntRange(0, 100), func(n int) float64 { return float64(n) / 100 }))
}

func TestWeighted(t *testing.T) {
	w := grading.Weighted{"a": 3, "b": 1, "c": 0}
	mark := func(name string, value float64) grading.Mark { return grading.Mark{Name: name, Value: value} }
	tests := []struct {
		name  string
		w     grading.Weighted
		marks grading.Marks
		want  float64
		err   string
	}{
		{"by weight, on the marks' scale", w, grading.Marks{mark("a", 100), mark("b", 0), mark("c", 7)}, 75, ""},
		{"other names do not count", w, grading.Marks{mark("a", 1), mark("x", math.NaN()), mark("b", 1), mark("c", 1)}, 1, ""},
		{"rounded to six decimals", grading.Weighted{"a": 1}, grading.Marks{mark("a", 0.12345678)}, 0.123457, ""},
		{"marks are missing", w, grading.Marks{mark("b", 1)}, 0, "grading: there is no mark for \"a\"\nthere is no mark for \"c\""},
		{"an ungraded mark is missing", grading.Weighted{"a": 1}, grading.Marks{{Name: "a", Value: 1, Ungraded: true}}, 0, `grading: there is no mark for "a"`},
		{"RA31 not a number", grading.Weighted{"a": 1}, grading.Marks{mark("a", math.NaN())}, 0, "grading: a is NaN, want a number"},
		{"infinity", grading.Weighted{"a": 1}, grading.Marks{mark("a", math.Inf(1))}, 0, "grading: a is +Inf, want a number"},
		{"no weights", nil, nil, 0, "grading: all weights are 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.w.Score(tt.marks)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
			} else {
				require.NoError(t, err)
			}
			assert.InDelta(t, tt.want, got, 0)
		})
	}
}

// The defaults, said in another way.
func TestDefaultScorers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c, d := share().Draw(t, "a"), share().Draw(t, "b"), share().Draw(t, "c"), share().Draw(t, "d")
		got, err := percent(dimensions{a, b, c})
		require.NoError(t, err)
		require.InDelta(t, 40*a+30*b+30*c, got, 1e-6)
		got, err = overall(facets{Article: a, Source: b, Factual: c, Writing: d}, grading.DefaultFacets)
		require.NoError(t, err)
		require.InDelta(t, 0.30*a+0.25*b+0.25*c+0.20*d, got, 1e-6)
	})
	rapid.Check(t, func(t *rapid.T) {
		var marks grading.Marks
		var passed, scored, sum, total float64
		for i := range rapid.IntRange(1, 6).Draw(t, "n") {
			m := grading.Mark{
				Name: strconv.Itoa(i), Value: 100 * share().Draw(t, "value"), Weight: rapid.SampledFrom([]float64{0.1, 0.3, 1}).Draw(t, "weight"),
				Passed: rapid.Bool().Draw(t, "passed"), Ungraded: rapid.Bool().Draw(t, "ungraded"),
			}
			marks = append(marks, m)
			if m.Passed {
				passed++
			}
			if !m.Ungraded {
				scored++
				sum += m.Value
				total += m.Value * m.Weight
			}
		}
		got, err := grading.DefaultApproval.Score(marks)
		require.NoError(t, err)
		require.InDelta(t, 60*passed/float64(len(marks))+0.4*sum/max(scored, 1), got, 2e-6)
		got, err = grading.Mean{}.Score(marks)
		require.NoError(t, err)
		var weight float64
		for _, m := range marks {
			if !m.Ungraded {
				weight += m.Weight
			}
		}
		if weight > 0 {
			total /= weight
		}
		require.InDelta(t, total, got, 1e-6)
	})
}

func TestApproval(t *testing.T) {
	marks := grading.Marks{{Name: "a", Value: 80, Passed: true}, {Name: "b", Value: 40}, {Name: "c", Ungraded: true}, {Name: "d", Value: 60, Passed: true}}
	for want, a := range map[float64]grading.Approval{54: grading.DefaultApproval, 50: {Passed: 1}, 60: {Mean: 7}, 55: {Passed: 2, Mean: 2}} {
		got, err := a.Score(marks) // half have passed, and the mean is 60
		require.NoError(t, err)
		assert.InDelta(t, want, got, 1e-9)
	}
	got, err := grading.DefaultApproval.Score(grading.Marks{{Name: "a", Value: 40}, {Name: "b", Ungraded: true, Passed: true}})
	require.NoError(t, err)
	assert.InDelta(t, 46, got, 1e-9, "an ungraded result that has no gate has passed: half of 60, and 0.4 * 40")
	_, err = grading.Approval{}.Score(marks)
	require.EqualError(t, err, "grading: all weights are 0")
	_, err = grading.DefaultApproval.Score(grading.Marks{{Name: "a", Value: math.Inf(1)}})
	require.EqualError(t, err, "grading: a is +Inf, want a number")
	_, err = grading.Mean{}.Score(grading.Marks{{Name: "a", Value: math.NaN()}})
	require.EqualError(t, err, "grading: a is NaN, want a number")

	no := errors.New("no")
	var scorer grading.Scorer = grading.ScorerFunc(func(marks grading.Marks) (float64, error) { return float64(len(marks)), no })
	n, err := scorer.Score(marks)
	require.ErrorIs(t, err, no)
	assert.InDelta(t, 4.0, n, 0)
}

func TestByScore(t *testing.T) {
	entry := func(id string, score float64) grading.Ranked { return grading.Ranked{ID: id, Score: &score} }
	none := grading.Ranked{ID: "none"}
	entries := []grading.Ranked{none, entry("a", 5), entry("nan", math.NaN()), entry("b", 7), entry("c", 5.0000000001), entry("d", 7)}
	rank := func(r grading.Ranker) (ids string) {
		given := slices.Clone(entries)
		for _, e := range r.Rank(entries) {
			ids += e.ID + " "
		}
		assert.Equal(t, ids != "", true)
		for i := range given {
			assert.Equal(t, given[i].ID, entries[i].ID, "the entries have changed")
		}
		return ids
	}
	assert.Equal(t, "b d a c none nan ", rank(grading.ByScore{}))
	assert.Equal(t, "d b c a none nan ", rank(grading.ByScore{Last: true}))
	assert.Equal(t, "none a ", rank(grading.RankerFunc(func(e []grading.Ranked) []grading.Ranked { return e[:2] })))
	assert.Empty(t, grading.ByScore{Last: true}.Rank(nil))

	t.Run("each entry once, sorted", func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			entries = nil
			for i := range r.IntN(20) {
				e := grading.Ranked{ID: strconv.Itoa(i)}
				if r.IntN(4) > 0 {
					e.Score = new(float64(r.IntN(5)))
				}
				entries = append(entries, e)
			}
			for _, last := range []bool{false, true} {
				ranked := grading.ByScore{Last: last}.Rank(entries)
				require.ElementsMatch(t, entries, ranked)
				for i := 1; i < len(ranked); i++ {
					x, y := ranked[i-1], ranked[i]
					require.False(t, x.Score == nil && y.Score != nil)
					require.False(t, x.Score != nil && y.Score != nil && *x.Score < *y.Score)
				}
			}
		}
	})
}

func TestWeightsInJSON(t *testing.T) {
	w := grading.Weighted{"quality": 1}
	err := json.Unmarshal([]byte(`{"novelty":"much","clarity":true,"cost":2}`), &w)
	require.ErrorContains(t, err, ".novelty of type float64")
	require.ErrorContains(t, err, ".clarity of type float64")
	assert.Equal(t, grading.Weighted{"quality": 1}, w, "with a fault nothing is read")
	require.NoError(t, json.Unmarshal([]byte(`{"cost":2}`), &w))
	assert.Equal(t, grading.Weighted{"cost": 2}, w, "as a whole")
	require.Error(t, json.Unmarshal([]byte(`[]`), &w))
}

func TestNamesOfWeights(t *testing.T) {
	var scorer grading.Scorer = grading.Weighted{"b": 1, "a": 0}
	named, ok := scorer.(grading.Named)
	require.True(t, ok)
	assert.Equal(t, []string{"a", "b"}, named.Names())
}

// TestWeightsThatAreNoNumbers: a figure that is none, or too large, is named and never makes a
// score.
func TestWeightsThatAreNoNumbers(t *testing.T) {
	two := func(a, b float64) grading.Marks {
		return grading.Marks{{Name: "a", Value: 80, Weight: a}, {Name: "b", Value: 90, Weight: b}}
	}
	for _, tt := range []struct {
		name   string
		scorer grading.Scorer
		marks  grading.Marks
		wrong  string
	}{
		{"N17 a mean with an infinite weight", grading.Mean{}, two(math.Inf(1), 1), "grading: the weight of a is +Inf, want a number"},
		{"N17 a mean with minus infinity", grading.Mean{}, two(1, math.Inf(-1)), "grading: the weight of b is -Inf, want a number"},
		{"N17 a mean with NaN as a weight", grading.Mean{}, two(math.NaN(), 1), "grading: the weight of a is NaN, want a number"},
		{"N17 a mean whose weights overflow", grading.Mean{}, two(1e308, 1e308), "grading: marks times weights add up to no number: they are too large"},
		{"N17 names whose weights overflow", grading.Weighted{"a": 1e308, "b": 1e308}, two(0, 0), "grading: the weights of a, b add up to +Inf, want at most 1e+300"},
		{"N17 a name whose mark overflows", grading.Weighted{"a": 1e299, "b": 1}, grading.Marks{{Name: "a", Value: 1e300}, {Name: "b"}}, "grading: marks times weights add up to no number: they are too large"},
		{"N17 shares that overflow", grading.Approval{Passed: 1e308, Mean: 1e308}, two(0, 0), "grading: the weights of Mean, Passed add up to +Inf, want at most 1e+300"},
		{"N17 an infinite share", grading.Approval{Passed: math.Inf(1), Mean: 1}, two(0, 0), "grading: the weight of Passed is +Inf, want 0 or more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			score, err := tt.scorer.Score(tt.marks)
			require.EqualError(t, err, tt.wrong)
			assert.Zero(t, score)
		})
	}
	t.Run("N17 as a setting", func(t *testing.T) {
		require.EqualError(t, grading.Weighted{"a": 1e308}.Validate(), "the weights of a add up to 1e+308, want at most 1e+300")
		require.NoError(t, grading.Weighted{"a": 1e299}.Validate())
	})
	t.Run("N17 a history that overflows moves no threshold", func(t *testing.T) {
		history := slices.Repeat([]float64{math.MaxFloat64}, 12)
		assert.InDelta(t, 60, grading.Adaptive{Fixed: grading.Fixed{Otherwise: 60}}.Threshold(grading.Subject{}, history), 0)
	})
	t.Run("N17 a score is a number or an error", rapid.MakeCheck(func(t *rapid.T) {
		figure := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1, 1e308, -1e308, math.Inf(1), math.NaN()}))
		marks := grading.Marks{{Name: "a", Value: figure.Draw(t, "a"), Weight: figure.Draw(t, "wa")}, {Name: "b", Value: figure.Draw(t, "b"), Weight: figure.Draw(t, "wb")}}
		for _, s := range []grading.Scorer{grading.Mean{}, grading.Weighted{"a": figure.Draw(t, "na"), "b": 1}} {
			score, err := s.Score(marks)
			assert.True(t, err != nil || score-score == 0, "%v of %v", score, marks)
		}
	}))
}
