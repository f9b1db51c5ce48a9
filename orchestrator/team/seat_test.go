package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

type steps struct {
	Steps []string `json:"steps"`
}

// asked is what came of a seat in a run of its own.
type asked[A any] struct {
	reply  team.Reply[A]
	err    error
	out    orchestrator.Outcome
	events []string // verbs of the seat's events
	data   []string // and their data
}

// ask asks a seat once. The planner gives the answers in turn, each as a call of its own.
func ask[A any](t *testing.T, seat team.Seat[A], limits team.Limits, answers ...any) (got asked[A], requests []agent.Request) {
	t.Helper()
	texts, err := prompt.New(prompt.Source{
		Own:     fstest.MapFS{"plan.tmpl": {Data: []byte("Plan {{.}}.")}},
		Samples: map[string][]any{"plan.tmpl": {"x"}},
	})
	require.NoError(t, err)
	flow := orchestrator.Flow[int, int]{Name: "seat", Do: func(c *orchestrator.Context, _ int) (int, error) {
		got = asked[A]{}
		r, c := team.Begin(c, team.Start{Team: "party", Outcome: &got.out, Limits: limits, Prompts: texts})
		got.reply, got.err = seat.Call(c, r, "a party")
		return 0, nil
	}}
	var script *flowtest.Script
	_, records, err := flowtest.New(flow, 0, func(t testing.TB) agent.Roster {
		script = flowtest.NewScript(t, answers...)
		return agent.Roster{"planner": script}
	}).Run(t)
	require.NoError(t, err)
	for _, rec := range records {
		if verb, ok := strings.CutPrefix(rec.Kind, "party.agent."); ok {
			got.events, got.data = append(got.events, verb), append(got.data, string(rec.Data))
		}
	}
	return got, script.Requests()
}

func planner[A any]() team.Seat[A] {
	return team.Seat[A]{Who: "lead", Agent: "planner", Prompt: "plan.tmpl", Request: agent.Request{Op: "plan", Task: "party"}}
}

func TestSeat(t *testing.T) {
	seat := planner[steps]()
	got, requests := ask(t, seat, team.Limits{Estimate: 7}, agent.Response{Text: `{"steps":["invite"]}`, Usage: providers.Usage{Calls: 1, Input: 5}})
	require.NoError(t, got.err)
	assert.Equal(t, steps{[]string{"invite"}}, got.reply.Value)
	assert.Equal(t, `{"steps":["invite"]}`, got.reply.Text)
	assert.EqualValues(t, 5, got.reply.Usage.Input)
	assert.Equal(t, 1, got.reply.Tries)
	assert.Equal(t, []string{"started", "finished"}, got.events)
	assert.JSONEq(t, `{"who":"lead","try":1,"usage":{"calls":1,"input":5}}`, got.data[1])
	require.Len(t, requests, 1)
	assert.Equal(t, "Plan a party.", requests[0].Prompt)
	assert.Equal(t, "plan party", requests[0].Op+" "+requests[0].Task)
	assert.Contains(t, string(requests[0].Output), `"steps"`, "the schema of the answer's type")
	assert.EqualValues(t, 7, requests[0].Limits.Estimate, "that of the run")

	seat.Prompt, seat.Request.Prompt, seat.Request.Limits.Estimate = "", "Plan something.", 9
	_, requests = ask(t, seat, team.Limits{Estimate: 7}, `{"steps":[]}`)
	assert.Equal(t, "Plan something.", requests[0].Prompt)
	assert.EqualValues(t, 9, requests[0].Limits.Estimate)
	seat.Request.Limits.Estimate = orchestrator.None
	_, requests = ask(t, seat, team.Limits{Estimate: 7}, `{"steps":[]}`)
	assert.Zero(t, requests[0].Limits.Estimate, "none")
}

