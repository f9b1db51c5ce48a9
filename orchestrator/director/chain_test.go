package director_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestChainIsLinear has ten times the tasks cost ten times the memory: what is looked up for
// each task does not grow with the board. It counts bytes, which other work of the machine does
// not change, and runs beside no other test.
func TestChainIsLinear(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	used := func(n int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		chained(t, n)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	used(150) // what is made once
	few, many := used(150), used(1500)
	assert.Less(t, many/few, 11.0, "%.0f bytes a task in 150, %.0f in 1500", few/150, many/1500)
}
