package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// written runs the team of poets, and returns its outcome and its own records, as text.
func written(t *testing.T, cfg Config, in Input, answers ...any) (poem Poem, records []string, err error) {
	t.Helper()
	c := poets(t, cfg, in, answers...)
	poem, all, err := c.Run(t)
	for _, rec := range all {
		if strings.HasPrefix(rec.Kind, "poetry.") {
			records = append(records, rec.Kind+" "+string(rec.Data))
		}
	}
	return poem, records, err
}

func poets(t *testing.T, cfg Config, in Input, answers ...any) *flowtest.Case[Input, Poem] {
	t.Helper()
	flow, err := poetry(cfg)
	require.NoError(t, err)
	return flowtest.New(flow, in, func(t testing.TB) agent.Roster {
		return agent.Roster{"poet": flowtest.NewScript(t, answers...)}
	})
}

func TestRun(t *testing.T) {
	poem, records, err := written(t, Config{}, Input{Topic: "tea"}, agent.Response{Text: "Steam", Usage: providers.Usage{Calls: 1, Cost: providers.Dollars(0.5)}})
	require.NoError(t, err)
	assert.Equal(t, Poem{Outcome: orchestrator.Outcome{
		Status: orchestrator.Completed, Asked: "tea", Spent: poem.Spent, Elapsed: poem.Elapsed,
	}, Phase: done, Text: "Steam"}, poem)
	assert.Equal(t, providers.Dollars(0.5), poem.Spent.Cost)
	assert.Equal(t, []string{
		`poetry.run.started {"asked":"tea"}`,
		`poetry.agent.started {"moves":["created -write-> writing"],"who":"poet","try":1}`,
		`poetry.agent.finished {"who":"poet","try":1,"usage":{"calls":1,"cost":0.5}}`,
		`poetry.poem.written {"lines":3}`,
		`poetry.run.finished {"moves":["writing -finish-> done"],"status":"completed","usage":{"calls":1,"cost":0.5}}`,
	}, records)
	data, err := json.Marshal(poem)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"spent":{"calls":1,"cost":0.5}`)
	assert.Contains(t, string(data), `"elapsed":"`)
}

func TestRunSweep(t *testing.T) {
	c := poets(t, Config{Rules: Rules{Permit: orchestrator.AskFirst{}}}, Input{Topic: "tea"}, errors.New("busy"), "Steam")
	c.Answers = map[string]any{"permit/run/write": true}
	c.Sweep(t)
	c.Determinism(t)
}

func TestEndings(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name    string
		cfg     Config
		in      Input
		answers []any
		want    orchestrator.Status
		err     string
	}{
		{"completed", Config{}, Input{Topic: "tea"}, []any{"Steam"}, orchestrator.Completed, ""},
		{"tried twice", Config{}, Input{Topic: "tea"}, []any{boom, "Steam"}, orchestrator.Completed, ""},
		{"failed", Config{}, Input{Topic: "tea"}, []any{boom, boom}, orchestrator.Failed, "poetry: boom"},
		{"silent", Config{}, Input{Topic: "tea"}, []any{"\u200b", "\u200b"}, orchestrator.Failed, "poetry: the agent's answer is empty"},
		{"no topic", Config{}, Input{}, nil, orchestrator.Failed, "poetry: Topic is empty"},
		{"out of money", Config{}, Input{Topic: "tea", Limits: team.Limits{Calls: 1}}, []any{boom}, orchestrator.OutOfBudget, "poetry: "},
		{"out of time", Config{Limits: team.Limits{Time: time.Minute}}, Input{Topic: "tea"}, []any{flowtest.Hang()}, orchestrator.OutOfBudget, "poetry: "},
		{"the input allows more", Config{Limits: team.Limits{Calls: 1}}, Input{Topic: "tea", Limits: team.Limits{Calls: orchestrator.None}}, []any{boom, "Steam"}, orchestrator.Completed, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			poem, records, err := written(t, tt.cfg, tt.in, tt.answers...)
			assert.Equal(t, tt.want, poem.Status)
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.err)
			}
			assert.Contains(t, records[0], "poetry.run.started")
			assert.Contains(t, records[len(records)-1], `poetry.run.finished {"moves":[`)
			assert.Contains(t, records[len(records)-1], `"status":"`+string(tt.want)+`"`)
		})
	}
}