func TestSeatReads(t *testing.T) {
	got, _ := ask(t, planner[string](), team.Limits{}, " Invite them. ")
	assert.Equal(t, "Invite them.", got.reply.Value, "a text is the answer")
	got, _ = ask(t, planner[string](), team.Limits{}, agent.Response{Data: json.RawMessage(`{"a":1}`)})
	assert.JSONEq(t, `{"a":1}`, got.reply.Value, "or its data")

	own := planner[int]()
	own.Read = func(resp agent.Response) (int, error) { return len(resp.Text), nil }
	length, requests := ask(t, own, team.Limits{}, "1234")
	assert.Equal(t, 4, length.reply.Value)
	assert.Nil(t, requests[0].Output)
	own.Check = func(n int) error { return fmt.Errorf("%d is too long", n) }
	length, requests = ask(t, own, team.Limits{}, "1234", "")
	require.ErrorIs(t, length.err, orchestrator.ErrMalformed)
	assert.Contains(t, requests[1].Prompt, "4 is too long", "an answer that Read has found is checked, too")
	own.Check = nil
	length, _ = ask(t, own, team.Limits{}, "")
	require.ErrorIs(t, length.err, team.ErrSilent, "also if Read takes it")

	schema := planner[map[string]int]()
	schema.Request.Output = json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	number, requests := ask(t, schema, team.Limits{}, `{"m":1}`, `It is {"n":"3"}.`)
	require.NoError(t, number.err)
	assert.Equal(t, map[string]int{"n": 3}, number.reply.Value)
	assert.Len(t, requests, 2, "what does not fit is sent back")
	assert.JSONEq(t, string(schema.Request.Output), string(requests[0].Output))
}

func TestSeatRepairs(t *testing.T) {
	seat := planner[steps]()
	seat.Check = func(s steps) error {
		if len(s.Steps) == 0 {
			return errors.New("steps is empty")
		}
		return nil
	}
	got, requests := ask(t, seat, team.Limits{}, `{"steps":[]}`, `{"steps":["invite"]}`)
	require.NoError(t, got.err)
	assert.Contains(t, requests[1].Prompt, "steps is empty")
	assert.Equal(t, []string{"started", "finished"}, got.events, "a repair is part of the try")
	assert.EqualValues(t, 2, got.reply.Usage.Calls)

	seat.Request.Limits.Repairs = orchestrator.None
	got, _ = ask(t, seat, team.Limits{}, `{"steps":[]}`)
	require.ErrorIs(t, got.err, orchestrator.ErrMalformed)
	assert.Equal(t, `{"steps":[]}`, got.reply.Text, "what was said is there")
	assert.Empty(t, got.reply.Value.Steps)
	assert.Equal(t, []string{"started", "failed"}, got.events)
	assert.Empty(t, got.out.Warnings)
}

func TestUsed(t *testing.T) {
	resp := agent.Response{Usage: providers.Usage{Calls: 1, Input: 5}}
	assert.Equal(t, providers.Usage{Calls: 1, Input: 5}, team.Used(resp, errors.New("boom")))
	assert.Equal(t, providers.Usage{Calls: 2, Input: 9}, team.Used(resp, &agent.Error{Message: "boom", Usage: providers.Usage{Calls: 1, Input: 4}}))
}

func TestSeatRetries(t *testing.T) {
	seat := planner[string]()
	seat.Retrier, seat.Working = orchestrator.Attempts{Wait: 2 * time.Second}, orchestrator.Working{Role: "lead", Max: 3}
	boom := &agent.Error{Message: "boom", Usage: providers.Usage{Calls: 1, Input: 4}}
	got, requests := ask(t, seat, team.Limits{}, boom, "", "At last")
	require.NoError(t, got.err)
	assert.Equal(t, "At last", got.reply.Value)
	assert.Equal(t, 3, got.reply.Tries)
	assert.EqualValues(t, 4, got.reply.Usage.Input, "of failed tries, too")
	assert.Equal(t, []string{"started", "failed", "retried", "started", "failed", "retried", "started", "finished"}, got.events)
	assert.JSONEq(t, `{"who":"lead","try":2,"wait":"2s","text":"boom"}`, got.data[2])
	assert.Len(t, requests, 3)
	got, _ = ask(t, seat, team.Limits{}, boom, "", boom)
	require.EqualError(t, got.err, "boom", "the last error")
	refuses := seat
	refuses.Check = func(string) error { return errors.New("no") }
	refuses.Request.Limits.Repairs, refuses.Working.Max = orchestrator.None, 2
	got, _ = ask(t, refuses, team.Limits{}, "Nearly", boom)
	require.EqualError(t, got.err, "boom")
	assert.Empty(t, got.reply.Text, "that of the last try, which has none")
	got, _ = ask(t, seat, team.Limits{Calls: 1}, boom)
	require.ErrorIs(t, got.err, orchestrator.ErrBudget)
	assert.True(t, orchestrator.IsOver(got.err), "the end of the run ends the tries")
}

