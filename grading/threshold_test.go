package grading_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
)

func TestResolveThreshold(t *testing.T) {
	tests := []struct {
		name        string
		agent, dept *float64
		want        float64
	}{
		{"HA9 agent first", new(70.0), new(80.0), 70},
		{"HA9 agent 0 is a value", new(0.0), new(80.0), 0},
		{"HA9 department next", nil, new(80.0), 80},
		{"HA9 default last", nil, nil, 60},
		{"HA9 department 0 is a value", nil, new(0.0), 0},
		{"H44 default", nil, nil, grading.DefaultThreshold},
		{"H45 agent above department", new(90.0), new(10.0), 90},
		{"H47 department value is the fallback", nil, new(55.5), 55.5},
		{"HC2 missing is not 0", nil, nil, 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, resolve(tt.agent, tt.dept))
		})
	}
}

func TestAdapt(t *testing.T) {
	ten := func(score float64) []float64 { return slices.Repeat([]float64{score}, 10) }
	tests := []struct {
		name    string
		current float64
		history []float64
		want    float64
	}{
		{"H89 too few samples", 60, ten(95)[:9], 60},
		{"H89 no samples", 60, nil, 60},
		{"H89 too few samples are not bounded either", 95, ten(95)[:9], 95},
		{"H89 up by at most 5", 60, ten(95), 65},   // goal 85
		{"H89 down by at most 5", 60, ten(50), 55}, // goal 40
		{"H89 a near goal is reached", 60, ten(73), 63},
		{"H89 a near goal below is reached", 60, ten(68), 58},
		{"H89 at the goal", 60, ten(70), 60},
		{"H89 never below 40", 42, ten(20), 40}, // goal 10, step to 37
		{"H89 never above 90", 88, ten(100), 90},
		{"H89 from below the range into it", 20, ten(100), 40},
		{"H89 from above the range into it", 100, ten(100), 90},
		{"H89 mean of all scores", 60, []float64{60, 80, 60, 80, 60, 80, 60, 80, 60, 100}, 62}, // 720/10 - 10
		{"H89 six decimals", 61.23456789, ten(20), 56.234568},
		{"H46 no gate stays no gate", 0, ten(90), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, adapt(tt.current, tt.history))
		})
	}
	percent := rapid.Float64Range(0, 100)
	t.Run("H89 range and step", rapid.MakeCheck(func(t *rapid.T) {
		current := grading.Round6(rapid.Float64Range(40, 90).Draw(t, "current"))
		got := adapt(current, rapid.SliceOfN(percent, 10, 30).Draw(t, "history"))
		assert.True(t, got >= 40 && got <= 90, got)
		assert.InDelta(t, current, got, 5.000001)
	}))
}
