package providers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

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

// gateway knows what its calls cost.
type gateway struct{ providers.Model }

func (gateway) Priced() bool { return true }

func TestMeteredPricedByTheModel(t *testing.T) {
	m := providers.Metered{Model: gateway{answering(providers.Usage{Input: 1000, Cost: 5})}, Spec: spec("p:m")}
	assert.True(t, m.Priced())
	assert.True(t, providers.Metered{Model: m, Spec: spec("p:m")}.Priced())
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
			name: "HC46 the spec's temperature stands over a team's, the request's tokens over the spec's", spec: providers.Request{Temperature: new(0.0), MaxTokens: 7},
			req: providers.Request{Temperature: new(0.7), MaxTokens: 9}, want: providers.Request{Temperature: new(0.0), MaxTokens: 9},
		},
		{name: "of the request", req: providers.Request{Temperature: new(0.7)}, want: providers.Request{Temperature: new(0.7)}},
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
