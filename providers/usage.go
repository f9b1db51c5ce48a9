package providers

import "math"

// NanoUSD is money: a billionth of a US dollar. It is an integer, so that sums
// do not depend on their order.
type NanoUSD int64

// USD is one dollar. A part of one is written by [Dollars].
const USD NanoUSD = 1_000_000_000

// Dollars returns an amount in dollars: Dollars(0.10) is ten cents. It is rounded to the
// nearest nano-USD. NaN is 0, an amount out of range is the nearest that fits.
func Dollars(amount float64) NanoUSD {
	nano := math.Round(amount * float64(USD))
	switch {
	case math.IsNaN(nano):
		return 0
	case nano >= math.MaxInt64:
		return math.MaxInt64
	case nano <= math.MinInt64:
		return math.MinInt64
	}
	return NanoUSD(nano)
}

// Usage is what calls have used. The zero Usage is nothing used.
type Usage struct {
	Calls      int64   `json:"calls,omitempty"`      // calls of models
	ToolCalls  int64   `json:"toolCalls,omitempty"`  // calls of tools
	Input      int64   `json:"input,omitempty"`      // tokens, cached ones included
	Output     int64   `json:"output,omitempty"`     // tokens, reasoning included
	Reasoning  int64   `json:"reasoning,omitempty"`  // part of Output, where the vendor says so
	CacheRead  int64   `json:"cacheRead,omitempty"`  // tokens of Input that were read from the cache
	CacheWrite int64   `json:"cacheWrite,omitempty"` // tokens of Input that were written to the cache
	Cost       NanoUSD `json:"cost,omitempty"`       // cost of the calls with a known price
	Fallbacks  int64   `json:"fallbacks,omitempty"`  // calls that another model than the first of a [Chain] answered
	Compacted  int64   `json:"compacted,omitempty"`  // times that a conversation was made shorter to fit a model's window
	Unpriced   int64   `json:"unpriced,omitempty"`   // calls without a known price: if not 0, Cost is a lower bound
}

// Add returns the sum of u and v. A sum that would overflow is the largest number.
func (u Usage) Add(v Usage) Usage {
	const most = math.MaxInt64
	u.Calls += min(v.Calls, most-max(u.Calls, 0))
	u.ToolCalls += min(v.ToolCalls, most-max(u.ToolCalls, 0))
	u.Input += min(v.Input, most-max(u.Input, 0))
	u.Output += min(v.Output, most-max(u.Output, 0))
	u.Reasoning += min(v.Reasoning, most-max(u.Reasoning, 0))
	u.CacheRead += min(v.CacheRead, most-max(u.CacheRead, 0))
	u.CacheWrite += min(v.CacheWrite, most-max(u.CacheWrite, 0))
	u.Cost += min(v.Cost, most-max(u.Cost, 0))
	u.Unpriced += min(v.Unpriced, most-max(u.Unpriced, 0))
	u.Fallbacks += min(v.Fallbacks, most-max(u.Fallbacks, 0))
	u.Compacted += min(v.Compacted, most-max(u.Compacted, 0))
	return u
}

// Negative reports whether a figure of u is below zero, which is impossible.
func (u Usage) Negative() bool {
	return min(u.Calls, u.ToolCalls, u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite, int64(u.Cost), u.Unpriced, u.Fallbacks, u.Compacted) < 0
}
