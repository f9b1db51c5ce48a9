package providers

import "cmp"

// Bounds of what [Estimate] cannot see.
const (
	bytesPerToken  = 2      // bytes of text in a token: few languages have more tokens
	messageTokens  = 16     // around each message and tool
	imageTokens    = 5_000  // tokens of a large image
	documentTokens = 50_000 // tokens of a document at a URL
	answerTokens   = 32_000 // tokens of an answer without a limit
)

// Estimator is implemented by models that can estimate the cost of a call.
type Estimator interface {
	// Estimate returns an upper bound, false if no price is known.
	Estimate(req Request) (NanoUSD, bool)
}

// Estimate returns the most that a call of m may cost, without calling it: for the texts,
// images and tools of req, for an answer of MaxTokens, or of 32,000 tokens without it,
// and for the most expensive model of a chain. False: m is no [Estimator], or a price is
// unknown. It counts neither retries nor what failed models of a chain charge. Use it for
// agent.Limits.Estimate.
func Estimate(m Model, req Request) (NanoUSD, bool) {
	e, ok := m.(Estimator)
	if !ok {
		return 0, false
	}
	return e.Estimate(req)
}

// Estimate implements [Estimator].
func (m Metered) Estimate(req Request) (NanoUSD, bool) {
	price, ok := m.Spec.KnownPrice()
	if !ok {
		return Estimate(m.Model, req)
	}
	u := Usage{Input: Tokens(req), Output: int64(cmp.Or(req.MaxTokens, m.Spec.MaxTokens, answerTokens))}
	price.Input = max(price.Input, price.CacheWrite) // all of it may be written to a cache
	price.Long.Input = max(price.Long.Input, price.Long.CacheWrite)
	price.Output = max(price.Output, price.Reasoning)
	price.Long.Output = max(price.Long.Output, price.Long.Reasoning)
	return price.Cost(u), true
}

// Estimate implements [Estimator].
func (c *Chain) Estimate(req Request) (NanoUSD, bool) {
	var most NanoUSD
	for _, l := range c.links {
		cost, ok := Estimate(l.model, req)
		if !ok {
			return 0, false
		}
		most = max(most, cost)
	}
	return most, true
}

// Estimate implements [Estimator], for one attempt.
func (r Retry) Estimate(req Request) (NanoUSD, bool) { return Estimate(r.Model, req) }

// Tokens returns how many tokens the input of req may have at most. It counts a token for
// two bytes of text, which few languages exceed: English has about half as many.
func Tokens(req Request) int64 {
	size, more := len(req.Output), 0
	for _, m := range req.Messages {
		size += len(m.Text)
		more += messageTokens
		for _, c := range m.ToolCalls {
			size += len(c.Name) + len(c.Input) + len(c.Extra)
			more += messageTokens
		}
		for _, p := range m.Parts {
			size += len(p.Text) + len(p.Name)
			switch {
			case p.Kind == ImagePart:
				more += imageTokens
			case p.Kind == DocumentPart && p.URL != "":
				more += documentTokens
			case p.Kind == DocumentPart:
				size += len(p.Data)
			}
		}
	}
	for _, t := range req.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Input)
		more += messageTokens
	}
	return int64(size/bytesPerToken + more)
}
