package team

import (
	"cmp"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// Limits bound the money and the time of a run. They stand in the Config of a team, and in
// its Input for one run. A zero field is the team's default, orchestrator.None no limit.
type Limits struct {
	Cost          providers.NanoUSD `json:"cost,omitzero" min:"-1"`     // money that a run may spend; 0: the team's default
	Calls         int64             `json:"calls,omitzero" min:"-1"`    // calls of models in a run; 0: the team's default
	Tokens        int64             `json:"tokens,omitzero" min:"-1"`   // tokens of input and output together; 0: the team's default
	Time          time.Duration     `json:"time,omitzero" min:"-1"`     // time of a run, waits for answers included; 0: the team's default
	AllowUnpriced bool              `json:"allowUnpriced,omitzero"`     // calls without a known price pass Cost, which then limits only known cost
	Estimate      providers.NanoUSD `json:"estimate,omitzero" min:"-1"` // money set aside for a call whose member has no estimate of its own; 0: what calls of that agent cost before
}

// Or returns l with the fields of other where l has zero: input.Limits.Or(config.Limits).
// Unpriced calls are allowed if one of the two allows them.
func (l Limits) Or(other Limits) Limits {
	return Limits{
		Cost: cmp.Or(l.Cost, other.Cost), Calls: cmp.Or(l.Calls, other.Calls), Tokens: cmp.Or(l.Tokens, other.Tokens),
		Time: cmp.Or(l.Time, other.Time), AllowUnpriced: l.AllowUnpriced || other.AllowUnpriced, Estimate: cmp.Or(l.Estimate, other.Estimate),
	}
}

// Rest returns what is left of a limit beside a part of it: 0 is no limit, as in what
// Context.Left returns, and below it nothing is left.
func Rest[N ~int64](limit, part N) N {
	switch {
	case limit == 0:
		return 0
	case limit > part:
		return limit - part
	}
	return orchestrator.None
}

// Budget returns the budget of a run with these limits. None and 0 are no limit.
func (l Limits) Budget() orchestrator.Budget {
	return orchestrator.Budget{
		Cost: max(0, l.Cost), Calls: max(0, l.Calls), Tokens: max(0, l.Tokens), Wall: max(0, l.Time), AllowUnpriced: l.AllowUnpriced,
	}
}