func TestRetrierOfASeat(t *testing.T) {
	var seen []orchestrator.Try
	other := orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
		assert.Equal(t, orchestrator.Working{ID: "poet"}, of)
		seen = tries
		return orchestrator.Again{Retry: true, Agent: "other", After: time.Minute, Feedback: "Be brief."}
	})
	flow, err := poetry(Config{Rules: Rules{Retrier: other}})
	require.NoError(t, err)
	var asked []agent.Request
	cast := func(t testing.TB) agent.Roster {
		return agent.Roster{"poet": flowtest.NewScript(t, errors.New("busy")), "other": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			asked = append(asked, req)
			return agent.Response{Text: "Another steam"}, nil
		})}
	}
	poem, records, err := flowtest.New(flow, Input{Topic: "tea"}, cast).Run(t)
	require.ErrorIs(t, err, agent.Code("poetry/rule"), "the flow declares only the poet")
	require.Len(t, seen, 1)
	assert.Equal(t, "poet", seen[0].Agent)
	assert.Equal(t, orchestrator.Failed, poem.Status)
	assert.Equal(t, "poetry/rule", poem.Warnings[0].Code)
	assert.Equal(t, "poet", poem.Warnings[0].Who)
	assert.Empty(t, asked)
	assert.Contains(t, kinds(records), "poetry.warning.raised")
	assert.Contains(t, kinds(records), "poetry.agent.retried")

	flow.Agents = append(flow.Agents, "other")
	poem, _, err = flowtest.New(flow, Input{Topic: "tea"}, cast).Run(t)
	require.NoError(t, err)
	assert.Equal(t, "Another steam", poem.Text)
	assert.GreaterOrEqual(t, poem.Elapsed, time.Minute)
	require.NotEmpty(t, asked)
	assert.Contains(t, asked[0].Prompt, "\n\nBe brief.")
}

func kinds(records []runlog.Record) (all []string) {
	for _, rec := range records {
		all = append(all, rec.Kind)
	}
	return all
}

func TestRetrierNeverEnds(t *testing.T) {
	asked := 0
	again := orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again {
		asked++
		return orchestrator.Again{Retry: true}
	})
	var busy []any
	for range orchestrator.MaxTries {
		busy = append(busy, errors.New("busy"))
	}
	poem, _, err := written(t, Config{Rules: Rules{Retrier: again}}, Input{Topic: "tea"}, busy...)
	require.ErrorContains(t, err, "busy")
	assert.Equal(t, orchestrator.Failed, poem.Status)
	assert.Equal(t, orchestrator.MaxTries-1, asked)
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name, message string
		rule          func(c *orchestrator.Context) (int, error)
	}{
		{"errs", "Rules.Gate: no", func(*orchestrator.Context) (int, error) { return 0, errors.New("no") }},
		{"panics", "Rules.Gate panicked: oh", func(*orchestrator.Context) (int, error) { panic("oh") }},
		{"is cut by the end of the run", "", func(c *orchestrator.Context) (int, error) { return 0, c.Sleep(time.Hour) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := &orchestrator.Outcome{}
			flow := orchestrator.Flow[int, int]{Name: "rule", Do: func(c *orchestrator.Context, _ int) (int, error) {
				r, c := team.Begin(c, team.Start{Team: "poetry", Outcome: out, Limits: team.Limits{Time: time.Minute}})
				_, err := team.Rule(r, c, "poet", "Rules.Gate", func() (int, error) { return tt.rule(c) })
				assert.Equal(t, tt.message == "", team.Broke(c, err))
				return 0, err
			}}
			_, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
			if tt.message == "" {
				require.ErrorIs(t, err, orchestrator.ErrBudget)
				require.NotErrorIs(t, err, agent.Code("poetry/rule"))
				assert.Empty(t, out.Warnings)
				return
			}
			require.ErrorIs(t, err, agent.Code("poetry/rule"))
			require.EqualError(t, err, tt.message)
			assert.Equal(t, []orchestrator.Warning{{Code: "poetry/rule", Who: "poet", Message: tt.message}}, out.Warnings)
		})
	}
}

