package providers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RoleConfig maps a role to its models: the first one answers, the others in
// turn when the one before is rate limited, see [Chain]. It is plain JSON.
type RoleConfig map[string][]Spec

// Roles are the models of a host by role, metered. Safe for concurrent use:
// cool-downs are shared by all callers, and by all roles with the same model of
// the same service.
type Roles struct {
	chains map[string]*Chain
}

// NewRoles opens every model of c once: roles with equal Specs share it. All
// faults (empty chain, bad range, what open refuses) are in the one error.
// Neither c nor what it points to is kept. The models are wrapped in [Metered]
// here, so open need not see to it.
func NewRoles(c RoleConfig, open func(Spec) (Model, error)) (*Roles, error) {
	if open == nil {
		return nil, errors.New("providers: open is nil")
	}
	if len(c) == 0 {
		return nil, errors.New("providers: no roles")
	}
	b := builder{open: open, models: map[specKey]opened{}, limits: map[service]*limit{}}
	r := &Roles{chains: map[string]*Chain{}}
	var errs []error
	for _, role := range slices.Sorted(maps.Keys(c)) {
		chain, err := b.chain(role, c[role])
		if err != nil {
			errs = append(errs, err)
		}
		r.chains[role] = chain
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("providers: %w", err)
	}
	return r, nil
}

// Model returns the chain of role as one Model, which is [Priced]. An unknown
// role is an error that lists the known ones.
func (r *Roles) Model(role string) (Model, error) {
	c, ok := r.chains[role]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(r.chains)), ", ")
		return nil, fmt.Errorf("providers: unknown role %q, known: %s", role, known)
	}
	return c, nil
}

// builder opens models, equal ones once.
type builder struct {
	open   func(Spec) (Model, error)
	models map[specKey]opened
	limits map[service]*limit
}

type opened struct {
	model Model
	err   error
}

// service is what a vendor counts rate limits by.
type service struct{ provider, model, baseURL string }

func (b *builder) chain(role string, specs []Spec) (*Chain, error) {
	var errs []error
	if role == "" {
		errs = append(errs, errors.New("a role has no name"))
	}
	if len(specs) == 0 {
		errs = append(errs, fmt.Errorf("role %q has no models", role))
	}
	c := &Chain{}
	for i, s := range specs {
		m, err := b.model(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("role %q, model %d (%s): %w", role, i+1, s, err))
			continue
		}
		c.links = append(c.links, &link{model: m, limit: b.limit(s)})
	}
	return c, errors.Join(errs...)
}

func (b *builder) model(s Spec) (Model, error) {
	key := s.key()
	o, ok := b.models[key]
	if !ok {
		o.model, o.err = b.openOne(s.clone())
		b.models[key] = o
	}
	return o.model, o.err
}

func (b *builder) openOne(s Spec) (Model, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	m, err := b.open(s.clone())
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("open returned no model")
	}
	return Metered{Model: m, Spec: s}, nil
}

func (b *builder) limit(s Spec) *limit {
	at := service{s.Provider, s.Model, s.BaseURL}
	if b.limits[at] == nil {
		b.limits[at] = new(limit)
	}
	return b.limits[at]
}

// specKey is a Spec by value, so that equal ones are ==.
type specKey struct {
	spec     Spec // without pointers
	hasTemp  bool
	temp     float64
	hasPrice bool
	price    Price
}

func (s Spec) key() specKey {
	k := specKey{hasTemp: s.Temperature != nil, hasPrice: s.Price != nil}
	if k.hasTemp {
		k.temp = *s.Temperature
	}
	if k.hasPrice {
		k.price = *s.Price
	}
	s.Temperature, s.Price = nil, nil
	k.spec = s
	return k
}
