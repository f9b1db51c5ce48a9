package hierarchy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/routing"
)

// route chooses the departments of a request (H9-H22). No model is asked.
func (r *run) route() (routing.Route, error) {
	for _, id := range r.in.Only {
		if _, ok := r.cfg.department(id); !ok {
			return routing.Route{}, fmt.Errorf("route: Only names %q, which is no department", id)
		}
	}
	if hook := r.cfg.Hooks.Route; hook != nil {
		route, err := guard("route", func() (routing.Route, error) { return hook(r.in, r.cfg.Departments) })
		if err != nil {
			return routing.Route{}, err
		}
		return r.checked(route)
	}
	targets := make([]routing.Target, len(r.cfg.Departments))
	for i, d := range r.cfg.Departments {
		targets[i] = routing.Target{ID: d.ID, Priority: d.Priority, Base: d.Base, Keywords: d.Keywords}
	}
	all := routing.Keyword(r.in.Prompt, targets)
	route, err := routing.Decide(r.allowed(all), r.cfg.needs(), *r.cfg.SupportingCut)
	route.Relevances = merged(route.Relevances, all)
	return route, err
}

// allowed leaves the departments to which the request is restricted.
func (r *run) allowed(all []routing.Relevance) []routing.Relevance {
	if len(r.in.Only) == 0 {
		return all
	}
	var left []routing.Relevance
	for _, rel := range all {
		if slices.Contains(r.in.Only, rel.ID) {
			left = append(left, rel)
		}
	}
	return left
}

// merged returns the relevances that were considered and then the others.
func merged(considered, all []routing.Relevance) []routing.Relevance {
	for _, rel := range all {
		if !slices.ContainsFunc(considered, func(x routing.Relevance) bool { return x.ID == rel.ID }) {
			considered = append(considered, rel)
		}
	}
	return considered
}

// checked returns the route of a hook with mode and waves as the dependencies want
// them, or what is wrong with it.
func (r *run) checked(route routing.Route) (routing.Route, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("route: "+format, args...)) }
	ids := append([]string{route.Primary}, route.Supporting...)
	for _, id := range ids {
		if _, ok := r.cfg.department(id); !ok {
			bad("%q is no department", id)
		} else if len(r.in.Only) > 0 && !slices.Contains(r.in.Only, id) {
			bad("%q is not among those that the request is restricted to", id)
		}
	}
	for _, rel := range route.Relevances {
		if !(rel.Relevance >= 0 && rel.Relevance <= 1) {
			bad("relevance of %q is %v, want 0 to 1", rel.ID, rel.Relevance)
		}
	}
	waves, err := routing.Waves(ids, r.cfg.needs())
	if err := errors.Join(append(errs, err)...); err != nil {
		return routing.Route{}, err
	}
	route.Waves = waves
	switch {
	case len(ids) == 1:
		route.Mode = routing.Single
	case len(waves) > 1:
		route.Mode = routing.Sequential
	default:
		route.Mode = routing.Parallel
	}
	route.Supporting = slices.Concat([]string{}, route.Supporting)
	return route, nil
}

// relevance is how much the request concerns a department; 0 if the route does not
// say.
func relevance(route routing.Route, id string) float64 {
	for _, rel := range route.Relevances {
		if rel.ID == id {
			return rel.Relevance
		}
	}
	return 0
}
