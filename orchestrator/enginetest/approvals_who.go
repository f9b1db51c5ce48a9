package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// asking returns a run of a flow that asks q for a T, and waits until it is asked.
func asking[T any](h *host, q orchestrator.Question) (orchestrator.Flow[none, T], *orchestrator.Run) {
	h.t.Helper()
	f := flow(h, func(c *orchestrator.Context, _ none) (T, error) { return orchestrator.Await[T](c, q) })
	r := start(h, h.engine(nil), f, none{}, "")
	await(h, r, runlog.Asked)
	return f, r
}

func approvalOptions(t *testing.T, h *host) {
	f, r := asking[string](h, orchestrator.Question{Key: "q", Options: []string{"yes", "no"}})
	for _, wrong := range []string{"maybe; rm -rf", "Yes", "yes ", ""} {
		err := r.Answer(h.ctx, "q", wrong)
		require.ErrorIs(t, err, orchestrator.ErrMalformed, wrong)
		says(t, err, `"yes", "no"`)
	}
	require.NoError(t, r.Answer(h.ctx, "q", "no"))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, "no", got)
}

func approvalWords(t *testing.T, h *host) {
	for word, want := range map[string]bool{"reject": true, "keep": false} { // no words that mean it by themselves
		f, r := asking[bool](h, orchestrator.Question{Key: "q", Options: []string{"reject", "keep"}})
		require.ErrorIs(t, r.Answer(h.ctx, "q", "yes"), orchestrator.ErrMalformed)
		require.NoError(t, r.Answer(h.ctx, "q", word))
		got, err := f.Result(h.ctx, r)
		require.NoError(t, err)
		assert.Equal(t, want, got, word)
	}
}

type decision struct {
	Action string `json:"action"`
	Why    string `json:"why,omitempty"`
}

func approvalField(t *testing.T, h *host) {
	q := orchestrator.Question{Key: "q", Options: []string{"pay", "stop"}, OptionsOf: "action"}
	f, r := asking[decision](h, q)
	err := r.Answer(h.ctx, "q", decision{Action: "pay more", Why: "pay"})
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	says(t, err, `action is "pay more", want one of "pay", "stop"`)
	require.NoError(t, r.Answer(h.ctx, "q", decision{Action: "stop"}))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, decision{Action: "stop"}, got)

	q.OptionsOf = "verb"
	_, err = run(h, nil, func(c *orchestrator.Context) (decision, error) { return orchestrator.Await[decision](c, q) })
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	says(t, err, `"verb"`)
}

func approvalOnly(t *testing.T, h *host) {
	f, r := asking[bool](h, orchestrator.Question{Key: "q", Only: []string{"ann", "bob"}})
	for _, by := range []string{"", "carl", "Ann", "ann, bob"} {
		err := r.AnswerWith(h.ctx, "q", true, orchestrator.AnswerOptions{By: by})
		require.ErrorIs(t, err, orchestrator.ErrNotAllowed, by)
		says(t, err, `"ann", "bob"`)
	}
	require.NoError(t, r.AnswerWith(h.ctx, "q", true, orchestrator.AnswerOptions{By: "bob"}))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.True(t, got)
}

func approvalPerson(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (bool, error) {
		if _, err := ask(c, "gate", "x"); err != nil {
			return false, err
		}
		return orchestrator.Await[bool](c, orchestrator.Question{Key: "q", Person: true})
	})
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.AnswerWith(h.ctx, "q", true, early))
	g.pass("x")
	awaitAsked(h, r, 2)
	q := shown(h, r, "q")
	assert.Contains(t, q.Rejected, "before")
	require.ErrorIs(t, r.AnswerWith(h.ctx, "q", true, orchestrator.AnswerOptions{Agent: true}), orchestrator.ErrNotAllowed)
	require.NoError(t, r.Answer(h.ctx, "q", false))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.False(t, got)
}

func approvalEarlyOptions(t *testing.T, h *host) {
	g, options := newGate(t, "x"), []string{"pay", "no"}
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		if _, err := ask(c, "gate", "x"); err != nil {
			return "", err
		}
		yes, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "word", Options: options})
		if err != nil || !yes {
			return "", err
		}
		return orchestrator.Await[string](c, orchestrator.Question{Key: "text", Options: options})
	})
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.AnswerWith(h.ctx, "word", "pay", early))
	require.NoError(t, r.AnswerWith(h.ctx, "text", "perhaps", early))
	g.pass("x")
	awaitAsked(h, r, 3)
	q := shown(h, r, "text")
	assert.Contains(t, q.Rejected, `"perhaps"`)
	assert.Contains(t, q.Rejected, `"pay", "no"`)
	require.NoError(t, r.Answer(h.ctx, "text", "no"))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, "no", got)
}

func approvalLimits(t *testing.T, h *host) {
	g, f := newGate(t, "x"), flow(h, later)
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	err := r.AnswerWith(h.ctx, "large", strings.Repeat("x", 64<<10-1), early) // and its quotes
	require.ErrorIs(t, err, orchestrator.ErrTooLarge)
	says(t, err, "65536")
	require.NoError(t, r.AnswerWith(h.ctx, "large", strings.Repeat("x", 64<<10-2), early))
	for i := range 99 {
		require.NoError(t, r.AnswerWith(h.ctx, fmt.Sprint("n", i), i, early), i)
	}
	err = r.AnswerWith(h.ctx, "n", number{1}, early)
	require.ErrorIs(t, err, orchestrator.ErrTooLarge)
	says(t, err, "100")
	require.NoError(t, r.AnswerWith(h.ctx, "n7", 7, early), "it is there already")
	g.pass("x")
	await(h, r, runlog.Asked)
	require.NoError(t, r.Answer(h.ctx, "n", number{2}), "what is asked can be answered")
	require.NoError(t, r.Wait(h.ctx))
}

func approvalLarge(t *testing.T, h *host) {
	f, r := asking[string](h, orchestrator.Question{Key: "q"})
	err := r.Answer(h.ctx, "q", strings.Repeat("x", 4<<20))
	require.ErrorIs(t, err, orchestrator.ErrTooLarge)
	require.NotErrorIs(t, err, orchestrator.ErrMalformed)
	says(t, err, "4194304")
	require.NoError(t, r.Answer(h.ctx, "q", strings.Repeat("x", 4<<20-2)))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Len(t, got, 4<<20-2)
}
