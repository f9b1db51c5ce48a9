package orchestrator_test

import (
	"context"
	"sync"
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

// Two may start one run at the same moment in one engine, and the first may fail.
func TestStartBesideAStartThatFails(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		t.Helper()
		s := doubles.New(runlog.NewMemory())
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s.Store(), Fleet: lease})
		s.Only("Append")
		s.Hang()
		var host sync.WaitGroup
		host.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := pair.Start(ctx, e, none{}, orchestrator.StartOptions{ID: "x"})
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
		synctest.Wait()
		host.Go(func() {
			r, err := pair.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x"})
			if assert.NoError(t, err) {
				got, err := pair.Result(t.Context(), r)
				assert.NoError(t, err)
				assert.Equal(t, "one two", got)
			}
		})
		synctest.Wait()
		s.Heal()
		host.Wait()
	})
}

func TestIdentityOfRuns(t *testing.T) {
	in := orchestrator.Flow[int, int]{Name: "in", Do: func(c *orchestrator.Context, n int) (int, error) {
		_, err := ask(c, "a", "")
		return n, err
	}}
	o := orchestrator.StartOptions{
		ID: "x", Budget: orchestrator.Budget{Calls: 3, Cost: 1e9, Wall: time.Hour}, Labels: map[string]string{"for": "ann"}, ContinuedFrom: "w",
	}
	others := map[string]func(o *orchestrator.StartOptions){
		"Budget":        func(o *orchestrator.StartOptions) { o.Budget.Wall++ },
		"Labels":        func(o *orchestrator.StartOptions) { o.Labels = map[string]string{"for": "ann", "at": "noon"} },
		"ContinuedFrom": func(o *orchestrator.StartOptions) { o.ContinuedFrom = "" },
	}
	for state, agents := range map[string]agent.Roster{"running": {"a": hang}, "ended": {"a": echo}} {
		everywhere(t, "a known ID with other options is ErrExists and names them, "+state, func(t *testing.T, s runlog.Store) {
			e := local(t, orchestrator.Config{Agents: agents, Store: s})
			engines := []*orchestrator.Engine{e}
			if s != nil {
				engines = append(engines, local(t, orchestrator.Config{Agents: agents, Store: s}))
			}
			_, err := in.Start(t.Context(), e, 1, o)
			require.NoError(t, err)
			synctest.Wait()
			before := records(t, orEmpty(s))
			for _, e := range engines {
				_, err = in.Start(t.Context(), e, 1, o)
				require.NoError(t, err, "the same")
				for word, change := range others {
					other := o
					change(&other)
					_, err := in.Start(t.Context(), e, 1, other)
					require.ErrorIs(t, err, orchestrator.ErrExists)
					require.ErrorContains(t, err, word)
				}
				_, err := in.Start(t.Context(), e, 2, o)
				require.ErrorIs(t, err, orchestrator.ErrExists)
				require.ErrorContains(t, err, "input")
				otherFlow := in
				otherFlow.Name = "other"
				_, err = otherFlow.Start(t.Context(), e, 1, o)
				require.ErrorIs(t, err, orchestrator.ErrExists)
				require.ErrorContains(t, err, `of flow "in", not "other"`)
			}
			assert.Equal(t, before, records(t, orEmpty(s)))
		})
	}
	everywhere(t, "Run takes an ID and a Budget", func(t *testing.T, s runlog.Store) {
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
		_, err := in.Run(t.Context(), e, 1, orchestrator.StartOptions{ID: "x", Budget: orchestrator.Budget{Calls: -1}})
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.OutOfBudget, infoOf(t, open(t, e, "x")).Status)
		_, err = in.Run(t.Context(), e, 1, orchestrator.StartOptions{}, orchestrator.StartOptions{})
		require.ErrorContains(t, err, "at most one")
	})
}

// orEmpty is s, or a store without runs.
func orEmpty(s runlog.Store) runlog.Store {
	if s == nil {
		return newPlain()
	}
	return s
}
