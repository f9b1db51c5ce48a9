package providers_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// always answers every call the same.
func always(t *testing.T, a fake.Answer) *fake.Model {
	t.Helper()
	m := fake.New(t)
	m.When(fake.Rule{Answer: a})
	return m
}

// slow is a after a second.
func slow(a fake.Answer) fake.Answer {
	a.Latency = time.Second
	return a
}

// together makes n calls at the same moment, and returns their models or the kinds
// of their errors, counted.
func together(t *testing.T, n int, m providers.Model) map[string]int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[string]int{}
	for range n {
		wg.Go(func() {
			resp, err := m.Generate(t.Context(), hi)
			who := resp.Model
			if e, ok := errors.AsType[*providers.Error](err); ok {
				who = string(e.Kind)
			}
			mu.Lock()
			defer mu.Unlock()
			got[who]++
		})
	}
	wg.Wait()
	return got
}

// pastCoolDown is certainly over the cool-down that limited(time.Minute) starts.
const pastCoolDown = 66 * time.Second

func TestChainHasOneTrial(t *testing.T) {
	tests := []struct {
		name   string
		first  []fake.Answer  // of the first model, after it was limited
		during map[string]int // of 100 calls when the cool-down is over
		after  string         // who answers then
	}{
		{"answers", []fake.Answer{slow(says("first")), slow(says("first")), slow(says("first"))}, map[string]int{"first": 1, "second": 99}, "first"},
		{"is limited", []fake.Answer{slow(limited(time.Hour))}, map[string]int{"second": 100}, "second"},
		{"fails otherwise", []fake.Answer{slow(fake.Fail(providers.Transient, 0)), slow(says("first")), slow(says("first"))}, map[string]int{"transient": 1, "second": 99}, "first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := fake.New(t, append([]fake.Answer{limited(time.Minute)}, tt.first...)...)
				c := chainOf(t, first, always(t, says("second")))
				assert.Equal(t, map[string]int{"second": 1}, together(t, 1, c))
				later(pastCoolDown)
				assert.Equal(t, tt.during, together(t, 100, c))
				assert.Equal(t, map[string]int{tt.after: 2}, together(t, 2, c))
			})
		})
	}
}

// A caller without another model waits for the trial, and no longer.
func TestChainWaitsForTheTrial(t *testing.T) {
	t.Run("it answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := fake.New(t, append([]fake.Answer{limited(time.Minute), slow(says("m"))}, slices.Repeat([]fake.Answer{says("m")}, 99)...)...)
			c := chainOf(t, m)
			together(t, 1, c)
			later(pastCoolDown)
			start := time.Now()
			assert.Equal(t, map[string]int{"m": 100}, together(t, 100, c))
			assert.Equal(t, time.Second, time.Since(start), "99 waited for the first")
		})
	})
	t.Run("it is limited", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := fake.New(t, limited(time.Minute), slow(limited(time.Minute)))
			c := chainOf(t, m)
			together(t, 1, c)
			later(pastCoolDown)
			assert.Equal(t, map[string]int{"rate-limited": 100}, together(t, 100, c))
			assert.Len(t, m.Requests(), 2)
		})
	})
	t.Run("the caller does not wait so long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := fake.New(t, limited(time.Minute), fake.Hang())
			c := chainOf(t, m)
			together(t, 1, c)
			later(pastCoolDown)
			ctx, cancel := context.WithCancel(t.Context())
			var trial sync.WaitGroup
			trial.Go(func() { _, _ = c.Generate(ctx, hi) })
			synctest.Wait()
			short, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_, err := c.Generate(short, hi)
			require.ErrorIs(t, err, providers.Canceled)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
			trial.Wait()
		})
	})
}

// A trial without a result passes to the next caller.
func TestChainTrialIsHandedOn(t *testing.T) {
	for _, how := range []string{"canceled", "panicked"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				m := providers.ModelFunc(func(ctx context.Context, _ providers.Request) (providers.Response, error) {
					switch n := calls.Add(1); {
					case n == 2 && how == "panicked":
						later(time.Second)
						panic("model")
					case n == 2:
						<-ctx.Done()
						return providers.Response{}, ctx.Err()
					case n == 3:
						later(time.Second)
					}
					return providers.Response{}, limited(time.Minute).Err
				})
				c := chainOf(t, m)
				together(t, 1, c)
				later(pastCoolDown)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var trial sync.WaitGroup
				trial.Go(func() {
					defer func() { _ = recover() }()
					_, _ = c.Generate(ctx, hi)
				})
				synctest.Wait()
				assert.Equal(t, map[string]int{"rate-limited": 10}, together(t, 10, c))
				assert.Equal(t, int64(3), calls.Load(), "one of the ten tried")
				trial.Wait()
			})
		})
	}
}

