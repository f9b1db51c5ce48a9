package delivery

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator"
)

// minutes are read from the specification's tables.
func minutes(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }

func TestAllocate(t *testing.T) {
	for _, tt := range []struct {
		total                                float64
		steps                                int
		plan, exec, verify, reserve, step, f float64
	}{
		{10, 2, 1, 8, 1, 0, 4, 1.2},
		{60, 6, 6, 48, 6, 0, 8, 2.4},
		{100, 8, 10, 80, 10, 0, 10, 3},
		{120, 8, 12, 96, 10, 2, 12, 3.6},
		{150, 10, 15, 120, 10, 5, 12, 3.6},
		{240, 12, 15, 192, 10, 23, 16, 4.8},
		{480, 15, 15, 384, 10, 71, 25.6, 7.68},
		{30, 0, 3, 24, 3, 0, 0, 0},
	} {
		t.Run(fmt.Sprintf("SA40 S29 S30 S31 S32 S33 SC1 SC2 %v minutes", tt.total), func(t *testing.T) {
			assert.Equal(t, Allocation{
				Planning: minutes(tt.plan), Execution: minutes(tt.exec), Verification: minutes(tt.verify), Reserve: minutes(tt.reserve),
				Step: minutes(tt.step), Fix: minutes(tt.f),
			}, Allocate(minutes(tt.total), tt.steps))
		})
	}
}

func TestTimes(t *testing.T) {
	t.Run("SA44 SC3 the second step of eight", func(t *testing.T) {
		exec := executionTime(minutes(120), minutes(12))
		assert.Equal(t, minutes(96), exec)
		assert.Equal(t, minutes(12), stepTime(exec, 8), "as S32 says of the first")
		assert.Equal(t, minutes(13), stepTime(exec-minutes(5), 7))
	})
	t.Run("SA45 SC55 after a long review", func(t *testing.T) {
		assert.Equal(t, minutes(47), executionTime(minutes(60), minutes(7)))
		assert.Zero(t, executionTime(minutes(60), minutes(55)), "verification keeps its time")
	})
	t.Run("SC3 steps without time", func(t *testing.T) {
		assert.Zero(t, stepTime(-minutes(1), 3))
		assert.Zero(t, stepTime(minutes(1), 0))
	})
	t.Run("SC4 of fixes", func(t *testing.T) {
		assert.Equal(t, minutes(3), fixTime(minutes(10)))
	})
	t.Run("SC55 grace", func(t *testing.T) {
		assert.Equal(t, 30*time.Second, graceTime(minutes(10), 0))
		assert.Equal(t, 6*time.Second, graceTime(minutes(2), 0), "a twentieth")
		assert.Equal(t, 10*time.Second, graceTime(minutes(10), 10*time.Second))
		assert.Zero(t, graceTime(minutes(10), orchestrator.None))
	})
	t.Run("SC55 SC44 SX15 calls", func(t *testing.T) {
		assert.Equal(t, 300*time.Second, callTime(minutes(60), 0, 30*time.Second))
		assert.Equal(t, 90*time.Second, callTime(minutes(60), minutes(59), 30*time.Second))
		assert.Equal(t, 30*time.Second+1, callTime(minutes(60), minutes(60)-1, 30*time.Second), "SA43 30 s after T at the latest")
		assert.Zero(t, callTime(minutes(60), minutes(60), 30*time.Second), "SA41 none begins after T")
	})
}

func TestAllocateLaws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		total := time.Duration(rapid.Int64Range(1, int64(1000*24*time.Hour)).Draw(r, "total"))
		steps := rapid.IntRange(1, 15).Draw(r, "steps")
		elapsed := time.Duration(rapid.Int64Range(0, int64(total)).Draw(r, "elapsed"))
		a := Allocate(total, steps)
		assert.Equal(t, total, a.Planning+a.Execution+a.Verification+a.Reserve)
		assert.GreaterOrEqual(t, a.Reserve, time.Duration(0), "SC2")
		assert.LessOrEqual(t, a.Planning, 15*time.Minute)
		assert.LessOrEqual(t, a.Verification, 10*time.Minute)
		assert.LessOrEqual(t, a.Step*time.Duration(steps), a.Execution)
		exec := executionTime(total, elapsed)
		assert.GreaterOrEqual(t, exec, time.Duration(0))
		assert.LessOrEqual(t, exec, a.Execution)
		assert.LessOrEqual(t, min(exec, exec+elapsed), total, "no overflow")
		assert.True(t, exec == 0 || elapsed+exec <= total-a.Verification, "SC2 phases do not borrow from verification")
		assert.LessOrEqual(t, elapsed+callTime(total, elapsed, graceTime(total, 0)), total+30*time.Second)
	})
}
