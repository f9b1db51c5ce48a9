package providers_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/providers"
)

// dollars per million tokens: 2 in, 8 out, half a dollar cached
var price = providers.Price{Input: 2 * providers.USD, Output: 8 * providers.USD, CacheRead: providers.USD / 2}

func TestPriceCost(t *testing.T) {
	tests := []struct {
		name  string
		price providers.Price
		usage providers.Usage
		want  providers.NanoUSD
	}{
		{"nothing", price, providers.Usage{}, 0},
		{"in and out", price, providers.Usage{Input: 1000, Output: 100}, 2_800_000},                  // 1000*2000 + 100*8000
		{"cached are part of input", price, providers.Usage{Input: 1000, CacheRead: 600}, 1_100_000}, // 400*2000 + 600*500
		{"cache write at its price", providers.Price{Input: 2e9, CacheWrite: 3e9}, providers.Usage{Input: 10, CacheWrite: 4}, 24_000},
		{"cache without a price is input", providers.Price{Input: 2e9}, providers.Usage{Input: 10, CacheRead: 4, CacheWrite: 4}, 20_000},
		{"rounded up", providers.Price{Input: 1}, providers.Usage{Input: 1}, 1},                                     // a millionth
		{"rounded once", providers.Price{Input: 400_000, Output: 400_000}, providers.Usage{Input: 1, Output: 1}, 1}, // 0.8
		{"exact", providers.Price{Input: 1_000_000}, providers.Usage{Input: 7}, 7},
		{"free", providers.Price{}, providers.Usage{Input: 1000}, 0},
		{"more cached than input", price, providers.Usage{Input: 10, CacheRead: 20}, 10_000},
		{"negative", price, providers.Usage{Input: -10, Output: -1, CacheRead: -3}, 0},
		{"too much", providers.Price{Input: math.MaxInt64, Output: math.MaxInt64}, providers.Usage{Input: math.MaxInt64, Output: math.MaxInt64}, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.price.Cost(tt.usage))
		})
	}
}

func TestPriceCostNeverWrapsAndNeverForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, math.MaxInt64)
		p := providers.Price{Input: providers.NanoUSD(amount.Draw(t, "in")), Output: providers.NanoUSD(amount.Draw(t, "out"))}
		u := providers.Usage{Input: amount.Draw(t, "input"), Output: amount.Draw(t, "output"), CacheRead: amount.Draw(t, "read")}
		got := p.Cost(u)
		if got < 0 {
			t.Fatalf("%+v.Cost(%+v) = %d", p, u, got)
		}
		if paid := p.Input > 0 && u.Input > 0 || p.Output > 0 && u.Output > 0; paid && got == 0 {
			t.Fatalf("%+v.Cost(%+v) = 0", p, u)
		}
	})
}

func answering(u providers.Usage) providers.Model {
	return providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		return providers.Response{Text: "ok", Usage: u}, nil
	})
}

func TestMeteredUsage(t *testing.T) {
	tokens := providers.Usage{Input: 1000, Output: 100}
	tests := []struct {
		name  string
		price *providers.Price
		usage providers.Usage
		want  providers.Usage
	}{
		{"priced", &price, tokens, providers.Usage{Calls: 1, Input: 1000, Output: 100, Cost: 2_800_000}},
		{"no price", nil, tokens, providers.Usage{Calls: 1, Input: 1000, Output: 100, Unpriced: 1}},
		{"no tokens reported", &price, providers.Usage{}, providers.Usage{Calls: 1, Unpriced: 1}},
		{"free needs no tokens", &providers.Price{}, providers.Usage{}, providers.Usage{Calls: 1}},
		{"counted by the model", &price, providers.Usage{Calls: 3, Input: 1000, Output: 100}, providers.Usage{Calls: 3, Input: 1000, Output: 100, Cost: 2_800_000}},
		{"priced by the model", &price, providers.Usage{Input: 1000, Cost: 5}, providers.Usage{Calls: 1, Input: 1000, Cost: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := providers.Spec{Provider: "p", Model: "m", Price: tt.price}
			once := providers.Metered{Model: answering(tt.usage), Spec: spec}
			twice := providers.Metered{Model: once, Spec: spec}
			for _, m := range []providers.Metered{once, twice} {
				resp, err := m.Generate(t.Context(), providers.Request{})
				require.NoError(t, err)
				assert.Equal(t, tt.want, resp.Usage)
				assert.Equal(t, "p:m", resp.Model)
				assert.Equal(t, tt.price != nil, m.Priced())
			}
		})
	}
}

func TestMeteredFailures(t *testing.T) {
	free := &providers.Error{Kind: providers.RateLimited}
	charged := &providers.Error{Kind: providers.Transient, Usage: providers.Usage{Input: 1000}}
	plain := errors.New("plain")
	tests := []struct {
		name string
		err  error
		want providers.Usage
	}{
		{"not charged", free, providers.Usage{}},
		{"charged", charged, providers.Usage{Calls: 1, Input: 1000, Cost: 2_000_000}},
		{"another type", plain, providers.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := providers.Metered{
				Model: providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
					return providers.Response{}, tt.err
				}),
				Spec: providers.Spec{Provider: "p", Model: "m", Price: &price},
			}
			_, err := m.Generate(t.Context(), providers.Request{})
			require.ErrorIs(t, err, tt.err)
			if e, ok := errors.AsType[*providers.Error](err); ok {
				assert.Equal(t, tt.want, e.Usage)
			}
		})
	}
	assert.Equal(t, providers.Usage{Input: 1000}, charged.Usage, "the model's error is not changed")
}

func TestMeteredDefaults(t *testing.T) {
	tests := []struct {
		name      string
		spec, req providers.Request // temperature and tokens of either
		want      providers.Request
	}{
		{name: "neither"},
		{name: "of the spec", spec: providers.Request{Temperature: new(0.5), MaxTokens: 7}, want: providers.Request{Temperature: new(0.5), MaxTokens: 7}},
		{
			name: "the request wins", spec: providers.Request{Temperature: new(0.5), MaxTokens: 7},
			req: providers.Request{Temperature: new(0.0), MaxTokens: 9}, want: providers.Request{Temperature: new(0.0), MaxTokens: 9},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got providers.Request
			m := providers.Metered{
				Model: providers.ModelFunc(func(_ context.Context, req providers.Request) (providers.Response, error) {
					got = req
					return providers.Response{}, nil
				}),
				Spec: providers.Spec{Temperature: tt.spec.Temperature, MaxTokens: tt.spec.MaxTokens},
			}
			_, err := m.Generate(t.Context(), tt.req)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}
