package enginetest

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// stuckChecks are about runs whose flow panicked, diverged or broke a rule.
var stuckChecks = []check{
	{name: "a flow that panics leaves its run Stuck, and says why", run: stuckPanic},
	{name: "the same failure again is not recorded again", run: stuckAgain, resumes: true},
	{name: "a flow that diverges leaves its run Stuck", run: stuckDiverged, resumes: true},
	{name: "Retry tries again", run: stuckRetry},
	{name: "Retry with mended code ends the run", run: stuckMended, resumes: true},
	{name: "a stuck run is canceled without its flow", run: stuckCancel},
	{name: "a stuck child makes its parent Stuck, and Retry retries both", run: stuckChild},
	{name: "a stuck child is canceled with its parent", run: stuckChildCancel},
	{name: "an unknown version is not Stuck", run: unknownVersion, resumes: true},
	{name: "a run of an unknown version is canceled without its flow", run: unknownCancel, resumes: true},
}

// moody is a flow that calls the agent a, and panics until it is mended. Mended code stands
// for a process with new code.
type moody struct {
	orchestrator.Flow[none, string]
	mended atomic.Bool
	begun  atomic.Int64 // number of times that its code has run
}

func newMoody(h *host) *moody {
	m := &moody{}
	m.Flow = flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		m.begun.Add(1)
		text, err := ask(c, "a", "first")
		if !m.mended.Load() {
			panic("ouch")
		}
		return text, err
	})
	return m
}

// wantStuck requires that a run is Stuck because of a panic.
func wantStuck(h *host, r *orchestrator.Run) {
	h.t.Helper()
	require.ErrorIs(h.t, r.Wait(h.ctx), orchestrator.ErrFlow)
	i := info(h, r)
	assert.Equal(h.t, orchestrator.Stuck, i.Status)
	assert.Contains(h.t, i.Err, "ouch")
}

// kinds returns the numbers of a run's present records, by kind.
func kinds(h *host, r *orchestrator.Run) map[string]int {
	h.t.Helper()
	count := map[string]int{}
	for rec := range follow(h, r) {
		count[rec.Kind]++
		if rec.Kind == "stuck" || rec.Kind == "ended" {
			break
		}
	}
	return count
}

func stuckPanic(t *testing.T, h *host) {
	m := newMoody(h)
	r := start(h, h.engine(agent.Roster{"a": echo}, m), m.Flow, none{}, "")
	_, err := m.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrFlow)
	require.ErrorContains(t, err, "ouch")
	assert.Regexp(t, `\w+\.go:\d+`, err.Error(), "the line of the flow")
	wantStuck(h, r)
	assert.Equal(t, 1, kinds(h, r)["stuck"])
}

func stuckAgain(t *testing.T, h *host) {
	a, calls := counted(echo)
	m := newMoody(h)
	e := h.engine(agent.Roster{"a": a}, m)
	wantStuck(h, start(h, e, m.Flow, none{}, h.id("x")))
	before := kinds(h, open(h, e, h.id("x")))
	for range 3 {
		h.close(e)
		e = h.engine(agent.Roster{"a": a}, m)
		_, err := e.Resume(h.ctx)
		require.NoError(t, err)
		wantStuck(h, open(h, e, h.id("x")))
	}
	assert.Equal(t, before, kinds(h, open(h, e, h.id("x"))), "records by kind")
	assert.Equal(t, int64(1), calls.Load())
}

func stuckDiverged(t *testing.T, h *host) {
	g, id := newGate(t, "x"), h.id("x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		if _, err := ask(c, "a", "old words"); err != nil {
			return "", err
		}
		return ask(c, "gate", "x")
	})
	e := h.engine(agent.Roster{"a": echo, "gate": g}, f)
	start(h, e, f, none{}, id)
	g.wait(h.ctx, "x")
	h.close(e)
	f.Do = func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "a", "new words") }
	e = h.engine(agent.Roster{"a": echo, "gate": g}, f)
	_, err := e.Resume(h.ctx)
	require.NoError(t, err)
	r := open(h, e, id)
	require.ErrorIs(t, r.Wait(h.ctx), orchestrator.ErrDiverged)
	assert.Equal(t, orchestrator.Stuck, info(h, r).Status)
}

func stuckRetry(t *testing.T, h *host) {
	m := newMoody(h)
	r := start(h, h.engine(agent.Roster{"a": echo}, m), m.Flow, none{}, "")
	wantStuck(h, r)
	begun := m.begun.Load()
	require.NoError(t, r.Retry(h.ctx))
	wantStuck(h, r)
	assert.Greater(t, m.begun.Load(), begun)
	m.mended.Store(true)
	require.NoError(t, r.Retry(h.ctx))
	got, err := m.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, "first", got)
}

func stuckMended(t *testing.T, h *host) {
	m := newMoody(h)
	e := h.engine(agent.Roster{"a": echo}, m)
	wantStuck(h, start(h, e, m.Flow, none{}, h.id("x")))
	h.close(e)
	m.mended.Store(true)
	e = h.engine(agent.Roster{"a": echo}, m)
	r := open(h, e, h.id("x"))
	if !h.resumes { // else it has been tried already
		require.NoError(t, r.Retry(h.ctx))
	}
	got, err := m.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, "first", got)
}

