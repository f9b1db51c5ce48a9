package providers_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// underLimit is a role with a model at p, which m answers for.
func underLimit(t testing.TB, l providers.Limit, m providers.Model) providers.Model {
	t.Helper()
	c := providers.Config{
		Roles:  providers.RoleConfig{"r": {spec("p:m")}},
		Limits: map[string]providers.Limit{"p": l},
	}
	roles, err := c.Open(func(providers.Spec) (providers.Model, error) { return m, nil })
	require.NoError(t, err)
	model, err := roles.Model("r")
	require.NoError(t, err)
	return model
}

// clocked answers after took, and records when each call began and how many were
// running at most.
type clocked struct {
	took time.Duration

	mu    sync.Mutex
	begun []time.Time
	now   int
	most  int
}

func (c *clocked) Generate(ctx context.Context, _ providers.Request) (providers.Response, error) {
	c.mu.Lock()
	c.begun = append(c.begun, time.Now())
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
	}()
	select {
	case <-time.After(c.took):
	case <-ctx.Done():
		return providers.Response{}, ctx.Err()
	}
	return providers.Response{Model: "m"}, nil
}

func TestLimitParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{took: time.Second}
		m := underLimit(t, providers.Limit{Parallel: 4}, c)
		start := time.Now()
		assert.Equal(t, map[string]int{"m": 20}, together(t, 20, m))
		assert.Equal(t, 4, c.most)
		assert.Equal(t, 5*time.Second, time.Since(start), "all four places are used")
	})
}

func TestLimitPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{}
		m := underLimit(t, providers.Limit{PerMinute: 10}, c)
		start := time.Now()
		assert.Equal(t, map[string]int{"m": 25}, together(t, 25, m))
		var minutes []time.Duration
		for _, at := range c.begun {
			minutes = append(minutes, at.Sub(start))
		}
		want := slices.Concat(slices.Repeat([]time.Duration{0}, 10), slices.Repeat([]time.Duration{time.Minute}, 10), slices.Repeat([]time.Duration{2 * time.Minute}, 5))
		assert.Equal(t, want, minutes)
	})
}

// No minute has more calls than PerMinute, in any order, and no call waits without need.
func TestLimitPerMinuteAlways(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(rt, "perMinute")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 30).Draw(rt, "pauses")
		c := &clocked{}
		var came []time.Time
		synctest.Test(t, func(t *testing.T) {
			m := underLimit(t, providers.Limit{PerMinute: limit}, c)
			var wg sync.WaitGroup
			for _, pause := range pauses {
				later(time.Duration(pause) * time.Second)
				came = append(came, time.Now())
				wg.Go(func() { _, _ = m.Generate(t.Context(), hi) })
				synctest.Wait()
			}
			wg.Wait()
		})
		for i, at := range c.begun {
			free := came[i]
			if i >= limit {
				free = latest(free, c.begun[i-limit].Add(time.Minute))
			}
			if i > 0 {
				free = latest(free, c.begun[i-1])
			}
			if !at.Equal(free) {
				rt.Fatalf("call %d of %d a minute began at %v, want %v", i+1, limit, at, free)
			}
		}
	})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestLimitFirstComeFirstServed(t *testing.T) {
	for name, limit := range map[string]providers.Limit{"parallel": {Parallel: 1}, "perMinute": {PerMinute: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var served []string
				m := underLimit(t, limit, providers.ModelFunc(func(_ context.Context, req providers.Request) (providers.Response, error) {
					served = append(served, req.Messages[0].Text)
					later(time.Second)
					return providers.Response{}, nil
				}))
				var wg sync.WaitGroup
				names := []string{"a", "b", "c", "d", "e"}
				for _, name := range names {
					req := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: name}}}
					wg.Go(func() { _, _ = m.Generate(t.Context(), req) })
					synctest.Wait()
				}
				wg.Wait()
				assert.Equal(t, names, served)
			})
		})
	}
}

// A call that is canceled while it waits uses up nothing.
func TestLimitGivenUp(t *testing.T) {
	for name, limit := range map[string]providers.Limit{"parallel": {Parallel: 1}, "perMinute": {PerMinute: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &clocked{took: time.Minute}
				m := underLimit(t, limit, c)
				var wg sync.WaitGroup
				wg.Go(func() { assert.Equal(t, map[string]int{"m": 1}, together(t, 1, m)) })
				synctest.Wait()
				why := errors.New("enough")
				ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, why)
				defer cancel()
				start := time.Now()
				_, err := m.Generate(ctx, hi)
				assert.Equal(t, 10*time.Second, time.Since(start))
				require.ErrorIs(t, err, providers.Canceled)
				require.ErrorIs(t, err, why)
				assert.Equal(t, map[string]int{"m": 1}, together(t, 1, m))
				assert.Equal(t, 2*time.Minute, time.Since(start))
				wg.Wait()
				assert.Len(t, c.begun, 2)
			})
		})
	}
}

// A call that is canceled while it waits for the next minute returns its place.
func TestLimitGivenUpWithAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := underLimit(t, providers.Limit{Parallel: 1, PerMinute: 1}, &clocked{})
		start := time.Now()
		assert.Equal(t, map[string]int{"m": 1}, together(t, 1, m))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := m.Generate(ctx, hi)
		require.ErrorIs(t, err, providers.Canceled)
		assert.Equal(t, map[string]int{"m": 1}, together(t, 1, m))
		assert.Equal(t, time.Minute, time.Since(start))
	})
}

// A place is given back when a call fails or panics.
func TestLimitIsGivenBack(t *testing.T) {
	calls := 0
	m := underLimit(t, providers.Limit{Parallel: 1}, providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		calls++
		switch calls {
		case 1:
			return providers.Response{}, &providers.Error{Kind: providers.Transient}
		case 2:
			panic("model")
		}
		return providers.Response{}, nil
	}))
	_, err := m.Generate(t.Context(), hi)
	require.ErrorIs(t, err, providers.Transient)
	assert.Panics(t, func() { _, _ = m.Generate(t.Context(), hi) })
	_, err = m.Generate(t.Context(), hi)
	require.NoError(t, err)
}

// A provider's models in all roles share its limit; other providers have theirs.
func TestLimitIsTheProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := &clocked{took: time.Second}, &clocked{took: time.Second}
		c := providers.Config{
			Roles:  providers.RoleConfig{"a": {spec("p:m")}, "b": {spec("p:n")}, "c": {spec("q:m")}},
			Limits: map[string]providers.Limit{"p": {Parallel: 1}},
		}
		roles, err := c.Open(providers.Openers{
			"p": func(providers.Spec) (providers.Model, error) { return here, nil },
			"q": func(providers.Spec) (providers.Model, error) { return there, nil },
		}.Open)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for _, role := range []string{"a", "b", "c", "a", "b", "c"} {
			m, err := roles.Model(role)
			require.NoError(t, err)
			wg.Go(func() { _, _ = m.Generate(t.Context(), hi) })
		}
		wg.Wait()
		assert.Equal(t, 1, here.most)
		assert.Equal(t, 2, there.most)
		assert.Len(t, here.begun, 4)
	})
}

func TestLimitKeepsWhatTheModelKnows(t *testing.T) {
	known := providers.Metered{Model: fake.New(t), Spec: providers.Spec{Price: &price}}
	for i, m := range []providers.Model{known, fake.New(t)} {
		p, ok := underLimit(t, providers.Limit{Parallel: 1}, m).(providers.Priced)
		require.True(t, ok)
		assert.Equal(t, i == 0, p.Priced())
	}
}
