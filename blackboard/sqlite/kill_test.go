package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// calls is how many calls a run makes that nobody interrupts, and most how many of
// them are under way at once.
const (
	calls = 18
	most  = 5
)

// ending is how the run ended.
type ending struct {
	report  report
	status  orchestrator.Status
	spent   providers.Usage
	byAgent map[string]providers.Usage
}

func (todo task) ending(t *testing.T) ending {
	t.Helper()
	e, err := orchestrator.NewLocal(orchestrator.Config{Store: open(t, sqlite.Config{Path: todo.DB})})
	require.NoError(t, err)
	defer func() { assert.NoError(t, e.Close(t.Context())) }()
	run, err := e.Open(t.Context(), "run")
	require.NoError(t, err)
	r, err := whole.Result(t.Context(), run)
	require.NoError(t, err)
	info, err := run.Info(t.Context())
	require.NoError(t, err)
	r.Left.Calls += info.Lost.Calls // what budgets hold against calls that a kill cut off
	r.Left.Cost += info.Lost.Cost
	r.Left.Tokens += info.Lost.Tokens
	return ending{r, info.Status, info.Spent, info.ByAgent}
}

// uninterrupted is the ending of a run that nobody kills.
func uninterrupted(t *testing.T) ending {
	t.Helper()
	todo := place(t)
	require.Equal(t, saysEnd, start(t, todo).finish())
	assert.Len(t, todo.made(t), calls)
	e := todo.ending(t)
	assert.Equal(t, orchestrator.Completed, e.status)
	assert.Equal(t, providers.Usage{Calls: calls, Input: 7 * calls, Output: 3 * calls, Cost: 11 * calls}, e.spent)
	assert.Equal(t, orchestrator.Budget{Calls: 100 - calls, Tokens: 1000 - 10*calls, Cost: 10_000 - 11*calls}, e.report.Left)
	return e
}

// TestKill kills a process at each of its calls, and lets another one end the run.
func TestKill(t *testing.T) {
	want := uninterrupted(t)
	for at := 1; at <= calls; at++ {
		t.Run(fmt.Sprintf("at call %d", at), func(t *testing.T) {
			todo := place(t)
			todo.Sync = sqlite.Sync(at % 2) // a kill loses nothing at either setting
			require.True(t, start(t, todo).killAt(at))
			before, recorded := todo.made(t), todo.recorded(t)
			assert.GreaterOrEqual(t, len(recorded), at-most, "what a call waits for is on record")

			require.Equal(t, saysEnd, start(t, todo.resume()).finish())
			after := todo.made(t)
			assert.Len(t, after, calls, "the same calls")
			for key, n := range after {
				if recorded[key] {
					assert.Equal(t, before[key], n, "%s is on record and was called again", key)
				}
			}
			todo.recorded(t)
			assert.Equal(t, want, todo.ending(t))
		})
	}
}

// TestKillAgain kills one process after the other, until one comes to the end of
// the run.
func TestKillAgain(t *testing.T) {
	want := uninterrupted(t)
	todo := place(t)
	recorded := map[string]bool{}
	for next := todo; ; next = todo.resume() {
		var before map[string]int
		if next.Resume {
			before = todo.made(t)
		}
		killed := start(t, next).killAt(most + 2)
		for key := range recorded {
			assert.Equal(t, before[key], todo.made(t)[key], "%s is on record and was called again", key)
		}
		had := len(recorded)
		recorded = todo.recorded(t)
		if !killed {
			break
		}
		require.Greater(t, len(recorded), had, "it goes on")
	}
	assert.Len(t, todo.made(t), calls)
	assert.Equal(t, want, todo.ending(t))
}

// TestKillOwner leaves the run of a living process alone; when that is killed, the
// next one resumes the run at once.
func TestKillOwner(t *testing.T) {
	todo := place(t)
	todo.Owners = true
	first := start(t, todo)
	require.Equal(t, saysCall, first.says())
	require.Equal(t, saysNothing, start(t, todo.resume()).finish())
	first.kill()
	require.Equal(t, saysEnd, start(t, todo.resume()).finish())
	assert.Equal(t, orchestrator.Completed, todo.ending(t).status)
}

// TestTwoProcesses has two processes work on one run: the one that was first stops
// before anything that it got counts.
func TestTwoProcesses(t *testing.T) {
	for name, endsFirst := range map[string]bool{"while the other works": false, "when the other has ended": true} {
		t.Run(name, func(t *testing.T) {
			todo := place(t)
			todo.Name = "first"
			first := start(t, todo)
			require.Equal(t, saysCall, first.says())
			todo.Name = "second"
			second := start(t, todo.resume())
			require.Equal(t, saysCall, second.says())
			second.answer()
			if endsFirst {
				require.Equal(t, saysEnd, second.finish())
			}
			first.answer()
			require.Equal(t, saysConflict, first.finish())
			if !endsFirst {
				require.Equal(t, saysEnd, second.finish())
			}
			e := todo.ending(t)
			for _, text := range append(append(e.report.Texts, e.report.Part...), e.report.Best.Value, e.report.Sum) {
				assert.NotContains(t, text, "first")
			}
			assert.Len(t, todo.recorded(t), calls+1, "the child run is one more")
			assert.EqualValues(t, calls, e.spent.Calls)
		})
	}
}
