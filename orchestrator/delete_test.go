package orchestrator_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

func TestForgetting(t *testing.T) {
	parent := flow("parent", func(c *orchestrator.Context) (string, error) {
		if _, err := pair.Child(c, none{}); err != nil {
			return "", err
		}
		return ask(c, "later", "")
	})
	everywhere(t, "Delete takes the children too, and the ID begins anew", func(t *testing.T, s runlog.Store) {
		a := &counted{Agent: echo}
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a, "later": echo}, Store: s})
		for n := range int64(3) {
			require.NoError(t, begin(t, e, parent, "x").Wait(t.Context()))
			assert.Equal(t, 2*n+2, a.calls.Load(), "no old answer of the child")
			assert.Equal(t, 2, runsIn(t, e, orchestrator.RunQuery{}))
			require.NoError(t, e.Delete(t.Context(), "x"))
			assert.Zero(t, runsIn(t, e, orchestrator.RunQuery{}))
			_, err := e.Open(t.Context(), "x/0")
			require.ErrorIs(t, err, orchestrator.ErrNoRun)
			require.NoError(t, e.Delete(t.Context(), "x"), "an unknown run is no error")
		}
	})
	everywhere(t, "Delete of a run that is worked on is ErrRunning", func(t *testing.T, s runlog.Store) {
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo, "later": hang}, Store: s, Flows: []orchestrator.AnyFlow{parent}, Fleet: lease})
		r := begin(t, e, parent, "x")
		synctest.Wait()
		require.ErrorIs(t, e.Delete(t.Context(), "x"), orchestrator.ErrRunning)
		if s != nil {
			other := local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}})
			require.ErrorIs(t, other.Delete(t.Context(), "x"), orchestrator.ErrRunning)
		}
		require.NoError(t, r.Cancel(t.Context(), ""))
		require.NoError(t, r.Wait(t.Context()))
		require.NoError(t, e.Delete(t.Context(), "x"))
		assert.Zero(t, runsIn(t, e, orchestrator.RunQuery{}))
	})
	everywhere(t, "Delete of a stuck run", func(t *testing.T, s runlog.Store) {
		b := newBuggy()
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
		r := begin(t, e, b.Flow, "x")
		require.Error(t, r.Wait(t.Context()))
		require.NoError(t, e.Delete(t.Context(), "x"))
		require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrNoRun)
		b.mended = true
		got, err := b.Result(t.Context(), begin(t, e, b.Flow, "x"))
		require.NoError(t, err)
		assert.Equal(t, "first", got)
	})
	everywhere(t, "Prune forgets ended runs with their children, and no others", func(t *testing.T, s runlog.Store) {
		later := newValve()
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo, "later": later}, Store: s})
		begin(t, e, parent, "open")
		require.NoError(t, begin(t, e, quick, "old").Wait(t.Context()))
		synctest.Wait()
		pause(time.Hour)
		begun := time.Now()
		pause(time.Hour)
		for i := range 3 {
			require.NoError(t, begin(t, e, quick, fmt.Sprint("new", i)).Wait(t.Context()))
		}
		prune := func(o orchestrator.PruneOptions) int {
			n, err := e.Prune(t.Context(), o)
			require.NoError(t, err)
			return n
		}
		assert.Zero(t, prune(orchestrator.PruneOptions{Flow: "pair"}), "a child goes with its parent alone")
		assert.Zero(t, prune(orchestrator.PruneOptions{Flow: "parent"}), "an open run stays")
		assert.Equal(t, 1, prune(orchestrator.PruneOptions{EndedBefore: begun}), "old")
		assert.Equal(t, 2, prune(orchestrator.PruneOptions{Max: 2}))
		assert.Equal(t, 1, prune(orchestrator.PruneOptions{}))
		assert.Equal(t, 2, runsIn(t, e, orchestrator.RunQuery{}), "the open run and its child")
		close(later.open)
		require.NoError(t, open(t, e, "open").Wait(t.Context()))
		assert.Equal(t, 2, prune(orchestrator.PruneOptions{}))
		assert.Zero(t, runsIn(t, e, orchestrator.RunQuery{}))
	})
	t.Run("Prune of more than a batch", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			e := local(t, orchestrator.Config{Store: runlog.NewMemory()})
			for i := range 250 {
				require.NoError(t, begin(t, e, quick, fmt.Sprint(i)).Wait(t.Context()))
			}
			n, err := e.Prune(t.Context(), orchestrator.PruneOptions{})
			require.NoError(t, err)
			assert.Equal(t, 250, n)
			assert.Zero(t, runsIn(t, e, orchestrator.RunQuery{}))
		})
	})
}

// An engine without a store forgets old runs; callers of Run get their end all the
// same.
func TestRunOfARunThatIsForgotten(t *testing.T) {
	e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}})
	var callers sync.WaitGroup
	for range 3000 {
		callers.Go(func() {
			got, err := pair.Run(t.Context(), e, none{})
			assert.NoError(t, err)
			assert.Equal(t, "one two", got)
		})
	}
	callers.Wait()
}
