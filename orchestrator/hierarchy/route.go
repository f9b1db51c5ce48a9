package hierarchy

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// route chooses the departments of a request. No model is asked.
func (r *run) route(c *orchestrator.Context) (err error) {
	if r.out.Route, err = r.choose(); err != nil {
		return err
	}
	r.Fire(moveRouted)
	r.emit(c, EventRouteDecided, Event{Route: &r.out.Route})
	return nil
}

func (r *run) choose() (routing.Route, error) {
	for _, id := range r.in.Only {
		if _, ok := r.cfg.department(id); !ok {
			return routing.Route{}, fmt.Errorf("route: Only names %q, which is no department", id)
		}
	}
	if hook := r.cfg.Hooks.Route; hook != nil {
		route, err := team.Guard("route", func() (routing.Route, error) { return hook(r.in, r.cfg.Departments) })
		if err != nil {
			return routing.Route{}, err
		}
		return r.checked(route)
	}
	targets := make([]routing.Target, len(r.cfg.Departments))
	for i, d := range r.cfg.Departments {
		targets[i] = d.target()
	}
	allowed := routing.Keyword(r.in.Prompt, targets)
	var others []routing.Relevance
	if len(r.in.Only) > 0 {
		others = slices.Clone(allowed)
		allowed = slices.DeleteFunc(allowed, func(rel routing.Relevance) bool { return !slices.Contains(r.in.Only, rel.ID) })
		others = slices.DeleteFunc(others, func(rel routing.Relevance) bool { return slices.Contains(r.in.Only, rel.ID) })
	}
	route, err := routing.Decide(allowed, r.cfg.needs(), *r.cfg.Policy.SupportingCut)
	route.Relevances = append(route.Relevances, others...)
	return route, err
}

// checked returns the route of a hook with mode and waves computed from the
// dependencies, or what is wrong with it.
func (r *run) checked(route routing.Route) (routing.Route, error) {
	f := team.Faults{}
	for _, id := range route.Chosen() {
		if _, ok := r.cfg.department(id); !ok {
			f.Add("route: %q is no department", id)
		} else if len(r.in.Only) > 0 && !slices.Contains(r.in.Only, id) {
			f.Add("route: %q is not among those that the request is restricted to", id)
		}
	}
	for _, rel := range route.Relevances {
		f.Within(fmt.Sprintf("route: relevance of %q", rel.ID), rel.Relevance, 0, 1)
	}
	route.Supporting = slices.Concat([]string{}, route.Supporting)
	route, err := route.Arrange(r.cfg.needs())
	if err != nil {
		f.Add("route: %w", err)
	}
	return route, f.Err()
}

// relevance is how much the request concerns a department; 0 if the route has none.
func relevance(route routing.Route, id string) float64 {
	i := slices.IndexFunc(route.Relevances, func(rel routing.Relevance) bool { return rel.ID == id })
	if i < 0 {
		return 0
	}
	return route.Relevances[i].Relevance
}
