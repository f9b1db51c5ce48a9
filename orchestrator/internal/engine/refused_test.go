package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// shelves counts the blobs that are put into a store.
type shelves struct {
	*runlog.Memory
	put int
}

func (s *shelves) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	s.put++
	return s.Memory.PutBlob(ctx, run, data)
}

// A start that is refused leaves nothing in the store.
func TestARefusedStartLeavesNothing(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"of a large input": func(t *testing.T) {
			s := &shelves{Memory: runlog.NewMemory()}
			e := newEngine(t, driver.Config{Store: s})
			output(t, begin(t, e, pair, "x"))
			for i := range 20 {
				in := input("x")
				in.Data, _ = json.Marshal(map[string]string{"a": strings.Repeat(string(rune('a'+i)), 1<<20)})
				_, err := e.Start(t.Context(), pair.Program(), in)
				require.ErrorIs(t, err, engine.ErrExists)
			}
			assert.Zero(t, s.put)
		},
		"and what a kill left of it goes with the ID": func(t *testing.T) {
			s := runlog.NewMemory()
			_, err := s.PutBlob(t.Context(), "x", []byte("of a start that was cut off"))
			require.NoError(t, err)
			require.NoError(t, newEngine(t, driver.Config{Store: s}).Delete(t.Context(), "x"))
			for data, err := range s.BlobsOf(t.Context(), "x") {
				require.NoError(t, err)
				assert.Empty(t, data, "a blob is left")
			}
		},
	})
}
