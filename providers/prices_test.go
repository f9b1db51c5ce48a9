package providers_test

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

func TestBuiltinPrices(t *testing.T) {
	data, err := os.ReadFile("prices.json")
	require.NoError(t, err)
	var file struct {
		About  string
		Prices map[string]struct{ Date, Source string }
	}
	require.NoError(t, json.Unmarshal(data, &file))
	rows := file.Prices
	assert.Contains(t, file.About, "check these")
	assert.GreaterOrEqual(t, len(rows), 70)
	list := providers.BuiltinPrices()
	for model, row := range rows {
		t.Run(model, func(t *testing.T) {
			_, err := time.Parse(time.DateOnly, row.Date)
			require.NoError(t, err)
			u, err := url.Parse(row.Source)
			require.NoError(t, err)
			assert.Equal(t, "https", u.Scheme)

			s := spec(model)
			require.NoError(t, providers.RoleConfig{"a": {s}}.Validate())
			p := list[model]
			assert.Positive(t, p.Input)
			assert.Greater(t, p.Output, p.Input)
			assert.Less(t, p.CacheRead, p.Input, "reading a cache is cheaper")
			if p.Above > 0 {
				assert.Greater(t, p.Long.Input, p.Input, "long calls are dearer")
				assert.Greater(t, p.Long.Output, p.Output)
				assert.Greater(t, p.Long.CacheRead, p.CacheRead)
			}
			known, ok := s.KnownPrice()
			assert.True(t, ok)
			assert.Equal(t, p, known)
		})
	}
	assert.Len(t, list, len(rows))
}

func TestBuiltinPricesAreTheVendors(t *testing.T) {
	usd := func(text string) providers.Price {
		var p providers.Price
		require.NoError(t, json.Unmarshal([]byte(text), &p))
		return p
	}
	list := providers.BuiltinPrices()
	for model, want := range map[string]string{
		"anthropic:" + providers.DefaultSonnet: `{"input": 2, "output": 10, "cacheRead": 0.1, "cacheWrite": 2.5}`,
		"anthropic:" + providers.DefaultHaiku: `{"input": 0.1, "output": 0.5, "cacheRead": 0.01, "cacheWrite": 0.125,
			"above": 100000, "long": {"input": 0.5, "output": 2.5, "cacheRead": 0.05, "cacheWrite": 0.625}}`,
		"openai:gpt-4o":         `{"input": 2.5, "output": 10, "cacheRead": 1.25}`,
		"google:gemini-2.5-pro": `{"input": 1.25, "output": 10, "cacheRead": 0.125, "above": 200000, "long": {"input": 2.5, "output": 15, "cacheRead": 0.25}}`,
		"glm:glm-5":             `{"input": 1, "output": 3.2, "cacheRead": 0.2}`,
	} {
		assert.Equal(t, usd(want), list[model], model)
	}
}

func TestBuiltinPricesAreACopy(t *testing.T) {
	delete(providers.BuiltinPrices(), "openai:gpt-4o")
	assert.Contains(t, providers.BuiltinPrices(), "openai:gpt-4o")
}

func TestKnownPrice(t *testing.T) {
	here := spec("openai:gpt-4o")
	elsewhere, region, own := here, here, here
	elsewhere.BaseURL = "https://proxy/v1"
	region.Region = "eu-central-1"
	own.Price, own.BaseURL = &price, "https://proxy/v1"
	for name, tt := range map[string]struct {
		spec  providers.Spec
		known bool
	}{
		"here": {here, true}, "elsewhere": {elsewhere, false}, "region": {region, false}, "own": {own, true}, "no such model": {spec("openai:gpt-0"), false},
	} {
		_, known := tt.spec.KnownPrice()
		assert.Equal(t, tt.known, known, name)
		assert.Equal(t, tt.known, providers.Metered{Model: answering(providers.Usage{}), Spec: tt.spec}.Priced(), name)
	}
	got, _ := own.KnownPrice()
	assert.Equal(t, price, got)
}

