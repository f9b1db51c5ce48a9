package flowtest

import (
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Case is a flow with its input and its agents. Set fields before Run, Sweep or
// Determinism.
type Case[In, Out any] struct {
	// Answers are those to questions, by key; given when asked. A question without
	// an answer here and without a time limit fails the test.
	Answers map[string]any

	// Options start the runs; the ID is the case's own.
	Options orchestrator.StartOptions

	// Config is what else the engine is made of; its Agents, Flows and Store are the
	// case's own.
	Config orchestrator.Config

	// Store opens an empty store: one for each run, and Determinism another one for
	// each replay, all in one bubble of virtual time with the test t. What it starts
	// there ends by t.Cleanup. Of the optional parts of a store Blobs alone is used.
	// nil: in memory.
	Store func(t testing.TB) runlog.Store

	// Clocks names the fields of Out that Sweep does not compare, because a run that
	// was killed and resumed takes longer: by their names in JSON, at any depth. nil
	// stands for every value in Out whose type is time.Time or time.Duration; an
	// empty list for none.
	Clocks []string

	// Quick has Sweep only kill the process, once before each record that the flow waits
	// for. It is for agents that take real time, such as programs that they start.
	Quick bool

	flow   orchestrator.Flow[In, Out]
	in     In
	agents func(t testing.TB) agent.Roster
}

// New returns a case. agents is called for every run, with the test that it
// belongs to.
func New[In, Out any](f orchestrator.Flow[In, Out], in In, agents func(t testing.TB) agent.Roster) *Case[In, Out] {
	return &Case[In, Out]{flow: f, in: in, agents: agents}
}

// Run runs the case once in virtual time (testing/synctest): a flow that sleeps
// for hours takes no time. It must not be called in a bubble. The log comes
// second.
//
// Every call takes between 1 and 1,000 microseconds, which depend on its key alone,
// so calls that run side by side come back in the same order every time.
//
// A run that hangs fails the test, which says where the flow, its agents and its
// goroutines wait. So does an agent or a flow that ends its goroutine (FailNow, Fatal
// or require of a test): the test says which, and at which line.
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
