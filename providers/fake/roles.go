package fake

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/convene-go/convene/providers"
)

// Roles returns roles whose models are fakes, each with a script of its own. They
// are free of charge. A missing name or Model is an error.
func Roles(models map[string]*Model) (*providers.Roles, error) {
	config, byName := providers.RoleConfig{}, map[string]*Model{}
	var errs []error
	for _, role := range slices.Sorted(maps.Keys(models)) {
		if models[role] == nil {
			errs = append(errs, fmt.Errorf("fake: role %q has no Model", role))
		}
		spec := providers.Spec{Provider: "fake", Model: "of-" + url.PathEscape(role), Price: &providers.Price{}}
		config[role] = []providers.Spec{spec}
		byName[spec.Model] = models[role]
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return providers.NewRoles(config, func(s providers.Spec) (providers.Model, error) { return byName[s.Model], nil })
}
