package flowtest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

type draft struct {
	Text string `json:"text"`
}

// part drafts under a budget of its own until the draft is long enough.
var part = orchestrator.Flow[string, orchestrator.Refined[draft]]{
	Name: "part", Agents: []string{"writer"},
	Do: func(c *orchestrator.Context, topic string) (orchestrator.Refined[draft], error) {
		return orchestrator.Refine(c.WithBudget(orchestrator.Budget{Calls: 4}), orchestrator.Refinement[draft]{
			Attempts: 3, Gate: 10,
			Try: func(c *orchestrator.Context, last orchestrator.Refined[draft]) (draft, error) {
				d, _, err := orchestrator.Ask[draft](c, "writer", agent.Request{Prompt: "draft " + topic + last.Feedback})
				return d, err
			},
			Grade: func(_ *orchestrator.Context, d draft) (orchestrator.Verdict, error) {
				return orchestrator.Verdict{Score: float64(len(d.Text)), Feedback: " but longer"}, nil
			},
		})
	},
}

type book struct {
	orchestrator.Outcome
	Parts []string `json:"parts"`
	First string   `json:"first"`
	Good  bool     `json:"good"`
}

// publish uses everything that a flow can use.
var publish = orchestrator.Flow[[]string, book]{
	Name: "publish", Version: 3, Agents: []string{"writer", "critic"},
	Do: func(c *orchestrator.Context, topics []string) (book, error) {
		var b book
		c.Expose(func() any { return b })
		share := c.Left().Split(len(topics))
		parts := orchestrator.Map(c, topics, 2, func(c *orchestrator.Context, topic string) (string, error) {
			c.Emit("topic", topic)
			if err := c.Sleep(time.Minute); err != nil {
				return "", err
			}
			done, err := part.Child(c.WithBudget(share), topic)
			return done.Value.Text, err
		})
		for _, p := range parts {
			b.Parts = append(b.Parts, fmt.Sprint(p.Value, p.Err != nil))
		}
		q := orchestrator.NewQueue[string](c)
		for _, name := range []string{"ann", "bob", "cy"} {
			q.Go(name, func(c *orchestrator.Context) (string, error) {
				resp, err := c.Call("critic", agent.Request{Prompt: name})
				return resp.Text, err
			})
		}
		first, _ := q.Next()
		b.First = first.Key
		q.CancelAll()
		for _, ok := q.Next(); ok; _, ok = q.Next() {
			c.Emit("left", nil)
		}
		if _, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "late", Timeout: time.Hour}); !errors.Is(err, orchestrator.ErrTimeout) {
			return b, err
		}
		good, err := orchestrator.Await[bool](c.WithBudget(orchestrator.Budget{Wall: 2 * time.Hour}), orchestrator.Question{Key: "good"})
		b.Good = good
		b.Status = orchestrator.Partial
		return b, err
	},
}

func publishing() *flowtest.Case[[]string, book] {
	k := flowtest.New(publish, []string{"sun", "moon", "sea"}, func(tb testing.TB) agent.Roster {
		tb.Helper()
		busy := agent.Transient(errors.New("busy"), 0)
		used := func(text string) agent.Response {
			return agent.Response{Text: text, Usage: providers.Usage{Calls: 1, Input: 2, Output: 3, Cost: 4}}
		}
		return agent.Roster{
			"writer": flowtest.NewScript(tb).
				On("but longer", used(`{"text":"long enough for the gate"}`)).
				On("sun", flowtest.Fail(1, busy, used(`{"text":"short"}`))).
				On("cannot be used", draft{"a moon that was repaired"}).
				On("moon", used("no JSON")).
				On("sea", agent.Code("acme/drowned")),
			"critic": flowtest.NewScript(tb).
				On("bob", flowtest.Hang()).
				On("", flowtest.Delay(time.Second, used("fine"))),
		}
	})
	k.Answers = map[string]any{"good": true}
	k.Options.Budget = orchestrator.Budget{Calls: 50, Cost: providers.USD, Wall: 24 * time.Hour}
	return k
}

func TestRun(t *testing.T) {
	k := publishing()
	out, log, err := k.Run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"long enough for the gatefalse", "a moon that was repairedfalse", "true"}, out.Parts)
	assert.True(t, out.Good)
	assert.Equal(t, runlog.Started, log[0].Kind)
	assert.Equal(t, runlog.Ended, log[len(log)-1].Kind)
	assert.Greater(t, log[len(log)-1].At.Sub(log[0].At), time.Hour, "in virtual time")

	again, _, err := publishing().Run(t)
	require.NoError(t, err)
	assert.Equal(t, out, again, "the same every time")
}

func TestSweep(t *testing.T) { publishing().Sweep(t) }

func TestDeterminism(t *testing.T) { publishing().Determinism(t) }

func TestSweepOfErrors(t *testing.T) {
	over := orchestrator.Flow[int, int]{Name: "over", Do: func(c *orchestrator.Context, n int) (int, error) {
		for i := range n {
			if _, err := c.Call("writer", agent.Request{Prompt: fmt.Sprint(i)}); err != nil {
				return i, err
			}
		}
		return n, nil
	}}
	k := flowtest.New(over, 9, func(tb testing.TB) agent.Roster {
		tb.Helper()
		return agent.Roster{"writer": flowtest.NewScript(tb).On("", "ok")}
	})
	k.Options.Budget.Calls = 3
	out, _, err := k.Run(t)
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.Equal(t, 3, out)
	k.Sweep(t)
}
