package orchestrator

import (
	"time"

	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Budget limits what a run or a part of it may use. A zero field is no limit, a
// negative one allows nothing.
//
// Under a limit on Cost a call first reserves what it may cost in every enclosing
// budget: its Limits.Estimate; else the largest cost of that agent so far in the
// run; else of any agent; else it has every enclosing budget with such a limit for
// itself. A call that does not fit beside the reservations of others waits, first
// come, first served. One that would not fit without them either is ErrBudget.
// Without an Estimate, only as many calls of an agent are under way at once as
// were answered before, at least one. The same holds under a limit on Tokens,
// where there is no Estimate. Calls beyond a limit on Calls do not wait.
//
// A call without a known price is refused under a limit on Cost; where the price
// shows only afterwards, the next call is. AllowUnpriced lets them pass: then Cost
// limits only what is known.
type Budget struct {
	Cost   providers.NanoUSD `json:"cost,omitempty"`
	Tokens int64             `json:"tokens,omitempty"` // input and output together
	Calls  int64             `json:"calls,omitempty"`  // of models; an agent that reports none counts as one
	Wall   time.Duration     `json:"wall,omitempty"`   // of the run's time, waits for answers included; calls under way are canceled

	AllowUnpriced bool `json:"allowUnpriced,omitempty"` // of Cost
}

// Split returns an nth of b, rounded down; n below 1 counts as 1. A limit that
// would become 0 becomes -1: a share of too little is nothing, not unlimited.
// Wall is not split, because branches run side by side.
func (b Budget) Split(n int) Budget { return Budget(engine.Budget(b).Split(n)) }
