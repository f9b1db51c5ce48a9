package grading_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
)

type (
	attempts = grading.Gate[grading.Standing, grading.Decision]
	reviews  = grading.Gate[grading.Standing, grading.ReviewStatus]
)

// figures are scores and thresholds: most of them on a bound or beside one.
func figures() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(-10, 110),
		rapid.Map(rapid.IntRange(0, 100), func(n int) float64 { return float64(n) }),
		rapid.Map(rapid.IntRange(0, 100_000_000), func(n int) float64 { return float64(n) / 1e6 }),
		rapid.SampledFrom([]float64{0, 20, 59.9999999, 60.0000001, 90, 100, math.NaN(), math.Inf(1), math.Inf(-1)}),
	)
}

// The defaults, said in another way.
func TestDefaultGates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := grading.Round6(figures().Draw(t, "score")), grading.Round6(figures().Draw(t, "threshold"))
		s := grading.Standing{Score: x, Threshold: y, Try: rapid.IntRange(0, 4).Draw(t, "try"), Most: rapid.IntRange(0, 4).Draw(t, "most")}
		accepts := y == 0 || x >= y
		require.Equal(t, accepts, attempts(grading.DefaultBands).Decide(s) == grading.Accept)
		require.Equal(t, !accepts && x >= grading.Round6(y-20), attempts(grading.DefaultBands).Decide(s) == grading.Revise)
		require.Equal(t, accepts, reviews(grading.DefaultReserve).Decide(s) != grading.Rejected)
		require.Equal(t, accepts && (y == 0 || x >= 100 || x >= grading.Round6(y+10)), reviews(grading.DefaultReserve).Decide(s) == grading.Approved)
		require.Equal(t, accepts, grading.Passes(x, y))
		require.Equal(t, accepts, grading.AtLeast(y).Decide(s) == grading.Accept)
		verdict := grading.Gate[grading.Standing, grading.Verdict](grading.Rounds{}).Decide(s)
		require.Equal(t, x >= y, verdict == grading.Complete)
		require.Equal(t, !(x >= y) && s.Try < s.Most, verdict == grading.Continue)
	})
}

func TestBands(t *testing.T) {
	tests := []struct {
		name             string
		margin, score, t float64
		want             grading.Decision
	}{
		{"a margin of 0 has nothing revised", 0, 59.999999, 60, grading.Discard},
		{"a margin of 100 discards nothing", 100, 0, 100, grading.Revise},
		{"the lower bound is inclusive", 5, 55, 60, grading.Revise},
		{"below it", 5, 54.999999, 60, grading.Discard},
		{"no gate", 5, 0, 0, grading.Accept},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, grading.Bands{Margin: tt.margin}.Decide(grading.Standing{Score: tt.score, Threshold: tt.t}))
		})
	}
}

func TestHysteresis(t *testing.T) {
	h := grading.Hysteresis{Bands: grading.DefaultBands, Extra: 15}
	tests := []struct {
		name   string
		score  float64
		t      float64
		before []float64
		want   grading.Decision
	}{
		{"the first try needs the threshold", 60, 60, nil, grading.Accept},
		{"a later one needs more", 74.999999, 60, []float64{50}, grading.Revise},
		{"and no more than that", 75, 60, []float64{50}, grading.Accept},
		{"the lower bound moves too", 54, 60, []float64{50}, grading.Discard},
		{"100 is enough", 100, 95, []float64{50}, grading.Accept},
		{"no gate stays none", 0, 0, []float64{50}, grading.Accept},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, h.Decide(grading.Standing{Score: tt.score, Threshold: tt.t, Before: tt.before, Try: len(tt.before) + 1}))
		})
	}
	t.Run("without Extra it is its Bands", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			b := grading.Bands{Margin: rapid.Float64Range(0, 100).Draw(t, "margin")}
			s := grading.Standing{Score: figures().Draw(t, "score"), Threshold: rapid.Float64Range(0, 100).Draw(t, "threshold"), Before: []float64{1}}
			require.Equal(t, b.Decide(s), grading.Hysteresis{Bands: b}.Decide(s))
		})
	})
}

func TestReserve(t *testing.T) {
	decide := func(margin, score, threshold float64) grading.ReviewStatus {
		return grading.Reserve{Margin: margin}.Decide(grading.Standing{Score: score, Threshold: threshold})
	}
	assert.Equal(t, grading.Approved, decide(0, 60, 60))
	assert.Equal(t, grading.RevisionNeeded, decide(40, 99.999999, 60))
	assert.Equal(t, grading.Approved, decide(100, 100, 60), "100 is always enough")
	assert.Equal(t, grading.Rejected, decide(0, 59.999999, 60))
	assert.Equal(t, grading.Approved, decide(10, 0, 0))
}

