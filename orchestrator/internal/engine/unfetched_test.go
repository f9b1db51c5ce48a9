package engine_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// quick ends at once; large, too, with a result of 1 MiB.
var (
	quick = flow("quick", func(*orchestrator.Context) (int, error) { return 7, nil })
	large = flow("large", func(*orchestrator.Context) (string, error) { return strings.Repeat("x", 1<<20), nil })
)

// several starts runs of f with the IDs from to to-1, and lets each end.
func several(t *testing.T, e *driver.Engine, f orchestrator.AnyFlow, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		begin(t, e, f, strconv.Itoa(i))
		synctest.Wait()
	}
}

// forgotten requires that a run is not known any more, and that the error says why.
func forgotten(t *testing.T, e *driver.Engine, id string) {
	t.Helper()
	_, err := e.Wait(t.Context(), id, nil)
	_, other := e.Look(t.Context(), id)
	for _, err := range []error{err, other} {
		require.ErrorIs(t, err, engine.ErrNoRun)
		require.ErrorContains(t, err, "up to 10000 and 64 MB, and of others the last 256")
	}
}

// Results that nobody has fetched are kept, without a store, too.
func TestResultsThatNobodyHasFetched(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"N19 2,000 are started, then collected": func(t *testing.T) {
			e := newEngine(t, driver.Config{})
			several(t, e, quick, 0, 2000)
			for i := range 2000 {
				assert.Equal(t, "7", output(t, waitFor(e, strconv.Itoa(i))))
			}
			assert.Equal(t, "7", output(t, waitFor(e, "1744")), "of those that were fetched the last 256")
			forgotten(t, e, "1743")
		},
		"N19 10,000 are kept, and the last 256 others": func(t *testing.T) {
			e := newEngine(t, driver.Config{})
			several(t, e, quick, 0, 10_256)
			_, err := e.Look(t.Context(), "unknown")
			require.EqualError(t, err, `no-run: "unknown"`, "none was forgotten")
			several(t, e, quick, 10_256, 10_257)
			forgotten(t, e, "0")
			for i := 1; i <= 10_256; i++ {
				_, err := e.Wait(t.Context(), strconv.Itoa(i), nil)
				require.NoError(t, err, i)
			}
		},
		"N19 64 MB are kept, and the last 256 others": func(t *testing.T) {
			e := newEngine(t, driver.Config{})
			several(t, e, large, 0, 63)
			assert.Len(t, output(t, waitFor(e, "62")), 1<<20+2)
			several(t, e, large, 63, 65) // more than 64 MB: 0 is one of the others
			for i := 100; i < 354; i++ { // with 62 and 0 they are 256
				several(t, e, quick, i, i+1)
				output(t, waitFor(e, strconv.Itoa(i)))
			}
			_, err := e.Look(t.Context(), "unknown")
			require.EqualError(t, err, `no-run: "unknown"`, "none was forgotten")
			for i := 354; i < 356; i++ {
				several(t, e, quick, i, i+1)
				output(t, waitFor(e, strconv.Itoa(i)))
			}
			forgotten(t, e, "62")
			forgotten(t, e, "0")
			for i := 1; i < 62; i++ {
				assert.Len(t, output(t, waitFor(e, strconv.Itoa(i))), 1<<20+2)
			}
		},
		"N19 Info counts as fetched, a child's result is its parent's": func(t *testing.T) {
			e := newEngine(t, driver.Config{})
			parent := inside("parent", quick)
			several(t, e, parent, 0, 300)
			look(t, e, "0")
			forgotten(t, e, "0/0")
			for i := range 257 {
				look(t, e, strconv.Itoa(i))
			}
			forgotten(t, e, "0")
			assert.Equal(t, "7", output(t, waitFor(e, "299")))
		},
		"N19 a refused start, and a run that was deleted and begun again, forget none": func(t *testing.T) {
			e := newEngine(t, driver.Config{})
			several(t, e, quick, 0, 1)
			output(t, waitFor(e, "0"))
			require.NoError(t, e.Delete(t.Context(), "0"))
			several(t, e, quick, 0, 1)
			for range 300 {
				_, err := e.Start(t.Context(), pair.Program(), input("0"))
				require.ErrorIs(t, err, engine.ErrExists)
			}
			assert.Equal(t, "7", output(t, waitFor(e, "0")))
		},
	})
}

// What is kept is what a plain model says: any order of ends and fetches.
func TestWhatIsKeptByAModel(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"N19 random starts and fetches": func(t *testing.T) {
			for seed := range uint64(5) {
				r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
				e := newEngine(t, driver.Config{})
				var news, past []int
				next := 0
				for range 3000 {
					if r.IntN(5) < 3 {
						several(t, e, quick, next, next+1)
						news = append(news, next)
						next++
						continue
					}
					i := r.IntN(next + 1)
					_, err := e.Wait(t.Context(), strconv.Itoa(i), nil)
					known := false
					for k, n := range news {
						if n == i {
							known, news, past = true, append(news[:k], news[k+1:]...), append(past, i)
							break
						}
					}
					for _, n := range past[max(0, len(past)-256):] {
						known = known || n == i
					}
					require.Equal(t, known, err == nil, "seed %d, run %d: %v", seed, i, err)
				}
			}
		},
	})
}
