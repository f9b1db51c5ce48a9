package providers_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// down is a failure that may pass, charged for a token.
func down(after time.Duration) fake.Answer {
	return fake.Answer{Err: &providers.Error{
		Kind: providers.Transient, Status: 503, Message: "down", RetryAfter: after, Usage: providers.Usage{Calls: 1, Input: 1},
	}}
}

func TestRetryUntilItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t, down(0), limited(0), down(0), says("m"))
		start := time.Now()
		resp, err := providers.Retry{Model: m}.Generate(t.Context(), hi)
		require.NoError(t, err)
		assert.Equal(t, "m", resp.Model)
		assert.Equal(t, providers.Usage{Calls: 4, Input: 13}, resp.Usage, "of all attempts")
		// 1 + 2 + 4 seconds, each give or take a half
		assert.GreaterOrEqual(t, time.Since(start), 3500*time.Millisecond)
		assert.LessOrEqual(t, time.Since(start), 10500*time.Millisecond)
	})
}

func TestRetryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t, down(0), down(0), down(0))
		_, err := providers.Retry{Model: m, Attempts: 3}.Generate(t.Context(), hi)
		require.ErrorIs(t, err, providers.Transient)
		e, _ := errors.AsType[*providers.Error](err)
		assert.Equal(t, 503, e.Status, "the last failure itself")
		assert.Equal(t, providers.Usage{Calls: 3, Input: 3}, e.Usage)
	})
}

func TestRetryOnlyWhatMayPass(t *testing.T) {
	for _, kind := range []providers.Kind{providers.Permanent, providers.Invalid, providers.Canceled} {
		t.Run(string(kind), func(t *testing.T) {
			m := fake.New(t, fake.Fail(kind, 0))
			_, err := providers.Retry{Model: m}.Generate(t.Context(), hi)
			require.ErrorIs(t, err, kind)
			assert.Len(t, m.Requests(), 1)
		})
	}
	t.Run("after one that may", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := fake.New(t, down(0), fake.Fail(providers.Permanent, 0))
			_, err := providers.Retry{Model: m}.Generate(t.Context(), hi)
			require.ErrorIs(t, err, providers.Permanent)
			e, _ := errors.AsType[*providers.Error](err)
			assert.Equal(t, providers.Usage{Calls: 1, Input: 1}, e.Usage)
		})
	})
}

func TestRetryWaitsAsLongAsTheVendorAsks(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		retry providers.Retry
		asked int
		took  time.Duration
	}{
		{"longer than the backoff", time.Minute, providers.Retry{}, 2, time.Minute},
		{"as long as is believed", providers.MaxCoolDown, providers.Retry{}, 2, providers.MaxCoolDown},
		{"longer than that", providers.MaxCoolDown*11/10 + 1, providers.Retry{}, 1, 0},
		{"longer than the total", time.Minute, providers.Retry{Total: 30 * time.Second}, 1, 0},
		{"no longer than the total", time.Minute, providers.Retry{Total: 2 * time.Minute}, 2, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.retry.Model = fake.New(t, append([]fake.Answer{limited(tt.after)}, []fake.Answer{says("m")}[:tt.asked-1]...)...)
				start := time.Now()
				_, err := tt.retry.Generate(t.Context(), hi)
				assert.Equal(t, tt.took, time.Since(start))
				assert.Equal(t, tt.asked == 2, err == nil, err)
				if err != nil {
					require.ErrorIs(t, err, providers.RateLimited)
				}
			})
		})
	}
}

// A wait that would outlast the caller is not begun.
func TestRetrySeesTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		start := time.Now()
		_, err := providers.Retry{Model: fake.New(t, limited(time.Minute))}.Generate(ctx, hi)
		require.ErrorIs(t, err, providers.RateLimited)
		assert.Zero(t, time.Since(start))
	})
}

func TestRetryIsCanceledWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(why) })
		start := time.Now()
		_, err := providers.Retry{Model: fake.New(t, down(time.Minute))}.Generate(ctx, hi)
		assert.Equal(t, 10*time.Second, time.Since(start))
		require.ErrorIs(t, err, providers.Canceled)
		require.ErrorIs(t, err, why)
		require.NotErrorIs(t, err, providers.Transient)
		e, _ := errors.AsType[*providers.Error](err)
		assert.Equal(t, providers.Usage{Calls: 1, Input: 1}, e.Usage)
		assert.Contains(t, e.Message, "before that: transient (HTTP 503): down")
	})
}

func TestRetryTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t, down(10*time.Second), fake.Hang())
		start := time.Now()
		_, err := providers.Retry{Model: m, Total: time.Minute}.Generate(t.Context(), hi)
		assert.Equal(t, time.Minute, time.Since(start))
		require.ErrorIs(t, err, providers.Transient)
		require.NotErrorIs(t, err, providers.Canceled)
		e, _ := errors.AsType[*providers.Error](err)
		assert.Contains(t, e.Message, "no answer within 1m0s")
		assert.Contains(t, e.Message, "before that: transient (HTTP 503): down")
		assert.Equal(t, providers.Usage{Calls: 1, Input: 1}, e.Usage)
	})
}

func TestRetryBackoffGrowsToMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		m := providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
			asked = append(asked, time.Now())
			return providers.Response{}, down(0).Err
		})
		r := providers.Retry{Model: m, Attempts: 6, Initial: 2 * time.Minute, Max: 8 * time.Minute} // 30 minutes in all
		const runs = 200
		var sums [5]time.Duration
		for range runs {
			asked = nil
			_, err := r.Generate(t.Context(), hi)
			require.Error(t, err)
			require.Len(t, asked, 6)
			for i, mean := range []time.Duration{2, 4, 8, 8, 8} {
				wait := asked[i+1].Sub(asked[i])
				assert.GreaterOrEqual(t, wait, mean*time.Minute/2, i)
				assert.LessOrEqual(t, wait, mean*time.Minute*3/2, i)
				sums[i] += wait
			}
		}
		for i, mean := range []time.Duration{2, 4, 8, 8, 8} {
			assert.InEpsilon(t, mean*time.Minute, sums[i]/runs, 0.15, i) // seven standard deviations
		}
	})
}

func TestRetryIsSafeForConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New(t)
		m.When(fake.Rule{Times: 100, Answer: slow(down(0))})
		m.When(fake.Rule{Answer: says("m")})
		assert.Equal(t, map[string]int{"m": 100}, together(t, 100, providers.Retry{Model: m}))
	})
}

func TestRetryPriced(t *testing.T) {
	known := providers.Metered{Model: fake.New(t), Spec: providers.Spec{Price: &price}}
	assert.True(t, providers.Retry{Model: known}.Priced())
	assert.False(t, providers.Retry{Model: providers.Metered{Model: fake.New(t)}}.Priced())
	assert.False(t, providers.Retry{Model: fake.New(t)}.Priced())
}

func TestRetryWithoutModel(t *testing.T) {
	_, err := providers.Retry{}.Generate(t.Context(), hi)
	require.ErrorIs(t, err, providers.Invalid)
	assert.ErrorContains(t, err, "Retry.Model is nil")
}

// Attempts have different keys, so that a model that recognizes keys tells them apart.
func TestRetryAttemptsHaveKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		m := providers.ModelFunc(func(ctx context.Context, _ providers.Request) (providers.Response, error) {
			keys = append(keys, providers.KeyFrom(ctx))
			return providers.Response{}, down(0).Err
		})
		r := providers.Retry{Model: m, Attempts: 3}
		_, _ = r.Generate(providers.WithKey(t.Context(), "k"), hi)
		_, _ = r.Generate(t.Context(), hi)
		assert.Equal(t, []string{"k", "k~1", "k~2", "", "", ""}, keys)
	})
}
