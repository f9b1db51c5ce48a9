package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
)

// engine is one of a process of its own, as far as the database can tell.
func engine(t *testing.T, cfg orchestrator.Config) *orchestrator.Engine {
	t.Helper()
	e, err := orchestrator.NewLocal(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

// asks waits for an answer and returns it.
var asks = orchestrator.Flow[string, string]{Name: "asks", Do: func(c *orchestrator.Context, key string) (string, error) {
	return orchestrator.Await[string](c, orchestrator.Question{Key: key})
}}

// soon is how long it may take until another process knows.
const soon = 100 * time.Millisecond

// within tries f a few times, because the machine may be busy just then, and wants it
// to take less than soon once.
func within(t *testing.T, f func(try int) time.Duration) {
	t.Helper()
	var took []time.Duration
	for try := range 5 {
		took = append(took, f(try))
		if took[try] < soon {
			t.Logf("%v", took)
			return
		}
	}
	assert.Fail(t, "too slow", "%v, want less than %v once", took, soon)
}

func TestRemote(t *testing.T) {
	_, here, there := two(t)
	works := engine(t, orchestrator.Config{Store: here, Flows: []orchestrator.AnyFlow{asks}})
	looks := engine(t, orchestrator.Config{Store: there, Flows: []orchestrator.AnyFlow{asks}, Fleet: orchestrator.Fleet{Observe: true}})
	_, err := works.Resume(t.Context())
	require.NoError(t, err)
	start := func(t *testing.T, id string) (mine, theirs *orchestrator.Run) {
		t.Helper()
		mine, err := asks.Start(t.Context(), works, "q", orchestrator.StartOptions{ID: id})
		require.NoError(t, err)
		theirs, err = looks.Open(t.Context(), id)
		require.NoError(t, err)
		info, err := theirs.Info(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, info.Owner)
		for len(info.Questions) == 0 {
			<-time.After(5 * time.Millisecond)
			info, err = theirs.Info(t.Context())
			require.NoError(t, err)
		}
		return mine, theirs
	}
	ids := []string{"0", "1", "2", "3", "4"}

	t.Run("Answer and Wait", func(t *testing.T) {
		within(t, func(try int) time.Duration {
			_, theirs := start(t, "answer-"+ids[try])
			began := time.Now()
			require.NoError(t, theirs.Answer(t.Context(), "q", "yes"))
			require.NoError(t, theirs.Wait(t.Context()))
			return time.Since(began)
		})
	})
	t.Run("Cancel", func(t *testing.T) {
		within(t, func(try int) time.Duration {
			mine, theirs := start(t, "cancel-"+ids[try])
			began := time.Now()
			require.NoError(t, theirs.Cancel(t.Context(), "enough"))
			require.NoError(t, mine.Wait(t.Context()))
			return time.Since(began)
		})
	})
	t.Run("Events", func(t *testing.T) {
		within(t, func(try int) time.Duration {
			mine, theirs := start(t, "events-"+ids[try])
			var began time.Time
			for event, err := range theirs.Events(t.Context(), 0) {
				require.NoError(t, err)
				switch event.Kind {
				case "asked":
					began = time.Now()
					require.NoError(t, mine.Answer(t.Context(), "q", "yes"))
				case "answered":
					return time.Since(began)
				}
			}
			require.Fail(t, "no event of the answer")
			return 0
		})
	})
}
