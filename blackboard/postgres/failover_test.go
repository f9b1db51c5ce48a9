package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// pair is a server and a standby that confirms its commits, in a DSN that leads to
// the one that takes changes.
func pair(t *testing.T) (primary, standby *pgtest.Server, dsn string) {
	t.Helper()
	primary = pgtest.Open(t)
	standby, err := primary.Standby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, standby.Close()) })
	return primary, standby, fmt.Sprintf("host=%s,%s port=5432,5432 user=postgres dbname=postgres target_session_attrs=read-write", primary.Dir(), standby.Dir())
}

// TestSlowSession has an engine whose session takes longer than others to connect
// again after the server was away.
func TestSlowSession(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("an engine that connects late after an outage is not dead", func(t *testing.T) {
		server := pgtest.Open(t, "fsync=off")
		slow, err := server.NewProxy()
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, slow.Close()) })
		late := open(t, postgres.Config{Pool: pool(t, server.DSN()), Session: slow.DSN()})
		other := open(t, postgres.Config{Pool: pool(t, server.DSN())})
		require.NoError(t, late.Beat(t.Context(), "late", time.Hour))
		require.NoError(t, other.Beat(t.Context(), "other", time.Hour))
		require.NoError(t, late.Append(t.Context(), []runlog.Record{ownedBy("r", "late")}))
		slow.Delay(200 * time.Millisecond) // four of them to connect
		require.NoError(t, server.Restart(t.Context()))
		for began := time.Now(); time.Since(began) < 1500*time.Millisecond; <-time.After(20 * time.Millisecond) {
			for l, err := range other.Orphans(t.Context()) {
				if err == nil { // else the pool has not noticed yet
					require.Fail(t, "taken for an orphan", "%+v after %v", l, time.Since(began))
				}
			}
		}
		slow.Delay(0)
		require.NoError(t, late.Beat(t.Context(), "late", time.Hour))
		assert.True(t, isAlive(t, other, "late"))
		require.NoError(t, late.Close())
		assert.Less(t, awaitLife(t, other, "late", false), 5*time.Second, "the end of a session still counts")
	})
}

// TestStandbyAway has a standby that confirms nothing for a while: records that only the
// primary has are not returned.
func TestStandbyAway(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("a record that the standby has not confirmed is not read", func(t *testing.T) {
		_, standby, dsn := pair(t)
		require.NoError(t, appendOne(t, open(t, postgres.Config{Pool: pool(t, dsn)}), "r", 0))
		s := open(t, postgres.Config{Pool: pool(t, dsn), Timeout: time.Second})
		require.NoError(t, standby.Stop())
		wantOurs(t, appendOne(t, s, "r", 1))
		for range 2 {
			if err := appendOne(t, s, "r", 1); !errors.Is(err, runlog.ErrConflict) { // it was stored, on the primary
				wantOurs(t, err)
			}
			_, err := s.Last(t.Context(), "r")
			wantOurs(t, err)
		}
		require.NoError(t, standby.Restart(t.Context()))
		last, err := s.Last(t.Context(), "r")
		for err != nil { // until the standby has connected
			last, err = s.Last(t.Context(), "r")
		}
		assert.EqualValues(t, 1, last.Seq)
		require.NoError(t, appendOne(t, s, "r", 2))
	})
}

func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("a failover to a standby loses and repeats nothing", func(t *testing.T) {
		primary, standby, dsn := pair(t)
		calls := &tally{}
		worker := func() *orchestrator.Engine {
			cfg := postgres.Config{Pool: pool(t, dsn)}
			e := engine(t, orchestrator.Config{Store: open(t, cfg), Flows: []orchestrator.AnyFlow{branchy}, Agents: agent.Roster{"a": calls}})
			_, err := e.Resume(t.Context())
			require.NoError(t, err)
			return e
		}
		workers := []*orchestrator.Engine{worker(), worker(), worker()}
		runs := make([]*orchestrator.Run, len(workers))
		for i, e := range workers {
			var err error
			runs[i], err = branchy.Start(t.Context(), e, i, orchestrator.StartOptions{ID: fmt.Sprint("r", i)})
			require.NoError(t, err)
		}
		calls.awaitMore(150)
		require.NoError(t, primary.Stop())
		<-time.After(time.Second)
		began := time.Now()
		require.NoError(t, standby.Promote(t.Context()))
		t.Logf("promoted in %v", time.Since(began))
		for i, run := range runs {
			got, err := branchy.Result(t.Context(), run)
			require.NoError(t, err)
			assert.Equal(t, i, got)
		}
		keys, n := calls.count()
		assert.Equal(t, 3*320, keys)
		assert.Equal(t, keys, n, "each call was made once, and no run was taken for an orphan")
	})
}
