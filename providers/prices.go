package providers

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Prices is a price list: what models cost, by "provider:model". In JSON, each
// Price may have a date and a source.
//
// To extend a public list by a host's own, use maps.Copy, or [Config].
type Prices map[string]Price

//go:embed prices.json
var pricesJSON []byte

// builtin must not be changed.
var builtin = sync.OnceValue(func() Prices {
	var file struct {
		About  string `json:"about"`
		Prices Prices `json:"prices"`
	}
	if err := strict(pricesJSON, &file); err != nil {
		panic(fmt.Sprintf("providers: embedded prices: %v", err)) // a test reads them
	}
	return file.Prices
})

// BuiltinPrices returns a copy of the list that comes with this package: well-known
// models at their vendors' own services, standard processing, as of the dates in
// prices.json; if a price depends on the hour or is temporary, the higher one. Vendors
// change their prices: a host whose money depends on it should check them, or use its
// own list.
func BuiltinPrices() Prices { return maps.Clone(builtin()) }

// KnownPrice returns s.Price, else one of [BuiltinPrices]: that of the model, of the
// family of a snapshot (gpt-4o for gpt-4o-2024-08-06), or of the vendor's own service for
// Azure and Bedrock. Claude in only one part of the world, by a profile such as
// eu.anthropic.claude-sonnet-4-5, costs a tenth more from 4.5 on. Another service, which
// is a BaseURL that is not the vendor's own, has its own prices. False: the price is
// unknown, and so is the cost of calls.
func (s Spec) KnownPrice() (Price, bool) {
	if s.Price != nil {
		return *s.Price, true
	}
	if !s.atVendor() {
		return Price{}, false
	}
	price, ok := builtin().of(s)
	if ok && s.Provider == Bedrock && dearer.MatchString(profile(s.Model)) {
		price = price.tenthMore()
	}
	return price, ok
}

// dearer matches Bedrock's profiles for one part of the world, of models that cost more
// there.
var dearer = regexp.MustCompile(`^(?:us|eu|apac|jp|au|ca|us-gov)\.anthropic\.claude-[a-z]+-(?:4-[5-9]|[5-9])`)

// place matches the region in which a profile of Bedrock's keeps requests.
var place = regexp.MustCompile(`^(?:us|eu|apac|jp|au|ca|us-gov|global)\.`)

// profile is the ID in an ARN of Bedrock's, or the ID itself.
func profile(model string) string { return model[strings.LastIndexByte(model, '/')+1:] }

func (p Price) tenthMore() Price {
	long := p.Long
	rates := p.rates()
	for _, r := range []*Rates{&rates, &long} {
		for _, part := range partsOf(r) {
			*part.amount += (*part.amount + 9) / 10
		}
	}
	return Price{rates.Input, rates.Output, rates.CacheRead, rates.CacheWrite, rates.Reasoning, p.Above, long}
}

// PriceOf returns the name of the model whose price [Spec.KnownPrice] is: s itself, or
// another one with the same price. "": the price is unknown.
func (s Spec) PriceOf() string {
	if s.Price != nil {
		return s.String()
	}
	if !s.atVendor() {
		return ""
	}
	return builtin().find(s)
}

// of returns the price of s, or of its family.
func (p Prices) of(s Spec) (Price, bool) {
	price, ok := p[s.String()]
	if !ok {
		price, ok = p[p.find(s)]
	}
	return price, ok
}

// find returns the name under which the price of s is listed; "": it is not.
func (p Prices) find(s Spec) string {
	for _, name := range s.priceNames() {
		if _, ok := p[name]; ok {
			return name
		}
	}
	return ""
}

// snapshot matches the end of a name that says which edition of a model it is.
var snapshot = regexp.MustCompile(`(-latest|[-@]20\d{2}-?\d{2}-?\d{2}|-v\d+(:\d+)?)+$`)

// priceNames returns the names under which s's price may be listed, the surest first.
func (s Spec) priceNames() []string {
	var out []string
	add := func(provider, model string) {
		for _, name := range []string{model, snapshot.ReplaceAllString(model, "")} {
			if name != "" && !slices.Contains(out, provider+":"+name) {
				out = append(out, provider+":"+name)
			}
		}
	}
	add(s.Provider, s.Model)
	add(s.Provider, s.Family)
	for _, model := range []string{s.Family, s.Model} {
		switch at := strings.Index(model, "claude"); {
		case s.Provider == Azure:
			add(OpenAI, model)
		case s.Provider == Bedrock && at >= 0:
			add(Anthropic, strings.ReplaceAll(model[at:], ".", "-"))
		case s.Provider == Bedrock:
			id := place.ReplaceAllString(profile(model), "")
			add(Bedrock, id)
			add(Bedrock, "amazon."+id) // a family such as nova-pro
		}
	}
	return out
}

// hosts are the vendors' own services.
var hosts = map[string]string{
	Anthropic: "api.anthropic.com", DeepSeek: "api.deepseek.com", GLM: "api.z.ai", Google: "generativelanguage.googleapis.com",
	OpenAI: "api.openai.com", OpenRouter: "openrouter.ai",
}

// atVendor says whether s is at the vendor's own service.
func (s Spec) atVendor() bool {
	switch {
	case s.Provider == Azure:
		return true
	case s.Provider == Bedrock:
		return s.BaseURL == ""
	case s.BaseURL == "":
		return s.Region == ""
	}
	u, err := url.Parse(s.BaseURL)
	return err == nil && u.Hostname() != "" && u.Hostname() == hosts[s.Provider]
}

// check returns every fault of p joined into one error, or nil.
func (p Prices) check() error {
	var errs []error
	for _, model := range slices.Sorted(maps.Keys(p)) {
		_, err := ParseSpec(model)
		if err = errors.Join(err, p[model].check()); err != nil {
			errs = append(errs, fmt.Errorf("prices of %q: %w", model, err))
		}
	}
	return errors.Join(errs...)
}

// UnmarshalJSON reads a list. Its errors name the model.
func (p *Prices) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("prices: %w", err)
	}
	out := make(Prices, len(raw))
	var errs []error
	for _, model := range slices.Sorted(maps.Keys(raw)) {
		var price *Price
		err := json.Unmarshal(raw[model], &price)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("prices of %q: %w", model, err))
		case price == nil:
			errs = append(errs, fmt.Errorf("prices of %q: there is none: {} is free", model))
		default:
			out[model] = *price
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	*p = out
	return nil
}