func stuckCancel(t *testing.T, h *host) {
	m := newMoody(h)
	r := start(h, h.engine(agent.Roster{"a": echo}, m), m.Flow, none{}, "")
	wantStuck(h, r)
	begun := m.begun.Load()
	require.NoError(t, r.Cancel(h.ctx, "it is of no use"))
	require.NoError(t, r.Wait(h.ctx))
	assert.Equal(t, orchestrator.Canceled, info(h, r).Status)
	assert.Equal(t, begun, m.begun.Load(), "the flow did not run again")
	_, err := m.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
}

// stuckFamily starts a run whose child gets stuck.
func stuckFamily(h *host) (m *moody, parent *orchestrator.Run, kid *orchestrator.Run, result func() (string, error)) { //nolint:revive // a family
	h.t.Helper()
	m = newMoody(h)
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return m.Child(c, none{}) })
	e := h.engine(agent.Roster{"a": echo}, f, m)
	parent = start(h, e, f, none{}, h.id("top"))
	err := parent.Wait(h.ctx)
	require.ErrorIs(h.t, err, orchestrator.ErrFlow)
	require.ErrorContains(h.t, err, h.id("top")+"/0", "it names the child")
	kid = open(h, e, h.id("top")+"/0")
	for _, r := range []*orchestrator.Run{parent, kid} {
		assert.Equal(h.t, orchestrator.Stuck, info(h, r).Status)
	}
	return m, parent, kid, func() (string, error) { return f.Result(h.ctx, parent) }
}

func stuckChild(t *testing.T, h *host) {
	m, parent, _, result := stuckFamily(h)
	m.mended.Store(true)
	require.NoError(t, parent.Retry(h.ctx))
	got, err := result()
	require.NoError(t, err)
	assert.Equal(t, "first", got)
}

func stuckChildCancel(t *testing.T, h *host) {
	m, parent, kid, _ := stuckFamily(h)
	begun := m.begun.Load()
	require.NoError(t, parent.Cancel(h.ctx, "it is of no use"))
	for _, r := range []*orchestrator.Run{parent, kid} {
		require.NoError(t, r.Wait(h.ctx))
		assert.Equal(t, orchestrator.Canceled, info(h, r).Status)
	}
	assert.Equal(t, begun, m.begun.Load(), "the flow did not run again")
}

func unknownVersion(t *testing.T, h *host) {
	i := interrupted(h)
	newer := i.steps
	newer.Version = 1
	e := h.engine(i.agents, newer)
	_, _ = e.Resume(h.ctx)
	r := open(h, e, i.id)
	in := info(h, r)
	assert.NotEqual(t, orchestrator.Stuck, in.Status)
	if !h.resumes {
		assert.Equal(t, orchestrator.Suspended, in.Status)
		assert.Contains(t, strings.ToLower(in.Err), "version 0", "Info says what is not registered")
	}
	h.close(e)
	e = h.engine(i.agents, i.steps)
	h.resume(e, i.id)
	i.gate.wait(h.ctx, "b")
	i.gate.pass("b")
	require.NoError(t, open(h, e, i.id).Wait(h.ctx))
}

func unknownCancel(t *testing.T, h *host) {
	if h.resumes {
		t.Skip("this engine says what becomes of its runs without their flow")
	}
	i := interrupted(h)
	newer := i.steps
	newer.Version = 1
	e := h.engine(i.agents, newer)
	_, _ = e.Resume(h.ctx) // says that it is not registered
	r := open(h, e, i.id)
	before := info(h, r).Spent
	require.NoError(t, r.Cancel(h.ctx, "nobody has its code"))
	require.NoError(t, r.Wait(h.ctx))
	in := info(h, r)
	assert.Equal(t, orchestrator.Canceled, in.Status)
	assert.Contains(t, in.Err, "nobody has its code")
	assert.Equal(t, before, in.Spent, "what is on record")
	assert.Len(t, records(h, r, runlog.Canceled), 1)
	require.NoError(t, r.Cancel(h.ctx, "again"), "it has ended")
	gone, err := e.Prune(h.ctx, orchestrator.PruneOptions{})
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	require.NoError(t, err)
	assert.Positive(t, gone)
	_, err = e.Open(h.ctx, i.id)
	require.ErrorIs(t, err, orchestrator.ErrNoRun)
}

// depthChecks are about children that start children.
var depthChecks = []check{{name: "a child deeper than 64 is ErrFlow to its parent", run: childDepth}}

func childDepth(t *testing.T, h *host) {
	var down orchestrator.Flow[int, int]
	deepest := 0
	down = flow(h, func(c *orchestrator.Context, depth int) (int, error) {
		got, err := down.Child(c, depth+1)
		if errors.Is(err, orchestrator.ErrFlow) && deepest == 0 {
			deepest = depth
			return depth, nil
		}
		return got, err
	})
	got, err := down.Run(h.ctx, h.engine(nil, down), 0)
	require.NoError(t, err)
	assert.Equal(t, 64, got, "the run itself is at depth 0")
}
