package grading_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
)

func TestDecide(t *testing.T) {
	tests := []struct {
		name     string
		score, t float64
		want     grading.Decision
	}{
		{"HA7 no gate", 0, 0, grading.Accept},
		{"HA7 low threshold", 5, 10, grading.Revise},
		{"HA7 nothing to discard", 0, 15, grading.Revise},
		{"H41 accept is inclusive", 60, 60, grading.Accept},
		{"H41 below is not accepted", 59.999999, 60, grading.Revise},
		{"H42 revise includes its lower bound", 40, 60, grading.Revise},
		{"H43 below revise", 39.999999, 60, grading.Discard},
		{"H46 a threshold of 0 accepts every score", 1, 0, grading.Accept},
		{"HC20 a threshold of 20 discards nothing", 0, 20, grading.Revise},
		{"HC20 a threshold above 20 discards", 0, 20.000001, grading.Discard},
		{"HC21 score rounded up to the threshold", 75.99999999999999, 76, grading.Accept},
		{"HC21 score rounded up to the lower bound", 39.9999999, 60, grading.Revise},
		{"HC21 threshold with decimals", 56.3, 76.3, grading.Revise},
		{"HC21 lower bound rounded", 0.1, 20.1, grading.Revise}, // 20.1 - 20 is 0.10000000000000142 in floats
		{"HC21 not a number without a gate", math.NaN(), 0, grading.Accept},
		{"HC21 threshold rounded", 60, 60.0000001, grading.Accept},
		{"HC21 six decimals and no fewer", 59.9999994, 60, grading.Revise},
		{"HC21 not a number is never good", math.NaN(), 60, grading.Discard},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, decide(tt.score, tt.t))
		})
	}
}

func TestPasses(t *testing.T) {
	tests := []struct {
		name     string
		score, t float64
		want     bool
	}{
		{"HC1 the threshold passes", 65, 65, true},
		{"HC1 revision-needed passes", 72, 65, true},
		{"HC1 below fails", 64.999999, 65, false},
		{"H46 no gate passes", 0, 0, true},
		{"H46 a real threshold fails a score of 0", 0, 1, false},
		{"HC21 rounded first", 64.99999999, 65, true},
		{"HC21 not a number fails", math.NaN(), 65, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, grading.Passes(tt.score, tt.t))
		})
	}
}

func TestReview(t *testing.T) {
	tests := []struct {
		name     string
		score, t float64
		want     grading.ReviewStatus
	}{
		{"HA10 below", 64.99, 65, grading.Rejected},
		{"HA10 exactly T", 65, 65, grading.RevisionNeeded},
		{"HA10 worked example", 72, 65, grading.RevisionNeeded},
		{"HA10 just below the margin", 74.99, 65, grading.RevisionNeeded},
		{"HA10 exactly the margin", 75, 65, grading.Approved},
		{"HA11 no gate", 0, 0, grading.Approved},
		{"HA11 margin above 100", 99, 95, grading.RevisionNeeded},
		{"HA11 margin capped", 100, 95, grading.Approved},
		{"HA11 threshold 100", 100, 100, grading.Approved},
		{"H60 defaulted score at T=60", 75, 60, grading.Approved},
		{"H57 no gate approves a low score", 5, 0, grading.Approved},
		{"H58 below T", 59.99, 60, grading.Rejected},
		{"H59 at T", 60, 60, grading.RevisionNeeded},
		{"H60 at T+10", 70, 60, grading.Approved},
		{"HC19 threshold 90 needs 100", 99.999999, 90, grading.RevisionNeeded},
		{"HC19 threshold 89 needs 99", 99, 89, grading.Approved},
		{"HC21 margin rounded", 10.274, 0.274, grading.Approved}, // 0.274 + 10 is 10.274000000000001 in floats
		{"HC21 margin with decimals", 76.3, 66.3, grading.Approved},
		{"HC21 rounded to the margin", 74.99999999, 65, grading.Approved},
		{"HC21 not a number is rejected", math.NaN(), 65, grading.Rejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, review(tt.score, tt.t))
		})
	}
}

func TestStatusNames(t *testing.T) {
	t.Run("H41 decisions", func(t *testing.T) {
		got := []grading.Decision{grading.Accept, grading.Revise, grading.Discard}
		assert.Equal(t, []grading.Decision{"accept", "revise", "discard"}, got)
	})
	t.Run("H78 review statuses", func(t *testing.T) {
		got := []grading.ReviewStatus{grading.Approved, grading.Rejected, grading.RevisionNeeded}
		assert.Equal(t, []grading.ReviewStatus{"approved", "rejected", "revision-needed"}, got)
	})
}

func TestScalesAgree(t *testing.T) {
	percent := rapid.Float64Range(0, 100)
	t.Run("HC6 accepted, passed and not rejected are one", rapid.MakeCheck(func(t *rapid.T) {
		s, threshold := percent.Draw(t, "score"), percent.Draw(t, "threshold")
		passed := grading.Passes(s, threshold)
		assert.Equal(t, passed, decide(s, threshold) == grading.Accept)
		assert.Equal(t, passed, review(s, threshold) != grading.Rejected)
	}))
	t.Run("H41 a better score is decided no worse", rapid.MakeCheck(func(t *rapid.T) {
		s := []float64{percent.Draw(t, "a"), percent.Draw(t, "b")}
		slices.Sort(s)
		threshold := percent.Draw(t, "threshold")
		rank := []grading.Decision{grading.Discard, grading.Revise, grading.Accept}
		worse := slices.Index(rank, decide(s[0], threshold))
		assert.LessOrEqual(t, worse, slices.Index(rank, decide(s[1], threshold)))
	}))
	t.Run("H60 a better score is reviewed no worse", rapid.MakeCheck(func(t *rapid.T) {
		s := []float64{percent.Draw(t, "a"), percent.Draw(t, "b")}
		slices.Sort(s)
		threshold := percent.Draw(t, "threshold")
		rank := []grading.ReviewStatus{grading.Rejected, grading.RevisionNeeded, grading.Approved}
		worse := slices.Index(rank, review(s[0], threshold))
		assert.LessOrEqual(t, worse, slices.Index(rank, review(s[1], threshold)))
	}))
	t.Run("HC19 a full score is always approved", rapid.MakeCheck(func(t *rapid.T) {
		assert.Equal(t, grading.Approved, review(100, percent.Draw(t, "threshold")))
	}))
}
