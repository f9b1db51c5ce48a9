package providers

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Prices is a price list: what models cost, by "provider:model". In JSON, each
// Price may have a date and a source.
//
// A host's own list goes over a public one with maps.Copy, or into [Config].
type Prices map[string]Price

//go:embed prices.json
var pricesJSON []byte

// builtin is read only.
var builtin = sync.OnceValue(func() Prices {
	var p Prices
	if err := json.Unmarshal(pricesJSON, &p); err != nil {
		panic(fmt.Sprintf("providers: embedded prices: %v", err)) // a test reads them
	}
	return p
})

// BuiltinPrices returns a copy of the list that comes with this package: well-known
// models at their vendors' own services, standard processing, as of the dates in
// prices.json. Vendors change their prices: a host whose money depends on it brings
// its own list.
func BuiltinPrices() Prices { return maps.Clone(builtin()) }

// KnownPrice returns s.Price, else the one of [BuiltinPrices] if s has no BaseURL
// and no Region, for other services have prices of their own. False: the price is
// unknown, and so is the cost of calls.
func (s Spec) KnownPrice() (Price, bool) {
	if s.Price != nil {
		return *s.Price, true
	}
	if s.BaseURL != "" || s.Region != "" {
		return Price{}, false
	}
	p, ok := builtin()[s.String()]
	return p, ok
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
