package providers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrUnknownProvider says that there is no opener for a provider.
var ErrUnknownProvider = errors.New("unknown provider")

// Openers opens models with one opener per provider. The one under "" opens the others.
type Openers map[string]func(Spec) (Model, error)

// Open opens the model of s, for [NewRoles]. Without an opener for s's provider the error
// is ErrUnknownProvider.
func (o Openers) Open(s Spec) (Model, error) {
	open := o[s.Provider]
	if open == nil {
		open = o[""]
	}
	if open == nil {
		return nil, unknownProvider(s.Provider, slices.Sorted(maps.Keys(o)))
	}
	return open(s)
}

func unknownProvider(name string, known []string) error {
	return fmt.Errorf("%w %q, known: %s", ErrUnknownProvider, name, strings.Join(known, ", "))
}
