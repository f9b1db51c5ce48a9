package delivery

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
)

// defaultLadder is that of teams that are given none.
var defaultLadder, _ = DefaultRules().Ladder.(Ladder)

func TestLevel(t *testing.T) {
	for _, tt := range []struct {
		name   string
		score  float64
		issues int
		want   Level
	}{
		{"SA35 S35 all of it", 100, 0, LevelNone},
		{"SA35 S35 the bound", 70, 0, LevelNone},
		{"SA35 S36 SC10 below it", 69.99, 0, LevelRemind},
		{"SA35 S36 the bound", 50, 1, LevelRemind},
		{"SA36 S37 SC10 below it", 49.9, 1, LevelCorrect},
		{"SA36 S37 the bound", 30, 1, LevelCorrect},
		{"SA36 S38 SC10 below it", 29.9, 1, LevelRefocus},
		{"SA36 S38 nothing of it", 0, 1, LevelRefocus},
		{"SA37 S37 two issues", 65, 2, LevelCorrect},
		{"SA37 S38 three", 65, 3, LevelRefocus},
		{"SA37 SC6 the count is harder", 45, 3, LevelRefocus},
		{"SA37 SC6 the score is harder", 10, 2, LevelRefocus},
		{"SA38 S39 four", 65, 4, LevelCritical},
		{"SA38 S39 four, and a low score", 10, 4, LevelCritical},
		{"SA38 S40 five", 65, 5, LevelAbort},
		{"SA38 S40 six", 0, 6, LevelAbort},
		{"SA39 SC8 the goal below its gate", 79, 1, LevelNone},
		{"SA39 SC8 twice", 79, 2, LevelCorrect},
		{"SC10 next to the bound is the bound", 69.9999999, 0, LevelNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := defaultLadder
			assert.Equal(t, tt.want, higher(l.byScore(tt.score), l.byCount(tt.issues)))
			assert.Equal(t, tt.want, higher(l.byCount(tt.issues), l.byScore(tt.score)))
		})
	}
}

func TestEscalation(t *testing.T) {
	type step struct {
		score  float64
		passed bool
		local  bool
	}
	for _, tt := range []struct {
		name  string
		steps []step
		want  []Level
	}{
		{"SA4 rejected, then passed", []step{{score: 69}, {score: 70, passed: true}}, []Level{LevelRemind, LevelNone}},
		{"SA5 three plans of 60", []step{{score: 60}, {score: 60}, {score: 60}}, []Level{LevelRemind, LevelCorrect, LevelRefocus}},
		{"SA6 SC9 two plans rejected locally", []step{{local: true}, {local: true}, {score: 90, passed: true}}, []Level{LevelRemind, LevelCorrect, LevelNone}},
		{"SA9 SC8 65 passes code", []step{{score: 90, passed: true}, {score: 65, passed: true}, {score: 90, passed: true}}, []Level{LevelNone, LevelRemind, LevelNone}},
		{
			"SA19 SC7 run-wide",
			[]step{{score: 90, passed: true}, {score: 55}, {score: 55}, {score: 55}, {score: 55}, {score: 55}},
			[]Level{LevelNone, LevelRemind, LevelCorrect, LevelRefocus, LevelCritical, LevelAbort},
		},
		{"SC7 a pass between", []step{{score: 60}, {score: 60, passed: true}, {score: 60}}, []Level{LevelRemind, LevelRemind, LevelRemind}},
		{"SC11 rejected though the score is high", []step{{score: 95}, {score: 95}}, []Level{LevelNone, LevelCorrect}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			issues := 0
			for i, s := range tt.steps {
				if issues++; s.passed {
					issues = 0
				}
				level := defaultLadder.Decide(Escalating{Score: s.score, Passed: s.passed, Local: s.local, Issues: issues})
				assert.Equal(t, tt.want[i], level, "verdict %d", i+1)
			}
		})
	}
}

func TestLevels(t *testing.T) {
	for i, l := range levels {
		for j, other := range levels {
			assert.Equal(t, i > j, l.above(other))
		}
		assert.Equal(t, i >= 3, (&guidance{Level: l}).fresh(), "SC31 from REFOCUS on")
	}
	assert.True(t, LevelNone.above(""), "SC43 the first verdict has nothing before it")
}

func TestLadder(t *testing.T) {
	for _, tt := range []struct {
		ladder grading.Gate[Escalating, Level]
		want   int
	}{{defaultLadder, 5}, {Ladder{AbortAt: 7}, 7}, {Ladder{AbortAt: orchestrator.None}, off}, {grading.GateWith(func(Escalating) Level { return LevelNone }), off}} {
		r := run{Config: Config{Rules: Rules{Ladder: tt.ladder}}}
		assert.Equal(t, tt.want, r.abortAt(), "SC31 n of how many")
	}

	custom := Ladder{Remind: 90, Correct: orchestrator.None, RefocusAt: 2, CriticalAt: 4, AbortAt: orchestrator.None}
	assert.Equal(t, LevelRemind, custom.byScore(0))
	assert.Equal(t, LevelRemind, custom.byScore(89))
	assert.Equal(t, LevelNone, custom.byScore(90))
	assert.Equal(t, LevelNone, custom.byCount(1))
	assert.Equal(t, LevelRefocus, custom.byCount(2))
	assert.Equal(t, LevelCritical, custom.byCount(100))

	require.NoError(t, defaultLadder.Validate())
	require.NoError(t, custom.Validate())
	require.NoError(t, Ladder{}.Validate(), "it never intervenes")
	require.NoError(t, Ladder{CorrectAt: 1, RefocusAt: 1, CriticalAt: 4, AbortAt: 5}.Validate())
	require.EqualError(t, Ladder{Remind: 101, Correct: 20, Refocus: math.NaN(), CorrectAt: -2, RefocusAt: 3, CriticalAt: 2}.Validate(), `Remind is 101, want 0 to 100
Refocus is NaN, want 0 to 100
CorrectAt is -2, want 0 or more
CriticalAt is 2, want at least RefocusAt, 3`)
	require.EqualError(t, Ladder{Remind: -0.5}.Validate(), `Remind is -0.5, want 0 to 100`)
	require.EqualError(t, Ladder{Remind: 40, Correct: 50}.Validate(), `Correct is 50, want at most Remind, 40`)
}

// A lower score or one issue more is never a lighter level.
func TestEscalationLaws(t *testing.T) {
	l := defaultLadder
	rapid.Check(t, func(r *rapid.T) {
		high := rapid.Float64Range(0, 100).Draw(r, "high")
		low := rapid.Float64Range(0, high).Draw(r, "low")
		n := rapid.IntRange(0, 10).Draw(r, "issues")
		assert.False(t, l.byScore(high).above(l.byScore(low)))
		assert.False(t, l.byCount(n).above(l.byCount(n+1)))
		passed := l.Decide(Escalating{Score: high, Passed: true, Issues: n})
		assert.False(t, passed.above(LevelRefocus), "what passes never aborts")
		rejected := l.Decide(Escalating{Score: low, Issues: n + 1})
		assert.Equal(t, n+1 >= 5, rejected == LevelAbort)
	})
}
