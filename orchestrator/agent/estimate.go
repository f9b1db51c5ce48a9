package agent

import (
	"slices"

	"github.com/convene-go/convene/providers"
)

// Estimate returns what one turn of the model may cost at most for req, see
// [providers.Estimate]: a value for req.Limits.Estimate. A call with tools makes more
// turns. False: the model's price is not known.
func (a LLM) Estimate(req Request) (providers.NanoUSD, bool) {
	ask := providers.Request{
		Messages: slices.Concat([]providers.Message{{Role: providers.System, Text: a.Instructions}}, req.History,
			[]providers.Message{{Role: providers.User, Text: userText(req), Parts: req.Parts}}),
		Output: req.Output, MaxTokens: req.Limits.MaxTokens,
	}
	for _, t := range a.Tools {
		ask.Tools = append(ask.Tools, t.Tool)
	}
	return providers.Estimate(a.Model, ask)
}
