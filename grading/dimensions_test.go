package grading_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
)

func TestPercent(t *testing.T) {
	tests := []struct {
		name    string
		d       grading.Dimensions
		want    float64
		t       float64
		decided grading.Decision
	}{
		{"HA1 weights", grading.Dimensions{Quality: .9, Relevance: .8, Consistency: .7}, 81, 81, grading.Accept}, // 36+24+21
		{"HA2 threshold met", grading.Dimensions{Quality: .6, Relevance: .6, Consistency: .6}, 60, 60, grading.Accept},
		{"HA3 no float error", grading.Dimensions{Quality: .7, Relevance: .85, Consistency: .75}, 76, 76, grading.Accept}, // 28+25.5+22.5
		{"HA4 lower bound of revise", grading.Dimensions{Quality: .4, Relevance: .4, Consistency: .4}, 40, 60, grading.Revise},
		{"HA5 below revise", grading.Dimensions{Quality: .39, Relevance: .4, Consistency: .4}, 39.6, 60, grading.Discard},       // 15.6+12+12
		{"HA6 just below accept", grading.Dimensions{Quality: .599, Relevance: .6, Consistency: .6}, 59.96, 60, grading.Revise}, // 23.96+18+18
		{"H39 quality weighs 40", grading.Dimensions{Quality: 1}, 40, 40, grading.Accept},
		{"H39 relevance weighs 30", grading.Dimensions{Relevance: 1}, 30, 30, grading.Accept},
		{"H39 consistency weighs 30", grading.Dimensions{Consistency: 1}, 30, 30, grading.Accept},
		{"H40 the best is 100", grading.Dimensions{Quality: 1, Relevance: 1, Consistency: 1}, 100, 100, grading.Accept},
		{"H40 the worst is 0", grading.Dimensions{}, 0, 60, grading.Discard},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := grading.Percent(tt.d)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.decided, grading.Decide(got, tt.t))
		})
	}
}

func TestPercentRefuses(t *testing.T) {
	tests := []struct {
		name string
		d    grading.Dimensions
		want string
	}{
		{"HA8 other scale", grading.Dimensions{Quality: 85, Relevance: .5, Consistency: .5}, "grading: quality is 85, want 0 to 1"},
		{"HA8 not a number", grading.Dimensions{Quality: math.NaN()}, "grading: quality is NaN, want 0 to 1"},
		{"HA8 negative", grading.Dimensions{Quality: -.1}, "grading: quality is -0.1, want 0 to 1"},
		{"HA8 relevance", grading.Dimensions{Relevance: math.Inf(1)}, "grading: relevance is +Inf, want 0 to 1"},
		{"HA8 consistency", grading.Dimensions{Consistency: 1.000001}, "grading: consistency is 1.000001, want 0 to 1"},
		{"HA8 all faults", grading.Dimensions{Quality: 2, Consistency: -1}, "grading: quality is 2, want 0 to 1\nconsistency is -1, want 0 to 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := grading.Percent(tt.d)
			require.EqualError(t, err, tt.want)
			assert.Zero(t, got)
		})
	}
}

// In hundredths, 40q+30r+30c is a whole number of tenths of a percent, so the
// exact percentage is known without any rounding.
func TestPercentIsExact(t *testing.T) {
	t.Run("HC21 all grades of two decimals", func(t *testing.T) {
		wrong := 0
		for q := range 101 {
			for r := range 101 {
				for c := range 101 {
					d := grading.Dimensions{Quality: float64(q) / 100, Relevance: float64(r) / 100, Consistency: float64(c) / 100}
					got, err := grading.Percent(d)
					if err != nil || got != float64(4*q+3*r+3*c)/10 {
						wrong++
					}
				}
			}
		}
		assert.Zero(t, wrong)
	})
	t.Run("HC21 all their percentages against whole thresholds", func(t *testing.T) {
		for tenths := range 1001 {
			for threshold := 1; threshold <= 100; threshold++ {
				want := grading.Discard
				if tenths >= 10*threshold {
					want = grading.Accept
				} else if tenths >= 10*(threshold-20) {
					want = grading.Revise
				}
				got := grading.Decide(float64(tenths)/10, float64(threshold))
				require.Equal(t, want, got, "score %d tenths, threshold %d", tenths, threshold)
			}
		}
	})
}

func TestPercentLaws(t *testing.T) {
	unit := rapid.Float64Range(0, 1)
	percent := func(t *rapid.T, q, r, c float64) float64 {
		got, err := grading.Percent(grading.Dimensions{Quality: q, Relevance: r, Consistency: c})
		require.NoError(t, err)
		return got
	}
	t.Run("H40 range", rapid.MakeCheck(func(t *rapid.T) {
		got := percent(t, unit.Draw(t, "q"), unit.Draw(t, "r"), unit.Draw(t, "c"))
		assert.True(t, got >= 0 && got <= 100, got)
		assert.Equal(t, grading.Round6(got), got)
	}))
	t.Run("H39 a better dimension is no worse", rapid.MakeCheck(func(t *rapid.T) {
		qs := []float64{unit.Draw(t, "q1"), unit.Draw(t, "q2")}
		slices.Sort(qs)
		r, c := unit.Draw(t, "r"), unit.Draw(t, "c")
		assert.LessOrEqual(t, percent(t, qs[0], r, c), percent(t, qs[1], r, c))
		assert.LessOrEqual(t, percent(t, r, qs[0], c), percent(t, r, qs[1], c))
	}))
	t.Run("H39 relevance and consistency weigh the same", rapid.MakeCheck(func(t *rapid.T) {
		q, r, c := unit.Draw(t, "q"), unit.Draw(t, "r"), unit.Draw(t, "c")
		assert.InDelta(t, percent(t, q, r, c), percent(t, q, c, r), 1e-6)
	}))
}

func TestWeakest(t *testing.T) {
	all := []string{"quality", "relevance", "consistency"}
	tests := []struct {
		name string
		d    grading.Dimensions
		t    float64
		want []string
	}{
		{"HC22 those below, in fixed order", grading.Dimensions{Quality: .5, Relevance: .9, Consistency: .3}, 60, []string{"quality", "consistency"}},
		{"HC22 one below", grading.Dimensions{Quality: .9, Relevance: .59, Consistency: .9}, 60, []string{"relevance"}},
		{"HC22 exactly the threshold is not below", grading.Dimensions{Quality: .57, Relevance: .58, Consistency: .56}, 57, []string{"consistency"}},
		{"HC22 all if none is below", grading.Dimensions{Quality: .9, Relevance: .9, Consistency: .9}, 60, all},
		{"HC22 all if all are below", grading.Dimensions{Quality: .1, Relevance: .1, Consistency: .1}, 60, all},
		{"HC22 all if ungraded", grading.Dimensions{}, 60, all},
		{"HC22 all if ungraded without a gate", grading.Dimensions{}, 0, all},
		{"HC21 the threshold is rounded too", grading.Dimensions{Quality: .6, Relevance: .7, Consistency: .5}, 60.0000001, []string{"consistency"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, grading.Weakest(tt.d, tt.t))
		})
	}
}
