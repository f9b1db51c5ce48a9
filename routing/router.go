package routing

import "fmt"

// Router is a rule of a team: it chooses the targets of a request.
//
// It gets the request and all targets, in the order of the configuration. It returns the
// Primary, the Supporting targets and a Relevance for each target that it considered. A
// Barred target may be considered and must not be chosen. A team sets Mode and Waves
// itself, by its dependencies: what a Router says of them is ignored.
//
// Route is a pure function: it is called once for each decision, and again when a run is
// resumed, with equal arguments. An error fails the part of the run that needed the route.
type Router interface {
	Route(request string, targets []Target) (Route, error)
}

// RouterFunc is a function as a [Router].
type RouterFunc func(request string, targets []Target) (Route, error)

// Route returns f(request, targets).
func (f RouterFunc) Route(request string, targets []Target) (Route, error) {
	return f(request, targets)
}

// Keywords is the [Router] that counts words of the request: [Keyword] and [Decide].
type Keywords struct {
	Cut float64 `json:"cut"` // relevance, 0 to 1, that a supporting target must exceed
}

// DefaultKeywords is the Router of teams that are given none.
var DefaultKeywords = Keywords{Cut: DefaultCut}

// Route returns the route by keywords. Barred targets stand last in Relevances, and do not
// count for LowConfidence. Without a target that is not barred, Route returns an error.
func (k Keywords) Route(request string, targets []Target) (Route, error) {
	open, barred := Unbarred(Keyword(request, targets), targets)
	route, err := Decide(open, nil, k.Cut)
	if err != nil {
		return Route{}, err
	}
	route.Relevances = append(route.Relevances, barred...)
	return route, nil
}

// Validate returns what is wrong with k, or nil.
func (k Keywords) Validate() error {
	if !(k.Cut >= 0 && k.Cut <= 1) { // NaN is refused, too
		return fmt.Errorf("Cut is %v, want 0 to 1", k.Cut)
	}
	return nil
}

// Unbarred splits relevances in two, keeping their order: those of targets that can be
// chosen, and those of targets that are Barred. The caller owns both slices.
func Unbarred(relevances []Relevance, targets []Target) (open, barred []Relevance) {
	out := make(map[string]bool, len(targets))
	for _, t := range targets {
		out[t.ID] = t.Barred
	}
	for _, r := range relevances {
		if out[r.ID] {
			barred = append(barred, r)
		} else {
			open = append(open, r)
		}
	}
	return open, barred
}

// Analyzer is a rule of a team: it judges how much work a brief asks for.
//
// It gets the brief and the skills of the workers at hand, which only the run knows. It
// returns a Complexity and an Estimate of 0 or more workers; Skills are those of skills
// that the brief asks for. Analyze is a pure function: it is called once for each
// decision, and again when a run is resumed, with equal arguments.
type Analyzer interface {
	Analyze(brief string, skills []string) Analysis
}

// AnalyzerFunc is a function as an [Analyzer].
type AnalyzerFunc func(brief string, skills []string) Analysis

// Analyze returns f(brief, skills).
func (f AnalyzerFunc) Analyze(brief string, skills []string) Analysis { return f(brief, skills) }
