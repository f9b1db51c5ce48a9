package wire

import (
	"net/http"
	"regexp"
	"strings"
)

// Route is where the operations of a model are. The docs of gateways give the base URL
// with the version or without it, so a Route may know two places. All fields are set once.
type Route struct {
	first  string // URL before the operations
	second string // URL that is tried where the first has no such path; "": none
	memory *Memory
}

// routed is what a Memory knows when the second place is the right one.
const routed = "base URL"

var versioned = regexp.MustCompile(`/v\d+[a-z0-9]*$`)

// Versioned says whether a URL ends with a version, such as /v1 or /v1beta.
func Versioned(url string) bool { return versioned.MatchString(url) }

// NewRoute returns the Route with these places; second "": there is one.
func NewRoute(first, second string, m *Memory) Route {
	return Route{strings.TrimSuffix(first, "/"), strings.TrimSuffix(second, "/"), m}
}

// URL returns the present URL before the operations.
func (r Route) URL() string {
	if r.second != "" && r.memory.Knows(routed) {
		return r.second
	}
	return r.first
}

// Concede says whether a refusal of a request to the URL asked means that there is no such
// path, and the other place is to be tried. It remembers the place that is left.
func (r Route) Concede(asked string, status int, said *Said) bool {
	missing := status == http.StatusNotFound || status == http.StatusMethodNotAllowed
	switch {
	case r.second == "" || !missing || said.aboutModel():
		return false
	case asked == r.first:
		r.memory.Learn(routed, r.second)
		return true
	}
	r.memory.Forget(routed) // neither has it
	return false
}
