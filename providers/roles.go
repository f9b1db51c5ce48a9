package providers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Roles are the models of a host by role, metered. Safe for concurrent use:
// cool-downs are shared by all callers, and by all roles with the same model of
// the same service; limits by all roles with the same provider.
type Roles struct {
	chains map[string]*Chain
}

// NewRoles opens the models of c, see [Config.Open].
func NewRoles(c RoleConfig, open func(Spec) (Model, error)) (*Roles, error) {
	return Config{Roles: c}.Open(open)
}

// Open opens every model of c once: roles with equal Specs share it. All faults
// (empty chain, bad range, what open refuses) are in the one error. open decides which
// providers exist. Open keeps neither c nor what it points to, and wraps the models in
// [Metered].
func (c Config) Open(open func(Spec) (Model, error)) (*Roles, error) {
	if open == nil {
		return nil, errors.New("providers: open is nil")
	}
	b := builder{
		open: open, prices: c.Prices,
		models: map[string]opened{}, coolDowns: map[service]*coolDown{}, gates: map[string]*gate{},
	}
	for provider, limit := range c.Limits {
		if limit != (Limit{}) && limit.check() == nil {
			b.gates[provider] = newGate(limit)
		}
	}
	errs := []error{c.Roles.check(), c.check()}
	total, _ := time.ParseDuration(c.Total) // check has seen it
	r := &Roles{chains: map[string]*Chain{}}
	for _, role := range c.Roles.roles() {
		chain, err := b.chain(role, c.Roles[role])
		if err != nil {
			errs = append(errs, err)
		}
		chain.Total = total
		on, ok := c.FallbackOn[role]
		if !ok {
			on = c.FallbackOn[""]
		}
		chain.FallbackOn = slices.Clone(on)
		r.chains[role] = chain
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("providers: %w", err)
	}
	return r, nil
}

// Model returns the chain of role, or of the role that replaces it by [RoleConfig], as
// one Model, which is [Priced]. If there is none, the error lists the known roles.
func (r *Roles) Model(role string) (Model, error) {
	c, ok := r.find(role)
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(r.chains)), ", ")
		return nil, fmt.Errorf("providers: unknown role %q, known: %s", role, known)
	}
	return c, nil
}

func (r *Roles) find(role string) (*Chain, bool) {
	c, ok := r.chains[role]
	if !ok && strings.HasSuffix(role, "_"+worker) {
		c, ok = r.chains[worker]
	}
	if !ok {
		c, ok = r.chains[director]
	}
	return c, ok
}

// builder opens models, equal ones once.
type builder struct {
	open      func(Spec) (Model, error)
	prices    Prices
	models    map[string]opened
	coolDowns map[service]*coolDown
	gates     map[string]*gate
}

type opened struct {
	model Model
	err   error
}

// service is what a vendor counts rate limits for.
type service struct{ provider, model, baseURL, region string }

func (s Spec) service() service { return service{s.Provider, s.Model, s.BaseURL, s.Region} }

// chain opens those of specs that are valid.
func (b *builder) chain(role string, specs []Spec) (*Chain, error) {
	var errs []error
	c := &Chain{}
	for i, s := range specs {
		if s.Validate() != nil {
			continue
		}
		m, err := b.model(s)
		if err != nil {
			errs = append(errs, inRole(role, i, s, err))
			continue
		}
		c.links = append(c.links, &link{model: m, cool: b.coolDown(s), gate: b.gates[s.Provider]})
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
	if of, ok := b.prices.of(s); ok && s.Price == nil {
		s.Price = &of
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

func (b *builder) coolDown(s Spec) *coolDown {
	at := s.service()
	if b.coolDowns[at] == nil {
		b.coolDowns[at] = new(coolDown)
	}
	return b.coolDowns[at]
}

// key is s as a text, so that equal Specs have equal keys.
func (s Spec) key() string {
	data, err := json.Marshal(s)
	if err != nil {
		return s.String() // impossible: a Spec that is valid has a JSON form
	}
	return string(data)
}
