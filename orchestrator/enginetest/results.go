package enginetest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var resultChecks = []check{
	{name: "the result is what the flow returned", run: resultOf},
	{name: "a result beside an error is handed out", run: resultBesideError},
	{name: "In and Out pass through JSON once", run: throughJSON},
	{name: "a response passes through JSON once", run: responseThroughJSON},
	{name: "an Outcome tells the status", run: outcomeStatus},
	{name: "an agent learns which call it serves", run: callInfo},
	{name: "Sleep moves Now and Elapsed", run: sleepMoves},
	{name: "Now stands still between effects", run: nowStands},
	{name: "Emit is on record once and in order", run: emitOnce},
}

func resultOf(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, n int) (string, error) {
		text, err := ask(c, "echo", "hello")
		return text, err
	})
	got, err := f.Run(h.ctx, h.engine(agent.Roster{"echo": echo}), 3)
	require.NoError(t, err)
	assert.Equal(t, "hello", got)
}

const errPoor = agent.Code("enginetest/poor")

func resultBesideError(t *testing.T, h *host) {
	got, err := run(h, nil, func(*orchestrator.Context) (string, error) { return "best so far", errPoor })
	require.ErrorIs(t, err, errPoor)
	assert.Equal(t, "best so far", got)
}

type parcel struct {
	Kept  string
	Lost  string `json:"-"`
	Stamp time.Time
}

func throughJSON(t *testing.T, h *host) {
	stamp := time.Date(2030, 1, 2, 3, 4, 5, 6, time.FixedZone("here", 3600))
	f := flow(h, func(_ *orchestrator.Context, in parcel) ([]parcel, error) {
		return []parcel{in, {Kept: "<new>", Lost: "lost too"}}, nil
	})
	got, err := f.Run(h.ctx, h.engine(nil), parcel{Kept: "kept", Lost: "lost", Stamp: stamp})
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, "kept", got[0].Kept)
	assert.True(t, stamp.Equal(got[0].Stamp))
	assert.Equal(t, parcel{Kept: "<new>"}, got[1])
	assert.Empty(t, got[0].Lost)
}

func responseThroughJSON(t *testing.T, h *host) {
	a := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: "a\xffb", Data: json.RawMessage("{ \"a\" : \"<b>\" }")}, nil
	})
	got, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) ([]string, error) {
		resp, err := c.Call("a", agent.Request{})
		return []string{resp.Text, string(resp.Data)}, err
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"a\uFFFDb", `{"a":"<b>"}`}, got)
}

type report struct {
	orchestrator.Outcome
	Text string
}

func outcomeStatus(t *testing.T, h *host) {
	f := flow(h, func(*orchestrator.Context, none) (report, error) {
		score := 0.5
		return report{Outcome: orchestrator.Outcome{Status: orchestrator.Partial, Score: &score}, Text: "half"}, nil
	})
	r := start(h, h.engine(nil), f, none{}, "")
	require.NoError(t, r.Wait(h.ctx))
	i := info(h, r)
	assert.Equal(t, orchestrator.Partial, i.Status)
	require.NotNil(t, i.Outcome)
	require.NotNil(t, i.Outcome.Score)
	assert.InDelta(t, 0.5, *i.Outcome.Score, 0)
}

func callInfo(t *testing.T, h *host) {
	var got []agent.Info
	a := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		got = append(got, agent.InfoFrom(ctx))
		return agent.Response{}, nil
	})
	f := flow(h, func(c *orchestrator.Context, _ none) (none, error) {
		_, _ = c.Call("a", agent.Request{})
		_, err := orchestrator.Values(orchestrator.Map(c, []int{0}, 0, func(c *orchestrator.Context, _ int) (none, error) {
			_, err := c.Call("a", agent.Request{})
			return none{}, err
		}))
		return none{}, err
	})
	r := start(h, h.engine(agent.Roster{"a": a}), f, none{}, h.id("info"))
	require.NoError(t, r.Wait(h.ctx))
	require.Len(t, got, 2)
	for i := range got {
		assert.NotNil(t, got[i].Log)
		got[i].Log = nil
	}
	id := h.id("info")
	assert.Equal(t, []agent.Info{
		{Run: id, Flow: f.Name, Agent: "a", Key: id + "/0", Attempt: 1},
		{Run: id, Flow: f.Name, Agent: "a", Branch: "0", Key: id + "/0:0", Attempt: 1},
	}, got)
}

func sleepMoves(t *testing.T, h *host) {
	const nap = 20 * time.Millisecond
	got, err := run(h, nil, func(c *orchestrator.Context) ([]time.Duration, error) {
		now, elapsed := c.Now(), c.Elapsed()
		err := c.Sleep(nap)
		return []time.Duration{c.Now().Sub(now), c.Elapsed() - elapsed}, err
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, got[0], nap, "Now")
	assert.GreaterOrEqual(t, got[1], nap, "Elapsed")
}

func nowStands(t *testing.T, h *host) {
	got, err := run(h, agent.Roster{"echo": echo}, func(c *orchestrator.Context) (bool, error) {
		before := c.Now()
		for range 1000 {
			if !c.Now().Equal(before) {
				return false, nil
			}
		}
		_, err := ask(c, "echo", "x")
		return !c.Now().Before(before), err
	})
	require.NoError(t, err)
	assert.True(t, got)
}

func emitOnce(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (none, error) {
		c.Emit("step", 1)
		err := c.Sleep(time.Millisecond)
		c.Emit("step", 2)
		c.Emit("step", "<3>")
		return none{}, err
	})
	e := h.engine(nil)
	r := start(h, e, f, none{}, "")
	var got []string
	for _, rec := range records(h, r, "step") {
		got = append(got, string(rec.Data))
	}
	assert.Equal(t, []string{"1", "2", `"<3>"`}, got)

	bad := flow(h, func(c *orchestrator.Context, _ none) (none, error) {
		c.Emit(runlog.Ended, nil)
		return none{}, nil
	})
	_, err := bad.Run(h.ctx, e, none{})
	require.ErrorIs(t, err, orchestrator.ErrFlow, "a kind of the engine's own")
}
