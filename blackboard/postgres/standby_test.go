package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
)

// TestStandby has an engine that observes by way of a standby, while a worker is on
// the primary.
func TestStandby(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	primary, standby, dsn := pair(t)
	_, err := postgres.New(t.Context(), postgres.Config{Pool: pool(t, standby.DSN())})
	wantOurs(t, err)
	require.ErrorContains(t, err, "the server is read-only", "without tables there is nothing to see")

	works := engine(t, orchestrator.Config{Store: open(t, postgres.Config{Pool: pool(t, dsn)}), Flows: []orchestrator.AnyFlow{asks}})
	_, err = works.Resume(t.Context())
	require.NoError(t, err)
	cfg := postgres.Config{Pool: pool(t, standby.DSN()), Session: primary.DSN()}
	store, err := postgres.New(t.Context(), cfg)
	for err != nil { // until the standby has applied the tables
		require.ErrorContains(t, err, "the server is read-only")
		store, err = postgres.New(t.Context(), cfg)
	}
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	looks := engine(t, orchestrator.Config{Store: store, Fleet: orchestrator.Fleet{Observe: true}})
	start := func(t *testing.T, id string) (mine, theirs *orchestrator.Run) {
		t.Helper()
		mine, err := asks.Start(t.Context(), works, "q", orchestrator.StartOptions{ID: id})
		require.NoError(t, err)
		for theirs == nil { // until the standby has applied it
			theirs, err = looks.Open(t.Context(), id)
			if err != nil {
				require.ErrorIs(t, err, orchestrator.ErrNoRun)
			}
		}
		return mine, theirs
	}
	mine, theirs := start(t, "r")

	t.Run("a run on the primary is seen working", func(t *testing.T) {
		for began := time.Now(); time.Since(began) < 2*time.Second; <-time.After(50 * time.Millisecond) {
			info, err := theirs.Info(t.Context())
			require.NoError(t, err)
			assert.Contains(t, []orchestrator.Status{orchestrator.Running, orchestrator.Waiting}, info.Status, "locks are not seen on a standby")
			if len(info.Questions) > 0 {
				assert.Equal(t, "q", info.Questions[0].Key)
			}
		}
		var runs []string
		for info, err := range looks.Runs(t.Context(), orchestrator.RunQuery{}) {
			require.NoError(t, err)
			runs = append(runs, info.ID)
		}
		assert.Equal(t, []string{"r"}, runs)
		other, err := orchestrator.NewLocal(orchestrator.Config{Store: store, Fleet: orchestrator.Fleet{Observe: true}})
		require.NoError(t, err)
		require.NoError(t, other.Close(t.Context()), "it was never known, and has nothing to leave")
	})
	t.Run("changes are refused in our words", func(t *testing.T) {
		for name, err := range map[string]error{
			"answer": theirs.Answer(t.Context(), "q", "yes"),
			"cancel": theirs.Cancel(t.Context(), "enough"),
			"beat":   open(t, postgres.Config{Pool: pool(t, standby.DSN())}).Beat(t.Context(), "x", time.Hour),
			"append": appendOne(t, store, "new", 0),
			"delete": store.Delete(t.Context(), "r"),
			"letter": store.Put(t.Context(), runlog.Letter{Run: "r", Key: "q"}),
		} {
			t.Run(name, func(t *testing.T) {
				wantOurs(t, err)
				require.ErrorContains(t, err, "the server is read-only: connect with target_session_attrs=read-write")
			})
		}
	})
	t.Run("events and the end of a run come", func(t *testing.T) {
		require.NoError(t, mine.Answer(t.Context(), "q", "yes"))
		var kinds []string
		for event, err := range theirs.Events(t.Context(), 0) {
			require.NoError(t, err)
			kinds = append(kinds, event.Kind)
		}
		assert.Equal(t, []string{runlog.Started, runlog.Asked, runlog.Answered, runlog.Ended}, kinds)
		require.NoError(t, theirs.Wait(t.Context()))
		got, err := asks.Result(t.Context(), theirs)
		require.NoError(t, err)
		assert.Equal(t, "yes", got)
	})
	t.Run("within 100 ms where Session leads to the primary", func(t *testing.T) {
		within(t, func(try int) time.Duration {
			mine, theirs := start(t, "soon-"+string(rune('0'+try)))
			var began time.Time
			for event, err := range theirs.Events(t.Context(), 0) {
				require.NoError(t, err)
				switch event.Kind {
				case runlog.Asked:
					began = time.Now()
					require.NoError(t, mine.Answer(t.Context(), "q", "yes"))
				case runlog.Answered:
					return time.Since(began)
				}
			}
			require.Fail(t, "no event of the answer")
			return 0
		})
	})
	t.Run("after a promotion it can answer", func(t *testing.T) {
		_, theirs := start(t, "last")
		require.NoError(t, primary.Stop())
		require.NoError(t, standby.Promote(t.Context()))
		require.NoError(t, theirs.Answer(t.Context(), "q", "yes"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := asks.Result(ctx, theirs)
		require.NoError(t, err)
		assert.Equal(t, "yes", got)
	})
}
