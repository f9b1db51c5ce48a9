package orchestrator_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// plain is a store without leases and letters, so nothing ticks.
type plain struct{ *runlog.Memory }

func (plain) Beat() {}

func (plain) Put() {}

func (plain) Changes() {}

// listed are the runs of a Resume.
func listed(r orchestrator.Resumed, err error) ([]*orchestrator.Run, error) { return r.Runs, err }

func newPlain() plain { return plain{runlog.NewMemory()} }

// local is an engine that is closed at the end of the test.
func local(t *testing.T, c orchestrator.Config) *orchestrator.Engine {
	t.Helper()
	if c.Retry == (orchestrator.Attempts{}) {
		c.Retry.Wait = time.Millisecond
	}
	e, err := orchestrator.NewLocal(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

type none struct{}

// flow is a flow without input.
func flow[Out any](name string, do func(c *orchestrator.Context) (Out, error)) orchestrator.Flow[none, Out] {
	return orchestrator.Flow[none, Out]{Name: name, Do: func(c *orchestrator.Context, _ none) (Out, error) { return do(c) }}
}

func begin[Out any](t *testing.T, e *orchestrator.Engine, f orchestrator.Flow[none, Out], id string) *orchestrator.Run {
	t.Helper()
	r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: id})
	require.NoError(t, err)
	return r
}

func ask(c *orchestrator.Context, name, prompt string) (string, error) {
	resp, err := c.Call(name, agent.Request{Prompt: prompt})
	return resp.Text, err
}

var echo = agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
	return agent.Response{Text: req.Prompt}, nil
})

var hang = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
	<-ctx.Done()
	return agent.Response{}, ctx.Err()
})

func logOf(t *testing.T, s runlog.Store, run string) []runlog.Record {
	t.Helper()
	var log []runlog.Record
	for rec, err := range s.Records(context.WithoutCancel(t.Context()), run, 0) {
		require.NoError(t, err)
		log = append(log, rec)
	}
	return log
}

// stored is a store with the given log, renumbered.
func stored(t *testing.T, log ...runlog.Record) plain {
	t.Helper()
	s := newPlain()
	for i, rec := range log {
		rec.Seq = int64(i)
		require.NoError(t, s.Append(t.Context(), []runlog.Record{rec}))
	}
	return s
}

func kinds(log []runlog.Record) []string {
	ks := make([]string, len(log))
	for i, rec := range log {
		ks[i] = rec.Kind
	}
	return ks
}

// pause lets virtual time pass.
func pause(d time.Duration) { <-time.NewTimer(d).C }

// everywhere runs a test without a store and with one, each in a bubble.
func everywhere(t *testing.T, name string, test func(t *testing.T, s runlog.Store)) {
	t.Helper()
	t.Run(name+", in memory", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			test(t, nil)
		})
	})
	t.Run(name+", on a store", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			test(t, runlog.NewMemory())
		})
	})
}

// counted counts the calls of an agent.
type counted struct {
	agent.Agent
	calls atomic.Int64
}

func (a *counted) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	a.calls.Add(1)
	return a.Agent.Call(ctx, req)
}

// after answers as echo does, after d.
func after(d time.Duration) agent.Func {
	return func(ctx context.Context, req agent.Request) (agent.Response, error) {
		wait := time.NewTimer(d)
		defer wait.Stop()
		select {
		case <-wait.C:
			return agent.Response{Text: req.Prompt, Usage: providers.Usage{Calls: 1}}, nil
		case <-ctx.Done():
			return agent.Response{}, ctx.Err()
		}
	}
}

// mortal is an engine whose process can be killed: then it reaches its store no more.
type mortal struct {
	*orchestrator.Engine
	store *doubles.Double
}

func (m mortal) kill() { m.store.Fail(math.MaxInt) }

func newMortal(t *testing.T, s runlog.Store, c orchestrator.Config) mortal {
	t.Helper()
	m := mortal{store: doubles.New(s)}
	c.Store = m.store.Store()
	m.Engine = local(t, c)
	t.Cleanup(m.store.Heal) // so that it can be closed
	return m
}

func open(t *testing.T, e *orchestrator.Engine, id string) *orchestrator.Run {
	t.Helper()
	r, err := e.Open(t.Context(), id)
	require.NoError(t, err)
	return r
}

func infoOf(t *testing.T, r *orchestrator.Run) orchestrator.Info {
	t.Helper()
	i, err := r.Info(t.Context())
	require.NoError(t, err)
	return i
}

// runsIn counts the runs that an engine lists.
func runsIn(t *testing.T, e *orchestrator.Engine, q orchestrator.RunQuery) int {
	t.Helper()
	n := 0
	for _, err := range e.Runs(t.Context(), q) {
		require.NoError(t, err)
		n++
	}
	return n
}

// early are the options of an answer that comes before its question.
var early = orchestrator.AnswerOptions{Early: true}
