package orchestrator

import (
	"github.com/convene-go/convene/routing"
)

// Declarer is a rule that names or calls agents. Teams add them to Flow.Agents, so that
// they are looked for before a run starts. A rule that does neither is no Declarer.
type Declarer interface {
	Agents() []string // names of agents, in any order
}

// Router is a rule of a team: it chooses the targets of a request, and may ask agents.
//
// It gets the request and all targets, in the order of the configuration, and returns what
// a [routing.Router] returns, which Route.Check accepts. The flow calls it once for each
// decision, and again when a run is resumed; calls that it makes through c are on record
// then. Its own code is deterministic, as that of a flow. An error for which [IsOver] holds
// is passed on; any other fails the part of the run that needed the route.
type Router interface {
	Route(c *Context, request string, targets []routing.Target) (routing.Route, error)
}

// RouterFunc is a function as a [Router].
type RouterFunc func(c *Context, request string, targets []routing.Target) (routing.Route, error)

// Route returns f(c, request, targets).
func (f RouterFunc) Route(c *Context, request string, targets []routing.Target) (routing.Route, error) {
	return f(c, request, targets)
}

// ByKeywords is [routing.Keywords] as a [Router]. ByKeywords(routing.DefaultKeywords) is the
// Router of teams that are given none.
type ByKeywords routing.Keywords

// Route returns the route by keywords.
func (k ByKeywords) Route(_ *Context, request string, targets []routing.Target) (routing.Route, error) {
	return routing.Keywords(k).Route(request, targets)
}

// Validate returns what is wrong with k, or nil.
func (k ByKeywords) Validate() error { return routing.Keywords(k).Validate() }

// RouteBy returns router, a pure rule, as a [Router].
func RouteBy(router routing.Router) Router { //nolint:iface // its type has nothing else to offer
	return pureRouter{router}
}

// pureRouter is a pure rule as a Router.
type pureRouter struct{ router routing.Router }

// Route returns the route of the pure rule.
func (p pureRouter) Route(_ *Context, request string, targets []routing.Target) (routing.Route, error) {
	return p.router.Route(request, targets)
}

// Unwrap returns the pure rule: flowtest.Rules checks it.
func (p pureRouter) Unwrap() routing.Router { return p.router }

// Grader is a rule of a team: it grades work. W is the work and G the grade: a [Verdict], or
// a type of the team.
//
// The flow calls it once for each piece of work, once more if it fails, and again when a run
// is resumed; calls that it makes through c are on record then. Its own code is
// deterministic, as that of a flow. Work whose grade does not come is ungraded: it is never
// taken for good or bad. An error for which [IsOver] holds ends the work.
type Grader[W, G any] interface {
	Grade(c *Context, work W) (G, error)
}

// GraderFunc is a function as a [Grader]. [GradeWith] infers its types.
type GraderFunc[W, G any] func(c *Context, work W) (G, error)

// Grade returns f(c, work).
func (f GraderFunc[W, G]) Grade(c *Context, work W) (G, error) { return f(c, work) }

// GradeWith returns grade as a [Grader].
func GradeWith[W, G any](grade func(c *Context, work W) (G, error)) Grader[W, G] {
	return GraderFunc[W, G](grade)
}