func TestDecideAndFigure(t *testing.T) {
	gate := grading.GateWith(func(s int) orchestrator.Status { return []orchestrator.Status{"completed", "odd"}[s] })
	out := &orchestrator.Outcome{}
	flow := orchestrator.Flow[int, []float64]{Name: "rule", Do: func(c *orchestrator.Context, _ int) (figures []float64, err error) {
		r, c := team.Begin(c, team.Start{Team: "poetry", Outcome: out})
		d, err := team.Decide(r, c, "poet", "Rules.Gate", gate, 0, orchestrator.Completed, orchestrator.Failed)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Completed, d)
		_, err = team.Decide(r, c, "poet", "Rules.Gate", gate, 1, orchestrator.Completed, orchestrator.Failed)
		require.EqualError(t, err, `Rules.Gate: it is "odd", want one of ["completed" "failed"]`)
		for _, x := range []float64{0, 10, 7.12345678, -1, 10.1, math.NaN(), math.Inf(1)} {
			x, err = team.Figure(r, c, "poet", "Rules.Scorer", 10, func() (float64, error) { return x, nil })
			if figures = append(figures, x); err != nil {
				require.ErrorIs(t, err, agent.Code("poetry/rule"))
			}
		}
		return figures, nil
	}}
	got, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 10, 7.123457, 0, 0, 0, 0}, got)
	assert.Len(t, out.Warnings, 5)
	assert.Equal(t, "Rules.Scorer: it is 10.1, want 0 to 10", out.Warnings[2].Message)
}

func TestPermit(t *testing.T) {
	var asked []orchestrator.Move
	permit := func(err error) orchestrator.Permit {
		return orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
			asked = append(asked, m)
			if err == nil && m.Path == "panic" {
				panic("oh")
			}
			return err
		})
	}
	poem, _, err := written(t, Config{Rules: Rules{Permit: permit(nil)}}, Input{Topic: "tea"}, "Steam")
	require.NoError(t, err)
	assert.Equal(t, []orchestrator.Move{{Path: "run", From: "created", Event: "write", To: "writing", Nth: 1}}, asked)
	assert.Equal(t, done, poem.Phase)

	poem, records, err := written(t, Config{Rules: Rules{Permit: permit(errors.New("not today"))}}, Input{Topic: "tea"})
	require.EqualError(t, err, "poetry: write of run is not permitted: Rules.Permit: not today")
	require.ErrorIs(t, err, agent.Code("poetry/not-permitted"))
	assert.Equal(t, failed, poem.Phase)
	assert.Equal(t, []orchestrator.Warning{{Code: "poetry/not-permitted", Who: "run", Message: "write of run: Rules.Permit: not today"}}, poem.Warnings)
	assert.NotContains(t, records, "poetry.agent.started", "the work of the move was not begun")

	_, _, err = written(t, Config{Rules: Rules{Permit: orchestrator.PermitFunc(func(*orchestrator.Context, orchestrator.Move) error { panic("oh") })}}, Input{Topic: "tea"})
	require.ErrorIs(t, err, agent.Code("poetry/rule"), "a rule that panics")

	waits := orchestrator.PermitFunc(func(c *orchestrator.Context, _ orchestrator.Move) error { return c.Sleep(time.Hour) })
	poem, _, err = written(t, Config{Rules: Rules{Permit: waits}, Limits: team.Limits{Time: time.Minute}}, Input{Topic: "tea"})
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	require.NotErrorIs(t, err, agent.Code("poetry/not-permitted"), "the time of the run is up")
	assert.Equal(t, orchestrator.OutOfBudget, poem.Status)
}

