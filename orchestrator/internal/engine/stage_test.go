package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
	"github.com/convene-go/convene/providers"
)

const (
	lease  = 30 * time.Second
	poll   = time.Second
	outage = time.Minute

	// forever is longer than any test waits for the end of a run. Engines with a store
	// poll it, so that a test that waited without a limit would not end.
	forever = 100 * time.Hour
)

// newEngine is an engine that is closed at the end of the test. Agents that c does not
// name are echo, under the name "a".
func newEngine(t *testing.T, c driver.Config) *driver.Engine {
	t.Helper()
	c.Log, c.Lease, c.Poll, c.Outage = cmp.Or(c.Log, slog.New(slog.DiscardHandler)), lease, poll, outage
	c.Retry.Initial = time.Millisecond
	if c.Agents == nil {
		c.Agents = agent.Roster{"a": echo}
	}
	e := driver.New(c)
	t.Cleanup(func() { _ = e.Close(context.WithoutCancel(t.Context()), false) })
	return e
}

type none struct{}

// script is a flow without input.
type script[Out any] = orchestrator.Flow[none, Out]

// flow makes a flow of a function.
func flow[Out any](name string, do func(c *orchestrator.Context) (Out, error)) script[Out] {
	return script[Out]{Name: name, Do: func(c *orchestrator.Context, _ none) (Out, error) { return do(c) }}
}

func ask(c *orchestrator.Context, prompt string) (string, error) {
	resp, err := c.Call("a", agent.Request{Prompt: prompt})
	return resp.Text, err
}

var (
	// pair makes two calls, one after the other.
	pair = flow("pair", func(c *orchestrator.Context) (string, error) {
		one, err := ask(c, "one")
		if err != nil {
			return one, err
		}
		two, err := ask(c, "two")
		return one + " " + two, err
	})

	// sleeper sleeps for an hour.
	sleeper = flow("sleeper", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(time.Hour) })

	// asker waits for the answer to "k".
	asker = flow("asker", func(c *orchestrator.Context) (int, error) {
		return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
	})

	// broken fails after its first call.
	broken = flow("broken", func(c *orchestrator.Context) (none, error) {
		_, _ = ask(c, "one")
		panic("a bug")
	})

	// over is pair as a child.
	over = flow("over", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
)

// echo answers with its prompt.
var echo = agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
	return agent.Response{Text: req.Prompt, Usage: providers.Usage{Calls: 1, Cost: 5}}, nil
})

// hang answers when its context ends.
var hang = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
	<-ctx.Done()
	return agent.Response{}, context.Cause(ctx)
})

// after is echo, after d.
func after(d time.Duration) agent.Func {
	return func(ctx context.Context, req agent.Request) (agent.Response, error) {
		select {
		case <-time.After(d):
			return echo(ctx, req)
		case <-ctx.Done():
			return agent.Response{}, context.Cause(ctx)
		}
	}
}

// counted counts the calls of an agent.
type counted struct {
	agent.Agent
	n atomic.Int64
}

func (a *counted) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	a.n.Add(1)
	return a.Agent.Call(ctx, req)
}

// tap is a store that lets a test do something before an Append.
type tap struct {
	*runlog.Memory
	mu     sync.Mutex
	before func(ctx context.Context, recs []runlog.Record) error
}

func newTap() *tap { return &tap{Memory: runlog.NewMemory()} }

func (s *tap) Append(ctx context.Context, recs []runlog.Record) error {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, recs); err != nil {
			return err
		}
	}
	return s.Memory.Append(ctx, recs)
}

