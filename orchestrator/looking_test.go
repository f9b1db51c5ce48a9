package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// foreign fills a store with open runs of an engine that lives.
func foreign(t *testing.T, s *runlog.Memory, n int) {
	t.Helper()
	require.NoError(t, s.Beat(t.Context(), "other", 24*time.Hour))
	data, err := json.Marshal(map[string]any{"owner": "other", "data": none{}})
	require.NoError(t, err)
	for i := range n {
		id := fmt.Sprintf("foreign-%d", i)
		require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: id, Kind: runlog.Started, Name: "pair", At: time.Now(), Data: data}}))
	}
}

func TestCostOfLooking(t *testing.T) {
	t.Run("Resume beside 5,000 foreign runs reads no log and asks for their owner once", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			foreign(t, s, 5000)
			d := doubles.New(s)
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: d.Store(), Flows: []orchestrator.AnyFlow{pair}, Fleet: lease})
			res, err := e.Resume(t.Context())
			require.NoError(t, err)
			assert.Empty(t, res.Runs)
			assert.Len(t, res.Held, 5000)
			pause(time.Minute)
			assert.Zero(t, d.Calls("Records"))
			assert.Equal(t, 1, d.Calls("Alive"))
			assert.Equal(t, 1, d.Calls("List"))
		})
	})
	t.Run("runs that become free are read once", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			foreign(t, s, 100)
			d := doubles.New(s)
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: d.Store(), Flows: []orchestrator.AnyFlow{pair}, Fleet: lease})
			_, err := e.Resume(t.Context())
			require.NoError(t, err)
			require.NoError(t, s.Leave(t.Context(), "other"))
			pause(time.Minute)
			assert.Equal(t, 100, runsIn(t, e, orchestrator.RunQuery{Status: orchestrator.Running}))
			assert.Equal(t, 100, d.Calls("Records"))
		})
	})
	t.Run("Answer on a run of 50,000 records reads no log", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			f := flow("long", func(c *orchestrator.Context) (none, error) {
				for range 50_000 {
					c.Emit("step", 1)
				}
				_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
				if err == nil {
					err = c.Sleep(time.Hour)
				}
				return none{}, err
			})
			d := doubles.New(s)
			r := begin(t, local(t, orchestrator.Config{Store: d.Store(), Fleet: lease}), f, "x")
			synctest.Wait()
			o := doubles.New(s)
			there := open(t, local(t, orchestrator.Config{Store: o.Store(), Fleet: observing}), "x")
			require.ErrorIs(t, there.Answer(t.Context(), "n", "seven"), orchestrator.ErrMalformed)
			require.ErrorIs(t, r.Answer(t.Context(), "n", "seven"), orchestrator.ErrMalformed)
			for _, r := range []*orchestrator.Run{there, r} {
				require.NoError(t, r.Answer(t.Context(), "n", 7))
				require.NoError(t, r.Answer(t.Context(), "n", 7))
				require.ErrorIs(t, r.Answer(t.Context(), "n", 8), orchestrator.ErrAnswered)
			}
			assert.Zero(t, d.Calls("Records"))
			assert.Zero(t, o.Calls("Records"))
		})
	})
	t.Run("lists read no log", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			foreign(t, s, 100)
			d := doubles.New(s)
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: d.Store(), Fleet: lease})
			begin(t, e, pair, "x")
			for _, q := range []orchestrator.RunQuery{{}, {Open: true}, {Status: orchestrator.Running}, {Flow: "pair", Limit: 7}} {
				runsIn(t, e, q)
			}
			assert.Zero(t, d.Calls("Records"))
		})
	})
}
