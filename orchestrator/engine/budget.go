package engine

import (
	"time"

	"github.com/convene-go/convene/providers"
)

// Budget limits what a run or a part of it may use. A zero field is no limit, a
// negative one allows nothing.
//
// Before a call, what it may cost is reserved in every enclosing budget; what
// does not fit is ErrBudget and is not made. Under a Cost, a call without a
// known price is refused; where the price shows only afterwards, the next call is.
type Budget struct {
	Cost   providers.NanoUSD `json:"cost,omitempty"`
	Tokens int64             `json:"tokens,omitempty"` // input and output together
	Calls  int64             `json:"calls,omitempty"`  // of models; an agent that reports none counts as one
	Wall   time.Duration     `json:"wall,omitempty"`   // by the run's time, waits for answers included; calls under way are canceled
}

// Split returns an nth of b, rounded down; n below 1 counts as 1. A limit that
// would become 0 becomes -1, so that a share of a little is nothing and never
// without limit. Wall is not split: branches run side by side.
func (b Budget) Split(n int) Budget {
	d := int64(max(n, 1))
	b.Cost = providers.NanoUSD(share(int64(b.Cost), d))
	b.Tokens = share(b.Tokens, d)
	b.Calls = share(b.Calls, d)
	return b
}

func share(limit, n int64) int64 {
	if limit > 0 && limit/n == 0 {
		return -1
	}
	if limit < 0 {
		return -1
	}
	return limit / n
}