func TestRounds(t *testing.T) {
	decide := func(score float64, try, most int) grading.Verdict {
		return grading.Rounds{}.Decide(grading.Standing{Score: score, Threshold: 0.8, Try: try, Most: most})
	}
	assert.Equal(t, grading.Continue, decide(0.79, 1, 2))
	assert.Equal(t, grading.ForceComplete, decide(0.79, 2, 2))
	assert.Equal(t, grading.Complete, decide(0.8, 2, 2), "the bound is included, in the last round too")
	assert.Equal(t, grading.ForceComplete, decide(math.NaN(), 1, 0))
}

func TestAt(t *testing.T) {
	gate := grading.At(76, attempts(grading.DefaultBands))
	assert.Equal(t, grading.Accept, gate.Decide(grading.Standing{Score: 76}))
	assert.Equal(t, grading.Revise, gate.Decide(grading.Standing{Score: 75}))
	assert.Equal(t, grading.Discard, gate.Decide(grading.Standing{Score: 55, Threshold: 10}), "the threshold of the work does not count")
	odd := grading.GateWith(func(s grading.Standing) bool { return int(s.Score)%2 == 1 })
	assert.True(t, grading.At(3, odd).Decide(grading.Standing{Score: 3}), "decisions of any type")
}

func TestThresholds(t *testing.T) {
	history := []float64{90, 90, 90, 90, 90, 90, 90, 90, 90, 90}
	var fixed, adaptive grading.Threshold = grading.DefaultFixed, grading.Adaptive{Fixed: grading.DefaultFixed}
	own := grading.Subject{Own: new(70.0), Shared: new(50.0)}
	assert.InDelta(t, 70.0, fixed.Threshold(own, history), 0, "its own")
	assert.InDelta(t, 50.0, fixed.Threshold(grading.Subject{Shared: new(50.0)}, history), 0, "its group's")
	assert.InDelta(t, 60.0, fixed.Threshold(grading.Subject{}, history), 0, "the default")
	assert.InDelta(t, 0.0, fixed.Threshold(grading.Subject{Own: new(0.0), Shared: new(50.0)}, history), 0, "0 is a value")
	assert.InDelta(t, 75.0, adaptive.Threshold(own, history), 0, "70 moves by 5 towards 80")
	assert.InDelta(t, 70.0, adaptive.Threshold(own, history[:9]), 0, "nine scores are too few")

	var double grading.Threshold = grading.ThresholdFunc(func(of grading.Subject, history []float64) float64 { return *of.Own + history[0] })
	assert.InDelta(t, 160.0, double.Threshold(own, history), 0)
}

// What Validate refuses, by the field's name.
func TestValidateRules(t *testing.T) {
	nan := math.NaN()
	for want, rule := range map[string]interface{ Validate() error }{
		"Margin is NaN, want 0 to 100":                grading.Bands{Margin: nan},
		"Margin is -1, want 0 to 100":                 grading.Reserve{Margin: -1},
		"Margin is 101, want 0 to 100":                grading.Hysteresis{Bands: grading.Bands{Margin: 101}},
		"Extra is 101, want 0 to 100":                 grading.Hysteresis{Extra: 101},
		"Otherwise is -1, want 0 to 100":              grading.Adaptive{Fixed: grading.Fixed{Otherwise: -1}},
		"the weight of a is -1, want 0 or more":       grading.Weighted{"a": -1, "b": 2},
		"the weight of a is +Inf, want 0 or more":     grading.Weighted{"a": math.Inf(1)},
		"all weights are 0":                           grading.Weighted{},
		"the weight of Passed is NaN, want 0 or more": grading.Approval{Passed: nan, Mean: 1},
		"the weight of Mean is -0.5, want 0 or more":  grading.Approval{Passed: 1, Mean: -0.5},
	} {
		require.EqualError(t, rule.Validate(), want)
	}
	for _, rule := range []interface{ Validate() error }{
		grading.DefaultBands, grading.DefaultReserve, grading.DefaultFixed, grading.DefaultDimensions, grading.DefaultFacets, grading.DefaultApproval,
		grading.Hysteresis{Bands: grading.DefaultBands, Extra: 100},
		grading.Fixed{},
	} {
		require.NoError(t, rule.Validate())
	}
}

// A rule is its fields in JSON, read over the default.
func TestRulesJSON(t *testing.T) {
	bands, hysteresis, approval := grading.DefaultBands, grading.Hysteresis{Bands: grading.DefaultBands}, grading.DefaultApproval
	weighted := grading.Weighted{"quality": 40, "relevance": 30}
	for text, rule := range map[string]any{
		`{"margin": 0}`: &bands, `{"margin": 5, "extra": 15}`: &hysteresis, `{"mean": 0}`: &approval, `{"quality": 1}`: &weighted,
	} {
		require.NoError(t, json.Unmarshal([]byte(text), rule))
	}
	assert.Equal(t, grading.Bands{}, bands)
	assert.Equal(t, grading.Hysteresis{Bands: grading.Bands{Margin: 5}, Extra: 15}, hysteresis)
	assert.Equal(t, grading.Approval{Passed: 60}, approval)
	assert.Equal(t, grading.Weighted{"quality": 1}, weighted, "the other weights are gone")
	require.Error(t, json.Unmarshal([]byte(`{"quality": "1"}`), &weighted))
}
