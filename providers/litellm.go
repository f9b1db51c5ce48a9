package providers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// LiteLLMPrices reads the price list of the project litellm, its file
// model_prices_and_context_window.json.
//
// Its providers gemini, zai and bedrock_converse become [Google], [GLM] and
// [Bedrock]; others keep their names. It leaves out entries without a price for text
// tokens, with a price of 0, which that list also uses for unknown prices, or with more
// than one length limit. The error says that data is not such a list, or that it has no
// price.
func LiteLLMPrices(data []byte) (Prices, error) {
	var models map[string]json.RawMessage
	if err := json.Unmarshal(data, &models); err != nil {
		return nil, fmt.Errorf("providers: litellm prices: %w", err)
	}
	out := Prices{}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		var row litellm
		if json.Unmarshal(models[name], &row) != nil {
			continue // the list has samples and rules beside the models
		}
		if price, ok := row.price(); ok {
			provider := row.text("litellm_provider")
			model := strings.TrimPrefix(strings.TrimPrefix(name, provider+"/"), "bedrock/")
			out.put(rename(provider), model, price)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("providers: litellm prices: no model has a price: is it model_prices_and_context_window.json?")
	}
	return out, nil
}

// litellm is one model of that list.
type litellm map[string]json.RawMessage

// litellmRates are its fields, in the order of partsOf.
var litellmRates = []string{
	"input_cost_per_token", "output_cost_per_token",
	"cache_read_input_token_cost", "cache_creation_input_token_cost", "output_cost_per_reasoning_token",
}

var aboveTokens = regexp.MustCompile(`_above_(\d{1,9})k_tokens$`)

func (l litellm) text(field string) string {
	var s string
	_ = json.Unmarshal(l[field], &s) // another type is as good as none
	return s
}

func (l litellm) price() (Price, bool) {
	if mode := l.text("mode"); !slices.Contains([]string{"", "chat", "completion", "responses"}, mode) {
		return Price{}, false
	}
	rates, ok := l.rates("")
	above, known := l.above()
	if !ok || !known {
		return Price{}, false
	}
	p := rates.price()
	if above > 0 {
		p.Above = above * 1000
		p.Long, ok = l.rates(fmt.Sprintf("_above_%dk_tokens", above))
	}
	return p, ok
}

// rates reads the fields with that suffix.
func (l litellm) rates(suffix string) (Rates, bool) {
	var texts [5]string
	for i, field := range litellmRates {
		texts[i] = string(l[field+suffix])
	}
	return listed(texts, perTokens*USD)
}

// above returns the one length limit, in thousands of tokens, or 0. It is unknown if there
// are several, or one for a part of the rates.
func (l litellm) above() (limit int64, known bool) {
	if _, tiered := l["tiered_pricing"]; tiered {
		return 0, false
	}
	for field := range l {
		m := aboveTokens.FindStringSubmatch(field)
		if m == nil || !slices.Contains(litellmRates, strings.TrimSuffix(field, m[0])) {
			continue
		}
		k, _ := strconv.ParseInt(m[1], 10, 64) // at most nine digits
		if k == 0 || limit != 0 && limit != k {
			return 0, false
		}
		limit = k
	}
	return limit, true
}
