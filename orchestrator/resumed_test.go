package orchestrator_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// slowLogs is a store that takes 1 ms to read a log.
type slowLogs struct{ *runlog.Memory }

func (s slowLogs) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	pause(time.Millisecond)
	return s.Memory.Records(ctx, run, from)
}

// Resume may take longer than the engine's first look for free runs.
func TestResumedHasAllRuns(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		t.Helper()
		n := roundtest.Of(500, 4000)
		s := runlog.NewMemory()
		c := orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s, Flows: []orchestrator.AnyFlow{pair}}
		dead, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		for i := range n {
			begin(t, dead, pair, fmt.Sprint(i))
		}
		require.NoError(t, dead.Close(t.Context()))
		c.Store = slowLogs{s}
		e := local(t, c)
		begin(t, e, pair, "started-here")
		runs, err := listed(e.Resume(t.Context()))
		require.NoError(t, err)
		ids := map[string]bool{}
		for _, r := range runs {
			ids[r.ID()] = true
		}
		assert.Len(t, ids, n+1)
		assert.Len(t, runs, n+1, "each once")
	})
}
