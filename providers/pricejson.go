package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ratesJSON is Rates in JSON.
type ratesJSON struct {
	Input      json.Number `json:"input,omitempty"`
	Output     json.Number `json:"output,omitempty"`
	CacheRead  json.Number `json:"cacheRead,omitempty"`
	CacheWrite json.Number `json:"cacheWrite,omitempty"`
	Reasoning  json.Number `json:"reasoning,omitempty"`
}

// priceJSON is Price in JSON.
type priceJSON struct {
	ratesJSON
	Above  int64      `json:"above,omitempty"`
	Long   *ratesJSON `json:"long,omitempty"`
	Date   string     `json:"date,omitempty"`
	Source string     `json:"source,omitempty"`
}

// MarshalJSON writes amounts in USD.
func (p Price) MarshalJSON() ([]byte, error) {
	if p == (Price{}) {
		return []byte("{}"), nil
	}
	out := priceJSON{ratesJSON: p.rates().json(), Above: p.Above}
	if p.Long != (Rates{}) {
		long := p.Long.json()
		out.Long = &long
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads amounts in USD, and refuses fields that do not exist.
func (p *Price) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var in priceJSON
	if err := strict(data, &in); err != nil {
		return fmt.Errorf("price: %w", err)
	}
	if in == (priceJSON{}) {
		*p = Price{}
		return nil
	}
	rates, err := in.rates("price")
	out := Price{rates.Input, rates.Output, rates.CacheRead, rates.CacheWrite, rates.Reasoning, in.Above, Rates{}}
	if in.Long != nil {
		var more error
		out.Long, more = in.Long.rates("price.long")
		err = errors.Join(err, more)
	}
	if err == nil {
		err = out.check()
	}
	if err != nil {
		return err
	}
	*p = out
	return nil
}

func (r Rates) json() ratesJSON {
	text := func(n NanoUSD) json.Number {
		if n == 0 {
			return ""
		}
		return json.Number(n.USD())
	}
	return ratesJSON{
		Input: json.Number(r.Input.USD()), Output: json.Number(r.Output.USD()),
		CacheRead: text(r.CacheRead), CacheWrite: text(r.CacheWrite), Reasoning: text(r.Reasoning),
	}
}

// rates returns r, of which Input and Output are there.
func (r ratesJSON) rates(name string) (Rates, error) {
	var out Rates
	var errs []error
	texts := []json.Number{r.Input, r.Output, r.CacheRead, r.CacheWrite, r.Reasoning}
	for i, part := range partsOf(&out) {
		if texts[i] == "" {
			if i < 2 {
				errs = append(errs, fmt.Errorf("%s.%s is missing: 0 is free", name, part.name))
			}
			continue
		}
		amount, err := nanoUSD(texts[i].String(), USD)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s.%s is %w", name, part.name, err))
		}
		*part.amount = amount
	}
	return out, errors.Join(errs...)
}

// nanoUSD reads an amount of so many nano-USD, rounded to the nearest one. It
// refuses what is no Price.
func nanoUSD(text string, unit NanoUSD) (NanoUSD, error) {
	x, err := strconv.ParseFloat(text, 64)
	amount := math.Round(x * float64(unit))
	if err != nil || !(amount >= 0 && amount <= float64(maxRate)) { // NaN is refused too
		return 0, fmt.Errorf("%.40s, want USD for a million tokens, 0 to %s", text, maxRate.USD())
	}
	return NanoUSD(amount), nil
}

// USD returns n as a decimal number of dollars.
func (n NanoUSD) USD() string {
	return strconv.FormatFloat(float64(n)/float64(USD), 'f', -1, 64)
}

// strict decodes one JSON value, whose fields must exist in v.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
