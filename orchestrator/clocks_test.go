package orchestrator_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// shifted has f begin run "r" with a clock that is ahead by that much. Its process is
// killed at once, and the run is resumed when it was down for so long. It returns the
// store of the resumed run, and the run.
func shifted[Out any](t *testing.T, ahead, down time.Duration, f orchestrator.Flow[none, Out]) (plain, *orchestrator.Run) {
	t.Helper()
	c, s := orchestrator.Config{Agents: agent.Roster{"echo": echo, "slow": after(2 * time.Minute), "hang": hang}}, newPlain()
	first := newMortal(t, s, c)
	begin(t, first.Engine, f, "r")
	synctest.Wait()
	first.kill()
	log := logOf(t, s, "r")
	for i := range log {
		log[i].At = log[i].At.Add(ahead)
	}
	pause(down)
	moved := stored(t, log...)
	c.Store, c.Flows = moved, []orchestrator.AnyFlow{f}
	rs, err := listed(local(t, c).Resume(t.Context()))
	require.NoError(t, err)
	require.Len(t, rs, 1)
	return moved, rs[0]
}

// waits is a flow that waits twice for d: it sleeps, and asks a question that nobody
// answers. It returns how long it was by its own clock.
func waits(d time.Duration) orchestrator.Flow[none, time.Duration] {
	return flow("waits", func(c *orchestrator.Context) (time.Duration, error) {
		_, _ = ask(c, "slow", "") // it is made again after the kill
		began := c.Now()
		if err := c.Sleep(d); err != nil {
			return 0, err
		}
		_, err := orchestrator.Await[string](c, orchestrator.Question{Key: "k", Timeout: d})
		if !errors.Is(err, orchestrator.ErrTimeout) {
			return 0, err
		}
		return c.Now().Sub(began), nil
	})
}

func TestClocksThatDiffer(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"ahead by 20 s": 20 * time.Second, "ahead by a day": 24 * time.Hour, "behind by a day": -24 * time.Hour, "alike": 0,
	} {
		t.Run("N13 a log that is "+name+" makes no wait longer or shorter", func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				f := waits(100 * time.Millisecond)
				s, r := shifted(t, ahead, 0, f)
				began := time.Now()
				require.NoError(t, r.Wait(t.Context()))
				assert.Equal(t, 2*time.Minute+200*time.Millisecond, time.Since(began))
				got, err := f.Result(t.Context(), r)
				require.NoError(t, err)
				assert.Equal(t, 200*time.Millisecond, got, "the flow's own clock does not stand still either")
				log := logOf(t, s, "r")
				for i, rec := range log[1:] {
					assert.False(t, rec.At.Before(log[i].At), "the log of a run goes forward")
				}
			})
		})
		t.Run("N13 a log that is "+name+" leaves Wall as it is", func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				f := flow("limited", func(c *orchestrator.Context) (time.Duration, error) {
					_, err := ask(c.WithBudget(orchestrator.Budget{Wall: 10 * time.Second}), "hang", "")
					assert.ErrorIs(t, err, orchestrator.ErrBudget)
					return c.Elapsed(), nil
				})
				_, r := shifted(t, ahead, 0, f)
				began := time.Now()
				require.NoError(t, r.Wait(t.Context()))
				assert.Equal(t, 10*time.Second, time.Since(began))
				elapsed, err := f.Result(t.Context(), r)
				require.NoError(t, err)
				assert.Equal(t, 10*time.Second, elapsed)
			})
		})
	}
	t.Run("N13 a wait that went on while nobody worked has the rest left, and no more than all", func(t *testing.T) {
		const day = 24 * time.Hour
		for name, c := range map[string]struct{ down, ahead, want time.Duration }{
			"most of it":                             {6 * day, 0, day},
			"all of it":                              {8 * day, 0, 0},
			"none, by a clock that was ahead":        {time.Hour, 2 * day, 7 * day},
			"the whole, by a clock ahead of its end": {time.Hour, 30 * day, 7 * day},
			"more, by a clock that was behind":       {day, -day, 5 * day},
		} {
			t.Run(name, func(t *testing.T) {
				flowtest.Bubble(t, func(t *testing.T) {
					f := flow("sleeps", func(c *orchestrator.Context) (none, error) {
						_, _ = ask(c, "echo", "")
						return none{}, c.Sleep(7 * day)
					})
					_, r := shifted(t, c.ahead, c.down, f)
					began := time.Now()
					require.NoError(t, r.Wait(t.Context()))
					assert.Equal(t, max(c.want, 1), time.Since(began))
				})
			})
		}
	})
}
