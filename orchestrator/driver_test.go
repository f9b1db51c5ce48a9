package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

func TestDriverComparesParents(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		d := newDriver(t)
		p := quick.Program()
		for i, parent := range []string{"a", "a", "b", ""} {
			_, err := d.Start(t.Context(), p, engine.Input{Run: "x", Data: []byte(`{}`), Parent: parent})
			if i < 2 {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, orchestrator.ErrExists)
			require.ErrorContains(t, err, "another parent", fmt.Sprint(i))
		}
	})
}

func TestDriverTellsHowLongARunWasWorkedOn(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		d := newDriver(t)
		p := flow("sleeps", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(time.Minute) }).Program()
		wait, err := d.Start(t.Context(), p, engine.Input{Run: "x", Data: []byte(`{}`)})
		require.NoError(t, err)
		end, err := wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, time.Minute, end.Elapsed)
	})
}

// newDriver is the driver of a local engine.
func newDriver(t *testing.T) engine.Driver {
	t.Helper()
	d := driver.New(driver.Config{Log: slog.New(slog.DiscardHandler), Fleet: driver.Fleet{Lease: time.Minute, Poll: time.Second, Outage: time.Minute}})
	t.Cleanup(func() { require.NoError(t, d.Close(context.WithoutCancel(t.Context()), false)) })
	return d
}

// The engine of this package has all optional interfaces.
var (
	_ engine.Driver   = (*driver.Engine)(nil)
	_ engine.Watcher  = (*driver.Engine)(nil)
	_ engine.Deleter  = (*driver.Engine)(nil)
	_ engine.Asker    = (*driver.Engine)(nil)
	_ engine.Surveyor = (*driver.Engine)(nil)
)

// What needs an optional interface says that the engine lacks it.
func TestDriverWithoutOptionalInterfaces(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		plain := local(t, orchestrator.Config{})
		e := orchestrator.NewEngine(without{orchestrator.DriverOf(plain)})
		f := flow("asks", func(c *orchestrator.Context) (int, error) {
			c.Expose(func() any { return 1 })
			return orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
		})
		r := begin(t, e, f, "x")
		synctest.Wait()
		lacks := func(err error, text string) {
			t.Helper()
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.EqualError(t, err, "orchestrator: this engine cannot "+text+": unsupported operation")
		}
		lacks(r.State(t.Context(), new(int)), "tell the state of a run: its driver is no engine.Watcher")
		lacks(e.Delete(t.Context(), "x"), "delete runs: its driver is no engine.Deleter")
		n, err := e.Prune(t.Context(), orchestrator.PruneOptions{})
		lacks(err, "delete runs: its driver is no engine.Deleter")
		assert.Zero(t, n)
		reports := 0
		for _, err := range r.Progress(t.Context()) {
			lacks(err, "show the progress of a run: its driver is no engine.Watcher")
			reports++
		}
		assert.Equal(t, 1, reports)
		events := func(from int64) (kinds []string, err error) {
			for rec, e := range r.Events(t.Context(), from) {
				if err = e; err == nil {
					kinds = append(kinds, rec.Kind)
				}
			}
			return kinds, err
		}
		kinds, err := events(0)
		lacks(err, "wait for records of a run: its driver is no engine.Watcher")
		assert.Equal(t, []string{runlog.Started, runlog.Asked}, kinds)
		require.NoError(t, r.Answer(t.Context(), "n", 7))
		require.NoError(t, r.Wait(t.Context()))
		kinds, err = events(1)
		require.NoError(t, err)
		assert.Equal(t, []string{runlog.Asked, runlog.Answered, runlog.Ended}, kinds)
		kinds, err = events(9)
		require.NoError(t, err, "nothing comes behind the end")
		assert.Empty(t, kinds)
	})
}

// A canceled run has a second to end where it cannot be seen what its flow does.
func TestDriverWithoutWatcherEndsRun(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		for flowEnds, want := range map[time.Duration]error{time.Millisecond: nil, time.Minute: context.DeadlineExceeded} {
			e := local(t, orchestrator.Config{})
			f := flow("cleans", func(c *orchestrator.Context) (none, error) {
				_ = c.Sleep(time.Hour)
				_ = c.WithoutCancel().Sleep(flowEnds)
				return none{}, nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			begun := time.Now()
			_, err := f.Run(ctx, orchestrator.NewEngine(without{orchestrator.DriverOf(e)}), none{})
			cancel()
			require.ErrorIs(t, err, want)
			assert.Equal(t, time.Second+min(flowEnds, time.Second), time.Since(begun))
		}
	})
}
