package hierarchy

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// route chooses the departments of a request.
func (r *run) route(c *orchestrator.Context) (err error) {
	if r.out.Route, err = r.choose(c); err != nil {
		return err
	}
	if err := r.Go(c, moveRouted); err != nil {
		return err
	}
	r.Run.Emit(c, EventRouteDecided, &Event{Route: &r.out.Route})
	return nil
}

// choose returns the answer of the Router, with mode and waves by the dependencies.
func (r *run) choose(c *orchestrator.Context) (routing.Route, error) {
	for _, id := range r.in.Only {
		if _, ok := r.cfg.department(id); !ok {
			return routing.Route{}, fmt.Errorf("route: Only names %q, which is no department", id)
		}
	}
	targets := make([]routing.Target, len(r.cfg.Departments))
	for i, d := range r.cfg.Departments {
		targets[i] = d.target()
		targets[i].Barred = len(r.in.Only) > 0 && !slices.Contains(r.in.Only, d.ID)
	}
	return team.Rule(r.Run, c, "run", "Rules.Router", func() (routing.Route, error) {
		route, err := r.cfg.Rules.Router.Route(c, r.in.Prompt, targets)
		if err == nil {
			err = route.Check(targets)
		}
		if err != nil {
			return route, err
		}
		route.Supporting = slices.Concat([]string{}, route.Supporting)
		return route.Arrange(r.cfg.needs())
	})
}

// relevance is how much the request concerns a department; 0 if the route has none.
func relevance(route routing.Route, id string) float64 {
	i := slices.IndexFunc(route.Relevances, func(rel routing.Relevance) bool { return rel.ID == id })
	if i < 0 {
		return 0
	}
	return route.Relevances[i].Relevance
}