const litellmJSON = `{
	"sample_spec": {"litellm_provider": "one of", "input_cost_per_token": 0.1, "output_cost_per_token": 0.1, "max_tokens": "text", "mode": "one of: chat"},
	"fallback_generalizations": {"rules": []},
	"gpt-x": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1.25e-06, "input_cost_per_token_batches": 1, "supports_vision": true},
	"gemini/gemini-x": {"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05, "output_cost_per_reasoning_token": 2e-05,
		"input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token_above_200k_tokens": 1.5e-05, "cache_read_input_token_cost_above_200k_tokens": 2.5e-07},
	"claude-x": {"litellm_provider": "anthropic", "mode": "responses", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05, "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06},
	"zai/glm-x": {"litellm_provider": "zai", "input_cost_per_token": 1e-06, "output_cost_per_token": 3.2e-06, "cache_creation_input_token_cost": 0},
	"eu.vendor.model-x-v1:0": {"litellm_provider": "bedrock_converse", "mode": "chat", "input_cost_per_token": 6e-08, "output_cost_per_token": 2.4e-07},
	"bedrock/vendor.old": {"litellm_provider": "bedrock", "mode": "completion", "input_cost_per_token": 6e-08, "output_cost_per_token": 2.4e-07},
	"mistral/large": {"litellm_provider": "mistral", "mode": "chat", "input_cost_per_token": 5e-07, "output_cost_per_token": 1.5e-06},
	"free": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0},
	"half": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06},
	"dall-x": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
	"two limits": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
	"two-limits": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06, "input_cost_per_token_above_128k_tokens": 2e-06, "output_cost_per_token_above_128k_tokens": 2e-06,
		"input_cost_per_token_above_256k_tokens": 3e-06, "output_cost_per_token_above_256k_tokens": 3e-06},
	"bedrock/vendor.new": {"litellm_provider": "bedrock_converse", "mode": "chat", "input_cost_per_token": 6e-08, "output_cost_per_token": 2.4e-07},
	"half-limit": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06, "input_cost_per_token_above_128k_tokens": 2e-06},
	"no-limit": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06, "input_cost_per_token_above_0k_tokens": 2e-06},
	"tiers": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06, "tiered_pricing": []},
	"negative": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": -1e-06, "output_cost_per_token": 1e-06},
	"dear": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2, "output_cost_per_token": 1e-06},
	"text": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": "1e-06", "output_cost_per_token": 1e-06},
	"nobodys": {"mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
	"not a model": 7
}`

func TestLiteLLMPrices(t *testing.T) {
	got, err := providers.LiteLLMPrices([]byte(litellmJSON))
	require.NoError(t, err)
	assert.Equal(t, providers.Prices{
		"openai:gpt-x": {Input: 2_500_000_000, Output: 10_000_000_000, CacheRead: 1_250_000_000},
		"google:gemini-x": {
			Input: 1_250_000_000, Output: 10_000_000_000, Reasoning: 20_000_000_000,
			Above: 200_000, Long: providers.Rates{Input: 2_500_000_000, Output: 15_000_000_000, CacheRead: 250_000_000},
		},
		"anthropic:claude-x":             {Input: 3_000_000_000, Output: 15_000_000_000, CacheWrite: 3_750_000_000},
		"glm:glm-x":                      {Input: 1_000_000_000, Output: 3_200_000_000},
		"bedrock:eu.vendor.model-x-v1:0": {Input: 60_000_000, Output: 240_000_000},
		"bedrock:vendor.new":             {Input: 60_000_000, Output: 240_000_000},
		"bedrock:vendor.old":             {Input: 60_000_000, Output: 240_000_000},
		"mistral:large":                  {Input: 500_000_000, Output: 1_500_000_000},
	}, got)
}

const modelsDevJSON = `{
	"openai": {"id": "openai", "env": ["OPENAI_API_KEY"], "models": {
		"gpt-x": {"id": "gpt-x", "limit": {"context": 1}, "cost": {"input": 2.5, "output": 10, "cache_read": 1.25, "input_audio": 40}},
		"tiered": {"cost": {"input": 5, "output": 30, "cache_read": 0.5, "tiers": [{"input": 10, "output": 45, "cache_read": 1, "tier": {"type": "context", "size": 272000}}], "context_over_200k": {"input": 10, "output": 45}}},
		"two-tiers": {"cost": {"input": 5, "output": 30, "tiers": [{"input": 10, "output": 45, "tier": {"size": 1}}, {"input": 10, "output": 45, "tier": {"size": 2}}]}},
		"time-of-day": {"cost": {"input": 5, "output": 30, "tiers": [{"input": 10, "output": 45, "tier": {"type": "time", "size": 2}}]}},
		"no-size": {"cost": {"input": 5, "output": 30, "tiers": [{"input": 10, "output": 45}]}},
		"no-output": {"cost": {"input": 5}},
		"no-cost": {},
		"two words": {"cost": {"input": 5, "output": 30}}
	}},
	"google": {"models": {"gemini-x": {"cost": {"input": 1.25, "output": 10, "reasoning": 12, "cache_write": 0.5, "context_over_200k": {"input": 2.5, "output": 15, "cache_read": 0.25}}}}},
	"zai": {"models": {"glm-x": {"cost": {"input": 1, "output": 3.2}}, "glm-plan": {"cost": {"input": 0, "output": 0, "cache_read": 0}}}},
	"amazon-bedrock": {"models": {"vendor.model-x-v1:0": {"cost": {"input": 0.06, "output": 0.24}}}},
	"mistral": {"models": {"large": {"cost": {"input": 0.5, "output": 1.5}}}}
}`

