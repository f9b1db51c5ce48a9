package providers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

var hi = providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}}

func says(model string) fake.Answer {
	return fake.Answer{Text: "ok", Model: model, Usage: providers.Usage{Input: 10}}
}

// limited is an answer that was rate limited and charged for a token.
func limited(after time.Duration) fake.Answer {
	return fake.Answer{Err: &providers.Error{
		Kind: providers.RateLimited, Status: 429, RetryAfter: after, Usage: providers.Usage{Calls: 1, Input: 1},
	}}
}

func chainOf(t *testing.T, models ...providers.Model) *providers.Chain {
	t.Helper()
	c, err := providers.NewChain(models...)
	require.NoError(t, err)
	return c
}

// later returns when so much time of the bubble has passed.
func later(d time.Duration) { <-time.After(d) }

// jittered is what may be added to a cool-down by chance.
func jittered(d time.Duration) time.Duration { return d / 10 }

func TestChainCoolsDown(t *testing.T) {
	tests := []struct {
		name       string
		retryAfter time.Duration
		want       time.Duration
	}{
		{"as said", 30 * time.Second, 30 * time.Second},
		{"not said", 0, providers.DefaultCoolDown},
		{"capped", 24 * time.Hour, providers.MaxCoolDown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := fake.New(t, limited(tt.retryAfter), says("first"))
				second := fake.New(t)
				second.When(fake.Rule{Answer: says("second")})
				c := chainOf(t, first, second)
				who := func() string {
					resp, err := c.Generate(t.Context(), hi)
					require.NoError(t, err)
					return resp.Model
				}
				assert.Equal(t, "second", who())
				later(tt.want - 1)
				assert.Equal(t, "second", who())
				later(jittered(tt.want) + 1)
				assert.Equal(t, "first", who())
				assert.Len(t, first.Requests(), 2, "skipped while it cooled down")
			})
		})
	}
}

func TestChainMovesOnAtRateLimitsOnly(t *testing.T) {
	for _, kind := range []providers.Kind{providers.Transient, providers.Permanent, providers.Invalid, providers.Canceled} {
		t.Run(string(kind), func(t *testing.T) {
			second := fake.New(t)
			c := chainOf(t, fake.New(t, fake.Fail(kind, time.Minute)), second)
			_, err := c.Generate(t.Context(), hi)
			require.ErrorIs(t, err, kind)
			require.NotErrorIs(t, err, providers.RateLimited)
			assert.Empty(t, second.Requests())
		})
	}
}

func TestChainReturnsOtherErrors(t *testing.T) {
	plain := errors.New("plain")
	fails := providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		return providers.Response{}, plain
	})
	_, err := chainOf(t, fails, fake.New(t)).Generate(t.Context(), hi)
	assert.Equal(t, plain, err)

	_, err = chainOf(t, fake.New(t, limited(0)), fails).Generate(t.Context(), hi)
	require.ErrorIs(t, err, plain)
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.Permanent, e.Kind)
	assert.Equal(t, providers.Usage{Calls: 1, Input: 1}, e.Usage)
}

func TestChainAddsUsageOfFailedLinks(t *testing.T) {
	c := chainOf(t, fake.New(t, limited(0)), fake.New(t, limited(0)), fake.New(t, says("third")))
	resp, err := c.Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, "third", resp.Model)
	assert.Equal(t, providers.Usage{Calls: 3, Input: 12, Fallbacks: 1}, resp.Usage)

	broken := fake.Answer{Err: &providers.Error{Kind: providers.Transient, Usage: providers.Usage{Calls: 1, Input: 5}}}
	c = chainOf(t, fake.New(t, limited(0)), fake.New(t, broken))
	_, err = c.Generate(t.Context(), hi)
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Equal(t, providers.Usage{Calls: 2, Input: 6}, e.Usage)
}

func TestChainAllLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := fake.New(t, limited(time.Minute)), fake.New(t, limited(20*time.Second), says("b"))
		c := chainOf(t, a, b)
		failure := func() *providers.Error {
			_, err := c.Generate(t.Context(), hi)
			var e *providers.Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, providers.RateLimited)
			assert.Equal(t, 429, e.Status)
			assert.Contains(t, e.Error(), "all 2 models")
			return e
		}
		e := failure()
		whole := e.RetryAfter
		assert.GreaterOrEqual(t, whole, 20*time.Second, "of b, which is free first")
		assert.LessOrEqual(t, whole, 22*time.Second)
		assert.Equal(t, providers.Usage{Calls: 2, Input: 2}, e.Usage)

		later(5 * time.Second)
		e = failure()
		assert.Equal(t, whole-5*time.Second, e.RetryAfter, "what is left")
		assert.Zero(t, e.Usage, "no model was called")

		later(e.RetryAfter)
		resp, err := c.Generate(t.Context(), hi)
		require.NoError(t, err)
		assert.Equal(t, "b", resp.Model)
	})
}

func TestChainOfOneCoolsDownToo(t *testing.T) {
	m := fake.New(t, limited(time.Minute))
	c := chainOf(t, m)
	for range 3 {
		_, err := c.Generate(t.Context(), hi)
		var e *providers.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, providers.RateLimited, e.Kind)
	}
	assert.Len(t, m.Requests(), 1)
}

func TestChainInAChain(t *testing.T) {
	inner := chainOf(t, fake.New(t, limited(time.Minute)), fake.New(t, limited(time.Minute)))
	resp, err := chainOf(t, inner, fake.New(t, says("last"))).Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, "last", resp.Model)
}

func TestChainStopsWhenCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	first := providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		cancel(why)
		return providers.Response{}, &providers.Error{Kind: providers.RateLimited, Usage: providers.Usage{Calls: 1, Input: 1}}
	})
	second := fake.New(t)
	_, err := chainOf(t, first, second).Generate(ctx, hi)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, why)
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.Canceled, e.Kind)
	assert.Equal(t, int64(1), e.Usage.Calls)
	assert.Empty(t, second.Requests())
}

func TestChainLaterAnswerDoesNotShortenCoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long, short := limited(time.Minute), limited(time.Second)
		long.Latency, short.Latency = time.Second, 2*time.Second
		m := fake.New(t, long, short)
		c := chainOf(t, m)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = c.Generate(t.Context(), hi) })
		}
		wg.Wait()
		_, err := c.Generate(t.Context(), hi)
		var e *providers.Error
		require.ErrorAs(t, err, &e)
		assert.GreaterOrEqual(t, e.RetryAfter, 59*time.Second, "the second answer came a second later")
	})
}

func TestChainPriced(t *testing.T) {
	known := providers.Metered{Model: fake.New(t), Spec: providers.Spec{Price: &providers.Price{}}}
	unknown := providers.Metered{Model: fake.New(t)}
	assert.True(t, chainOf(t, known, known).Priced())
	assert.False(t, chainOf(t, known, unknown).Priced())
	assert.False(t, chainOf(t, known, fake.New(t)).Priced())
}

func TestNewChainFaults(t *testing.T) {
	_, err := providers.NewChain()
	require.EqualError(t, err, "providers: chain is empty")
	_, err = providers.NewChain(fake.New(t), nil)
	require.EqualError(t, err, "providers: model 2 of the chain is nil")
}

// Each model of a chain has its own key, whichever models are called before it.
func TestChainModelsHaveKeys(t *testing.T) {
	var keys []string
	m := providers.ModelFunc(func(ctx context.Context, _ providers.Request) (providers.Response, error) {
		keys = append(keys, providers.KeyFrom(ctx))
		if len(keys)%2 == 1 {
			return providers.Response{}, limited(time.Hour).Err
		}
		return providers.Response{}, nil
	})
	ctx := providers.WithKey(t.Context(), "k")
	c := chainOf(t, m, m)
	_, err := c.Generate(ctx, hi)
	require.NoError(t, err)
	assert.Equal(t, []string{"k", "k~1"}, keys)
	keys = []string{""}
	_, err = c.Generate(ctx, hi)
	require.NoError(t, err)
	assert.Equal(t, []string{"", "k~1"}, keys, "the first one is left out")
}
