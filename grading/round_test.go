package grading_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
)

func TestRound(t *testing.T) {
	tests := []struct {
		name string
		x    float64
		want int
	}{
		{"H69 half up", 91.5, 92},
		{"H69 half up from an even number", 92.5, 93},
		{"H69 below half", 91.499, 91},
		{"H69 whole", 92, 92},
		{"H69 negative half goes up", -0.5, 0},
		{"H69 below negative half", -0.51, -1},
		{"HC11 the quality of the example", 96.666667, 97},
		{"HC21 a float error below half", 91.49999999999999, 92},
		{"HC21 the last float below one half", 0.49999999999999994, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, grading.Round(tt.x))
		})
	}
}

func TestRound6(t *testing.T) {
	tests := []struct {
		name    string
		x, want float64
	}{
		{"HC21 float error", 75.99999999999999, 76},
		{"HC21 six decimals stay", 59.123456, 59.123456},
		{"HC21 the seventh goes", 59.1234564, 59.123456},
		{"HC21 half away from zero", 0.0000005, 0.000001},
		{"HC21 beyond all scores", 1e300, 1e300},
		{"HC21 infinite", math.Inf(-1), math.Inf(-1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, grading.Round6(tt.x))
		})
	}
	t.Run("HC21 never negative zero", func(t *testing.T) {
		assert.False(t, math.Signbit(grading.Round6(-1e-9)))
	})
	t.Run("HC21 not a number stays so", func(t *testing.T) {
		assert.True(t, math.IsNaN(grading.Round6(math.NaN())))
	})
	t.Run("HC21 twice is once", rapid.MakeCheck(func(t *rapid.T) {
		once := grading.Round6(rapid.Float64().Draw(t, "x"))
		assert.Equal(t, once, grading.Round6(once))
	}))
}
