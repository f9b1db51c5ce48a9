package providers_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// A call that waits for a place at a model that becomes limited uses the next model.
func TestLimitLineOfALimitedModel(t *testing.T) {
	for name, limit := range map[string]providers.Limit{"parallel": {Parallel: 4}, "perMinute": {PerMinute: 4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := always(t, slow(limited(time.Minute))), always(t, says("second"))
				c := providers.Config{
					Roles:  providers.RoleConfig{"r": {spec("p:m"), spec("q:m")}},
					Limits: map[string]providers.Limit{"p": limit},
				}
				roles, err := c.Open(opener{"p:m": first, "q:m": second}.open)
				require.NoError(t, err)
				m, err := roles.Model("r")
				require.NoError(t, err)
				start := time.Now()
				assert.Equal(t, map[string]int{"second": 1000}, together(t, 1000, m))
				assert.Equal(t, time.Second, time.Since(start))
				assert.Len(t, first.Requests(), 4)
				later(pastCoolDown)
				assert.Equal(t, map[string]int{"second": 1000}, together(t, 1000, m))
				assert.Len(t, first.Requests(), 5)
			})
		})
	}
}

// A trial waits for its place, too, and stays the trial.
func TestLimitLineOfATrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t, slow(limited(time.Minute)), says("m"))
		c := providers.Config{
			Roles:  providers.RoleConfig{"r": {spec("p:m")}, "other": {spec("p:n")}},
			Limits: map[string]providers.Limit{"p": {Parallel: 1}},
		}
		roles, err := c.Open(opener{"p:m": m, "p:n": &clocked{took: 3 * time.Minute}}.open)
		require.NoError(t, err)
		r, err := roles.Model("r")
		require.NoError(t, err)
		other, err := roles.Model("other")
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"rate-limited": 1}, together(t, 1, r))
		var wg sync.WaitGroup
		wg.Go(func() { together(t, 1, other) })
		later(pastCoolDown)
		assert.Equal(t, map[string]int{"m": 1}, together(t, 1, r), "when the other call has ended")
		wg.Wait()
	})
}

// A trial that is canceled while it waits passes to the next caller.
func TestLimitLineOfATrialGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := underLimit(t, providers.Limit{PerMinute: 1}, fake.New(t, limited(10*time.Second), says("m")))
		assert.Equal(t, map[string]int{"rate-limited": 1}, together(t, 1, m))
		later(20 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := m.Generate(ctx, hi)
		require.ErrorIs(t, err, providers.Canceled)
		assert.Equal(t, map[string]int{"m": 1}, together(t, 1, m))
	})
}
