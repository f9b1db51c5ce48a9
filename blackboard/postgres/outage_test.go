package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/blackboard/runlog"
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

// awaitMore waits until there are n more calls.
func (c *tally) awaitMore(n int) {
	before, _ := c.count()
	for now := before; now < before+n; now, _ = c.count() {
		<-time.After(5 * time.Millisecond)
	}
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
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("a server that restarts loses and repeats nothing", func(t *testing.T) {
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
			calls.awaitMore(40)
			require.NoError(t, s.Stop())
			<-time.After(700 * time.Millisecond)
			require.NoError(t, s.Restart(t.Context()))
		}
		got, err := branchy.Result(t.Context(), run)
		require.NoError(t, err)
		assert.Equal(t, 7, got)
		keys, n := calls.count()
		assert.Equal(t, 320, keys)
		assert.Equal(t, 320, n, "each call was made once, and the run was not taken for an orphan")
	})
}

func TestServerStaysAway(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("the host sees our errors", func(t *testing.T) {
		s := pgtest.Open(t, "fsync=off")
		e := engine(t, orchestrator.Config{
			Store: open(t, postgres.Config{Pool: pool(t, s.DSN()), Timeout: time.Second}), Flows: []orchestrator.AnyFlow{branchy},
			Agents: agent.Roster{"a": &tally{}}, Fleet: orchestrator.Fleet{Outage: 300 * time.Millisecond},
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

// locks is a flow of three calls, the second of which locks the run in the database.
var locks = orchestrator.Flow[int, int]{Name: "locks", Do: func(c *orchestrator.Context, n int) (int, error) {
	for _, name := range []string{"a", "locks", "a"} {
		if _, err := c.Call(name, agent.Request{Prompt: name}); err != nil {
			return 0, err
		}
	}
	return n, nil
}}

// locked is a tally that locks all runs when it is first called.
type locked struct {
	tally
	schema string
	pool   *pgxpool.Pool
	lock   sync.Once
	tx     pgx.Tx
}

func (l *locked) Call(ctx context.Context, req agent.Request) (resp agent.Response, err error) {
	l.lock.Do(func() {
		ctx := context.WithoutCancel(ctx)
		if l.tx, err = l.pool.Begin(ctx); err == nil {
			_, err = l.tx.Exec(ctx, "SELECT FROM "+l.schema+".runs FOR UPDATE")
		}
	})
	if err != nil {
		return agent.Response{}, err
	}
	return l.tally.Call(ctx, req)
}

// TestServerTimeouts has time limits of the server that end the insert of a record.
func TestServerTimeouts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	for parameter, want := range map[string]string{
		"statement_timeout": "it took longer than Config.Timeout, or than statement_timeout",
		"lock_timeout":      "another transaction kept a lock longer than Config.LockTimeout, or than lock_timeout",
	} {
		begin := func(t *testing.T, outage time.Duration) (e *orchestrator.Engine, l *locked, a *tally) {
			t.Helper()
			cfg := config(t)
			l, a = &locked{schema: cfg.Schema, pool: cfg.Pool}, &tally{}
			cfg.Pool = pool(t, dsn(t)+" "+parameter+"=300")
			e = engine(t, orchestrator.Config{
				Store: open(t, cfg), Flows: []orchestrator.AnyFlow{locks}, Agents: agent.Roster{"a": a, "locks": l},
				Fleet: orchestrator.Fleet{Outage: outage},
			})
			return e, l, a
		}
		t.Run(parameter+": a record waits until the lock is released", func(t *testing.T) {
			e, l, a := begin(t, time.Minute)
			run, err := locks.Start(t.Context(), e, 7, orchestrator.StartOptions{ID: "r"})
			require.NoError(t, err)
			l.awaitMore(1)
			<-time.After(time.Second) // the insert is ended a few times
			require.NoError(t, l.tx.Rollback(t.Context()))
			got, err := locks.Result(t.Context(), run)
			require.NoError(t, err)
			assert.Equal(t, 7, got)
			_, first := a.count()
			_, second := l.count()
			assert.Equal(t, []int{2, 1}, []int{first, second}, "no call was made again")
		})
		t.Run(parameter+": the run is suspended when that takes too long", func(t *testing.T) {
			e, l, a := begin(t, time.Second)
			run, err := locks.Start(t.Context(), e, 7, orchestrator.StartOptions{ID: "r"})
			require.NoError(t, err)
			err = run.Wait(t.Context())
			require.ErrorIs(t, err, orchestrator.ErrStopped)
			require.ErrorContains(t, err, "postgres: append: "+want)
			require.NoError(t, l.tx.Rollback(t.Context()))
			_, err = e.Resume(t.Context())
			require.NoError(t, err)
			got, err := locks.Result(t.Context(), run)
			require.NoError(t, err)
			assert.Equal(t, 7, got)
			_, first := a.count()
			assert.Equal(t, 2, first, "what was recorded is not made again")
		})
	}
}

// TestLockedRunAlone has records of a locked run and of another one that are written
// together.
func TestLockedRunAlone(t *testing.T) {
	t.Run("a locked run does not hold up others", func(t *testing.T) {
		cfg := config(t)
		cfg.Pool = pool(t, dsn(t)+" lock_timeout=200")
		s := open(t, cfg)
		for _, run := range []string{"locked", "locked too", "free"} {
			require.NoError(t, appendOne(t, s, run, 0))
		}
		tx, err := cfg.Pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { assert.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
		_, err = tx.Exec(t.Context(), "SELECT FROM "+cfg.Schema+".runs WHERE run LIKE 'locked%' FOR UPDATE")
		require.NoError(t, err)
		errs := map[string]chan error{}
		for _, run := range []string{"locked", "locked too", "free"} { // the last two while the first waits
			err := make(chan error, 1)
			errs[run] = err
			go func() { err <- s.Append(context.WithoutCancel(t.Context()), []runlog.Record{small(run, 1)}) }()
			<-time.After(50 * time.Millisecond)
		}
		require.NoError(t, <-errs["free"])
		for _, run := range []string{"locked", "locked too"} {
			require.ErrorContains(t, <-errs[run], "another transaction kept a lock")
		}
	})
}
