package providers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/providers"
)

func TestPriceJSON(t *testing.T) {
	tests := []struct {
		text string
		want providers.Price
	}{
		{`{"input": 3, "output": 15}`, providers.Price{Input: 3 * providers.USD, Output: 15 * providers.USD}},
		{`{"input": 0.1, "output": 0.5, "cacheRead": 0.01, "cacheWrite": 0.125, "reasoning": 1e-9}`, providers.Price{
			Input: 100_000_000, Output: 500_000_000, CacheRead: 10_000_000, CacheWrite: 125_000_000, Reasoning: 1,
		}},
		{`{"input": 0, "output": 2}`, providers.Price{Output: 2 * providers.USD}},
		{`{"input": "3.75", "output": 1000000}`, providers.Price{Input: 3_750_000_000, Output: 1_000_000 * providers.USD}},
		{`{"input": 1, "output": 2, "above": 100000, "long": {"input": 5, "output": 6, "cacheRead": 7}}`, providers.Price{
			Input: providers.USD, Output: 2 * providers.USD, Above: 100_000,
			Long: providers.Rates{Input: 5 * providers.USD, Output: 6 * providers.USD, CacheRead: 7 * providers.USD},
		}},
		{`{"input": 1, "output": 2, "date": "2026-11-01", "source": "https://host"}`, providers.Price{Input: providers.USD, Output: 2 * providers.USD}},
		{`{}`, providers.Price{}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var p providers.Price
			require.NoError(t, json.Unmarshal([]byte(tt.text), &p))
			assert.Equal(t, tt.want, p)
		})
	}
}

func TestPriceJSONFaults(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"input": 3}`, "price.output is missing: 0 is free"},
		{`{"output": 3, "input": 1, "above": 5, "long": {"input": 1}}`, "price.long.output is missing: 0 is free"},
		{`{"input": -1, "output": 1}`, "price.input is -1, want USD for a million tokens, 0 to 1000000"},
		{`{"input": 3000000000, "output": 1}`, "price.input is 3000000000, want USD"},
		{`{"input": 1e999, "output": 1}`, "price.input is 1e999, want USD"},
		{`{"input": 1, "output": true}`, "cannot unmarshal bool"},
		{`{"input": 1, "output": 1, "long": {"input": 1, "output": 1}}`, "price.long has no price.above"},
		{`{"input": 1, "output": 1, "above": 7}`, "price.above has no price.long"},
		{`{"input": 1, "output": 1, "above": -7}`, "price.above is -7, want 0 or more"},
		{`{"input": 1, "output": 1, "inputs": 1}`, `unknown field "inputs"`},
		{`{"source": "it is ours"}`, "price.input is missing: 0 is free"},
		{`3`, "cannot unmarshal number"},
		{`{"input": -1}`, "price.output is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			p := price
			require.ErrorContains(t, json.Unmarshal([]byte(tt.text), &p), tt.want)
			assert.Equal(t, price, p, "nothing is half read")
		})
	}
}

func TestPricesJSONFaults(t *testing.T) {
	for text, want := range map[string]string{
		`{"p:m": null}`:           `prices of "p:m": there is none: {} is free`,
		`{"p:m": {"input": "x"}}`: `prices of "p:m": price: json: invalid number literal`,
		`[1]`:                     "prices: json: cannot unmarshal array",
		`{"b": 1, "a": 2}`:        "prices of \"a\": price: json: cannot unmarshal number into Go value of type providers.priceJSON\nprices of \"b\"",
	} {
		p := providers.Prices{"kept": price}
		require.ErrorContains(t, json.Unmarshal([]byte(text), &p), want)
		assert.Equal(t, providers.Prices{"kept": price}, p)
	}
}

func drawRates(t *rapid.T, name string) providers.Rates {
	amount := rapid.Int64Range(0, int64(1_000_000*providers.USD))
	draw := func(part string) providers.NanoUSD { return providers.NanoUSD(amount.Draw(t, name+part)) }
	return providers.Rates{Input: draw("in"), Output: draw("out"), CacheRead: draw("read"), CacheWrite: draw("write"), Reasoning: draw("reasoning")}
}

func drawPrice(t *rapid.T) providers.Price {
	r := drawRates(t, "")
	p := providers.Price{Input: r.Input, Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, Reasoning: r.Reasoning}
	if rapid.Bool().Draw(t, "tiered") {
		p.Above = rapid.Int64Range(1, 1_000_000).Draw(t, "above")
		p.Long = drawRates(t, "long ")
		p.Long.Input = max(p.Long.Input, 1)
	}
	return p
}

// Every price that is allowed comes back from its JSON to the nano-USD.
func TestPriceJSONIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		text, err := json.Marshal(p)
		require.NoError(t, err)
		var back providers.Price
		require.NoError(t, json.Unmarshal(text, &back), string(text))
		assert.Equal(t, p, back, string(text))
		assert.False(t, strings.Contains(string(text), "e+"), string(text))
	})
}
