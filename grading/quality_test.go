package grading_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
)

func TestDepartmentQuality(t *testing.T) {
	pass := func(s float64) grading.Mark { return grading.Mark{Value: s, Passed: true} }
	fail := func(s float64) grading.Mark { return grading.Mark{Value: s} }
	tests := []struct {
		name    string
		results []grading.Mark
		raw     float64
		rounded int
	}{
		{"HA12 all pass", []grading.Mark{pass(95), pass(88), pass(92)}, 96.666667, 97},      // 60 + .4*275/3
		{"HA13 one fails", []grading.Mark{fail(45), pass(78), pass(82)}, 67.333333, 67},     // 40 + .4*205/3
		{"HA14 all fail", []grading.Mark{fail(35), fail(42), fail(38)}, 15.333333, 15},      // 0 + .4*115/3
		{"HA15 revision-needed counts", []grading.Mark{pass(72), pass(87)}, 91.8, 92},       // 60 + .4*79.5
		{"HA15 strict review", []grading.Mark{fail(72), pass(87)}, 61.8, 62},                // 30 + .4*79.5
		{"HA16 three times 65", []grading.Mark{pass(65), pass(65), pass(65)}, 86, 86},       // 60 + 26
		{"HA16 strict review", []grading.Mark{fail(65), fail(65), fail(65)}, 26, 26},        // 0 + 26
		{"H69 the formula with two passing", []grading.Mark{pass(70), pass(88)}, 91.6, 92},  // 60 + .4*79
		{"H68 two of three", []grading.Mark{pass(95), pass(62), fail(30)}, 64.933333, 65},   // 40 + .4*187/3
		{"H67 the share of approved results", []grading.Mark{pass(0), fail(0)}, 30, 30},     // .6*50
		{"H68 rejected scores are in the mean", []grading.Mark{fail(100), fail(0)}, 20, 20}, // .4*50
		{"H69 half up", []grading.Mark{pass(78.75)}, 91.5, 92},                              // 60 + 31.5
		{"HC1 the literal filter gives 26 for 86", []grading.Mark{fail(65)}, 26, 26},
		{"HC11 just below half", []grading.Mark{pass(78.7475)}, 91.499, 91}, // 60 + 31.499
		{"H67 two of three reach 80 at most", []grading.Mark{pass(100), pass(100), fail(100)}, 80, 80},
		{"H69 no results have no quality", nil, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw, rounded := quality(tt.results)
			assert.Equal(t, tt.raw, raw)
			assert.Equal(t, tt.rounded, rounded)
		})
	}
}

func TestDepartmentQualityLaws(t *testing.T) {
	scored := rapid.Custom(func(t *rapid.T) grading.Mark {
		return grading.Mark{Value: rapid.Float64Range(0, 100).Draw(t, "score"), Passed: rapid.Bool().Draw(t, "passed")}
	})
	some := rapid.SliceOfN(scored, 1, 20)
	t.Run("H69 range", rapid.MakeCheck(func(t *rapid.T) {
		raw, rounded := quality(some.Draw(t, "results"))
		assert.True(t, raw >= 0 && raw <= 100, raw)
		assert.Equal(t, grading.Round(raw), rounded)
	}))
	t.Run("H69 the order does not matter", rapid.MakeCheck(func(t *rapid.T) {
		results := some.Draw(t, "results")
		want, _ := quality(results)
		got, _ := quality(rapid.Permutation(results).Draw(t, "shuffled"))
		assert.Equal(t, want, got)
	}))
	t.Run("H67 passing more is better", rapid.MakeCheck(func(t *rapid.T) {
		results := some.Draw(t, "results")
		before, _ := quality(results)
		results[0].Passed = true
		after, _ := quality(results)
		assert.GreaterOrEqual(t, after, before)
	}))
}

func TestWeightedMean(t *testing.T) {
	values := []float64{91.8, 88.5, 82, 76.5}
	tests := []struct {
		name            string
		values, weights []float64
		want            float64
	}{
		{"HA17 relevances as weights", values, []float64{.65, .85, .5, .35}, 86.242553}, // 202.67/2.35
		{"HA17 weights of zero", values, []float64{0, 0, 0, 0}, 84.7},                   // 338.8/4
		{"HC13 no weights", values, nil, 84.7},
		{"HC13 a missing weight is 0", values, []float64{1, 1}, 90.15},
		{"HC13 bad weights are 0", values, []float64{-1, 0, 1, 0}, 82},
		{"HC13 weights too many", []float64{50}, []float64{1, 9}, 50},
		{"HC13 a weight of 0 does not count", []float64{10, 90}, []float64{0, .5}, 90},
		{"HC13 no values", nil, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, weighted(tt.values, tt.weights))
		})
	}
	percent := rapid.SliceOfN(rapid.Float64Range(0, 100), 5, 5)
	t.Run("HC13 between the least and the most", rapid.MakeCheck(func(t *rapid.T) {
		got := weighted(percent.Draw(t, "values"), percent.Draw(t, "weights"))
		assert.True(t, got >= 0 && got <= 100, got)
	}))
	t.Run("HC13 equal weights are the plain mean", rapid.MakeCheck(func(t *rapid.T) {
		v, w := percent.Draw(t, "values"), rapid.Float64Range(.01, 1).Draw(t, "weight")
		got := weighted(v, []float64{w, w, w, w, w})
		assert.InDelta(t, weighted(v, nil), got, 1e-5)
	}))
}
