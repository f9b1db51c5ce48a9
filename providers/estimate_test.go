package providers_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func TestPriceOf(t *testing.T) {
	tests := []struct {
		spec providers.Spec
		want string
	}{
		{providers.Spec{Provider: "openai", Model: "gpt-4o"}, "openai:gpt-4o"},
		{providers.Spec{Provider: "openai", Model: "gpt-4o-2024-08-06"}, "openai:gpt-4o"},
		{providers.Spec{Provider: "openai", Model: "gpt-4o", BaseURL: "https://api.openai.com/v1"}, "openai:gpt-4o"},
		{providers.Spec{Provider: "openai", Model: "gpt-4o", BaseURL: "https://gateway.example/v1"}, ""},
		{providers.Spec{Provider: "openai", Model: "gpt-4o-audio"}, ""},
		{providers.Spec{Provider: "anthropic", Model: "claude-haiku-4-5-20251001"}, "anthropic:claude-haiku-4-5"},
		{providers.Spec{Provider: "anthropic", Model: "claude-haiku-4-5", Region: "x"}, ""},
		{providers.Spec{Provider: "azure", Model: "gpt-4o", BaseURL: "https://name.openai.azure.com"}, "openai:gpt-4o"},
		{providers.Spec{Provider: "azure", Model: "prod", Family: "gpt-5-mini-2025-08-07", BaseURL: "https://name.openai.azure.com"}, "openai:gpt-5-mini"},
		{providers.Spec{Provider: "azure", Model: "prod", BaseURL: "https://name.openai.azure.com"}, ""},
		{providers.Spec{Provider: "bedrock", Model: "global.anthropic.claude-haiku-4-5-20251001-v1:0", Region: "eu-west-3"}, "anthropic:claude-haiku-4-5"},
		{providers.Spec{Provider: "bedrock", Model: "eu.anthropic.claude-3-haiku-20240307-v1:0"}, "anthropic:claude-3-haiku"},
		{providers.Spec{Provider: "bedrock", Model: "arn:aws:bedrock:x", Family: "claude-sonnet-5"}, "anthropic:claude-sonnet-5"},
		{providers.Spec{Provider: "bedrock", Model: "us.amazon.nova-pro-v1:0"}, "bedrock:amazon.nova-pro"},
		{providers.Spec{Provider: "bedrock", Model: "arn:aws:bedrock:eu-west-3:1:inference-profile/eu.amazon.nova-lite-v1:0"}, "bedrock:amazon.nova-lite"},
		{providers.Spec{Provider: "bedrock", Model: "arn:aws:bedrock:x", Family: "nova-micro"}, "bedrock:amazon.nova-micro"},
		{providers.Spec{Provider: "bedrock", Model: "meta.llama9-v1:0"}, ""},
		{providers.Spec{Provider: "openai", Model: "gpt-4o-2024-05-13"}, "openai:gpt-4o-2024-05-13"},
		{providers.Spec{Provider: "azure", Model: "gpt-4o-2024-05-13", BaseURL: "https://name.openai.azure.com"}, "openai:gpt-4o-2024-05-13"},
		{providers.Spec{Provider: "corp", Model: "m", Price: &providers.Price{}}, "corp:m"},
		{providers.Spec{Provider: "corp", Model: "m", BaseURL: "https://h"}, ""},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tt.spec.PriceOf(), tt.spec)
		p, ok := tt.spec.KnownPrice()
		assert.Equal(t, tt.want != "", ok)
		if ok && tt.spec.Price == nil {
			assert.Equal(t, providers.BuiltinPrices()[tt.want], p)
		}
	}
}

// A profile for one part of the world costs a tenth more, from Claude 4.5 on.
func TestPricesOfAPlace(t *testing.T) {
	for model, want := range map[string]providers.Price{
		"eu.anthropic.claude-sonnet-4-5-20250929-v1:0":                                                   {Input: 3_300_000_000, Output: 16_500_000_000, CacheRead: 330_000_000, CacheWrite: 4_125_000_000},
		"arn:aws:bedrock:eu-west-3:1:inference-profile/us.anthropic.claude-opus-4-8":                     {Input: 5_500_000_000, Output: 27_500_000_000, CacheRead: 550_000_000, CacheWrite: 6_875_000_000},
		"eu.anthropic.claude-sonnet-4-20250514-v1:0":                                                     {Input: 3_000_000_000, Output: 15_000_000_000, CacheRead: 300_000_000, CacheWrite: 3_750_000_000},
		"arn:aws:bedrock:eu-west-3:1:inference-profile/global.anthropic.claude-sonnet-4-5-20250929-v1:0": {Input: 3_000_000_000, Output: 15_000_000_000, CacheRead: 300_000_000, CacheWrite: 3_750_000_000},
	} {
		got, ok := providers.Spec{Provider: "bedrock", Model: model}.KnownPrice()
		assert.True(t, ok, model)
		assert.Equal(t, want, got, model)
	}
}

// A host's own list has families too.
func TestOwnPricesOfFamilies(t *testing.T) {
	own := providers.Prices{"corp:small": {Input: providers.USD, Output: providers.USD}}
	c := providers.Config{Prices: own, Roles: providers.RoleConfig{"a": {{Provider: "corp", Model: "small-2026-01-02", BaseURL: "https://h"}}}}
	roles, err := c.Open(func(providers.Spec) (providers.Model, error) { return fake.New(nil), nil })
	require.NoError(t, err)
	m, err := roles.Model("a")
	require.NoError(t, err)
	assert.True(t, m.(providers.Priced).Priced())
}

func TestEstimate(t *testing.T) {
	price := &providers.Price{Input: 2_000_000, Output: 10_000_000} // nano-USD 2 and 10 a token
	m := providers.Metered{Model: fake.New(nil), Spec: providers.Spec{Provider: "p", Model: "m", Price: price}}
	req := providers.Request{MaxTokens: 100, Messages: []providers.Message{{Role: providers.User, Text: strings.Repeat("x", 1000)}}}
	cost, ok := providers.Estimate(m, req)
	require.True(t, ok)
	assert.Equal(t, providers.NanoUSD((1000/2+16)*2+100*10), cost)

	expensive := m
	expensive.Spec.Price = &providers.Price{Input: 20_000_000, Output: 100_000_000}
	c, err := providers.NewChain(m, expensive)
	require.NoError(t, err)
	most, ok := providers.Estimate(providers.Retry{Model: c}, req)
	require.True(t, ok)
	assert.Equal(t, 10*cost, most)

	req.MaxTokens = 0
	open, ok := providers.Estimate(m, req)
	require.True(t, ok)
	assert.Equal(t, providers.NanoUSD((1000/2+16)*2+32_000*10), open)
	req.Messages[0].Parts = []providers.Part{{Kind: providers.ImagePart, URL: "https://h/a.png"}}
	with, _ := providers.Estimate(m, req)
	assert.Equal(t, open+5000*2, with)

	m.Spec.Price = nil
	_, ok = providers.Estimate(m, req)
	assert.False(t, ok)
	_, ok = providers.Estimate(fake.New(nil), req)
	assert.False(t, ok)
}

func TestDollars(t *testing.T) {
	for amount, want := range map[float64]providers.NanoUSD{
		0.10: providers.USD / 10, 2: 2 * providers.USD, 0: 0, -1.5: -3 * providers.USD / 2, 1e-10: 0,
		math.Inf(1): math.MaxInt64, math.Inf(-1): math.MinInt64,
	} {
		assert.Equal(t, want, providers.Dollars(amount), amount)
	}
	assert.Zero(t, providers.Dollars(math.NaN()))
}
