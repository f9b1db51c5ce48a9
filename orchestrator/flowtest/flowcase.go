package flowtest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/convene-go/convene/blackboard"
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

	// Strip takes out of a result what may differ between a run and one that was
	// killed and resumed, such as durations. nil: nothing differs.
	Strip func(Out) Out

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
func (c *Case[In, Out]) Run(t *testing.T) (Out, []blackboard.Record, error) {
	t.Helper()
	var out Out
	var log []blackboard.Record
	var err error
	synctest.Test(t, func(t *testing.T) {
		mem := blackboard.NewMemory()
		p := c.open(t, plain{mem}, &world{roster: c.agents(t)})
		out, err = p.result()
		log = readLog(t, mem, caseID)
		p.close()
	})
	return out, log, err
}

const caseID = "case"

// plain is a store without leases and letters: nothing ticks, so a test that waits
// for nothing is found out.
type plain struct{ *blackboard.Memory }

func (plain) Lease() {}
func (plain) Put()   {}

// process is one engine with the run of a case.
type process[Out any] struct {
	t      *testing.T
	eng    *orchestrator.Engine
	run    *orchestrator.Run
	err    error // of the start
	wait   func(context.Context, *orchestrator.Run) (Out, error)
	cancel context.CancelFunc
	people sync.WaitGroup
}

// open starts the run of the case, or goes on with it where store has its log.
func (c *Case[In, Out]) open(t *testing.T, store blackboard.Store, w *world) *process[Out] {
	t.Helper()
	cfg := c.Config
	cfg.Agents, cfg.Flows, cfg.Store = w.agents(), []orchestrator.AnyFlow{c.flow}, store
	eng, err := orchestrator.NewLocal(cfg)
	if err != nil {
		t.Fatalf("the engine of the case: %v", err)
	}
	o := c.Options
	o.ID = caseID
	ctx, cancel := context.WithCancel(t.Context())
	p := &process[Out]{t: t, eng: eng, wait: c.flow.Result, cancel: cancel}
	t.Cleanup(p.close) // a test that fails on the way leaves nothing in its bubble
	if p.run, p.err = c.flow.Start(ctx, eng, c.in, o); p.err == nil {
		p.people.Go(func() { answerAll(ctx, t, p.run, c.Answers) })
	}
	return p
}

// result waits for the end of the run.
func (p *process[Out]) result() (Out, error) {
	if p.err != nil {
		var zero Out
		return zero, p.err
	}
	return p.wait(p.t.Context(), p.run)
}

// close ends the process in good order.
func (p *process[Out]) close() {
	p.t.Helper()
	p.cancel()
	p.people.Wait()
	if err := p.eng.Close(context.WithoutCancel(p.t.Context())); err != nil {
		p.t.Errorf("close of the engine: %v", err)
	}
}

// answerAll answers the questions of a run until it ends.
func answerAll(ctx context.Context, t *testing.T, run *orchestrator.Run, answers map[string]any) {
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			return
		}
		if rec.Kind != blackboard.Asked {
			continue
		}
		if answer, ok := answers[rec.Name]; ok {
			_ = run.Answer(ctx, rec.Name, answer) // answered already, in an earlier process
			continue
		}
		var q orchestrator.Question
		if err := json.Unmarshal(rec.Data, &q); err == nil && q.Timeout == 0 {
			t.Errorf("the question %q has no answer in Case.Answers, and no time limit", rec.Name)
			_ = run.Cancel(ctx, "nobody answers")
		}
	}
}

func readLog(t *testing.T, s blackboard.Store, run string) []blackboard.Record {
	t.Helper()
	var log []blackboard.Record
	for rec, err := range s.Records(context.WithoutCancel(t.Context()), run, 0) {
		if err != nil {
			t.Fatalf("log of run %q: %v", run, err)
		}
		log = append(log, rec)
	}
	return log
}