// on sets what happens before an Append; nil: nothing.
func (s *tap) on(before func(ctx context.Context, recs []runlog.Record) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// holdBack has each Append of a record of that kind wait until the returned channel is closed.
func (s *tap) holdBack(kind string) chan struct{} {
	open := make(chan struct{})
	s.on(func(ctx context.Context, recs []runlog.Record) error {
		for _, rec := range recs {
			if rec.Kind == kind {
				select {
				case <-open:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		return nil
	})
	return open
}

// steal puts, as another engine, a Resumed record behind the log of a run.
func steal(t *testing.T, s runlog.Store, run, owner string) {
	t.Helper()
	last, err := s.Last(t.Context(), run)
	require.NoError(t, err)
	data, err := json.Marshal(engine.ResumedData{Owner: owner})
	require.NoError(t, err)
	rec := runlog.Record{Run: run, Seq: last.Seq + 1, Kind: runlog.Resumed, Name: "pair", At: time.Now(), Data: data}
	require.NoError(t, s.Append(t.Context(), []runlog.Record{rec}))
}

type waiter = func(context.Context) (engine.End, error)

// begin starts a run of f.
func begin(t *testing.T, e *driver.Engine, f orchestrator.AnyFlow, id string) waiter {
	t.Helper()
	wait, err := e.Start(t.Context(), f.Program(), input(id))
	require.NoError(t, err)
	return wait
}

func input(id string) engine.Input { return engine.Input{Run: id, Data: json.RawMessage(`{}`)} }

// output waits for the end of a run, and is its output as JSON.
func output(t *testing.T, wait waiter) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), forever)
	defer stop()
	end, err := wait(ctx)
	require.NoError(t, err)
	require.Equal(t, engine.Completed, end.Status, "%v", end.Err)
	return string(end.Output)
}

// kinds are the kinds of a run's records.
func kinds(t *testing.T, e *driver.Engine, id string) string {
	t.Helper()
	var ks []string
	for rec, err := range e.Log(context.WithoutCancel(t.Context()), id, 0) {
		require.NoError(t, err)
		ks = append(ks, rec.Kind)
	}
	return strings.Join(ks, " ")
}

// look tells where a run is.
func look(t *testing.T, e *driver.Engine, id string) engine.View {
	t.Helper()
	v, err := e.Look(t.Context(), id)
	require.NoError(t, err)
	return v
}

// status requires that a run is where Look and List say.
func status(t *testing.T, e *driver.Engine, id string, want engine.Status) {
	t.Helper()
	assert.Equal(t, want, look(t, e, id).Status)
	for v, err := range e.List(t.Context(), runlog.Query{}) {
		require.NoError(t, err)
		if v.Run == id {
			assert.Equal(t, want, v.Status, "listed")
			return
		}
	}
	assert.Fail(t, "not listed", id)
}

// answer answers the question "k", early if it was not asked.
func answer(t *testing.T, e *driver.Engine, id, value string) error {
	t.Helper()
	q, _, _ := e.Question(t.Context(), id, "k") // what is wrong says Tell
	given := engine.AnsweredData{Answer: json.RawMessage(value), Early: q.Hash == ""}
	data, err := given.Encode()
	require.NoError(t, err)
	return e.Tell(t.Context(), id, engine.Command{Kind: engine.AnswerIt, Key: "k", Data: data, Hash: q.Hash})
}

func cancel(t *testing.T, e *driver.Engine, id string) error {
	t.Helper()
	return e.Tell(t.Context(), id, engine.Command{Kind: engine.CancelIt, Data: json.RawMessage(`"enough"`)})
}

func retry(t *testing.T, e *driver.Engine, id string) error {
	t.Helper()
	return e.Tell(t.Context(), id, engine.Command{Kind: engine.RetryIt})
}

// shut closes an engine in due time.
func shut(t *testing.T, e *driver.Engine) {
	t.Helper()
	require.NoError(t, e.Close(t.Context(), false))
}

// pause lets virtual time pass, and all come to rest.
func pause(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// bubble runs tests in virtual time.
func bubble(t *testing.T, tests map[string]func(t *testing.T)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { flowtest.Bubble(t, test) })
	}
}

// everywhere runs tests in virtual time, without a store and with one.
func everywhere(t *testing.T, tests map[string]func(t *testing.T, s runlog.Store)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name+", in memory", func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) { t.Helper(); test(t, nil) })
		})
		t.Run(name+", on a store", func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) { t.Helper(); test(t, runlog.NewMemory()) })
		})
	}
}
