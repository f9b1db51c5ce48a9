package grading_test

import (
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
		d       dimensions
		want    float64
		t       float64
		decided grading.Decision
	}{
		{"HA1 weights", dimensions{Quality: .9, Relevance: .8, Consistency: .7}, 81, 81, grading.Accept}, // 36+24+21
		{"HA2 threshold met", dimensions{Quality: .6, Relevance: .6, Consistency: .6}, 60, 60, grading.Accept},
		{"HA3 no float error", dimensions{Quality: .7, Relevance: .85, Consistency: .75}, 76, 76, grading.Accept}, // 28+25.5+22.5
		{"HA4 lower bound of revise", dimensions{Quality: .4, Relevance: .4, Consistency: .4}, 40, 60, grading.Revise},
		{"HA5 below revise", dimensions{Quality: .39, Relevance: .4, Consistency: .4}, 39.6, 60, grading.Discard},       // 15.6+12+12
		{"HA6 just below accept", dimensions{Quality: .599, Relevance: .6, Consistency: .6}, 59.96, 60, grading.Revise}, // 23.96+18+18
		{"H39 quality weighs 40", dimensions{Quality: 1}, 40, 40, grading.Accept},
		{"H39 relevance weighs 30", dimensions{Relevance: 1}, 30, 30, grading.Accept},
		{"H39 consistency weighs 30", dimensions{Consistency: 1}, 30, 30, grading.Accept},
		{"H40 the best is 100", dimensions{Quality: 1, Relevance: 1, Consistency: 1}, 100, 100, grading.Accept},
		{"H40 the worst is 0", dimensions{}, 0, 60, grading.Discard},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := percent(tt.d)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.decided, decide(got, tt.t))
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
					d := dimensions{Quality: float64(q) / 100, Relevance: float64(r) / 100, Consistency: float64(c) / 100}
					got, err := percent(d)
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
				got := decide(float64(tenths)/10, float64(threshold))
				require.Equal(t, want, got, "score %d tenths, threshold %d", tenths, threshold)
			}
		}
	})
}

func TestPercentLaws(t *testing.T) {
	unit := rapid.Float64Range(0, 1)
	scored := func(t *rapid.T, q, r, c float64) float64 {
		got, err := percent(dimensions{Quality: q, Relevance: r, Consistency: c})
		require.NoError(t, err)
		return got
	}
	t.Run("H40 range", rapid.MakeCheck(func(t *rapid.T) {
		got := scored(t, unit.Draw(t, "q"), unit.Draw(t, "r"), unit.Draw(t, "c"))
		assert.True(t, got >= 0 && got <= 100, got)
		assert.Equal(t, grading.Round6(got), got)
	}))
	t.Run("H39 a better dimension is no worse", rapid.MakeCheck(func(t *rapid.T) {
		qs := []float64{unit.Draw(t, "q1"), unit.Draw(t, "q2")}
		slices.Sort(qs)
		r, c := unit.Draw(t, "r"), unit.Draw(t, "c")
		assert.LessOrEqual(t, scored(t, qs[0], r, c), scored(t, qs[1], r, c))
		assert.LessOrEqual(t, scored(t, r, qs[0], c), scored(t, r, qs[1], c))
	}))
	t.Run("H39 relevance and consistency weigh the same", rapid.MakeCheck(func(t *rapid.T) {
		q, r, c := unit.Draw(t, "q"), unit.Draw(t, "r"), unit.Draw(t, "c")
		assert.InDelta(t, scored(t, q, r, c), scored(t, q, c, r), 1e-6)
	}))
}
