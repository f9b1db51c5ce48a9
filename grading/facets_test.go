package grading_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
)

func TestOverall(t *testing.T) {
	even := weights(1, 1, 1, 1)
	for _, tt := range []struct {
		name    string
		f       facets
		weights grading.Weighted
		want    float64
	}{
		{"RA25 R76", facets{Article: 0.94, Source: 0.89, Factual: 0.92, Writing: 0.88}, grading.DefaultFacets, 0.9105},
		{"RA26 R76", facets{Article: 0.90, Source: 0.85, Factual: 0.92, Writing: 0.88}, grading.DefaultFacets, 0.8885},
		{"RA27 R76", facets{Article: 0.75, Source: 0.65, Factual: 0.85, Writing: 0.85}, grading.DefaultFacets, 0.7700},
		{"RA28 R76", facets{Article: 0.55, Source: 0.40, Factual: 0.68, Writing: 0.73}, grading.DefaultFacets, 0.5810},
		{"RA29 RC13 even weights", facets{Article: 0.94, Source: 0.89, Factual: 0.92, Writing: 0.88}, even, 0.9075},
		{"R76 only proportions matter", facets{Article: 1, Writing: 0.5}, weights(30, 0, 0, 10), 0.875},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := overall(tt.f, tt.weights)
			require.NoError(t, err)
			assert.InDelta(t, tt.want, got, 0)
		})
	}
	for _, tt := range []struct {
		name    string
		f       facets
		weights grading.Weighted
		want    string
	}{
		{"RA31 RX7 not a number", facets{Source: math.NaN()}, even, "source is NaN, want a number"},
		{"RA32 weights of 0", facets{}, weights(0, 0, 0, 0), "all weights are 0"},
		{"R76 a negative weight", facets{}, weights(-1, 2, 0, 0), "the weight of article is -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := overall(tt.f, tt.weights)
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("R76 the score lies among the facets", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			x := rapid.SliceOfN(rapid.Float64Range(0, 1), 8, 8).Draw(t, "figures")
			got, err := overall(
				facets{Article: x[0], Source: x[1], Factual: x[2], Writing: x[3]},
				weights(x[4]+0.001, x[5], x[6], x[7]),
			)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, got, grading.Round6(min(x[0], x[1], x[2], x[3])))
			assert.LessOrEqual(t, got, grading.Round6(max(x[0], x[1], x[2], x[3])))
		})
	})
}

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		name             string
		score, threshold float64
		iteration, most  int
		want             grading.Verdict
	}{
		{"RA8 0.91 of 0.80, iteration 1", 0.91, 0.80, 1, 3, grading.Complete},
		{"RA9 0.68 of 0.80, iteration 1", 0.68, 0.80, 1, 3, grading.Continue},
		{"RA10 0.76 of 0.80, iteration 3", 0.76, 0.80, 3, 3, grading.ForceComplete},
		{"RA11 0.65 of 0.80, iteration 1", 0.65, 0.80, 1, 3, grading.Continue},
		{"RA12 0.72 of 0.80, iteration 2", 0.72, 0.80, 2, 3, grading.Continue},
		{"RA13 0.78 of 0.80, iteration 3", 0.78, 0.80, 3, 3, grading.ForceComplete},
		{"RA14 0.88 of 0.80, iteration 2", 0.88, 0.80, 2, 3, grading.Complete},
		{"RA15 0.92 of 0.80, iteration 1", 0.92, 0.80, 1, 3, grading.Complete},
		{"RA16 0.72 of 0.85, iteration 1", 0.72, 0.85, 1, 3, grading.Continue},
		{"RA17 0.89 of 0.85, iteration 2", 0.89, 0.85, 2, 3, grading.Complete},
		{"RA18 first", 0.78, 0.90, 1, 3, grading.Continue},
		{"RA18 second", 0.83, 0.90, 2, 3, grading.Continue},
		{"RA18 third", 0.87, 0.90, 3, 3, grading.ForceComplete},
		{"RA19 0.85 of 0.80, iteration 1", 0.85, 0.80, 1, 3, grading.Complete},
		{"RA20 R11 the bound is included", 0.80, 0.80, 1, 3, grading.Complete},
		{"RA20 R79 quality before the limit", 0.80, 0.80, 3, 3, grading.Complete},
		{"R79 good enough in the last iteration", 0.80, 0.80, 3, 3, grading.Complete},
		{"RA21 RC39 six decimals, not two", 0.7999, 0.80, 2, 3, grading.Continue},
		{"RC39 rounded to six", 0.79999999, 0.80, 2, 3, grading.Complete},
		{"RA22", 0.50, 0.80, 1, 1, grading.ForceComplete},
		{"RA23 RX21 beyond the limit", 0.50, 0.80, 4, 3, grading.ForceComplete},
		{"RA24 RX23", 0, 0, 1, 3, grading.Complete},
		{"RX23 a threshold of 1", 0.999999, 1, 1, 3, grading.Continue},
		{"RX7 not a number", math.NaN(), 0.5, 1, 3, grading.Continue},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, next(tt.score, tt.threshold, tt.iteration, tt.most))
		})
	}
}
