package providers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ModelsDevPrices reads the price list of the project models.dev, its api.json.
//
// Its providers zai and amazon-bedrock become [GLM] and [Bedrock]; others keep
// their names. It leaves out entries without a price, with a price of 0, which that list
// also uses for subscriptions, or with more than one length limit. The error says that
// data is not such a list, or that it has no price.
func ModelsDevPrices(data []byte) (Prices, error) {
	var list map[string]modelsDevProvider
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("providers: models.dev prices: %w", err)
	}
	out := Prices{}
	for _, provider := range slices.Sorted(maps.Keys(list)) {
		for model, m := range list[provider].Models {
			if m.Cost == nil {
				continue
			}
			if price, ok := m.Cost.price(); ok {
				out.put(rename(provider), model, price)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("providers: models.dev prices: no model has a price: is it api.json?")
	}
	return out, nil
}

type modelsDevProvider struct {
	Models map[string]struct {
		Cost *modelsDevCost `json:"cost"`
	} `json:"models"`
}

// modelsDevCost is in USD for a million tokens.
type modelsDevCost struct {
	modelsDevRates
	Over200k *modelsDevRates `json:"context_over_200k"` // older than Tiers, and there beside them
	Tiers    []struct {
		modelsDevRates
		Tier struct {
			Type string `json:"type"`
			Size int64  `json:"size"`
		} `json:"tier"`
	} `json:"tiers"`
}

type modelsDevRates struct {
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output"`
	CacheRead  json.RawMessage `json:"cache_read"`
	CacheWrite json.RawMessage `json:"cache_write"`
	Reasoning  json.RawMessage `json:"reasoning"`
}

func (r modelsDevRates) rates() (Rates, bool) {
	return listed([5]string{string(r.Input), string(r.Output), string(r.CacheRead), string(r.CacheWrite), string(r.Reasoning)}, USD)
}

func (m modelsDevCost) price() (Price, bool) {
	rates, ok := m.rates()
	if !ok {
		return Price{}, false
	}
	p := rates.price()
	switch {
	case len(m.Tiers) > 1:
		return Price{}, false
	case len(m.Tiers) == 1:
		tier := m.Tiers[0]
		p.Above = tier.Tier.Size
		p.Long, ok = tier.rates()
		ok = ok && tier.Tier.Size > 0 && (tier.Tier.Type == "" || tier.Tier.Type == "context")
	case m.Over200k != nil:
		p.Above = 200_000
		p.Long, ok = m.Over200k.rates()
	}
	return p, ok
}
