package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
)

const caseID = "case"

// process is one engine that runs a case.
type process[Out any] struct {
	t       *testing.T
	eng     *orchestrator.Engine
	store   runlog.Store
	run     *orchestrator.Run
	err     error // error of the start
	wait    func(context.Context, *orchestrator.Run) (Out, error)
	answers map[string]any // answers to the run's questions, by key
	people  sync.WaitGroup
	closed  sync.Once
}

// open starts the run of the case, or resumes it if store has its log.
func (c *Case[In, Out]) open(t *testing.T, store runlog.Store, w *world) *process[Out] {
	t.Helper()
	flow := c.flow
	if c.anew != nil {
		flow = c.anew(t)
	}
	flow.Do = reportExit(t, flow.Do)
	cfg := c.Config
	cfg.Agents, cfg.Flows, cfg.Store = w.agents(), []orchestrator.AnyFlow{flow}, plain(store)
	if s, ok := store.(*faulty); ok && s.dies() { // a process that is killed does not try again
		cfg.Fleet.Outage = time.Nanosecond
	}
	eng, err := orchestrator.NewLocal(cfg)
	if err != nil {
		t.Fatalf("the engine of the case: %v", err)
	}
	o := c.Options
	o.ID = caseID
	p := &process[Out]{t: t, eng: eng, store: store, wait: flow.Result, answers: c.Answers}
	t.Cleanup(p.close) // a test that fails on the way leaves nothing in its bubble
	p.run, p.err = flow.Start(t.Context(), eng, c.in, o)
	return p
}

// reportExit returns do, which fails the test if it ends its goroutine instead of returning.
func reportExit[In, Out any](t *testing.T, do func(*orchestrator.Context, In) (Out, error)) func(*orchestrator.Context, In) (Out, error) {
	if do == nil {
		return nil
	}
	return func(c *orchestrator.Context, in In) (Out, error) {
		returned := false
		defer func() {
			if returned {
				return
			}
			if at, ok := exitedAt(); ok {
				t.Errorf("the flow ended its goroutine at %s (runtime.Goexit, or FailNow, Fatal or require of a test): let it return an error", at)
			}
		}()
		out, err := do(c, in)
		returned = true
		return out, err
	}
}

// result answers the questions of the run, waits for its end, and returns its result.
func (p *process[Out]) result() (Out, error) {
	if p.err != nil {
		var zero Out
		return zero, p.err
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	p.people.Go(func() { answerAll(ctx, p.t, p.run, p.answers) })
	p.people.Go(func() { p.watch(ctx, cancel) })
	return p.wait(ctx, p.run)
}

// patience is the virtual time, more than a year, without a record after which a run is
// said to hang.
const patience = 10_000 * time.Hour

// watch fails the test and calls giveUp if the run hangs. It returns when ctx is done.
func (p *process[Out]) watch(ctx context.Context, giveUp func()) {
	for before := -1; pass(ctx, patience) == nil; {
		held := len(readLog(p.t, p.store, caseID))
		if held == before {
			p.t.Errorf("the run hangs: it wrote no record for %v of virtual time. There:%s", patience, atMost(waits(stacks(), thisBubble())))
			giveUp()
			return
		}
		before = held
	}
}

// close closes the engine and waits for all goroutines. It may be called twice.
func (p *process[Out]) close() {
	p.closed.Do(func() {
		p.people.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), patience)
		defer cancel()
		if err := p.eng.Close(ctx); err != nil {
			p.t.Errorf("close of the engine: %v", err)
		}
	})
}

// answerAll answers the questions of a run until it ends.
func answerAll(ctx context.Context, t *testing.T, run *orchestrator.Run, answers map[string]any) {
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			return
		}
		if rec.Kind != runlog.Asked {
			continue
		}
		var q orchestrator.Question
		readable := json.Unmarshal(rec.Data, &q) == nil
		switch answer, ok := answers[rec.Name]; {
		case ok:
			err := run.AnswerWith(ctx, rec.Name, answer, orchestrator.AnswerOptions{By: firstOf(q.Only)})
			if errors.Is(err, orchestrator.ErrMalformed) || errors.Is(err, orchestrator.ErrTooLarge) {
				t.Errorf("the answer in Case.Answers is refused: %v", err)
				_ = run.Cancel(ctx, "the test has no answer that fits")
			}
			// Other errors: an earlier process has answered, or the question waits no more.
		case readable && q.Timeout == 0:
			t.Errorf("the question %q has no answer in Case.Answers, and no time limit", rec.Name)
			_ = run.Cancel(ctx, "the test has no answer")
		}
	}
}

func firstOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// readLog returns the log of a run; large data is in its records.
func readLog(t *testing.T, s runlog.Store, run string) []runlog.Record {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var log []runlog.Record
	for rec, err := range s.Records(ctx, run, 0) {
		if blobs, ok := runlog.As[runlog.Blobs](s); err == nil && ok && rec.Blob != "" {
			rec.Data, err = blobs.Blob(ctx, run, rec.Blob)
			rec.Blob = ""
		}
		if err != nil {
			t.Fatalf("log of run %q: %v", run, err)
		}
		log = append(log, rec)
	}
	return log
}

// runsIn returns the IDs of the runs in a store.
func runsIn(t *testing.T, s runlog.Store) []string {
	t.Helper()
	var ids []string
	for l, err := range s.List(context.WithoutCancel(t.Context()), runlog.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, l.Run)
	}
	return ids
}

// keyOf returns the key of the effect that a record belongs to, over all runs.
func keyOf(rec runlog.Record) string { return rec.Run + "/" + engine.Key(rec.Branch, rec.N) }
