package agent

import "github.com/convene-go/convene/providers"

// Estimator is what agents implement that can tell what a call may cost, as an [LLM]
// does.
type Estimator interface {
	// Estimate returns an upper bound, false if it is not known.
	Estimate(req Request) (providers.NanoUSD, bool)
}

// Estimates returns what a call of each agent may cost at most, by its name, for a
// request like this one: with a prompt as long as the longest, and with the
// Limits.MaxTokens of the calls, for the answer costs most. Use it for
// Limits.Estimate, or for what a team has in its place. Agents that are no [Estimator],
// or whose price is not known, are left out.
func (r Roster) Estimates(like Request) map[string]providers.NanoUSD {
	out := map[string]providers.NanoUSD{}
	for name, a := range r {
		e, ok := a.(Estimator)
		if !ok {
			continue
		}
		if most, known := e.Estimate(like); known {
			out[name] = most
		}
	}
	return out
}

// Estimate returns what one turn of the model may cost at most for req, see
// [providers.Estimate]: a value for req.Limits.Estimate. A call with tools makes more
// turns. False: the model's price is not known.
func (a LLM) Estimate(req Request) (providers.NanoUSD, bool) {
	return providers.Estimate(a.Model, a.request(req, said(req)))
}
