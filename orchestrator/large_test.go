package orchestrator_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

func TestLargeInput(t *testing.T) {
	t.Run("it is beside the log, and is compared and resumed as if it was there", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			f := orchestrator.Flow[string, int]{Name: "large", Do: func(c *orchestrator.Context, in string) (int, error) {
				_, err := ask(c, "a", "")
				return len(in), err
			}}
			large := strings.Repeat("x", 100<<10)
			o := orchestrator.StartOptions{ID: "x", Labels: map[string]string{"for": "ann"}}
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Fleet: lease})
			_, err := f.Start(t.Context(), a.Engine, large, o)
			require.NoError(t, err)
			synctest.Wait()
			a.kill()
			pause(time.Minute)
			assert.Less(t, len(logOf(t, s, "x")[0].Data), 1000)
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Fleet: lease})
			_, err = f.Start(t.Context(), b, large+"y", o)
			require.ErrorIs(t, err, orchestrator.ErrExists)
			r, err := f.Start(t.Context(), b, large, o)
			require.NoError(t, err)
			n, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, 100<<10, n)
			assert.Equal(t, "ann", infoOf(t, r).Labels["for"])
			for rec, err := range r.Events(t.Context(), 0) {
				require.NoError(t, err)
				assert.Contains(t, string(rec.Data), large)
				break
			}
		})
	})
	t.Run("large outputs and states are beside the log, and are shown", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			large := strings.Repeat("x", 100<<10)
			f := flow("large", func(c *orchestrator.Context) (string, error) {
				c.Expose(func() any { return large })
				return large, nil
			})
			begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
			synctest.Wait()
			log := logOf(t, s, "x")
			assert.Less(t, len(log[len(log)-1].Data), 1000)
			r := open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x")
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, large, got)
			var state string
			require.NoError(t, r.State(t.Context(), &state))
			assert.Equal(t, large, state)
		})
	})
}
