package routing_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/routing"
)

func TestBackoff(t *testing.T) {
	waits := func(n int, most time.Duration) []time.Duration {
		var all []time.Duration
		for i := range n {
			all = append(all, routing.Backoff(i+1, 2*time.Second, 2, most)/time.Second)
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
		assert.Equal(t, 2*time.Second, routing.Backoff(9, 2*time.Second, 0.5, 0))
		assert.Positive(t, routing.Backoff(10_000, time.Hour, 10, 0))
		assert.Zero(t, routing.Backoff(0, time.Hour, 2, 0))
		assert.Zero(t, routing.Backoff(3, -time.Hour, 2, 0))
	})
}

func TestBandOf(t *testing.T) {
	simple, medium, complexBand := routing.Band{Name: "simple", Min: 3, Max: 5}, routing.Band{Name: "medium", Min: 6, Max: 10}, routing.Band{Name: "complex", Min: 11, Max: 17}
	proves(t, []string{"RA37 R40 R41 RC7 half-open bands", "R40 half-open bands"}, func(t *testing.T) {
		for complexity, want := range map[float64]routing.Band{
			0: simple, 0.3: simple, 0.39: simple, 0.4: medium, 0.6: medium, 0.69: medium, 0.7: complexBand, 0.9: complexBand, 1: complexBand,
		} {
			got, err := routing.BandOf(complexity)
			require.NoError(t, err)
			assert.Equal(t, want, got, complexity)
		}
		for _, bad := range []float64{-0.01, 1.01, math.NaN()} {
			_, err := routing.BandOf(bad)
			require.ErrorContains(t, err, "want 0 to 1")
		}
	})
	t.Run("RA38 R43 RC8 research workers", func(t *testing.T) {
		for sources, want := range map[int]int{1: 1, 5: 1, 10: 2, 12: 3, 15: 3, 20: 4, 50: 5, 0: 1, 1000: 5} {
			assert.Equal(t, want, routing.ResearchWorkers(sources), sources)
		}
	})
}

// proves runs a test once under each name: one for every requirement that it proves.
func proves(t *testing.T, names []string, test func(t *testing.T)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, test)
	}
}
