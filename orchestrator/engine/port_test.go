package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKey(t *testing.T) {
	for want, op := range map[string]Op{
		"0":        {},
		"3":        {N: 3},
		"0.2:1":    {Branch: "0.2", N: 1},
		"0:0":      {Branch: "0"},
		"1.2.3:45": {Branch: "1.2.3", N: 45},
		"-60":      {N: -60, Kind: Limit},
	} {
		assert.Equal(t, want, op.Key())
		assert.Equal(t, want, Key(op.Branch, op.N))
	}
}

// TestKeysDiffer draws two effects: they have one key only if they are one effect.
func TestKeysDiffer(t *testing.T) {
	branch := rapid.StringMatching(`([0-9]{1,2}(\.[0-9]{1,2}){0,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := branch.Draw(t, "a"), branch.Draw(t, "b")
		n, m := rapid.Int64Range(-12, 12).Draw(t, "n"), rapid.Int64Range(-12, 12).Draw(t, "m")
		require.Equal(t, a == b && n == m, Key(a, n) == Key(b, m), "%q %d and %q %d", a, n, b, m)
	})
}

// TestClockAgainstSum compares a clock with the sum of the times between records, of which
// those before a start do not count.
func TestClockAgainstSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Clock
		c.Skip(begun)
		now, worked := 0, 0 // in seconds
		for range rapid.IntRange(0, 20).Draw(t, "records") {
			at, resumed := rapid.IntRange(-5, 60).Draw(t, "at"), rapid.Bool().Draw(t, "resumed")
			if resumed {
				c.Skip(begun.Add(time.Duration(at) * time.Second))
			} else {
				c.Tick(begun.Add(time.Duration(at) * time.Second))
				worked += max(0, at-now)
			}
			now = max(now, at)
			gotNow, gotWorked := c.Now()
			require.Equal(t, begun.Add(time.Duration(now)*time.Second), gotNow)
			require.Equal(t, time.Duration(worked)*time.Second, gotWorked)
			require.Equal(t, gotNow, c.When(gotWorked), "it has been worked on for so long now")
			require.Equal(t, gotNow.Add(time.Hour), c.When(gotWorked+time.Hour))
		}
	})
}

// TestClockOfAnUnstartedRun: the zero Clock is moved to the start by Skip, which does not
// count as work.
func TestClockOfAnUnstartedRun(t *testing.T) {
	var c Clock
	now, worked := c.Now()
	assert.True(t, now.IsZero())
	assert.Zero(t, worked)
	c.Skip(begun)
	now, worked = c.Now()
	assert.Equal(t, begun, now)
	assert.Zero(t, worked)
}
