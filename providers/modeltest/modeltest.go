// Package modeltest checks that a model keeps the promises of package providers.
//
// A model's own tests put a stub behind it, such as an httptest.Server with the vendor's
// wire format, let it play what the suite requires, and call [Run]:
//
//	func TestModel(t *testing.T) {
//		modeltest.Run(t, func(t testing.TB, p modeltest.Play) modeltest.Subject {
//			stub := serve(t, p) // says p.Reply(body), or fails as p.Situation wants
//			return modeltest.Subject{Model: mymodel.Open(stub.URL, key), Sent: stub.Bodies, Secrets: []string{key}}
//		})
//	}
//
// Run it with the race detector too: some faults show only there.
package modeltest

import (
	"testing"
	"time"

	"github.com/convene-go/convene/providers"
)

// patience is how long a call that ought to return at once may take. It only ends
// checks that fail.
var patience = 10 * time.Second

// Subject is a model that is checked, with the stub behind it.
type Subject struct {
	Model providers.Model // model to check, required

	// Sent returns the requests that have reached the stub so far, as text: the suite
	// counts them, and searches them. Safe for concurrent use. Nil: unknown, and checks
	// that need it are skipped.
	Sent func() []string

	// Secrets are what the model knows and no error may contain, such as its key.
	Secrets []string
}

// Open opens a new model, whose stub plays p. It closes what it opened with t.Cleanup,
// and skips t if the stub cannot play p.Situation.
type Open func(t testing.TB, p Play) Subject

// check is one promise.
type check struct {
	name string
	run  func(t testing.TB, open Open)
}

// group is checks on one subject.
type group struct {
	name   string
	checks []check
}

var groups = []group{
	{"Answers", answerChecks},
	{"Requests", requestChecks},
	{"Tools", toolChecks},
	{"Streams", streamChecks},
	{"Contexts", contextChecks},
	{"Failures", failureChecks},
	{"Ownership", ownershipChecks},
	{"Concurrency", concurrencyChecks},
}

// Run checks the models that open returns: one subtest per promise, each with models
// of its own.
func Run(t *testing.T, open Open) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.checks {
				t.Run(c.name, func(t *testing.T) { c.run(t, open) })
			}
		})
	}
}
