package providers

// rename returns this package's name of a provider in a public price list.
func rename(provider string) string {
	switch provider {
	case "gemini":
		return Google
	case "zai":
		return GLM
	case "bedrock_converse", "amazon-bedrock":
		return Bedrock
	}
	return provider
}

// put adds a price to the list, unless it or its model's name is empty.
func (p Prices) put(provider, model string, price Price) {
	s := Spec{Provider: provider, Model: model}
	if s.Validate() == nil && price.check() == nil {
		p[s.String()] = price
	}
}

// listed reads amounts of so many nano-USD, in the order of partsOf. It is false if
// input or output is missing, both are 0, or one is not an amount.
func listed(texts [5]string, unit NanoUSD) (Rates, bool) {
	var r Rates
	for i, part := range partsOf(&r) {
		if text := texts[i]; text != "" && text != "null" {
			amount, err := nanoUSD(text, unit)
			if err != nil {
				return Rates{}, false
			}
			*part.amount = amount
		} else if i < 2 {
			return Rates{}, false
		}
	}
	return r, r.Input != 0 || r.Output != 0
}

// price returns r as the Price of calls of any length.
func (r Rates) price() Price {
	return Price{Input: r.Input, Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, Reasoning: r.Reasoning}
}
