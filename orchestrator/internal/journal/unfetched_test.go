package journal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
)

// big ends a run with a result of 16 MiB: four of them are more than memory keeps of
// those that nobody has fetched.
func (d *desk) big(t *testing.T, id string) {
	t.Helper()
	r := d.started(t, id)
	require.NoError(t, r.sync(runlog.Ended, engine.EndedData{End: engine.End{Output: quote(16 << 20)}}))
	r.log.Stop()
}

// fetch retires n runs whose result was fetched, and returns the runs that are forgotten
// for them.
func (d *desk) fetch(n int) (forgotten []string) {
	for i := range n {
		forgotten = append(forgotten, d.Retire(fmt.Sprint("fetched ", i), true)...)
	}
	return forgotten
}

func TestBytesOfResultsThatNobodyHasFetched(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"N19 are those of records that were read, too": func(t *testing.T) {
			d := newDesk(t, nil)
			for i := range 4 {
				d.big(t, fmt.Sprint("big ", i))
				d.records(t, fmt.Sprint("big ", i))
				require.Empty(t, d.Retire(fmt.Sprint("big ", i), false))
			}
			assert.Empty(t, d.fetch(255))
			assert.Equal(t, []string{"big 0"}, d.fetch(1))
		},
		"N19 are not those of runs that were deleted": func(t *testing.T) {
			d := newDesk(t, nil)
			for i := range 4 {
				d.big(t, fmt.Sprint("big ", i))
				require.Empty(t, d.Retire(fmt.Sprint("big ", i), false))
				if i > 0 {
					require.NoError(t, d.Delete(t.Context(), fmt.Sprint("big ", i)))
				}
			}
			assert.Empty(t, d.fetch(256))
			assert.Equal(t, "started ended", d.kinds(t, "big 0"))
		},
		"N19 are not those of results that were fetched": func(t *testing.T) {
			d := newDesk(t, nil)
			for i := range 4 {
				d.big(t, fmt.Sprint("big ", i))
				require.Empty(t, d.Retire(fmt.Sprint("big ", i), false))
				if i > 0 {
					require.Empty(t, d.Fetched(fmt.Sprint("big ", i)))
				}
			}
			assert.Empty(t, d.fetch(253), "3 were fetched before")
			assert.Equal(t, []string{"big 1"}, d.fetch(1))
			assert.Equal(t, "started ended", d.kinds(t, "big 0"))
		},
	})
}
