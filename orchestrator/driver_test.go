package orchestrator_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	d := driver.New(driver.Config{Log: slog.New(slog.DiscardHandler), Lease: time.Minute, Poll: time.Second, Outage: time.Minute})
	t.Cleanup(func() { require.NoError(t, d.Close(context.WithoutCancel(t.Context()), false)) })
	return d
}