// What a Selector and a Retrier may answer is checked for all teams; warnings of a part are
// kept apart.
func TestSelectAgainAndPart(t *testing.T) {
	staff := []routing.Candidate{{ID: "ann"}, {ID: "bob", Inactive: true}, {ID: "cid"}}
	selects := func(ids ...string) routing.Selector {
		return routing.SelectorFunc(func([]routing.Candidate, routing.Need) (picked []routing.Candidate) {
			for _, id := range ids {
				picked = append(picked, routing.Candidate{ID: id})
			}
			return picked
		})
	}
	retries := orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
		tries[0].Agent = "changed"
		return orchestrator.Again{Retry: of.Role != "done", Agent: of.Group}
	})
	out := &orchestrator.Outcome{}
	flow := orchestrator.Flow[int, []string]{Name: "rule", Do: func(c *orchestrator.Context, _ int) (texts []string, _ error) {
		whole, c := team.Begin(c, team.Start{Team: "poetry", Outcome: out, Agents: []string{"ann"}})
		r := whole.Part()
		for _, ids := range [][]string{{"cid", "ann"}, {"bob"}, {"dan"}, {"ann", "ann"}, {"ann", "cid"}} {
			chosen, err := team.Select(r, c, "poet", selects(ids...), staff, routing.Need{Count: 3 - len(texts)/2})
			texts = append(texts, fmt.Sprint(chosen, " ", err))
		}
		for _, agent := range []string{"", "ann", "dan"} {
			tries := []orchestrator.Try{{Agent: "ann"}}
			again, err := team.Again(r, c, retries, orchestrator.Working{ID: "poet", Group: agent}, tries)
			texts = append(texts, fmt.Sprint(again.Agent, " ", err))
			assert.Equal(t, "ann", tries[0].Agent, "a Retrier gets a copy")
		}
		no, err := team.Again(r, c, retries, orchestrator.Working{Role: "done", Group: "dan"}, []orchestrator.Try{{}})
		require.NoError(t, err, "who does not work need not be known")
		assert.False(t, no.Retry)
		assert.Empty(t, whole.Outcome.Warnings)
		assert.Len(t, r.Outcome.Warnings, 5)
		whole.Warn(c, "poetry/long", "", "two\nlines")
		assert.Equal(t, "two lines", out.Warnings[0].Message)
		return texts, nil
	}}
	texts, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"[2 0] <nil>", `[] Rules.Selector: "bob" is no active candidate`, `[] Rules.Selector: "dan" is no active candidate`,
		`[] Rules.Selector: "ann" is chosen twice`, "[] Rules.Selector: 2 are chosen, want at most 1", " <nil>", "ann <nil>",
		` Rules.Retrier: Agent is "dan", which is no agent of the flow: the rule's method Agents() []string must name it`,
	}, texts)
}

// An error is the host's if a rule or the Permit of this run has raised its code, in a part of
// the run, too.
func TestIsHostError(t *testing.T) {
	foreign := map[string]error{"rule": team.Fail("light/rule", "of another run"), "not-permitted": team.Fail("light/not-permitted", "of another run")}
	wrap := func(err error) error { return fmt.Errorf("department: %w", err) }
	flow := orchestrator.Flow[int, int]{Name: "light", Do: func(c *orchestrator.Context, _ int) (int, error) {
		begin := func(permit error) *team.Run {
			r, _ := team.Begin(c, team.Start{Team: "light", Outcome: &orchestrator.Outcome{}, Permit: orchestrator.PermitFunc(func(*orchestrator.Context, orchestrator.Move) error { return permit })})
			return r
		}
		r := begin(nil)
		require.False(t, r.IsHostError(nil) || r.IsHostError(errors.New("busy")) || r.IsHostError(foreign["rule"]))
		_, err := team.Rule(r.Part(), c, "", "Rules.Gate", func() (int, error) { return 0, errors.New("no") })
		require.True(t, r.IsHostError(err) && r.IsHostError(wrap(err)))
		require.False(t, r.IsHostError(foreign["not-permitted"]))

		r = begin(errors.New("not today"))
		require.False(t, r.IsHostError(foreign["not-permitted"]))
		err = r.Allow(c, orchestrator.Move{Path: "run", Event: "go"})
		require.True(t, r.IsHostError(wrap(err)))
		require.False(t, r.IsHostError(foreign["rule"]))
		return 0, nil
	}}
	_, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
	require.NoError(t, err)
}

// Each team has the common kinds under its own name.
func TestCommonKinds(t *testing.T) {
	assert.Equal(t, team.Kind("poetry.agent.retried"), team.AgentRetried.Of("poetry"))
	assert.Equal(t, team.RunFinished, team.Kind("portfolio.run.finished").Common())
	assert.Equal(t, team.Common("poem.written"), EventPoemWritten.Common())
	assert.Empty(t, team.Kind("started").Common(), "a record of the engine")
	_, records, err := written(t, Config{}, Input{Topic: "tea"}, errors.New("busy"), "Steam")
	require.NoError(t, err)
	var common []team.Common
	for _, record := range records {
		kind, _, _ := strings.Cut(record, " ")
		if known := team.Kind(kind).Common(); known != "" {
			common = append(common, known)
		}
	}
	assert.Equal(t, []team.Common{
		team.RunStarted, team.AgentStarted, team.AgentFailed, team.AgentRetried, team.AgentStarted, team.AgentFinished, "poem.written", team.RunFinished,
	}, common)
}

