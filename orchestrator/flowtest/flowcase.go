package flowtest

import (
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Case is a flow with its input and its agents; [New] makes one. Set its fields before Run,
// Sweep or Determinism.
type Case[In, Out any] struct {
	// Answers has the answers to the flow's questions, by key. A question without an answer
	// here and without a time limit fails the test, as does an answer that is refused. They
	// are by the first one that Question.Only names.
	Answers map[string]any

	// Options start the runs; the case sets the ID.
	Options orchestrator.StartOptions

	// Config configures the engine; the case sets Agents, Flows and Store.
	Config orchestrator.Config

	// Store opens an empty store; nil means one in memory. It is called once for each run
	// and each replay, in a bubble of virtual time that belongs to t. What it starts must
	// end by t.Cleanup. Of the optional interfaces of a store, only Blobs is used.
	Store func(t testing.TB) runlog.Store

	// Clocks names the fields of Out that Sweep does not compare, because a run that was
	// killed and resumed takes longer. They are names in JSON, at any depth. Nil means all
	// values in Out of the types time.Time and time.Duration; an empty list means none.
	Clocks []string

	// Quick makes Sweep only kill the process, once before each record that the flow waits
	// for. It is for agents that take real time, such as those that start programs.
	Quick bool

	flow   orchestrator.Flow[In, Out]
	anew   func(t testing.TB) orchestrator.Flow[In, Out] // makes the flow of each process; nil: flow is for all
	in     In
	agents func(t testing.TB) agent.Roster
}

// New returns a case of f with the input in. agents is called once for every run and gets
// the test that the run belongs to.
func New[In, Out any](f orchestrator.Flow[In, Out], in In, agents func(t testing.TB) agent.Roster) *Case[In, Out] {
	return &Case[In, Out]{flow: f, in: in, agents: agents}
}

// Run runs the case once in virtual time (testing/synctest) and returns its result, its
// log and its error. A flow that sleeps for hours takes no time. Run must not be called in
// a bubble.
//
// Every call takes between 1 and 1,000 microseconds, which depend only on its key. So
// calls that run side by side come back in the same order every time.
//
// A run that hangs fails the test, which says where the flow, its agents and its
// goroutines wait. An agent or a flow that ends its goroutine (FailNow, Fatal or require
// of a test) fails it, too: the test says which one, and at which line.
func (c *Case[In, Out]) Run(t *testing.T) (Out, []runlog.Record, error) {
	t.Helper()
	var out Out
	var log []runlog.Record
	var err error
	Bubble(t, func(t *testing.T) {
		s := c.empty(t)
		p := c.open(t, s, newWorld(t, c.agents(t), 0))
		out, err = p.result()
		log = readLog(t, s, caseID)
		p.close()
	})
	return out, log, err
}
