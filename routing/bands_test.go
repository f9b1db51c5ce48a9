package routing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/routing"
)

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
}

// proves runs a test once under each name: one for every requirement that it proves.
func proves(t *testing.T, names []string, test func(t *testing.T)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, test)
	}
}
