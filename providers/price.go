package providers

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Price is what a million tokens cost. The zero Price is free.
type Price struct {
	Input      NanoUSD `json:"input,omitempty"`
	Output     NanoUSD `json:"output,omitempty"`
	CacheRead  NanoUSD `json:"cacheRead,omitempty"`  // 0: as Input
	CacheWrite NanoUSD `json:"cacheWrite,omitempty"` // 0: as Input
}

// perTokens is how many tokens a Price is for.
const perTokens = 1_000_000

// Cost returns what u's tokens cost at p:
//
//	(Input - CacheRead - CacheWrite)*p.Input + CacheRead*p.CacheRead + CacheWrite*p.CacheWrite + Output*p.Output
//
// Input includes the cached tokens, whatever the vendor's own way of counting.
// The sum is exact and rounded up once, to a whole nano-USD, so what is not free
// never costs 0. Negative counts are taken as 0, and a sum that does not fit is
// the largest NanoUSD.
func (p Price) Cost(u Usage) NanoUSD {
	read, write := max(u.CacheRead, 0), max(u.CacheWrite, 0)
	var sum sum128
	sum.add(u.Input-read-write, p.Input)
	sum.add(read, orElse(p.CacheRead, p.Input))
	sum.add(write, orElse(p.CacheWrite, p.Input))
	sum.add(u.Output, p.Output)
	return sum.perMillion()
}

// check returns every fault of p joined into one error, or nil.
func (p Price) check() error {
	var errs []error
	for _, part := range []struct {
		name  string
		price NanoUSD
	}{{"input", p.Input}, {"output", p.Output}, {"cacheRead", p.CacheRead}, {"cacheWrite", p.CacheWrite}} {
		if part.price < 0 {
			errs = append(errs, fmt.Errorf("price.%s is %d, want 0 or more", part.name, part.price))
		}
	}
	return errors.Join(errs...)
}

func orElse(price, other NanoUSD) NanoUSD {
	if price == 0 {
		return other
	}
	return price
}

// sum128 holds sums of products of counts that a vendor reports: they may be
// anything, and must not wrap round to a negative cost.
type sum128 struct{ hi, lo uint64 }

func (s *sum128) add(tokens int64, price NanoUSD) {
	if tokens <= 0 || price <= 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(price))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry) // four products of 63 bits each fit
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
