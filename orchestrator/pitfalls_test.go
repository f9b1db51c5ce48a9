package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// plain is a store without leases and letters, so nothing ticks.
type plain struct{ *blackboard.Memory }

func (plain) Lease() {}
func (plain) Put()   {}

func newPlain() plain { return plain{blackboard.NewMemory()} }

// local is an engine that is closed at the end of the test.
func local(t *testing.T, c orchestrator.Config) *orchestrator.Engine {
	t.Helper()
	if c.Retry == (orchestrator.Retry{}) {
		c.Retry.Initial = time.Millisecond
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

func logOf(t *testing.T, s blackboard.Store, run string) []blackboard.Record {
	t.Helper()
	var log []blackboard.Record
	for rec, err := range s.Records(context.WithoutCancel(t.Context()), run, 0) {
		require.NoError(t, err)
		log = append(log, rec)
	}
	return log
}

// stored is a store with the given log, renumbered.
func stored(t *testing.T, log ...blackboard.Record) plain {
	t.Helper()
	s := newPlain()
	for i, rec := range log {
		rec.Seq = int64(i)
		require.NoError(t, s.Append(t.Context(), []blackboard.Record{rec}))
	}
	return s
}

func kinds(log []blackboard.Record) []string {
	ks := make([]string, len(log))
	for i, rec := range log {
		ks[i] = rec.Kind
	}
	return ks
}

// An answer and the end of a question's time may both be on record.
func TestAnsweredAndExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("question", func(c *orchestrator.Context) (bool, error) {
			ok, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: time.Hour})
			if err != nil {
				return ok, err
			}
			_, err = ask(c, "echo", "x")
			return ok, err
		})
		agents := agent.Roster{"echo": echo}
		first := newPlain()
		r := begin(t, local(t, orchestrator.Config{Agents: agents, Store: first}), f, "x")
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "ok", true))
		require.NoError(t, r.Wait(t.Context()))
		log := logOf(t, first, "x")
		require.Equal(t, []string{blackboard.Started, blackboard.Asked, blackboard.Answered, blackboard.Called, blackboard.Ended}, kinds(log))

		expired := log[2]
		expired.Kind, expired.Data, expired.Branch, expired.N = blackboard.Expired, nil, log[1].Branch, log[1].N
		again := stored(t, log[0], log[1], log[2], expired, log[3])
		got, err := f.Result(t.Context(), begin(t, local(t, orchestrator.Config{Agents: agents, Store: again}), f, "x"))
		require.NoError(t, err)
		assert.True(t, got)
	})
}
