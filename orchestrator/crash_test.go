package orchestrator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// What a process did last before it died.
func TestLastActsOfAProcess(t *testing.T) {
	t.Run("N6 it had closed a question whose time was over, and not recorded it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": echo}, Fleet: lease})
			begin(t, a.Engine, asks, "x")
			pause(time.Minute)
			a.store.Only("Append")
			a.kill()
			pause(2*time.Minute + time.Second) // the question's time is 3 minutes
			require.Equal(t, 1, letters(t, s))
			a.store.Only()
			pause(time.Minute)
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{asks}, Fleet: lease})
			r := open(t, b, "x")
			err := r.Answer(t.Context(), "n", 7)
			require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
			n, err := asks.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Zero(t, n)
			assert.Equal(t, 1, countOf(t, r, runlog.Expired), "only who waits puts an expiry on record")
			synctest.Wait() // the letter is taken behind its record
			assert.Zero(t, letters(t, s))
		})
	})
	t.Run("N6 it had a cancel for a child, and not told it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
			c := orchestrator.Config{Agents: agent.Roster{"a": hang}}
			s := newPlain()
			c.Store = s
			e, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			r := begin(t, e, parent, "x")
			synctest.Wait()
			require.NoError(t, r.Cancel(t.Context(), "enough"))
			require.NoError(t, r.Wait(t.Context()))
			require.NoError(t, e.Close(t.Context()))
			cut := newPlain()
			for _, rec := range logOf(t, s, "x") {
				if rec.Kind == runlog.Started || rec.Kind == runlog.Canceled {
					rec.Seq = int64(len(logOf(t, cut, "x")))
					require.NoError(t, cut.Append(t.Context(), []runlog.Record{rec}))
				}
			}
			require.NoError(t, cut.Append(t.Context(), logOf(t, s, "x/0")[:1]))
			c.Store = cut
			_, err = parent.Result(t.Context(), begin(t, local(t, c), parent, "x"))
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.Equal(t, orchestrator.Canceled, infoOf(t, open(t, local(t, c), "x/0")).Status)
		})
	})
	t.Run("N4 calls that it lost in a child are lost to the parent", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Fleet: lease})
			begin(t, a.Engine, parent, "x")
			synctest.Wait()
			a.kill()
			pause(time.Minute)
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{parent}, Fleet: lease})
			got, err := parent.Result(t.Context(), open(t, b, "x"))
			require.NoError(t, err)
			assert.Equal(t, "one two", got)
			for _, id := range []string{"x", "x/0"} {
				i := infoOf(t, open(t, b, id))
				assert.Equal(t, int64(1), i.Lost.Calls, id)
				assert.Equal(t, int64(2), i.Spent.Calls, id)
			}
		})
	})
}

// Calls under way at a kill are charged.
func TestKillsDuringACall(t *testing.T) {
	kill := func(t *testing.T, budget orchestrator.Budget, l agent.Limits) (calls int64, end orchestrator.Info) {
		t.Helper()
		s := runlog.NewMemory()
		a := &counted{Agent: hang}
		f := flow("kills", func(c *orchestrator.Context) (string, error) {
			resp, err := c.Call("a", agent.Request{Prompt: "x", Limits: l})
			return resp.Text, err
		})
		for range 20 {
			m := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": a}, Flows: []orchestrator.AnyFlow{f}, Fleet: lease})
			_, err := f.Start(t.Context(), m.Engine, none{}, orchestrator.StartOptions{ID: "x", Budget: budget})
			require.NoError(t, err)
			synctest.Wait()
			m.kill()
			pause(lease.Lease + time.Second)
		}
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Flows: []orchestrator.AnyFlow{f}, Fleet: lease})
		r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x", Budget: budget})
		require.NoError(t, err)
		_, err = f.Result(t.Context(), r)
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		return a.calls.Load(), infoOf(t, r)
	}
	t.Run("N4 20 kills under Calls 3 make 3 calls", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			calls, i := kill(t, orchestrator.Budget{Calls: 3}, agent.Limits{})
			assert.Equal(t, int64(3), calls)
			assert.Equal(t, int64(3), i.Lost.Calls)
			assert.Zero(t, i.Spent)
			assert.Equal(t, orchestrator.OutOfBudget, i.Status)
		})
	})
	t.Run("N4 Estimate 0.30 under 1 USD and 20 kills: 3 calls, 0.90 charged", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			usd := providers.NanoUSD(1e9)
			calls, i := kill(t, orchestrator.Budget{Cost: usd}, agent.Limits{Estimate: usd * 3 / 10})
			assert.Equal(t, int64(3), calls)
			assert.Equal(t, usd*9/10, i.Lost.Cost)
			assert.Zero(t, i.Spent.Cost)
			assert.Equal(t, orchestrator.OutOfBudget, i.Status)
		})
	})
}
