package blackboard_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/routing"
)

// chain is a run whose board has n tasks, each of which needs the one before.
func chain(tb testing.TB, n int) *run {
	tb.Helper()
	definitions := make([]blackboard.Definition, n)
	for i := range definitions {
		definitions[i] = task(fmt.Sprint("t", i))
		if i > 0 {
			definitions[i].DependsOn = []string{fmt.Sprint("t", i-1)}
		}
	}
	r := newRun(tb)
	require.NoError(tb, r.Apply(blackboard.Change{By: blackboard.RoleDirector, At: start, Do: blackboard.AddTasks{Tasks: definitions}}))
	for _, c := range r.Evaluate(start) {
		require.NoError(tb, r.Apply(c))
	}
	return r
}

func TestTasksByState(t *testing.T) {
	t.Run("few tasks of a large board are found without a look at the others", func(t *testing.T) {
		small, large := chain(t, 10), chain(t, 5000)
		for name, look := range map[string]func(r *run){
			"In":        func(r *run) { r.In(blackboard.Ready, blackboard.Active) },
			"BlockedBy": func(r *run) { r.BlockedBy(blackboard.ByExternal, blackboard.ByAbandoned) },
			"Count":     func(r *run) { r.Count(blackboard.Blocked, blackboard.Complete) },
			"Nodes":     func(r *run) { r.Nodes(blackboard.Ready) },
		} {
			few := testing.AllocsPerRun(20, func() { look(small) })
			assert.InDelta(t, few, testing.AllocsPerRun(20, func() { look(large) }), 0, name)
		}
	})
	t.Run("what is found", func(t *testing.T) {
		r := chain(t, 4)
		assert.Equal(t, []string{"t0"}, r.In(blackboard.Ready))
		assert.Equal(t, []string{"t1", "t2", "t3"}, r.BlockedBy(blackboard.ByDependency))
		assert.Empty(t, r.BlockedBy())
		assert.Equal(t, 3, r.Count(blackboard.Blocked))
		assert.Equal(t, 4, r.Count(blackboard.Blocked, blackboard.Ready))
		assert.Zero(t, r.Count())
	})
	t.Run("another reason is another place", func(t *testing.T) {
		r := chain(t, 3)
		changes, err := r.Abandon("t0", "gone", nil, start)
		require.NoError(t, err)
		for _, c := range changes {
			require.NoError(t, r.Apply(c))
		}
		assert.Equal(t, []string{"t1"}, r.BlockedBy(blackboard.ByAbandoned))
		assert.Equal(t, []string{"t2"}, r.BlockedBy(blackboard.ByDependency))
		assert.Equal(t, []string{"t0"}, r.In(blackboard.Abandoned))
	})
	t.Run("a board that is opened", func(t *testing.T) {
		data, err := json.Marshal(chain(t, 3).Board())
		require.NoError(t, err)
		again, err := blackboard.Restore(data, routing.Preference{})
		require.NoError(t, err)
		assert.Equal(t, []string{"t0"}, again.In(blackboard.Ready))
		assert.Equal(t, []string{"t1", "t2"}, again.BlockedBy(blackboard.ByDependency))
	})
}