// A Ranker has to return each entry once.
func TestRank(t *testing.T) {
	entries := []grading.Ranked{{ID: "ann", Score: new(1.0)}, {ID: "bob"}, {ID: "cid", Score: new(3.0)}}
	ranks := func(ids ...string) grading.Ranker {
		return grading.RankerFunc(func([]grading.Ranked) (ranked []grading.Ranked) {
			for _, id := range ids {
				ranked = append(ranked, grading.Ranked{ID: id})
			}
			return ranked
		})
	}
	flow := orchestrator.Flow[int, []string]{Name: "rank", Do: func(c *orchestrator.Context, _ int) (texts []string, _ error) {
		r, c := team.Begin(c, team.Start{Team: "poetry", Outcome: &orchestrator.Outcome{}})
		for _, ranker := range []grading.Ranker{grading.ByScore{}, ranks("ann", "bob", "dan"), ranks("ann", "bob", "ann"), ranks("bob")} {
			order, err := team.Rank(r, c, "leader", ranker, entries)
			texts = append(texts, fmt.Sprint(order, " ", err))
		}
		order, err := team.Rank(r, c, "leader", ranks(), nil)
		return append(texts, fmt.Sprint(order, " ", err)), nil
	}}
	texts, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"[2 0 1] <nil>", `[] Rules.Ranker: "dan" is no entry`, `[] Rules.Ranker: "ann" is ranked twice`, "[] Rules.Ranker: 1 are ranked, want all 3", "[] <nil>",
	}, texts)
}

// Rules cannot change what the team goes by.
func TestRulesGetCopies(t *testing.T) {
	own, before, skills := new(70.0), []float64{1}, []string{"verse"}
	entries, tries := []grading.Ranked{{ID: "ann", Score: new(5.0), Marks: grading.Marks{{Name: "a", Value: 1}}}}, []orchestrator.Try{{Agent: "ann", Score: new(5.0)}}
	candidates, need := []routing.Candidate{{ID: "ann", Skills: skills}}, routing.Need{Count: 1, Skills: skills}
	flow := orchestrator.Flow[int, int]{Name: "copies", Do: func(c *orchestrator.Context, _ int) (int, error) {
		r, c := team.Begin(c, team.Start{Team: "poetry", Outcome: &orchestrator.Outcome{}})
		_, err := team.Decide(r, c, "", "Rules.Gate", grading.GateWith(func(s grading.Standing) grading.Decision {
			*s.Of.Own, s.Before[0] = 0, 0
			return grading.Accept
		}), grading.Standing{Of: grading.Subject{Own: own}, Before: before}, grading.Accept)
		require.NoError(t, err)
		_, err = team.Rank(r, c, "", grading.RankerFunc(func(entries []grading.Ranked) []grading.Ranked {
			*entries[0].Score, entries[0].Marks[0].Value = 0, 0
			return entries
		}), entries)
		require.NoError(t, err)
		_, err = team.Select(r, c, "", routing.SelectorFunc(func(candidates []routing.Candidate, need routing.Need) []routing.Candidate {
			candidates[0].Skills[0], need.Skills[0] = "", ""
			return candidates
		}), candidates, need)
		require.NoError(t, err)
		_, err = team.Again(r, c, orchestrator.RetrierFunc(func(_ orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
			*tries[0].Score, tries[0].Agent = 0, ""
			return orchestrator.Again{}
		}), orchestrator.Working{}, tries)
		return 0, err
	}}
	_, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
	require.NoError(t, err)
	assert.Equal(t, 70.0, *own)
	assert.Equal(t, []float64{1}, before)
	assert.Equal(t, []string{"verse"}, skills)
	assert.Equal(t, []grading.Ranked{{ID: "ann", Score: new(5.0), Marks: grading.Marks{{Name: "a", Value: 1}}}}, entries)
	assert.Equal(t, []orchestrator.Try{{Agent: "ann", Score: new(5.0)}}, tries)
}

