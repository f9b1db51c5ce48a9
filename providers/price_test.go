package providers_test

import (
	"cmp"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/providers"
)

// dollars per million tokens: 2 in, 8 out, half a dollar cached
var price = providers.Price{Input: 2 * providers.USD, Output: 8 * providers.USD, CacheRead: providers.USD / 2}

// like Claude Haiku 5.5: dearer for more than 100,000 tokens of input
var tiered = providers.Price{
	Input: 100_000_000, Output: 500_000_000, CacheRead: 10_000_000, CacheWrite: 125_000_000,
	Above: 100_000, Long: providers.Rates{Input: 500_000_000, Output: 2_500_000_000, CacheRead: 50_000_000, CacheWrite: 625_000_000},
}

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
		{"BA115 three and fifteen dollars", providers.Price{Input: 3 * providers.USD, Output: 15 * providers.USD}, providers.Usage{Input: 12_000, Output: 2_000}, 66_000_000}, // 0.066 USD
		{"reasoning is part of output", price, providers.Usage{Output: 100, Reasoning: 60}, 800_000},                                                                          // 100*8000
		{"reasoning at its price", providers.Price{Output: 2e9, Reasoning: 3e9}, providers.Usage{Output: 10, Reasoning: 4}, 24_000},                                           // 6*2000 + 4*3000
		{"more reasoning than output", providers.Price{Output: 2e9, Reasoning: 3e9}, providers.Usage{Output: 10, Reasoning: 40}, 30_000},
		{"negative reasoning", price, providers.Usage{Output: 100, Reasoning: -60}, 800_000},
		{"as long as allowed", tiered, providers.Usage{Input: 100_000, CacheRead: 40_000, CacheWrite: 10_000, Output: 1000, Reasoning: 500}, 7_150_000}, // 50000*100 + 40000*10 + 10000*125 + 1000*500
		{"longer, all of it", tiered, providers.Usage{Input: 100_001, CacheRead: 40_000, CacheWrite: 10_000, Output: 1000, Reasoning: 500}, 35_750_500}, // 50001*500 + 40000*50 + 10000*625 + 1000*2500
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
		draw := func(name string) providers.NanoUSD { return providers.NanoUSD(amount.Draw(t, name)) }
		p := providers.Price{Input: draw("in"), Output: draw("out"), CacheRead: draw("read"), CacheWrite: draw("write"), Reasoning: draw("reasoning")}
		u := providers.Usage{
			Input: amount.Draw(t, "input"), Output: amount.Draw(t, "output"), Reasoning: amount.Draw(t, "thought"),
			CacheRead: amount.Draw(t, "was read"), CacheWrite: amount.Draw(t, "was written"),
		}
		got := p.Cost(u)
		if got < 0 {
			t.Fatalf("%+v.Cost(%+v) = %d", p, u, got)
		}
		if paid := p.Input > 0 && u.Input > 0 || p.Output > 0 && u.Output > 0; paid && got == 0 {
			t.Fatalf("%+v.Cost(%+v) = 0", p, u)
		}
	})
}

// The sum by the formula, in numbers of any size, is what Cost rounds up.
func TestPriceCostIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		count := rapid.Int64Range(0, 2_000_000)
		u := providers.Usage{Input: count.Draw(t, "input"), Output: count.Draw(t, "output")}
		u.CacheRead = rapid.Int64Range(0, u.Input).Draw(t, "was read")
		u.CacheWrite = rapid.Int64Range(0, u.Input-u.CacheRead).Draw(t, "was written")
		u.Reasoning = rapid.Int64Range(0, u.Output).Draw(t, "thought")
		r := providers.Rates{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, Reasoning: p.Reasoning}
		if p.Above > 0 && u.Input > p.Above {
			r = p.Long
		}
		sum := new(big.Int)
		add := func(tokens int64, rates ...providers.NanoUSD) {
			product := big.NewInt(tokens)
			sum.Add(sum, product.Mul(product, big.NewInt(int64(cmp.Or(rates...)))))
		}
		add(u.Input-u.CacheRead-u.CacheWrite, r.Input)
		add(u.CacheRead, r.CacheRead, r.Input)
		add(u.CacheWrite, r.CacheWrite, r.Input)
		add(u.Output-u.Reasoning, r.Output)
		add(u.Reasoning, r.Reasoning, r.Output)
		million := big.NewInt(1_000_000)
		sum.Add(sum, big.NewInt(999_999)).Div(sum, million)
		if got := p.Cost(u); got != providers.NanoUSD(sum.Int64()) {
			t.Fatalf("%+v.Cost(%+v) = %d, want %s", p, u, got, sum)
		}
	})
}
