package providers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Price is what a million tokens of one model cost. The zero Price is free.
//
// In JSON its amounts are in USD, as vendors publish them: {"input": 3, "output":
// 15, "cacheRead": 0.3}. Input and output must be there, unless it is {}, which is
// free. It may have a date and a source, for people; they are not kept.
type Price struct {
	Input      NanoUSD // nano-USD for a million tokens of input
	Output     NanoUSD // nano-USD for a million tokens of output
	CacheRead  NanoUSD // 0: as Input
	CacheWrite NanoUSD // 0: as Input
	Reasoning  NanoUSD // 0: as Output

	// Above is how many input tokens, cached ones included, a call may have at
	// these rates. All tokens of a call that has more are at those of Long.
	// 0: there is no such limit, and Long is not set.
	Above int64
	Long  Rates
}

// Rates are the amounts of a [Price], with the same zero values.
type Rates struct {
	Input      NanoUSD // nano-USD for a million tokens of input
	Output     NanoUSD // nano-USD for a million tokens of output
	CacheRead  NanoUSD // nano-USD for a million tokens read from the cache
	CacheWrite NanoUSD // nano-USD for a million tokens written to the cache
	Reasoning  NanoUSD // nano-USD for a million tokens of reasoning
}

// perTokens is how many tokens a Price is for.
const perTokens = 1_000_000

// maxRate is the highest amount that is accepted: more is a mistake in the unit.
const maxRate = 1_000_000 * USD

// Cost returns what the tokens of one call cost at p:
//
//	(Input - CacheRead - CacheWrite)*p.Input + CacheRead*p.CacheRead + CacheWrite*p.CacheWrite +
//	(Output - Reasoning)*p.Output + Reasoning*p.Reasoning
//
// Input includes the cached tokens, and Output those of reasoning, whatever the
// vendor's own way of counting. The sum is exact and rounded up once, to a whole
// nano-USD, so what is not free never costs 0. Negative counts are taken as 0, and
// a sum that does not fit is the largest NanoUSD.
func (p Price) Cost(u Usage) NanoUSD {
	r := p.rates()
	if p.Above > 0 && u.Input > p.Above {
		r = p.Long
	}
	read, write := max(u.CacheRead, 0), max(u.CacheWrite, 0)
	reasoning := min(max(u.Reasoning, 0), u.Output)
	var sum sum128
	sum.add(u.Input-read-write, r.Input)
	sum.add(read, cmp.Or(r.CacheRead, r.Input))
	sum.add(write, cmp.Or(r.CacheWrite, r.Input))
	sum.add(u.Output-reasoning, r.Output)
	sum.add(reasoning, cmp.Or(r.Reasoning, r.Output))
	return sum.perMillion()
}

func (p Price) rates() Rates { return Rates{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.Reasoning} }

// check returns every fault of p joined into one error, or nil.
func (p Price) check() error {
	errs := append(p.rates().check("price"), p.Long.check("price.long")...)
	switch {
	case p.Above < 0:
		errs = append(errs, fmt.Errorf("price.above is %d, want 0 or more", p.Above))
	case p.Above == 0 && p.Long != Rates{}:
		errs = append(errs, errors.New("price.long has no price.above"))
	case p.Above > 0 && p.Long == Rates{}:
		errs = append(errs, errors.New("price.above has no price.long"))
	}
	return errors.Join(errs...)
}

func (r Rates) check(name string) []error {
	var errs []error
	for _, part := range partsOf(&r) {
		if amount := *part.amount; amount < 0 || amount > maxRate {
			errs = append(errs, fmt.Errorf("%s.%s is %s USD, want 0 to %s", name, part.name, amount.USD(), maxRate.USD()))
		}
	}
	return errs
}

// rate is one amount of Rates under its name in JSON.
type rate struct {
	name   string
	amount *NanoUSD
}

func partsOf(r *Rates) []rate {
	return []rate{
		{"input", &r.Input},
		{"output", &r.Output},
		{"cacheRead", &r.CacheRead},
		{"cacheWrite", &r.CacheWrite},
		{"reasoning", &r.Reasoning},
	}
}

// sum128 is the sum of products of counts that a vendor reports: they may be anything, and
// must not overflow to a negative cost.
type sum128 struct{ hi, lo uint64 }

func (s *sum128) add(tokens int64, price NanoUSD) {
	if tokens <= 0 || price <= 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(price))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry) // four products of 63 bits each fit, and the two of Output are one
}

func (s *sum128) perMillion() NanoUSD {
	if s.hi >= perTokens {
		return math.MaxInt64
	}
	whole, rest := bits.Div64(s.hi, s.lo, perTokens)
	if whole >= math.MaxInt64 {
		return math.MaxInt64
	}
	if rest > 0 {
		whole++
	}
	return NanoUSD(whole)
}