func TestPermitThatNobodyAnswers(t *testing.T) {
	waits := agent.Code("light/waiting")
	move := orchestrator.Move{Path: "lamp/1", From: "red", Event: "go", To: "green"}
	play := func(start team.Start) (errs []error, out orchestrator.Outcome, nth []int) {
		flow := orchestrator.Flow[int, int]{Name: "light", Do: func(c *orchestrator.Context, _ int) (int, error) {
			errs, nth, out = nil, nil, orchestrator.Outcome{}
			start.Team, start.Outcome = "light", &out
			start.Permit = orchestrator.PermitFunc(func(c *orchestrator.Context, m orchestrator.Move) error {
				nth = append(nth, m.Nth)
				if m.Nth == 1 {
					return orchestrator.AskFirst{Person: true}.Allow(c, m)
				}
				return errors.New("no")
			})
			r, c := team.Begin(c, start)
			for range 2 {
				err := r.Allow(c, move)
				errs = append(errs, err)
				assert.Equal(t, errors.Is(err, waits), r.IsWaiting(err))
			}
			return 0, nil
		}}
		_, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
		require.NoError(t, err)
		return errs, out, nth
	}
	errs, out, nth := play(team.Start{Waits: waits})
	require.ErrorIs(t, errs[0], waits, "the person is not asked")
	require.NotErrorIs(t, errs[0], agent.Code("light/not-permitted"), "it is not refused")
	require.ErrorContains(t, errs[0], "go of lamp/1 waits for a person")
	require.EqualError(t, errs[1], "go of lamp/1 is not permitted: Rules.Permit: no")
	require.ErrorIs(t, errs[1], agent.Code("light/not-permitted"))
	assert.Equal(t, []int{1, 2}, nth)
	assert.Empty(t, out.Warnings, "the team raises its own")
}

func TestMachine(t *testing.T) {
	var changes []string
	flow := orchestrator.Flow[int, int]{Name: "machine", Do: func(c *orchestrator.Context, _ int) (int, error) {
		var nth []int
		r, c := team.Begin(c, team.Start{Team: "light", Outcome: &orchestrator.Outcome{}, Permit: orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
			nth = append(nth, m.Nth)
			if m.Event == "break" {
				return errors.New("no")
			}
			return nil
		})})
		var shown phase
		m := team.NewMachine(r, "street/1", lights, &shown)
		m.Changed = func(_ *orchestrator.Context, from, to phase) { changes = append(changes, string(from+" "+to)) }
		for range 2 {
			require.NoError(t, m.Go(c, "go"))
			assert.Equal(t, phase("green"), m.Phase())
			m.Fire(c, "stop")
		}
		require.NoError(t, team.NewMachine(r, "street/3", lights, new(phase)).Go(c, "go"))
		assert.Equal(t, []int{1, 2, 1}, nth, "counted by path")
		require.Error(t, m.Go(c, "break"))
		assert.Equal(t, "1", r.Outcome.Warnings[0].Who)
		m.Fire(c, "wait") // it changes nothing
		m.Emit(c, "light.street.told", nil)
		assert.False(t, m.Over())
		m.Fire(c, "break")
		assert.True(t, m.Over())
		assert.PanicsWithError(t, `light: street/1: event "go" from "off" is not allowed; allowed: none (terminal)`, func() { m.Fire(c, "go") })
		assert.PanicsWithError(t, `light: street/1: event "go" from "off" is not allowed; allowed: none (terminal)`, func() { _ = m.Allow(c, "go") })
		kept := phase("green")
		assert.Equal(t, phase("red"), team.MachineAt(r, "street/2", lights, &kept).Fire(c, "stop"), "it goes on where it was")
		r.Warn(c, r.Code("dark"), "street/1", "it is %s", "dark")
		return 0, nil
	}}
	_, records, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"red green", "green red", "red green", "green red", "red off"}, changes)
	told := map[string]string{}
	for _, rec := range records {
		told[rec.Kind] = string(rec.Data)
	}
	assert.Equal(t, `{"path":"street/1","moves":["red -go-> green","green -stop-> red","red -go-> green","green -stop-> red","red -wait-> red"]}`, told["light.street.told"])
	assert.Equal(t, `{"warning":{"code":"light/dark","who":"street/1","message":"it is dark"}}`, told["light.warning.raised"], "moves of parts are not those of the run")
}

// A run that a table left stuck is the engine's business.
func TestRefusedMoveLeavesTheRunStuck(t *testing.T) {
	flow := orchestrator.Flow[int, int]{Name: "machine", Do: func(c *orchestrator.Context, _ int) (int, error) {
		r, c := team.Begin(c, team.Start{Team: "light", Outcome: &orchestrator.Outcome{}})
		var shown phase
		team.NewMachine(r, "", lights, &shown).Fire(c, "stop")
		return 0, nil
	}}
	c := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} })
	_, _, err := c.Run(t)
	require.ErrorIs(t, err, orchestrator.ErrFlow)
}
