package orchestrator_test

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var quick = flow("quick", func(*orchestrator.Context) (none, error) { return none{}, nil })

func TestEventsFromAnywhere(t *testing.T) {
	events := func(t *testing.T, r *orchestrator.Run, from int64) []string {
		t.Helper()
		var got []string
		for rec, err := range r.Events(t.Context(), from) {
			require.NoError(t, err)
			got = append(got, rec.Kind)
		}
		return got
	}
	all := []string{runlog.Started, runlog.Called, runlog.Called, runlog.Ended}
	everywhere(t, "behind the end of an ended run there are none, at once", func(t *testing.T, s runlog.Store) {
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
		r := begin(t, e, pair, "x")
		require.NoError(t, r.Wait(t.Context()))
		begun := time.Now()
		for from, want := range map[int64][]string{
			math.MinInt64: all, -1: all, 0: all, 1: all[1:], 3: all[3:], 4: nil, 5: nil, math.MaxInt64 - 1: nil, math.MaxInt64: nil,
		} {
			assert.Equal(t, want, events(t, r, from), "from %d", from)
		}
		assert.Zero(t, time.Since(begun))
	})
	everywhere(t, "of a run that goes on they end with it, wherever they begin", func(t *testing.T, s runlog.Store) {
		v := newValve()
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s})
		readers := []*orchestrator.Engine{e}
		if s != nil {
			readers = append(readers, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}))
		}
		begin(t, e, pair, "x")
		synctest.Wait()
		var host sync.WaitGroup
		for _, reader := range readers {
			for from, want := range map[int64][]string{0: all, 1: all[1:], 2: all[2:], 3: all[3:], 4: nil, 17: nil, math.MaxInt64: nil} {
				r := open(t, reader, "x")
				host.Go(func() { assert.Equal(t, want, events(t, r, from), "from %d", from) })
			}
		}
		pause(time.Minute)
		close(v.open)
		host.Wait()
	})
	everywhere(t, "they go on over a suspension", func(t *testing.T, s runlog.Store) {
		if s == nil {
			return
		}
		c := orchestrator.Config{Agents: agent.Roster{"a": after(time.Minute)}, Store: s, Flows: []orchestrator.AnyFlow{pair}}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		begin(t, e, pair, "x")
		r := open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x")
		var host sync.WaitGroup
		var got []string
		host.Go(func() { got = events(t, r, 0) })
		pause(90 * time.Second)
		require.NoError(t, e.Close(t.Context()))
		pause(time.Hour)
		tries(t, local(t, c))
		host.Wait()
		assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Used, runlog.Resumed, runlog.Called, runlog.Ended}, got)
	})
}
