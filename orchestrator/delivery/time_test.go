package delivery

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// minutes are read from the specification's tables.
func minutes(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }

// defaultShares are those of teams that are given none.
var defaultShares, _ = DefaultRules().Allocator.(Shares)

// shared are the shares of so many minutes.
func shared(total float64) Allocation { return defaultShares.Allocate(Timing{Total: minutes(total)}) }

// step is the time of a step that shares the rest of execution with others.
func step(left time.Duration, steps int) time.Duration {
	return defaultShares.Allocate(Timing{Total: 2 * time.Hour, Execution: left, Steps: steps}).Step
}

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
			a := defaultShares.Allocate(Timing{Total: minutes(tt.total), Steps: tt.steps})
			assert.Equal(t, Allocation{
				Planning: minutes(tt.plan), Execution: minutes(tt.exec), Verification: minutes(tt.verify), Step: minutes(tt.step), Fix: minutes(tt.f),
			}, a)
			assert.Equal(t, minutes(tt.reserve), minutes(tt.total)-a.Planning-a.Execution-a.Verification)
		})
	}
}

func TestTimes(t *testing.T) {
	t.Run("SA44 SC3 the second step of eight", func(t *testing.T) {
		exec := executionTime(shared(120), minutes(120), minutes(12))
		assert.Equal(t, minutes(96), exec)
		assert.Equal(t, minutes(12), step(exec, 8), "as S32 says of the first")
		assert.Equal(t, minutes(13), step(exec-minutes(5), 7))
	})
	t.Run("SA45 SC55 after a long review", func(t *testing.T) {
		assert.Equal(t, minutes(47), executionTime(shared(60), minutes(60), minutes(7)))
		assert.Zero(t, executionTime(shared(60), minutes(60), minutes(55)), "verification keeps its time")
	})
	t.Run("SC3 steps without time", func(t *testing.T) {
		assert.Zero(t, step(minutes(1), 0))
	})
	t.Run("SC4 of fixes", func(t *testing.T) {
		assert.Equal(t, minutes(3), defaultShares.Allocate(Timing{Total: minutes(60), Execution: minutes(10), Steps: 1}).Fix)
	})
	t.Run("SC55 grace", func(t *testing.T) {
		assert.Equal(t, 30*time.Second, graceTime(minutes(10), 30*time.Second))
		assert.Equal(t, 6*time.Second, graceTime(minutes(2), 30*time.Second), "a twentieth")
		assert.Equal(t, 10*time.Second, graceTime(minutes(10), 10*time.Second))
		assert.Zero(t, graceTime(minutes(10), 0))
	})
	t.Run("SC55 SC44 SX15 calls", func(t *testing.T) {
		assert.Equal(t, 300*time.Second, callTime(minutes(60), 0, 30*time.Second))
		assert.Equal(t, 90*time.Second, callTime(minutes(60), minutes(59), 30*time.Second))
		assert.Equal(t, 30*time.Second+1, callTime(minutes(60), minutes(60)-1, 30*time.Second), "SA43 30 s after T at the latest")
		assert.Zero(t, callTime(minutes(60), minutes(60), 30*time.Second), "SA41 none begins after T")
		assert.Equal(t, 300*time.Second, callTime(endless, 0, 30*time.Second), "SC26 without a limit of time")
	})
}

func TestAllocateLaws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		total := time.Duration(rapid.Int64Range(1, int64(1000*24*time.Hour)).Draw(r, "total"))
		steps := rapid.IntRange(1, 15).Draw(r, "steps")
		elapsed := time.Duration(rapid.Int64Range(0, int64(total)).Draw(r, "elapsed"))
		a := defaultShares.Allocate(Timing{Total: total, Steps: steps})
		assert.NoError(t, a.fault(Timing{Total: total, Steps: steps}))
		assert.LessOrEqual(t, a.Planning+a.Execution+a.Verification, total, "SC2")
		assert.LessOrEqual(t, a.Planning, 15*time.Minute)
		assert.LessOrEqual(t, a.Verification, 10*time.Minute)
		assert.LessOrEqual(t, a.Step*time.Duration(steps), a.Execution)
		exec := executionTime(a, total, elapsed)
		assert.GreaterOrEqual(t, exec, time.Duration(0))
		assert.LessOrEqual(t, exec, a.Execution)
		assert.LessOrEqual(t, min(exec, exec+elapsed), total, "no overflow")
		assert.True(t, exec == 0 || elapsed+exec <= total-a.Verification, "SC2 phases do not borrow from verification")
		assert.LessOrEqual(t, elapsed+callTime(total, elapsed, graceTime(total, 30*time.Second)), total+30*time.Second)
	})
}

func TestAllocationFaults(t *testing.T) {
	timing := Timing{Total: time.Hour, Execution: 30 * time.Minute, Steps: 3}
	whole := Allocation{Planning: time.Minute, Execution: time.Minute, Verification: 59 * time.Minute, Step: 30 * time.Minute, Fix: 30 * time.Minute}
	assert.NoError(t, whole.fault(timing))
	for want, change := range map[string]func(a *Allocation){
		"Planning is -1s, want 0s to 1h0m0s":       func(a *Allocation) { a.Planning = -time.Second },
		"Execution is 1h0m1s, want 0s to 1h0m0s":   func(a *Allocation) { a.Execution = time.Hour + time.Second },
		"Verification is 1h0m0s, want 0s to 59m0s": func(a *Allocation) { a.Verification = time.Hour },
		"Step is 31m0s, want 0s to 30m0s":          func(a *Allocation) { a.Step = 31 * time.Minute },
		"Fix is 31m0s, want 0s to 30m0s":           func(a *Allocation) { a.Fix = 31 * time.Minute },
	} {
		a := whole
		change(&a)
		assert.EqualError(t, a.fault(timing), want)
	}
}

func TestShares(t *testing.T) {
	assert.NoError(t, defaultShares.Validate())
	assert.NoError(t, Shares{}.Validate())
	assert.EqualError(t, Shares{Planning: 50, Execution: 51, Fix: 101, MostPlanning: -1}.Validate(),
		"Fix is 101, want 0 to 100\nMostPlanning is -1, want 0s or more\nPlanning, Execution and Verification are 50, 51 and 0, want at most 100 together")
	assert.Error(t, Shares{Planning: -1}.Validate())
	assert.Equal(t, time.Hour, Shares{Planning: 100}.Allocate(Timing{Total: time.Hour}).Planning, "no cap")
}