func TestSeatHooks(t *testing.T) {
	type own struct {
		team.Event

		Step int `json:"step"`
	}
	var used []providers.Usage
	var waits []time.Duration
	seat := planner[string]()
	seat.Retrier = orchestrator.Attempts{Max: 2, Wait: time.Hour}
	seat.On = team.Hooks{
		Before: func(c *orchestrator.Context, req *agent.Request) (*orchestrator.Context, error) {
			req.Prompt += " Soon."
			return c.WithBudget(orchestrator.Budget{Calls: 1}), nil
		},
		After: func(_ *orchestrator.Context, spent providers.Usage, err error) error {
			if used = append(used, spent); err != nil {
				err = errors.New("in our words")
			}
			return err
		},
		Wait:  func(wait time.Duration) time.Duration { waits = append(waits, wait); return time.Second },
		Event: func(e team.Event) team.Telling { return &own{e, 3} },
	}
	got, requests := ask(t, seat, team.Limits{}, errors.New("boom"), "Done")
	require.NoError(t, got.err)
	assert.Equal(t, "Plan a party. Soon.", requests[1].Prompt, "the hook gets the request as it was")
	assert.Len(t, used, 2)
	assert.Equal(t, []time.Duration{time.Hour}, waits)
	assert.JSONEq(t, `{"who":"lead","try":2,"wait":"1s","text":"in our words","step":3}`, got.data[2])
	assert.JSONEq(t, `{"who":"lead","try":1,"text":"in our words","usage":{"calls":1},"step":3}`, got.data[1])

	seat.Retrier, seat.On = nil, team.Hooks{After: func(*orchestrator.Context, providers.Usage, error) error { return errors.New("too dear") }}
	got, _ = ask(t, seat, team.Limits{}, "Done")
	require.EqualError(t, got.err, "too dear")
	assert.Empty(t, got.reply.Value, "there is none beside an error")
	assert.Equal(t, "Done", got.reply.Text)

	seat.On = team.Hooks{Quiet: true, Before: func(c *orchestrator.Context, _ *agent.Request) (*orchestrator.Context, error) {
		return c, errors.New("too late")
	}}
	got, requests = ask(t, seat, team.Limits{})
	require.EqualError(t, got.err, "too late")
	assert.Empty(t, requests)
	assert.Empty(t, got.events)
}

// A host's Retrier says who makes each try and what it is told. It learns of each try what it
// came to.
func TestSeatTriesAsARetrierSays(t *testing.T) {
	type call struct{ who, prompt string }
	says := []orchestrator.Again{{Retry: true, Agent: "other", Feedback: "One."}, {Retry: true, Feedback: "Two."}, {Retry: true}, {Retry: true, Agent: "other", Fresh: true}, {}}
	var told []orchestrator.Try
	seat := team.Seat[string]{Who: "lead", Agent: "planner", Request: agent.Request{Prompt: "Plan.\n"}, Working: orchestrator.Working{Role: "leader", ID: "ann", Max: 7}}
	seat.Retrier = orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
		assert.Equal(t, seat.Working, of)
		told = tries
		return says[len(tries)-1]
	})
	flow := orchestrator.Flow[int, int]{Name: "seat", Do: func(c *orchestrator.Context, _ int) (int, error) {
		r, c := team.Begin(c, team.Start{Team: "party", Outcome: &orchestrator.Outcome{}, Agents: []string{"other"}})
		_, err := seat.Ask(c, r, nil)
		return 0, err
	}}
	var calls []call
	keys := map[string]bool{}
	busy := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		info := agent.InfoFrom(ctx)
		calls, keys[info.Key] = append(calls, call{info.Agent, req.Prompt}), true
		return agent.Response{}, fmt.Errorf("POST https://models.example: 400, request %d", len(calls))
	})
	_, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{"planner": busy, "other": busy} }).Run(t)
	require.ErrorContains(t, err, "request 5", "the last error")
	assert.Equal(t, []call{
		{"planner", "Plan.\n"}, {"other", "Plan.\n\n\nOne."}, {"planner", "Plan.\n\n\nTwo."}, {"planner", "Plan.\n\n\nTwo."}, {"other", "Plan.\n"},
	}, calls, "N15 nothing that is technical, and advice in the place of the one before")
	assert.Len(t, keys, 5, "N15 each try is a request of its own")
	require.Len(t, told, 5)
	for i, try := range told {
		assert.Equal(t, calls[i].who, try.Agent)
		assert.ErrorContains(t, try.Err, fmt.Sprint("request ", i+1))
	}

	got, _ := ask(t, team.Seat[string]{Agent: "planner", Prompt: "plan.tmpl", Retrier: orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again { panic("oh") })}, team.Limits{}, errors.New("busy"))
	require.EqualError(t, got.err, "Rules.Retrier panicked: oh", "a rule that fails ends the tries")
}