// An answer to a call that began before the cool-down says nothing about it.
func TestChainOldAnswerDoesNotEndCoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := fake.New(t, slow(says("first")), limited(time.Minute))
		c := chainOf(t, first, always(t, says("second")))
		var old sync.WaitGroup
		old.Go(func() { assert.Equal(t, map[string]int{"first": 1}, together(t, 1, c)) })
		synctest.Wait()
		assert.Equal(t, map[string]int{"second": 1}, together(t, 1, c))
		old.Wait()
		assert.Equal(t, map[string]int{"second": 1}, together(t, 1, c))
		assert.Len(t, first.Requests(), 2)
	})
}

func TestChainCoolDownsEndByChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := map[time.Duration]bool{}
		for range 200 {
			_, err := chainOf(t, fake.New(t, limited(time.Minute))).Generate(t.Context(), hi)
			e, ok := errors.AsType[*providers.Error](err)
			require.True(t, ok)
			assert.GreaterOrEqual(t, e.RetryAfter, time.Minute)
			assert.LessOrEqual(t, e.RetryAfter, time.Minute+jittered(time.Minute))
			ends[e.RetryAfter] = true
		}
		assert.Greater(t, len(ends), 100)
	})
}

func TestChainAsksOncePerCoolDown(t *testing.T) {
	t.Run("B108 a thousand callers ask a limited model once per cool-down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := always(t, slow(limited(time.Minute))), always(t, says("second"))
			c := chainOf(t, first, second)
			together(t, 1, c)
			for round := range 5 {
				assert.Equal(t, map[string]int{"second": 1000}, together(t, 1000, c), "while it cools down")
				later(pastCoolDown)
				assert.Equal(t, map[string]int{"second": 1000}, together(t, 1000, c), "when that is over")
				assert.Len(t, first.Requests(), 2+round)
			}
		})
	})
}

func BenchmarkChainLimited(b *testing.B) {
	var asked, answered atomic.Int64
	first := providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		asked.Add(1)
		return providers.Response{}, &providers.Error{Kind: providers.RateLimited, RetryAfter: time.Minute}
	})
	second := providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		answered.Add(1)
		return providers.Response{}, nil
	})
	c, err := providers.NewChain(first, second)
	require.NoError(b, err)
	if _, err := c.Generate(b.Context(), hi); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() { _, _ = c.Generate(b.Context(), hi) })
		}
		wg.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(answered.Load()), "ns/call")
	b.ReportMetric(float64(asked.Load()), "limited-calls")
}

func TestChainTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := chainOf(t, fake.New(t, slow(limited(time.Minute))), fake.New(t, fake.Hang()))
		c.Total = 5 * time.Second
		start := time.Now()
		_, err := c.Generate(t.Context(), hi)
		assert.Equal(t, 5*time.Second, time.Since(start))
		require.ErrorIs(t, err, providers.Transient)
		require.NotErrorIs(t, err, providers.Canceled, "the caller did not give up")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		e, _ := errors.AsType[*providers.Error](err)
		assert.Contains(t, e.Message, "no answer within 5s")
		assert.Equal(t, providers.Usage{Calls: 1, Input: 1}, e.Usage, "of the limited model")
	})
	t.Run("the caller's own end stays his", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := chainOf(t, fake.New(t, fake.Hang()))
			c.Total = 5 * time.Second
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := c.Generate(ctx, hi)
			require.ErrorIs(t, err, providers.Canceled)
		})
	})
	t.Run("an answer in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := chainOf(t, fake.New(t, slow(says("m"))))
			c.Total = 5 * time.Second
			assert.Equal(t, map[string]int{"m": 1}, together(t, 1, c))
		})
	})
	t.Run("a failure of another kind, when the time is over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := providers.ModelFunc(func(ctx context.Context, _ providers.Request) (providers.Response, error) {
				<-ctx.Done()
				return providers.Response{}, &providers.Error{Kind: providers.Permanent}
			})
			c := chainOf(t, m)
			c.Total = 5 * time.Second
			assert.Equal(t, map[string]int{"permanent": 1}, together(t, 1, c))
		})
	})
	t.Run("a shorter one around it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := chainOf(t, fake.New(t, fake.Hang()))
			c.Total = time.Hour
			_, err := providers.Retry{Model: c, Total: 5 * time.Second}.Generate(t.Context(), hi)
			require.ErrorIs(t, err, providers.Transient)
			require.ErrorContains(t, err, "no answer within 5s")
			assert.NotContains(t, err.Error(), "1h")
		})
	})
	t.Run("a failure in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := chainOf(t, fake.New(t, fake.Fail(providers.Invalid, 0)))
			c.Total = 5 * time.Second
			assert.Equal(t, map[string]int{"invalid": 1}, together(t, 1, c))
		})
	})
}
