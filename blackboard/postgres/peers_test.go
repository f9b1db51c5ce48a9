package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// telling exposes 100 kB and calls an agent that reports the time until its ctx ends.
var telling = orchestrator.Flow[string, string]{Name: "telling", Do: func(c *orchestrator.Context, worker string) (string, error) {
	c.Expose(func() any { return strings.Repeat(worker, 100_000) })
	_, err := c.Call("tells", agent.Request{})
	return "", err
}}

var tells = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
	for ctx.Err() == nil {
		agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: strconv.FormatInt(time.Now().UnixNano(), 10)})
		<-time.After(5 * time.Millisecond)
	}
	return agent.Response{}, ctx.Err()
})

// worker is an engine that executes telling, in a process of its own or in this one.
func worker(t *testing.T, cfg postgres.Config, observe bool) *orchestrator.Engine {
	t.Helper()
	e, err := orchestrator.NewLocal(orchestrator.Config{
		Store: open(t, cfg), Flows: []orchestrator.AnyFlow{telling}, Agents: agent.Roster{"tells": tells},
		Fleet: orchestrator.Fleet{Lease: 2 * silence, Observe: observe},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

// TestTellingProcess is the process of a worker of other tests. It works on the run "t"
// until it is killed.
func TestTellingProcess(t *testing.T) {
	if *engineDSN == "" {
		t.Skip("it is the process of other tests")
	}
	e := worker(t, postgres.Config{Pool: pool(t, *engineDSN), Schema: *engineSchema}, false)
	r, err := telling.Start(t.Context(), e, "x", orchestrator.StartOptions{ID: "t"})
	require.NoError(t, err)
	say("begun")
	_ = r.Wait(t.Context())
}

// TestStateInAnotherProcess has a process that works on a run, and this one that asks
// it for the run's state and progress, until the other one is stopped and killed.
func TestStateInAnotherProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	cfg := config(t)
	process := startProcess(t, cfg, dsn(t), "TestTellingProcess")
	r, err := worker(t, cfg, true).Open(t.Context(), "t")
	require.NoError(t, err)

	t.Run("its state and progress are there within 100 ms", func(t *testing.T) {
		state, progress := make([]time.Duration, 0, 50), make([]time.Duration, 0, 200)
		for range cap(state) {
			began := time.Now()
			var got string
			require.NoError(t, r.State(t.Context(), &got))
			state = append(state, time.Since(began))
			require.Equal(t, strings.Repeat("x", 100_000), got)
		}
		for p, err := range r.Progress(t.Context()) {
			require.NoError(t, err)
			told, err := strconv.ParseInt(p.Text, 10, 64)
			require.NoError(t, err)
			if progress = append(progress, time.Since(time.Unix(0, told))); len(progress) == cap(progress) {
				break
			}
		}
		for what, took := range map[string][]time.Duration{"State": state, "Progress": progress} {
			slices.Sort(took)
			median := took[len(took)/2]
			t.Logf("%s: median %v, slowest %v", what, median, took[len(took)-1])
			assert.Less(t, median, 100*time.Millisecond, what)
		}
	})
	t.Run("progress continues with the process that resumes the run of a killed one", func(t *testing.T) {
		before := infoOf(t, r).Owner
		n := 0
		for _, err := range r.Progress(t.Context()) {
			require.NoError(t, err)
			if n++; n == 10 {
				process.kill()
				process = startProcess(t, cfg, dsn(t), "TestTellingProcess")
			}
			if n > 10 && infoOf(t, r).Owner != before {
				break
			}
		}
		assert.NotEqual(t, before, infoOf(t, r).Owner)
		require.NoError(t, r.State(t.Context(), new(string)))
	})
	t.Run("a process that is killed has no state, and says so at once", func(t *testing.T) {
		process.kill()
		began := time.Now()
		require.ErrorIs(t, r.State(t.Context(), new(string)), orchestrator.ErrNoState)
		t.Logf("%v", time.Since(began))
	})
}

func infoOf(t *testing.T, r *orchestrator.Run) orchestrator.Info {
	t.Helper()
	i, err := r.Info(t.Context())
	require.NoError(t, err)
	return i
}

// TestRequestsWhileTheSessionIsLost has requests beside sessions that are ended by the
// server again and again: each has the reply, or an error in time.
func TestRequestsWhileTheSessionIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	cfg, a, b := two(t)
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() {
		served <- a.Serve(ctx, "ann", func(_ context.Context, data []byte) []byte { return data })
	}()
	replied := 0
	large := strings.Repeat("x", 50_000)
	for i := range 60 {
		if i%10 == 5 {
			_, err := cfg.Pool.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%LISTEN%' AND pid <> pg_backend_pid()")
			require.NoError(t, err)
		}
		limited, stop := context.WithTimeout(ctx, silence)
		data := fmt.Sprint(i, large)
		got, err := b.Request(limited, "ann", []byte(data))
		timedOut := limited.Err() != nil
		stop()
		if err == nil {
			replied++
			require.Equal(t, data, string(got))
		} else if !timedOut {
			require.ErrorIs(t, err, runlog.ErrNoReply)
			<-time.After(beats)
		}
	}
	t.Logf("%d of 60 requests had a reply", replied)
	assert.Greater(t, replied, 30)
	cancel()
	require.ErrorIs(t, <-served, context.Canceled)
}
