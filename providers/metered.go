package providers

import (
	"context"
	"errors"
)

// Metered is Model with the settings of its Spec: all requests get the Spec's temperature,
// if it has one, requests without MaxTokens or Params get the Spec's, and usage is
// counted and priced.
//
// An answer's Usage gets Calls 1, and Cost by [Spec.KnownPrice]. Unpriced is 1
// instead when no price is known, or when the vendor did not report tokens of a
// model that is not free: a cost is never silently 0. The same goes for a failed
// call that was charged, that is whose *[Error] has Usage; other failures are not
// counted. Usage that has Calls, Cost or Unpriced already keeps them, so a
// Metered in a Metered counts once, and a gateway may report its own cost.
//
// It is safe for concurrent use if Model is. The Spec must not be changed.
type Metered struct {
	Model Model // model that is called
	Spec  Spec  // settings and price of Model
}

var (
	_ Model  = Metered{}
	_ Priced = Metered{}
)

// Priced is implemented by models that know whether their calls can be priced. Models
// without it should be taken as unpriced.
type Priced interface {
	// Priced says whether the price is known before the call: if not, the calls' Usage
	// will have Unpriced and a limit on money cannot be enforced.
	Priced() bool
}

// Priced says whether the Spec's price is known, see [Spec.KnownPrice], or else
// Model is Priced.
func (m Metered) Priced() bool {
	if _, ok := m.Spec.KnownPrice(); ok {
		return true
	}
	p, ok := m.Model.(Priced)
	return ok && p.Priced()
}

// Generate calls Model. A Response without a Model's name gets the Spec's.
func (m Metered) Generate(ctx context.Context, req Request) (Response, error) {
	if m.Spec.Temperature != nil {
		req.Temperature = new(*m.Spec.Temperature)
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = m.Spec.MaxTokens
	}
	req.Params = orParams(req.Params, m.Spec.Params)
	resp, err := m.Model.Generate(ctx, req)
	if err != nil {
		return Response{}, m.charge(err)
	}
	resp.Usage = m.meter(resp.Usage)
	if resp.Model == "" {
		resp.Model = m.Spec.String()
	}
	return resp, nil
}

// charge returns err with its usage metered, in a copy.
func (m Metered) charge(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Usage == (Usage{}) {
		return err
	}
	return withUsage(err, m.meter(e.Usage))
}

func (m Metered) meter(u Usage) Usage {
	u.Calls = max(u.Calls, 1)
	switch price, known := m.Spec.KnownPrice(); {
	case u.Cost != 0 || u.Unpriced != 0: // known already
	case !known:
		u.Unpriced = 1
	case price != Price{} && u.Input <= 0 && u.Output <= 0:
		u.Unpriced = 1
	default:
		u.Cost = price.Cost(u)
	}
	return u
}