func TestModelsDevPrices(t *testing.T) {
	got, err := providers.ModelsDevPrices([]byte(modelsDevJSON))
	require.NoError(t, err)
	assert.Equal(t, providers.Prices{
		"openai:gpt-x": {Input: 2_500_000_000, Output: 10_000_000_000, CacheRead: 1_250_000_000},
		"openai:tiered": {
			Input: 5_000_000_000, Output: 30_000_000_000, CacheRead: 500_000_000,
			Above: 272_000, Long: providers.Rates{Input: 10_000_000_000, Output: 45_000_000_000, CacheRead: 1_000_000_000},
		},
		"google:gemini-x": {
			Input: 1_250_000_000, Output: 10_000_000_000, Reasoning: 12_000_000_000, CacheWrite: 500_000_000,
			Above: 200_000, Long: providers.Rates{Input: 2_500_000_000, Output: 15_000_000_000, CacheRead: 250_000_000},
		},
		"glm:glm-x":                   {Input: 1_000_000_000, Output: 3_200_000_000},
		"bedrock:vendor.model-x-v1:0": {Input: 60_000_000, Output: 240_000_000},
		"mistral:large":               {Input: 500_000_000, Output: 1_500_000_000},
	}, got)
}

type reader struct {
	name string
	read func([]byte) (providers.Prices, error)
	ours string // a list in its format

	seeds []string // short ones, for fuzzing
}

var readers = []reader{
	{"litellm", providers.LiteLLMPrices, litellmJSON, []string{
		`{"p/m":{"litellm_provider":"p","input_cost_per_token":1e-6,"output_cost_per_token":2e-6}}`,
		`{"m":{"litellm_provider":"gemini","mode":"chat","input_cost_per_token":1,"output_cost_per_token":0,"input_cost_per_token_above_9k_tokens":1,"output_cost_per_token_above_9k_tokens":1}}`,
	}},
	{"models.dev", providers.ModelsDevPrices, modelsDevJSON, []string{
		`{"p":{"models":{"m":{"cost":{"input":1,"output":2}}}}}`,
		`{"p":{"models":{"m":{"cost":{"input":1,"output":2,"tiers":[{"input":1,"output":2,"tier":{"size":3}}]}}}}}`,
		`{"p":{"models":{"m":{"cost":{"input":1,"output":2,"context_over_200k":{"input":0,"output":1}}}}}}`,
	}},
}

func TestPublicPricesFaults(t *testing.T) {
	for i, r := range readers {
		t.Run(r.name, func(t *testing.T) {
			_, err := r.read([]byte(readers[1-i].ours))
			require.ErrorContains(t, err, "providers: "+r.name+" prices: ", "the other list")
			for text, want := range map[string]string{
				"":                       "unexpected end of JSON input",
				"<html>":                 "invalid character '<'",
				"[]":                     "cannot unmarshal array",
				"{}":                     "no model has a price",
				"null":                   "no model has a price",
				`{"error": "404"}`:       "providers: " + r.name + " prices: ",
				strings.Repeat("[", 1e6): "exceeded max depth",
			} {
				got, err := r.read([]byte(text))
				require.ErrorContains(t, err, want, text[:min(len(text), 40)])
				assert.ErrorContains(t, err, "providers: "+r.name+" prices: ")
				assert.Nil(t, got)
			}
		})
	}
}

// What is read can be used, whatever was in the list.
func fuzzReader(f *testing.F, r reader) {
	f.Helper()
	for _, seed := range r.seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := r.read(data)
		require.Equal(t, err != nil, got == nil)
		require.NoError(t, providers.Config{Roles: providers.Defaults(), Prices: got}.Validate())
		for model, p := range got {
			assert.Positive(t, p.Cost(providers.Usage{Input: 1, Output: 1}), model)
		}
	})
}

func FuzzLiteLLMPrices(f *testing.F)   { fuzzReader(f, readers[0]) }
func FuzzModelsDevPrices(f *testing.F) { fuzzReader(f, readers[1]) }
