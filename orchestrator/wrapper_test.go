package orchestrator_test

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// around is a store around another one, as one that counts.
type around struct{ runlog.Store }

func (s around) Unwrap() runlog.Store { return s.Store }

// A store that does not know which engines live is a line in the log, once.
func TestStoreWithoutOwnersIsAWarning(t *testing.T) {
	for name, tt := range map[string]struct {
		store runlog.Store
		fleet orchestrator.Fleet
		warns int
	}{
		"none":                  {nil, orchestrator.Fleet{}, 0},
		"memory":                {runlog.NewMemory(), orchestrator.Fleet{}, 0},
		"a wrapper":             {around{runlog.NewMemory()}, orchestrator.Fleet{}, 0},
		"a wrapper that hides":  {struct{ runlog.Store }{runlog.NewMemory()}, orchestrator.Fleet{}, 1},
		"one that is looked at": {struct{ runlog.Store }{runlog.NewMemory()}, orchestrator.Fleet{Observe: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			e, err := orchestrator.NewLocal(orchestrator.Config{Store: tt.store, Fleet: tt.fleet, Log: slog.New(slog.NewTextHandler(&out, nil))})
			require.NoError(t, err)
			require.NoError(t, e.Close(t.Context()))
			assert.Equal(t, tt.warns, bytes.Count(out.Bytes(), []byte("level=WARN")), out.String())
			if tt.warns > 0 {
				assert.Contains(t, out.String(), "only one process at a time may execute runs")
			}
		})
	}
}

// An engine tells a wrapped store that it is alive, also where the store has no inbox.
func TestEnginesOfAWrappedStoreAreKnownAsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := runlog.NewMemory()
		s := around{struct {
			runlog.Store
			runlog.Owners
		}{m, m}}
		c := orchestrator.Config{Agents: agent.Roster{"a": newValve()}, Flows: []orchestrator.AnyFlow{pair}, Store: s}
		begin(t, local(t, c), pair, "x")
		synctest.Wait()
		res, err := local(t, c).Resume(t.Context())
		require.NoError(t, err)
		assert.Empty(t, res.Runs, "the first engine works on it")
		assert.Len(t, res.Held, 1)
	})
}

// Requests are recorded as blobs of the store that is wrapped.
func TestRequestsAreRecordedInAWrappedStore(t *testing.T) {
	var record orchestrator.Requests
	record.Record = true
	_, err := orchestrator.NewLocal(orchestrator.Config{Store: around{runlog.NewMemory()}, Requests: record})
	require.NoError(t, err)
	_, err = orchestrator.NewLocal(orchestrator.Config{Store: struct{ runlog.Store }{runlog.NewMemory()}, Requests: record})
	require.ErrorContains(t, err, "runlog.Blobs")
}