func TestSeatFaults(t *testing.T) {
	got, _ := ask(t, team.Seat[chan int]{Agent: "planner"}, team.Limits{})
	require.Error(t, got.err, "a type without a schema")
	seat := planner[string]()
	seat.Prompt = "no.tmpl"
	text, _ := ask(t, seat, team.Limits{})
	require.ErrorContains(t, text.err, "no.tmpl")
}

// TestExtraFields: what nobody asked for is left out and told, once a run.
func TestExtraFields(t *testing.T) {
	seat := planner[steps]()
	seat.Check = func(s steps) error {
		if len(s.Steps) == 0 {
			return errors.New("there are no steps")
		}
		return nil
	}
	for _, tt := range []struct {
		name    string
		answers []any
		dropped []string
		wrong   string
	}{
		{"N14 dropped", []any{`{"steps":["invite"],"why":"x","confidence":0.9}`}, []string{"confidence", "why"}, ""},
		{"N14 nothing to drop", []any{`{"steps":["invite"]}`}, nil, ""},
		{"N14 of the answer that is used", []any{`{"steps":[],"why":"x"}`, `{"steps":["invite"]}`}, nil, ""},
		{"N14 a wrapping is undone", []any{`{"result":{"steps":["invite"]}}`}, nil, ""},
		{"N14 a missing field is malformed", []any{`{"why":"x"}`, `{"why":"x"}`}, nil, "malformed"},
		{"N14 the wrong kind is malformed", []any{`{"steps":{"a":1}}`, `{"steps":7}`}, nil, "malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := ask(t, seat, team.Limits{}, tt.answers...)
			if tt.wrong != "" {
				require.ErrorContains(t, got.err, tt.wrong)
				assert.Empty(t, got.out.Warnings)
				return
			}
			require.NoError(t, got.err)
			assert.Equal(t, steps{[]string{"invite"}}, got.reply.Value)
			assert.Equal(t, tt.dropped, got.reply.Response.Dropped)
			if tt.dropped == nil {
				assert.Empty(t, got.out.Warnings)
				assert.NotContains(t, got.data[len(got.data)-1], "dropped")
				return
			}
			assert.Equal(t, []orchestrator.Warning{{
				Code: "answer/extra-fields", Who: "planner", Message: "extra fields were left out: " + strings.Join(tt.dropped, ", "),
			}}, got.out.Warnings)
			assert.Contains(t, got.data[len(got.data)-1], `"dropped":["confidence","why"]`, "the event of the call has the names")
		})
	}
}

func TestExtraFieldsOnceARun(t *testing.T) {
	var outs []orchestrator.Outcome
	flow := orchestrator.Flow[int, int]{Name: "seat", Do: func(c *orchestrator.Context, _ int) (int, error) {
		outs = make([]orchestrator.Outcome, 2)
		r, c := team.Begin(c, team.Start{Team: "party", Outcome: &outs[0]})
		part := r.Part()
		seat := team.Seat[steps]{Agent: "planner", Request: agent.Request{Prompt: "x"}}
		for _, of := range []*team.Run{r, part, r} { // a part of the run tells it once, too
			if _, err := seat.Ask(c, of, nil); err != nil {
				return 0, err
			}
		}
		outs[1] = *part.Outcome
		return 0, nil
	}}
	c := flowtest.New(flow, 0, func(t testing.TB) agent.Roster {
		const extra = `{"steps":["a"],"why":"x"}`
		return agent.Roster{"planner": flowtest.NewScript(t, extra, extra, extra)}
	})
	_, records, err := c.Run(t)
	require.NoError(t, err)
	require.Len(t, outs[0].Warnings, 1, "N14 once a run")
	assert.Empty(t, outs[1].Warnings)
	finished := 0
	for _, rec := range records {
		if rec.Kind == "party.agent.finished" && strings.Contains(string(rec.Data), `"dropped":["why"]`) {
			finished++
		}
	}
	assert.Equal(t, 3, finished, "each call's record has the names")
	c.Determinism(t)
}
