package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// tally is an agent that counts its calls by their keys.
type tally struct {
	mu   sync.Mutex
	made map[string]int
}

func (c *tally) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	c.mu.Lock()
	if c.made == nil {
		c.made = map[string]int{}
	}
	c.made[agent.InfoFrom(ctx).Key]++
	c.mu.Unlock()
	<-time.After(2 * time.Millisecond)
	return agent.Response{Text: req.Prompt}, nil
}

func (c *tally) count() (keys, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.made {
		calls += n
	}
	return len(c.made), calls
}

// branchy calls an agent 40 times in each of 8 branches.
var branchy = orchestrator.Flow[int, int]{Name: "branchy", Do: func(c *orchestrator.Context, n int) (int, error) {
	_, err := orchestrator.Values(orchestrator.Map(c, make([]int, 8), 0, func(c *orchestrator.Context, _ int) (int, error) {
		for i := range 40 {
			if _, err := c.Call("a", agent.Request{Prompt: fmt.Sprint(i)}); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}))
	return n, err
}}

func TestServerRestarts(t *testing.T) {
	t.Run("C8 a server that restarts loses and repeats nothing", func(t *testing.T) {
		s := pgtest.Open(t)
		cfg := postgres.Config{Pool: pool(t, s.DSN())}
		calls := &tally{}
		e := engine(t, orchestrator.Config{Store: open(t, cfg), Flows: []orchestrator.AnyFlow{branchy}, Agents: agent.Roster{"a": calls}})
		other := engine(t, orchestrator.Config{Store: open(t, cfg), Flows: []orchestrator.AnyFlow{branchy}, Agents: agent.Roster{"a": calls}})
		_, err := other.Resume(t.Context())
		require.NoError(t, err)
		run, err := branchy.Start(t.Context(), e, 7, orchestrator.StartOptions{ID: "r"})
		require.NoError(t, err)
		for range 3 {
			before, _ := calls.count()
			for now := before; now < before+40; now, _ = calls.count() {
				<-time.After(5 * time.Millisecond)
			}
			require.NoError(t, s.Stop())
			<-time.After(700 * time.Millisecond)
			require.NoError(t, s.Restart(t.Context()))
		}
		got, err := branchy.Result(t.Context(), run)
		require.NoError(t, err)
		assert.Equal(t, 7, got)
		keys, n := calls.count()
		assert.Equal(t, 320, keys)
		assert.Equal(t, 320, n, "each call was made once, and nobody took the run for an orphan")
	})
}

func TestServerStaysAway(t *testing.T) {
	t.Run("C8 the host sees our errors", func(t *testing.T) {
		s := pgtest.Open(t, "fsync=off")
		e := engine(t, orchestrator.Config{
			Store: open(t, postgres.Config{Pool: pool(t, s.DSN()), Timeout: time.Second}), Flows: []orchestrator.AnyFlow{branchy},
			Agents: agent.Roster{"a": &tally{}}, Leases: orchestrator.Leases{Outage: 300 * time.Millisecond},
		})
		run, err := branchy.Start(t.Context(), e, 7, orchestrator.StartOptions{ID: "r"})
		require.NoError(t, err)
		require.NoError(t, s.Stop())
		err = run.Wait(t.Context())
		require.ErrorIs(t, err, orchestrator.ErrStopped)
		require.ErrorContains(t, err, "postgres: ")
		var pgErr *pgconn.PgError
		var connectErr *pgconn.ConnectError
		assert.NotErrorAs(t, err, &pgErr)
		assert.NotErrorAs(t, err, &connectErr)
		require.NoError(t, s.Restart(t.Context()))
	})
}

// TestRollingRestart drains three workers, one after the other, and starts others in
// their place.
func TestRollingRestart(t *testing.T) {
	t.Run("C8 a rolling restart repeats nothing", func(t *testing.T) {
		cfg := config(t)
		cfg.Pool = pool(t, dsn(t)+" pool_max_conns=10")
		calls := &tally{}
		worker := func() *orchestrator.Engine {
			e, err := orchestrator.NewLocal(orchestrator.Config{
				Store: open(t, cfg), Flows: []orchestrator.AnyFlow{branchy}, Agents: agent.Roster{"a": calls},
				Leases: orchestrator.Leases{Poll: 50 * time.Millisecond},
			})
			require.NoError(t, err)
			_, err = e.Resume(t.Context())
			require.NoError(t, err)
			return e
		}
		workers := []*orchestrator.Engine{worker(), worker(), worker()}
		for i, e := range workers {
			_, err := branchy.Start(t.Context(), e, i, orchestrator.StartOptions{ID: fmt.Sprint("r", i)})
			require.NoError(t, err)
		}
		for i := range workers {
			<-time.After(50 * time.Millisecond)
			require.NoError(t, workers[i].Drain(t.Context()))
			workers[i] = worker()
		}
		for i := range workers {
			run, err := workers[0].Open(t.Context(), fmt.Sprint("r", i))
			require.NoError(t, err)
			got, err := branchy.Result(t.Context(), run)
			require.NoError(t, err)
			assert.Equal(t, i, got)
		}
		keys, n := calls.count()
		assert.Equal(t, 3*320, keys)
		assert.Equal(t, keys, n)
		for _, e := range workers {
			require.NoError(t, e.Close(t.Context()))
		}
	})
}
