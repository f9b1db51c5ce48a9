package orchestrator

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBackoff(t *testing.T) {
	waits := func(n int, most time.Duration) []time.Duration {
		var all []time.Duration
		for i := range n {
			all = append(all, backoff(i+1, 2*time.Second, 2, most)/time.Second)
		}
		return all
	}
	t.Run("RA39 R69 2 s, doubled, at most 30 s", func(t *testing.T) {
		assert.Equal(t, []time.Duration{0, 2, 4, 8, 16, 30}, waits(6, 30*time.Second))
	})
	t.Run("RA47 R69 four attempts", func(t *testing.T) {
		assert.Equal(t, []time.Duration{0, 2, 4, 8}, waits(4, 0))
	})
	t.Run("R69 it neither shrinks nor wraps round", func(t *testing.T) {
		assert.Equal(t, 2*time.Second, backoff(9, 2*time.Second, 0.5, 0))
		assert.Positive(t, backoff(10_000, time.Hour, 10, 0))
		assert.Zero(t, backoff(0, time.Hour, 2, 0))
		assert.Zero(t, backoff(3, -time.Hour, 2, 0))
	})
	t.Run("N17 a factor that is no number counts as 1", func(t *testing.T) {
		assert.Equal(t, 2*time.Second, backoff(9, 2*time.Second, math.NaN(), 0))
		assert.Equal(t, 3*time.Second, backoff(9, 2*time.Second, math.Inf(1), 3*time.Second))
		assert.Equal(t, 2*time.Second, Attempts{Max: 9, Wait: 2 * time.Second, Factor: math.NaN()}.Next(Working{}, make([]Try, 3)).After)
		assert.EqualError(t, Attempts{Factor: math.NaN()}.Validate(), "Factor is NaN, want 0 to 1000")
	})
}
