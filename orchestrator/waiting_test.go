package orchestrator_test

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// hosted is a run of pair on an engine whose agent does not answer, and a second
// engine on the same store.
func hosted(t *testing.T) (first, second *orchestrator.Engine) {
	t.Helper()
	s := runlog.NewMemory()
	first, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s})
	require.NoError(t, err)
	begin(t, first, pair, "x")
	return first, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
}

// after10s closes an engine when 10 s have passed.
func after10s(t *testing.T, e *orchestrator.Engine) {
	t.Helper()
	wait := time.NewTimer(10 * time.Second)
	<-wait.C
	require.NoError(t, e.Close(t.Context()))
}

func TestWaitingForARunOfAnotherEngine(t *testing.T) {
	t.Run("N7 readers see it to its end, and one that waits resumes it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			first, second := hosted(t)
			var readers sync.WaitGroup
			for range 8 {
				run, err := second.Open(t.Context(), "x")
				require.NoError(t, err)
				readers.Go(func() {
					got, err := pair.Result(t.Context(), run)
					assert.NoError(t, err)
					assert.Equal(t, "one two", got)
				})
				readers.Go(func() {
					last := ""
					for rec, err := range run.Events(t.Context(), 0) {
						assert.NoError(t, err)
						last = rec.Kind
					}
					assert.Equal(t, runlog.Ended, last)
				})
			}
			after10s(t, first)
			readers.Wait()
		})
	})
	t.Run("N7 one that cannot resume it says so when no other engine came for a lease", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			first, second := hosted(t)
			after10s(t, first)
			run, err := second.Open(t.Context(), "x")
			require.NoError(t, err)
			newer := pair
			newer.Version = 2
			begun := time.Now()
			_, err = newer.Result(t.Context(), run)
			require.ErrorContains(t, err, `version 0 of flow "pair" is not registered`)
			assert.InDelta(t, 30, time.Since(begun).Seconds(), 2)
		})
	})
}

// paused is the store of a process that is stopped: it does not say that it is alive,
// and reads no letters.
type paused struct {
	*runlog.Memory
	beats   atomic.Int64
	stopped chan struct{} // closed when it continues
}

func (p *paused) Beat(ctx context.Context, owner string, d time.Duration) error {
	if p.beats.Add(1) == 1 {
		return p.Memory.Beat(ctx, owner, d)
	}
	select {
	case <-p.stopped:
		return p.Memory.Beat(ctx, owner, d)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *paused) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
	select {
	case <-p.stopped:
		return p.Memory.Letters(ctx, run)
	default:
		return func(func(runlog.Letter, error) bool) {}
	}
}

func TestEngineThatWasStoppedForLong(t *testing.T) {
	t.Run("N7 it lets go of a run that waits and that another engine has ended meanwhile", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			question := flow("question", func(c *orchestrator.Context) (string, error) {
				return orchestrator.Await[string](c, orchestrator.Question{Key: "name"})
			})
			s := &paused{Memory: runlog.NewMemory(), stopped: make(chan struct{})}
			zombie := begin(t, local(t, orchestrator.Config{Store: s}), question, "x")
			other := local(t, orchestrator.Config{Store: s.Memory, Flows: []orchestrator.AnyFlow{question}})
			_, err := other.Resume(t.Context())
			require.NoError(t, err)
			wait := time.NewTimer(time.Minute)
			<-wait.C
			run, err := other.Open(t.Context(), "x")
			require.NoError(t, err)
			require.NoError(t, run.Answer(t.Context(), "name", "ann"))
			got, err := question.Result(t.Context(), run)
			require.NoError(t, err)
			assert.Equal(t, "ann", got)
			close(s.stopped)
			_, err = question.Result(t.Context(), zombie)
			require.ErrorIs(t, err, runlog.ErrConflict)
			require.ErrorIs(t, err, orchestrator.ErrStopped)
			require.ErrorContains(t, err, "silent for too long")
		})
	})
}
