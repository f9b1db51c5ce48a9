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

func TestIdeaScore(t *testing.T) {
	num := func(x float64) *float64 { return &x }
	five := func(f, i, m, c, p float64) *grading.Criteria { return &grading.Criteria{f, i, m, c, p} }
	for _, tt := range []struct {
		name     string
		explicit *float64
		marks    *grading.Criteria
		want     float64
	}{
		{"DA20 mean of the marks", nil, five(8, 7, 9, 8, 6), 7.6},
		{"DA21 the explicit score wins", num(8.1), five(8, 7, 9, 8, 6), 8.1},
		{"DA46 rounded", nil, five(7.9, 8.5, 3.0, 8.7, 1.9), 6.0},
		{"DA47 first of the tie", nil, five(8.6, 8.2, 8.9, 1.0, 0.1), 5.36},
		{"DA47 second of the tie", nil, five(1.0, 8.2, 8.9, 0.1, 8.6), 5.36},
		{"DC12 an explicit score out of range gives way", num(85), five(8, 7, 9, 8, 6), 7.6},
		{"DC15 zero is a score", num(0), nil, 0},
		{"D24 ten is one", num(10), nil, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := grading.IdeaScore(tt.explicit, tt.marks)
			require.NoError(t, err)
			assert.InDelta(t, tt.want, got, 0)
		})
	}
	for _, tt := range []struct {
		name     string
		explicit *float64
		marks    *grading.Criteria
		want     string
	}{
		{"DX7 above 10", num(10.000001), nil, "neither"},
		{"DX7 below 0", num(-1), nil, "neither"},
		{"DX7 not a number", num(math.NaN()), nil, "neither"},
		{"DX7 a mark out of range", nil, five(8, 7, 10.5, 8, 6), "impact is 10.5, want 0 to 10"},
		{"DX7 a mark that is no number", nil, five(8, 7, 9, math.NaN(), 6), "clarity is NaN"},
		{"DA22 nothing", nil, nil, "neither"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := grading.IdeaScore(tt.explicit, tt.marks)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestTop(t *testing.T) {
	all := []bool{true, true, true}
	for _, tt := range []struct {
		name   string
		scores []float64
		valid  []bool
		want   int
	}{
		{"DA15 DC13 the first of equals", []float64{7.2, 8.5, 8.5}, all, 1},
		{"DC13 equal when rounded", []float64{5.36, 5.3600000000000001, 5.3599999999}, all, 0},
		{"DA25 DC15 zero can win", []float64{0}, []bool{true}, 0},
		{"DC16 only valid ones", []float64{9, 8, 7}, []bool{false, false, true}, 2},
		{"DC14 none", []float64{9, 8}, []bool{false, false}, -1},
		{"DC14 no ideas", nil, nil, -1},
		{"DX7 not a number", []float64{math.NaN(), 1}, []bool{true, true}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, grading.Top(tt.scores, tt.valid)) })
	}
}

func TestShortlist(t *testing.T) {
	all := []bool{true, true, true}
	for _, tt := range []struct {
		name   string
		scores []float64
		valid  []bool
		least  float64
		want   []int
	}{
		{"DA18 best first, the bound included", []float64{6.0, 5.99, 9}, all, 6, []int{2, 0}},
		{"DA19 7.5 and 7.49", []float64{7.5, 7.49, 7.4999999999}, all, 7.5, []int{0, 2}},
		{"DC2 equals in their order", []float64{8, 9, 8}, all, 0, []int{1, 0, 2}},
		{"DC16 only valid ones", []float64{8, 9, 8}, []bool{false, true, false}, 0, []int{1}},
		{"DA17 none", []float64{5.9}, []bool{true}, 6, []int{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, grading.Shortlist(tt.scores, tt.valid, tt.least))
		})
	}
}

func TestIdeaLaws(t *testing.T) {
	mark := rapid.Float64Range(0, grading.MaxIdeaScore)
	t.Run("DC12 the mean lies among the marks and does not depend on their order", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			m := rapid.SliceOfN(mark, 5, 5).Draw(t, "marks")
			mean := func(m []float64) float64 {
				x, err := grading.Criteria{Feasibility: m[0], Innovation: m[1], Impact: m[2], Clarity: m[3], Completeness: m[4]}.Mean()
				require.NoError(t, err)
				return x
			}
			got := mean(m)
			assert.GreaterOrEqual(t, got, grading.Round6(slices.Min(m)))
			assert.LessOrEqual(t, got, grading.Round6(slices.Max(m)))
			assert.InDelta(t, got, mean(rapid.Permutation(m).Draw(t, "permuted")), 1e-6)
		})
	})
	t.Run("DC2 DC13 the top is the first of the shortlist", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			scores := rapid.SliceOf(mark).Draw(t, "scores")
			valid := rapid.SliceOfN(rapid.Bool(), len(scores), len(scores)).Draw(t, "valid")
			list, top := grading.Shortlist(scores, valid, 0), grading.Top(scores, valid)
			if top < 0 {
				assert.Empty(t, list)
				return
			}
			assert.Equal(t, top, list[0])
		})
	})
}
