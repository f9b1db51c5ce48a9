package sched

import (
	"fmt"
	"strconv"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// over returns an error of a budget.
func over(format string, args ...any) *agent.Error {
	return &agent.Error{Message: "budget: " + fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrBudget, engine.ErrOver}}
}

// timeIsUp returns the error of an effect that the time limit of sc ends.
func timeIsUp(sc *Scope) *agent.Error {
	return over("the time limit of %v is reached", max(sc.budget.Wall, 0))
}

// why returns the error of e if the limit k of sc refuses it.
func (sc *Scope) why(e *effect, k int) *agent.Error {
	limit := amount(k, sc.limit[k]) + " " + [...]string{"calls", "tokens", "USD"}[k]
	held := ""
	if n := sc.held[shared][k]; n > 0 {
		held = " (child runs hold " + amount(k, n) + ": Split gives each a share)"
	}
	switch {
	case e.Kind == engine.Child:
		return over("nothing of %s is left for a child run%s", limit, held)
	case k == onCalls && exceeds(sc.limit[k], plus(sc.used[k], sc.running), 1):
		return over("the limit of %s is reached%s", limit, held)
	}
	who := "the call"
	if e.Name != "" {
		who += fmt.Sprintf(" to %q", e.Name)
	}
	wants := "an unknown amount"
	switch {
	case k == onCost && e.Request.Limits.Estimate > 0:
		wants = amount(k, e.held[k]) + ", its Limits.Estimate"
	case k != onCost && e.ownOf(k) > 0:
		wants = amount(k, e.held[k]) + ", its Limits." + [...]string{"Calls", "Tokens"}[k]
	case e.held[k] != unknown:
		wants = amount(k, e.held[k]) + ", the most that such a call used so far"
	}
	if k == onCost && e.Request.Limits.Estimate <= 0 {
		wants += ": an Estimate for this agent says what it will cost"
	}
	return over("%s of %s are left%s, and %s wants %s", amount(k, sc.limit[k]-sc.used[k]), limit, held, who, wants)
}

// ownOf returns the limit of kind k, on calls or tokens, that the flow has set for e.
func (e *effect) ownOf(k int) int64 { return [...]int64{e.own.Calls, e.own.Tokens}[k] }

// amount returns n as text, in the unit of a limit of kind k. An n below zero is 0.
func amount(k int, n int64) string {
	if n = max(n, 0); k == onCost {
		return providers.NanoUSD(n).USD()
	}
	return strconv.FormatInt(n, 10)
}
