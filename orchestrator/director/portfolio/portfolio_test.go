package portfolio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// job is the input of the work of these tests.
type job struct {
	Name  string `json:"name"`
	Round int    `json:"round"`
	Calls int    `json:"calls"`

	Stage portfolio.Stage `json:"stage"`
}

type made struct {
	orchestrator.Outcome
	Potential *float64        `json:"potential,omitempty"`
	Stage     portfolio.Stage `json:"stage"`
}

type (
	config  = portfolio.Config[job, made]
	input   = portfolio.Input[job]
	outcome = portfolio.Outcome[made]
)

// studio is the work: calls of one agent, the last of which says how promising it is.
var studio = orchestrator.Flow[job, made]{
	Name: "studio", Agents: []string{"maker"},
	Do: func(c *orchestrator.Context, in job) (out made, err error) {
		out.Stage = in.Stage
		for i := range max(in.Calls, 1) {
			var resp agent.Response
			resp, err = c.Call("maker", agent.Request{Prompt: fmt.Sprintf("%s %d/%d.", in.Name, in.Round, i+1), Limits: agent.Limits{Estimate: providers.USD}})
			if err != nil {
				break
			}
			if err = json.Unmarshal(resp.Data, &out.Potential); err != nil {
				break
			}
		}
		out.Spent = c.Spent()
		return out, err
	},
}

func usual() config {
	return config{
		Work: studio, Limits: team.Limits{Cost: 300 * providers.USD}, Bounds: portfolio.Bounds{Rounds: 2},
		Rules: portfolio.Rules[job, made]{
			Allocator: policy,
			Score:     func(_ portfolio.Project, out made) *float64 { return out.Potential },
			Brief: func(p portfolio.Project, in job, last *made) job {
				in.Round, in.Stage = 1, p.Stage
				if last != nil {
					in.Round = 2
				}
				return in
			},
		},
	}
}

// answer is a call's answer: how promising the project is (nil: cannot be told), at a
// price, after a time.
func answer(d time.Duration, dollars float64, potential any) any {
	return flowtest.Delay(d, agent.Response{Data: agent.JSON(potential), Usage: providers.Usage{Calls: 1, Input: 10, Output: 5, Cost: providers.Dollars(dollars)}})
}

// entry is a project since 2000, the year in which the time of tests begins.
func entry(id string, stage portfolio.Stage, score any, days int) portfolio.Entry[job] {
	e := portfolio.Entry[job]{Project: portfolio.Project{ID: id, Stage: stage, LastProgress: time.Date(2000, 1, 1-days, 0, 0, 0, 0, time.UTC)}, Input: job{Name: id}}
	if s, ok := score.(float64); ok {
		e.Score = &s
	}
	return e
}

type play struct {
	cfg     config
	in      input
	answers map[string]any
	options orchestrator.StartOptions
}

func (p play) play(t *testing.T) *flowtest.Case[input, outcome] {
	t.Helper()
	flow, err := portfolio.New(p.cfg)
	require.NoError(t, err)
	c := flowtest.New(flow, p.in, p.roster)
	c.Options = p.options
	return c
}

func (p play) roster(tb testing.TB) agent.Roster {
	tb.Helper()
	s := flowtest.NewScript(tb)
	for prompt, answer := range p.answers {
		s.On(prompt, answer)
	}
	return agent.Roster{"maker": s}
}

func (p play) run(t *testing.T) (outcome, []portfolio.Event, error) {
	t.Helper()
	out, log, err := p.play(t).Run(t)
	return out, eventsOf(t, log), err
}

func eventsOf(t require.TestingT, log []runlog.Record) (events []portfolio.Event) {
	for _, rec := range log {
		if strings.HasPrefix(rec.Kind, "portfolio.") {
			var e portfolio.Event
			require.NoError(t, json.Unmarshal(rec.Data, &e))
			e.Moves = append([]string{rec.Kind}, e.Moves...)
			events = append(events, e)
		}
	}
	return events
}

// rounds are the rounds that were begun, with their budgets in USD.
func rounds(events []portfolio.Event) (begun []string) {
	for _, e := range events {
		if e.Moves[0] == string(portfolio.EventRoundStarted) {
			begun = append(begun, fmt.Sprintf("%s %s %d: %g", e.Project, e.Stage, e.Round, float64(e.Budget)/float64(providers.USD)))
		}
	}
	return begun
}

// told are all events in one line each.
func told(events []portfolio.Event) (all []string) {
	for _, e := range events {
		score := "-"
		if e.Score != nil {
			score = fmt.Sprint(*e.Score)
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(strings.TrimPrefix(e.Moves[0], "portfolio."), " ", e.Project, " ", e.Stage, " ", e.Round, " ", score, " ", e.Text)))
	}
	return all
}

func codes(warnings []orchestrator.Warning) (all []string) {
	for _, w := range warnings {
		all = append(all, w.Code+" "+w.Who)
	}
	return all
}

// staged is three projects over two rounds: one stale, one killed for its score, one
// promoted.
func staged() play {
	return play{
		cfg: usual(),
		in: input{Projects: []portfolio.Entry[job]{
			entry("a", portfolio.Validating, 0.8, 5), entry("b", portfolio.Researching, 0.4, 10), entry("d", portfolio.Building, 0.6, 31),
		}},
		answers: map[string]any{"a 1/1.": answer(2*time.Minute, 10, 0.6), "b 1/1.": answer(time.Minute, 20, 0.1), "a 2/1.": answer(time.Minute, 30, 0.9)},
	}
}

func TestRun(t *testing.T) {
	t.Run("a project without stage and time is an idea of now", func(t *testing.T) {
		p := staged()
		fresh := entry("a", "", 0.5, 0)
		fresh.LastProgress = time.Time{}
		p.in = input{Projects: []portfolio.Entry[job]{fresh}}
		p.answers = map[string]any{"a 1/1.": answer(time.Minute, 10, 0.6), "a 2/1.": answer(time.Minute, 10, 0.9)}
		out, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Completed, out.Status)
		assert.Equal(t, []string{"a IDEA 1: 150", "a IDEA 2: 290"}, rounds(events))
	})
	t.Run("B120 BC67 money moves from killed projects to the others, after each round", func(t *testing.T) {
		out, events, err := staged().run(t)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Completed, out.Status)
		assert.Equal(t, []string{"a BUILDING 1: 100", "b RESEARCHING 1: 50", "a BUILDING 2: 270"}, rounds(events))
		assert.Equal(t, []portfolio.Stage{portfolio.Building, portfolio.Killed, portfolio.Killed}, []portfolio.Stage{out.Projects[0].Stage, out.Projects[1].Stage, out.Projects[2].Stage})
		assert.Equal(t, "its score of 0.10 is below 0.20", out.Projects[1].Killed)
		assert.Equal(t, "no progress for more than 30 days", out.Projects[2].Killed)
		assert.Equal(t, []int{2, 1, 0}, []int{out.Projects[0].Rounds, out.Projects[1].Rounds, out.Projects[2].Rounds})
		assert.Equal(t, 40*providers.USD, out.Projects[0].Spent.Cost)
		assert.Equal(t, 60*providers.USD, out.Spent.Cost)
		assert.InDelta(t, 0.9, *out.Projects[0].Last.Potential, 0)
		assert.Equal(t, portfolio.Building, out.Projects[0].Last.Stage, "a round is told the stage that the project has now")
		assert.Nil(t, out.Projects[2].Last)
		assert.WithinDuration(t, time.Date(2000, 1, 1, 0, 3, 0, 0, time.UTC), out.Projects[0].LastProgress, time.Second)
		var allocated []providers.NanoUSD
		var used providers.NanoUSD
		for _, e := range events {
			if e.Moves[0] == string(portfolio.EventRoundFinished) {
				used += e.Usage.Cost
			}
			if e.Moves[0] == string(portfolio.EventMoneyAllocated) {
				allocated = append(allocated, e.Budget)
			}
		}
		assert.Equal(t, out.Spent.Cost, used)
		// 300 USD over two rounds. b has cost 20, and 100 are set aside for a: 180, for a alone. a
		// has cost 10: 270, for its last round. That has cost 30, and none is left to make.
		assert.Equal(t, []providers.NanoUSD{150 * providers.USD, 180 * providers.USD, 270 * providers.USD, 240 * providers.USD}, allocated)
	})
	t.Run("B120 each event has its fields", func(t *testing.T) {
		p := staged()
		p.cfg.Bounds.Rounds, p.answers["a 1/1."] = 1, errors.New("no plan")
		delete(p.answers, "a 2/1.")
		_, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, []string{
			"run.started   0 -", "money.allocated   0 -",
			"project.promoted a BUILDING 0 0.8", "round.started a BUILDING 1 -", "round.started b RESEARCHING 1 -", "project.killed d KILLED 0 - no progress for more than 30 days",
		}, told(events[:6]))
		assert.Equal(t, []string{"round.finished a BUILDING 1 - no plan", "round.finished b RESEARCHING 1 0.1"}, slices.DeleteFunc(told(events), func(e string) bool { return !strings.HasPrefix(e, "round.finished") }))
	})
	t.Run("a fault of the limits", func(t *testing.T) {
		p := staged()
		p.in.Limits.Cost = -2
		_, _, err := p.run(t)
		require.ErrorIs(t, err, portfolio.ErrBadProjects)
		require.ErrorContains(t, err, "limits.Cost is ")
	})
	t.Run("B120 N19 no more rounds are under way than there are slots, whatever an Allocator says", func(t *testing.T) {
		p := staged()
		p.cfg.Bounds = portfolio.Bounds{Rounds: 1, Slots: 1}
		var slots []int
		p.cfg.Rules.Allocator = portfolio.AllocatorFunc(func(projects []portfolio.Project, has portfolio.Means) ([]portfolio.Order, error) {
			if slots = append(slots, has.Slots); len(slots) > 9 {
				return nil, errors.New("asked without end")
			}
			return equal(projects, has)
		})
		p.cfg.Rules.Brief = nothingFor("a", p.cfg.Rules.Brief)
		p.answers = map[string]any{"b 1/1.": answer(time.Minute, 1, 0.4), "d 1/1.": answer(time.Minute, 1, 0.4)}
		_, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, []string{"b RESEARCHING 1: 100", "d BUILDING 1: 149.5"}, rounds(events), "a has no input, and is not tried again")
		assert.NotContains(t, slots, 0, "that would be all")
	})
	t.Run("BC67 a child that its share ends is graded by what it has", func(t *testing.T) {
		p := staged()
		p.cfg.Limits.Cost, p.cfg.Bounds.Rounds = 3*providers.USD, 1
		p.in.Projects[0].Input.Calls = 9
		p.answers = map[string]any{"a 1/1.": answer(0, 1, 0.5), "a 1/2.": answer(0, 1, 0.6), "b 1/1.": answer(0, 1, 0.3)}
		out, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, []string{"a BUILDING 1: 2", "b RESEARCHING 1: 1"}, rounds(events))
		assert.Equal(t, orchestrator.Completed, out.Status)
		assert.InDelta(t, 0.6, *out.Projects[0].Score, 0)
		assert.Equal(t, "it was cut off", out.Projects[0].Error)
		assert.Equal(t, 3*providers.USD, out.Spent.Cost)
	})
	t.Run("BC67 that a round was cut off is no error of the next one", func(t *testing.T) {
		p := staged()
		p.cfg.Limits.Cost, p.cfg.Bounds.Rounds = 4*providers.USD, 2
		p.in.Projects = p.in.Projects[:1]
		p.in.Projects[0].Input.Calls = 2
		p.cfg.Rules.Brief = func(_ portfolio.Project, in job, last *made) job {
			if in.Round = 1; last != nil {
				in.Round, in.Calls = 2, 1
			}
			return in
		}
		p.answers = map[string]any{"a 1/1.": answer(0, 2, 0.5), "a 2/1.": answer(0, 1, 0.6)}
		out, _, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, 2, out.Projects[0].Rounds)
		assert.Empty(t, out.Projects[0].Error)
	})
	t.Run("BC67 money is for the rounds of the project that has most of them to go", func(t *testing.T) {
		p := staged()
		p.in.Projects = []portfolio.Entry[job]{entry("a", portfolio.Idea, 0.4, 0), entry("b", portfolio.Idea, 0.6, 0)}
		p.answers = map[string]any{
			"a 1/1.": answer(time.Minute, 1, 0.4), "a 2/1.": answer(time.Minute, 1, 0.4),
			"b 1/1.": answer(time.Minute, 1, 0.6), "b 2/1.": answer(time.Minute, 1, 0.6),
		}
		p.cfg.Bounds.Slots = 1
		_, events, err := p.run(t)
		require.NoError(t, err)
		// 0.6 of 300 / 2; 0.6 of 299 / 2, as a has two rounds to go; 298 / 2; 297 / 1.
		assert.Equal(t, []string{"b IDEA 1: 90", "b IDEA 2: 89.7", "a IDEA 1: 149", "a IDEA 2: 297"}, rounds(events))
	})
	t.Run("BC67 what is not graded is kept, without money", func(t *testing.T) {
		p := staged()
		p.in.Projects[1].Score = nil
		delete(p.answers, "b 1/1.")
		p.answers["a 1/1."] = answer(0, 1, nil)
		delete(p.answers, "a 2/1.")
		p.in.Projects = append(p.in.Projects, entry("e", portfolio.Idea, 0.5, 0))
		p.answers["e 1/1."], p.answers["e 2/1."] = answer(0, 1, 0.5), answer(0, 1, 0.5)
		out, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Partial, out.Status)
		assert.Equal(t, []string{"a", "b"}, out.Unverified)
		assert.Equal(t, []string{"portfolio/ungraded a", "portfolio/ungraded b"}, codes(out.Warnings))
		assert.Len(t, rounds(events), 3)
		assert.Equal(t, portfolio.Researching, out.Projects[1].Stage)
	})
	t.Run("B120 a score promotes once", func(t *testing.T) {
		p := staged()
		p.in.Projects = []portfolio.Entry[job]{entry("a", portfolio.Idea, 0.9, 0), entry("b", portfolio.Idea, 0.9, 0)}
		p.answers = map[string]any{
			"a 1/1.": answer(time.Minute, 1, 0.9), "a 2/1.": answer(time.Minute, 1, 0.9),
			"b 1/1.": answer(time.Hour, 1, 0.5), "b 2/1.": answer(time.Hour, 1, 0.7),
		}
		out, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, portfolio.Validating, out.Projects[0].Stage, "before each of its rounds")
		assert.Equal(t, portfolio.Researching, out.Projects[1].Stage)
		promoted := 0
		for _, e := range events {
			if e.Moves[0] == string(portfolio.EventProjectPromoted) {
				promoted++
			}
		}
		assert.Equal(t, 3, promoted)
	})
	t.Run("B120 slots go to the highest scores", func(t *testing.T) {
		p := staged()
		p.cfg.Bounds.Slots, p.cfg.Bounds.Rounds = 1, 1
		p.answers["b 1/1."] = answer(0, 1, 0.4)
		delete(p.answers, "a 2/1.")
		out, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Completed, out.Status)
		assert.Equal(t, []string{"a BUILDING 1: 200", "b RESEARCHING 1: 290"}, rounds(events))
	})
	t.Run("B120 a project whose round is under way is not stale", func(t *testing.T) {
		p := staged()
		p.cfg.Rules.Allocator = portfolio.Shares{Promote: 0.7, Kill: 0.2, StaleAfter: time.Hour}
		p.in.Projects = []portfolio.Entry[job]{entry("a", portfolio.Idea, 0.5, 0), entry("b", portfolio.Idea, 0.5, 0)}
		p.answers = map[string]any{"a 1/1.": answer(3*time.Hour, 1, 0.5), "b 1/1.": answer(2*time.Hour, 1, 0.5)}
		p.answers["a 2/1."], p.answers["b 2/1."] = p.answers["a 1/1."], p.answers["b 1/1."]
		out, _, err := p.run(t)
		require.NoError(t, err)
		assert.Empty(t, out.Projects[0].Killed)
		assert.Equal(t, 2, out.Projects[0].Rounds)
	})
	t.Run("B120 a last round has its slot until it ends", func(t *testing.T) {
		p := staged()
		p.cfg.Bounds.Slots, p.cfg.Bounds.Rounds = 2, 1
		p.in.Projects = nil
		for i, id := range []string{"a", "b", "c", "d"} {
			p.in.Projects = append(p.in.Projects, entry(id, portfolio.Idea, 0.6-float64(i)/10, 0))
		}
		p.answers = map[string]any{"a 1/1.": answer(time.Hour, 1, 0.5), "b 1/1.": answer(time.Minute, 1, 0.5), "c 1/1.": answer(time.Minute, 1, 0.5), "d 1/1.": answer(time.Minute, 1, 0.5)}
		_, events, err := p.run(t)
		require.NoError(t, err)
		var order []string
		for _, e := range events {
			switch e.Moves[0] {
			case string(portfolio.EventRoundStarted):
				order = append(order, "+"+e.Project)
			case string(portfolio.EventRoundFinished):
				order = append(order, "-"+e.Project)
			}
		}
		assert.Equal(t, []string{"+a", "+b", "-b", "+c", "-c", "+d", "-d", "-a"}, order)
	})
	t.Run("B120 a slot beside a last round goes to the highest score", func(t *testing.T) {
		p := staged()
		p.cfg.Bounds.Slots = 2
		p.in.Projects = []portfolio.Entry[job]{entry("a", portfolio.Idea, 0.6, 0), entry("b", portfolio.Idea, 0.5, 0), entry("c", portfolio.Idea, 0.4, 0)}
		p.answers = map[string]any{
			"a 1/1.": answer(time.Minute, 1, 0.6), "a 2/1.": answer(time.Hour, 1, 0.6),
			"b 1/1.": answer(2*time.Minute, 1, 0.3), "b 2/1.": answer(time.Minute, 1, 0.3),
			"c 1/1.": answer(time.Minute, 1, 0.4), "c 2/1.": answer(time.Minute, 1, 0.4),
		}
		_, events, err := p.run(t)
		require.NoError(t, err)
		var order []string
		for _, e := range events {
			if e.Moves[0] == string(portfolio.EventRoundStarted) {
				order = append(order, fmt.Sprint(e.Project, e.Round))
			}
		}
		assert.Equal(t, []string{"a1", "b1", "a2", "c1", "c2", "b2"}, order)
	})
	t.Run("B120 what a round without an input would have had goes to the next project", func(t *testing.T) {
		p := staged()
		p.cfg.Bounds.Slots, p.cfg.Bounds.Rounds = 1, 1
		p.cfg.Rules.Brief = nothingFor("a", p.cfg.Rules.Brief)
		p.answers = map[string]any{"b 1/1.": answer(time.Minute, 1, 0.4)}
		out, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, []string{"b RESEARCHING 1: 300"}, rounds(events))
		assert.Equal(t, orchestrator.Partial, out.Status)
		assert.Equal(t, []string{"portfolio/rule a"}, codes(out.Warnings))
	})
	t.Run("B120 the orders say what becomes of a project", func(t *testing.T) {
		_, events, err := staged().run(t)
		require.NoError(t, err)
		var orders []string
		for _, e := range events {
			for _, o := range e.Orders {
				if o.Project == "a" {
					orders = append(orders, fmt.Sprint(o.Action, " ", o.Stage))
				}
			}
		}
		assert.Equal(t, []string{"promote BUILDING", "keep BUILDING", "keep BUILDING"}, orders, "a score promotes once")
	})
	t.Run("no round begins when the time is over", func(t *testing.T) {
		p := staged()
		p.in.Projects, p.cfg.Limits, p.cfg.Bounds.Rounds = p.in.Projects[:1], team.Limits{Time: 90 * time.Second}, 3
		p.in.Projects[0].Input.Calls = 2
		p.answers = map[string]any{"a 1/1.": answer(time.Minute, 1, 0.6), "a 1/2.": answer(0, 1, 0.6), "a 2/1.": answer(0, 1, 0.6), "a 2/2.": flowtest.Hang()}
		out, _, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, 2, out.Projects[0].Rounds)
	})
	t.Run("a round has the run's leave to make calls without a price", func(t *testing.T) {
		p := staged()
		p.in.Projects, p.cfg.Bounds.Rounds = p.in.Projects[:1], 1
		p.in.Projects[0].Input.Calls = 2
		unpriced := agent.Response{Data: agent.JSON(0.5), Usage: providers.Usage{Calls: 1, Unpriced: 1}}
		p.answers = map[string]any{"a 1/1.": unpriced, "a 1/2.": unpriced}
		for _, ofConfig := range []bool{true, false} {
			p.cfg.Limits.AllowUnpriced, p.options.Budget.AllowUnpriced = ofConfig, !ofConfig
			out, _, err := p.run(t)
			require.NoError(t, err)
			assert.EqualValues(t, 2, out.Spent.Calls)
		}
	})
	t.Run("no round was graded, and one was cut off", func(t *testing.T) {
		p := staged()
		p.cfg.Limits.Cost = 4 * providers.USD
		p.in.Projects = []portfolio.Entry[job]{entry("a", portfolio.Idea, 0.6, 0), entry("b", portfolio.Idea, 0.6, 0)}
		p.in.Projects[0].Input.Calls = 9
		p.answers = map[string]any{"a 1/1.": answer(0, 1, nil), "b 1/1.": answer(time.Minute, 0.5, nil)}
		out, _, err := p.run(t)
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.OutOfBudget, out.Status)
	})
	t.Run("without a limit on money all run", func(t *testing.T) {
		p := staged()
		p.cfg.Limits.Cost = 0
		out, events, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Completed, out.Status)
		assert.Equal(t, []string{"a BUILDING 1: 0", "b RESEARCHING 1: 0", "a BUILDING 2: 0"}, rounds(events))
	})
	t.Run("what fails gets no more money", func(t *testing.T) {
		for name, broken := range map[string]func(p *play){
			"portfolio/round-failed": func(p *play) { p.answers["b 1/1."] = errors.New("no plan") },
			"portfolio/rule":         func(p *play) { p.answers["b 1/1."] = answer(0, 1, 1.5) },
			"portfolio/rule ":        func(p *play) { p.cfg.Rules.Score = panicsFor("b", p.cfg.Rules.Score) },
			"portfolio/rule  ":       func(p *play) { delete(p.answers, "b 1/1."); p.cfg.Rules.Brief = nothingFor("b", p.cfg.Rules.Brief) },
		} {
			p := staged()
			broken(&p)
			out, _, err := p.run(t)
			require.NoError(t, err)
			assert.Equal(t, orchestrator.Partial, out.Status)
			assert.Equal(t, []string{strings.TrimSpace(name) + " b"}, codes(out.Warnings))
			assert.Equal(t, []string{"b"}, out.Unverified)
			assert.LessOrEqual(t, out.Projects[1].Rounds, 1)
		}
	})
	t.Run("money that ends before all rounds is a warning", func(t *testing.T) {
		p := staged()
		p.cfg.Limits.Cost = 3 * providers.USD
		p.in.Projects = p.in.Projects[:1]
		p.answers = map[string]any{"a 1/1.": answer(0, 3, 0.6)} // more than its share
		out, _, err := p.run(t)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Partial, out.Status)
		assert.Equal(t, []string{"portfolio/no-money a"}, codes(out.Warnings))
	})
}

func dollars(n providers.NanoUSD) string {
	return fmt.Sprintf("%.2f", float64(n)/float64(providers.USD))
}

func panicsFor(id string, score func(portfolio.Project, made) *float64) func(portfolio.Project, made) *float64 {
	return func(p portfolio.Project, out made) *float64 {
		if p.ID == id {
			panic("no idea")
		}
		return score(p, out)
	}
}

func nothingFor(id string, brief func(portfolio.Project, job, *made) job) func(portfolio.Project, job, *made) job {
	return func(p portfolio.Project, in job, last *made) job {
		if p.ID == id {
			panic("nothing to do")
		}
		return brief(p, in, last)
	}
}

// ends are plays by how they end.
func ends() map[string]struct {
	play
	status orchestrator.Status
	err    error
} {
	alone := func(score any, change func(p *play)) play {
		p := staged()
		p.in.Projects = []portfolio.Entry[job]{entry("a", portfolio.Idea, score, 0)}
		p.answers = map[string]any{"a 1/1.": answer(time.Minute, 1, 0.6), "a 2/1.": answer(time.Minute, 1, 0.6)}
		change(&p)
		return p
	}
	inTurn := staged()
	inTurn.cfg.Bounds.Slots = 1
	return map[string]struct {
		play
		status orchestrator.Status
		err    error
	}{
		"completed":     {staged(), orchestrator.Completed, nil},
		"all killed":    {alone(0.1, func(p *play) { p.answers = nil }), orchestrator.Completed, nil},
		"partial":       {alone(0.6, func(p *play) { p.answers["a 2/1."] = errors.New("no plan") }), orchestrator.Partial, nil},
		"one at a time": {inTurn, orchestrator.Completed, nil},
		"killed for its score": {alone(0.6, func(p *play) {
			p.answers = map[string]any{"a 1/1.": answer(time.Minute, 1, 0.1)}
		}), orchestrator.Completed, nil},
		"not graded again": {alone(0.6, func(p *play) { p.answers["a 2/1."] = answer(time.Minute, 1, nil) }), orchestrator.Partial, nil},
		"money for one round": {alone(0.6, func(p *play) {
			p.cfg.Limits.Cost = 3 * providers.USD
			p.answers = map[string]any{"a 1/1.": answer(time.Minute, 3, 0.6)}
		}), orchestrator.Partial, nil},
		"calls for one round": {alone(0.6, func(p *play) {
			p.options.Budget.Calls = 1
			delete(p.answers, "a 2/1.")
		}), orchestrator.Partial, nil},
		"no projects": {alone(0.6, func(p *play) { p.in, p.answers = input{}, nil }), orchestrator.Failed, portfolio.ErrBadProjects},
		"twice":       {alone(0.6, func(p *play) { p.in.Projects, p.answers = slices.Repeat(p.in.Projects, 2), nil }), orchestrator.Failed, portfolio.ErrBadProjects},
		"not graded":  {alone(nil, func(p *play) { p.answers = nil }), orchestrator.Failed, portfolio.ErrNoRound},
		"failed":      {alone(0.6, func(p *play) { p.answers = map[string]any{"a 1/1.": errors.New("no plan")} }), orchestrator.Failed, portfolio.ErrNoRound},
		"no money":    {alone(0.6, func(p *play) { p.answers, p.options.Budget.Cost = nil, orchestrator.None }), orchestrator.OutOfBudget, orchestrator.ErrBudget},
		"no time": {alone(0.6, func(p *play) {
			p.cfg.Limits.Time = time.Minute
			p.answers = map[string]any{"a 1/1.": flowtest.Hang()}
		}), orchestrator.OutOfBudget, orchestrator.ErrBudget},
		"time for one round": {alone(0.6, func(p *play) {
			p.cfg.Limits.Time = 90 * time.Second
			p.answers["a 2/1."] = flowtest.Hang()
		}), orchestrator.Partial, nil},
	}
}

func TestEnds(t *testing.T) {
	seen := map[orchestrator.Status]bool{orchestrator.Canceled: true}
	for name, end := range ends() {
		seen[end.status] = true
		t.Run(name, func(t *testing.T) {
			out, _, err := end.run(t)
			assert.Equal(t, end.status, out.Status)
			if end.err == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, end.err)
				assert.Regexp(t, "^portfolio: [^:]", err)
				assert.Equal(t, 1, strings.Count(err.Error(), "portfolio: "))
			}
			assert.Len(t, out.Projects, len(end.in.Projects))
			c := end.play.play(t)
			c.Quick = testing.Short()
			c.Sweep(t)
			end.play.play(t).Determinism(t)
		})
	}
	for _, phase := range portfolio.Phases.States() {
		assert.Equal(t, portfolio.Phases.Terminal(phase), seen[phase], phase)
	}
	t.Run("canceled in another run", func(t *testing.T) {
		p := staged()
		p.answers = map[string]any{"a 1/1.": answer(time.Minute, 1, 0.9), "b 1/1.": flowtest.Hang(), "a 2/1.": flowtest.Hang()}
		flow, err := portfolio.New(p.cfg)
		require.NoError(t, err)
		c := flowtest.New(orchestrator.Flow[input, outcome]{Name: "around", Agents: flow.Agents, Do: func(c *orchestrator.Context, in input) (outcome, error) {
			q := orchestrator.NewQueue[outcome](c)
			q.Go("team", func(c *orchestrator.Context) (outcome, error) { return flow.Child(c, in) })
			if err := c.Sleep(time.Hour); err != nil {
				return outcome{}, err
			}
			q.CancelAll()
			r, _ := q.Next()
			return r.Value, r.Err
		}}, p.in, p.roster)
		out, _, err := c.Run(t)
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		assert.Equal(t, orchestrator.Canceled, out.Status)
		c.Sweep(t)
		c.Determinism(t)
	})
	t.Run("canceled", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			p := staged()
			flow, err := portfolio.New(p.cfg)
			require.NoError(t, err)
			called := make(chan struct{}, 2)
			maker := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				if req.Prompt == "b 1/1." {
					return agent.Response{Data: agent.JSON(0.4), Usage: providers.Usage{Calls: 1, Cost: providers.USD}}, nil
				}
				called <- struct{}{}
				<-ctx.Done()
				return agent.Response{}, ctx.Err()
			})
			e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"maker": maker}})
			require.NoError(t, err)
			defer func() { assert.NoError(t, e.Close(context.Background())) }()
			run, err := flow.Start(t.Context(), e, p.in, orchestrator.StartOptions{})
			require.NoError(t, err)
			<-called
			<-called
			state := func() (all []string) {
				var s portfolio.State
				require.NoError(t, run.State(t.Context(), &s))
				all = append(all, fmt.Sprint(s.Phase, " ", dollars(s.Left)))
				for _, p := range s.Projects {
					all = append(all, fmt.Sprint(p.ID, " ", p.Rounds, " ", p.Running, " ", dollars(p.Budget), " ", dollars(p.Spent)))
				}
				return all
			}
			// b has cost 1 of 300, and a has 100 of it: 0.4/1.2 of the 199 that are left are b's.
			assert.Equal(t, []string{"running 199.00", "a 1 true 100.00 0.00", "b 2 true 66.33 1.00", "d 0 false 0.00 0.00"}, state())
			require.NoError(t, run.Cancel(context.Background(), "enough"))
			out, err := flow.Result(t.Context(), run)
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.Equal(t, orchestrator.Canceled, out.Status)
			assert.Equal(t, 1, out.Projects[0].Rounds)
			assert.Empty(t, out.Warnings)
			assert.Empty(t, out.Unverified)
			assert.Equal(t, []string{"canceled 199.00", "a 1 false 0.00 0.00", "b 2 false 0.00 1.00", "d 0 false 0.00 0.00"}, state(), "no round is under way")
		})
	})
}

// TestBounds lets random projects be worked on: the limits hold, and every run ends.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := staged()
		p.in.Projects, p.answers = nil, map[string]any{}
		slots, most, cost := rapid.IntRange(0, 3).Draw(rt, "slots"), rapid.IntRange(1, 3).Draw(rt, "rounds"), rapid.IntRange(1, 30).Draw(rt, "cost")
		p.cfg.Bounds, p.cfg.Limits = portfolio.Bounds{Rounds: most, Slots: slots}, team.Limits{Cost: providers.Dollars(float64(cost))}
		for i := range rapid.IntRange(1, 5).Draw(rt, "projects") {
			id := string(rune('a' + i))
			p.in.Projects = append(p.in.Projects, entry(id, portfolio.Idea, rapid.Float64Range(0, 1).Draw(rt, "score"), 0))
			p.in.Projects[i].Input.Calls = rapid.IntRange(1, 4).Draw(rt, "calls")
		}
		maker := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			select {
			case <-time.After(time.Duration(rapid.IntRange(1, 100).Draw(rt, "time")) * time.Second):
			case <-ctx.Done():
			}
			return agent.Response{Data: agent.JSON(rapid.Float64Range(0, 1).Draw(rt, "potential")), Usage: providers.Usage{Calls: 1, Cost: providers.USD}}, ctx.Err()
		})
		flow, err := portfolio.New(p.cfg)
		require.NoError(rt, err)
		flowtest.Bubble(t, func(*testing.T) {
			store := runlog.NewMemory()
			e, err := orchestrator.NewLocal(orchestrator.Config{Store: store, Agents: agent.Roster{"maker": maker}, Parallel: 1})
			require.NoError(rt, err)
			out, err := flow.Run(context.Background(), e, p.in, orchestrator.StartOptions{ID: "p"})
			assert.True(rt, err == nil || errors.Is(err, orchestrator.ErrBudget) || errors.Is(err, portfolio.ErrNoRound), "%v", err)
			require.NoError(rt, e.Close(context.Background()))
			assert.LessOrEqual(rt, out.Spent.Cost, p.cfg.Limits.Cost)
			var log []runlog.Record
			for rec, err := range store.Records(context.Background(), "p", 0) {
				require.NoError(rt, err)
				log = append(log, rec)
			}
			running := 0
			for _, event := range eventsOf(rt, log) {
				switch event.Moves[0] {
				case string(portfolio.EventRoundStarted):
					running++
					assert.True(rt, slots == 0 || running <= slots)
					assert.LessOrEqual(rt, event.Round, most)
					assert.NotEqual(rt, portfolio.Killed, event.Stage)
				case string(portfolio.EventRoundFinished):
					running--
				}
			}
			assert.Zero(rt, running)
		})
	})
}

func TestConfig(t *testing.T) {
	_, err := portfolio.New(config{
		Rules:  portfolio.Rules[job, made]{Allocator: portfolio.Shares{Promote: 1.5, Kill: -0.5, StaleAfter: -2}},
		Limits: team.Limits{Cost: -2, Time: -2}, Bounds: portfolio.Bounds{Rounds: -1, Slots: -2},
	})
	for _, want := range []string{"Work", "Rules.Score", "Bounds.Rounds", "Bounds.Slots", "Limits.Cost", "Limits.Time", "Rules.Allocator: Promote is 1.5", "Kill is -0.5", "StaleAfter is -2ns"} {
		require.ErrorContains(t, err, want)
	}
	for bounds, fault := range map[portfolio.Shares]string{
		{Promote: 0.3, Kill: 0.4}:               "Rules.Allocator: Promote is 0.3, want Kill (0.4) or more",
		{Promote: 0.4, Kill: 0.4}:               "",
		{Promote: orchestrator.None, Kill: 0.4}: "",
		{Promote: 0, Kill: orchestrator.None}:   "",
	} {
		cfg := usual()
		cfg.Rules.Allocator = bounds
		if _, err := portfolio.New(cfg); fault == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, fault)
		}
	}
	cfg := usual()
	cfg.Work.Roles = map[string]string{"maker": "makes"}
	flow, err := portfolio.New(cfg)
	require.NoError(t, err)
	assert.Equal(t, cfg.Work.Roles, flow.Roles)
	cfg.Rules.Allocator = portfolio.Shares{Promote: orchestrator.None, Kill: 0.2, StaleAfter: 30 * 24 * time.Hour}
	data, err := json.Marshal(cfg)
	require.NoError(t, err)
	assert.JSONEq(t, `{"rules": {"allocator": {"promote": -1, "kill": 0.2, "staleAfter": "720h0m0s"}}, "limits": {"cost": 300}, "bounds": {"rounds": 2}}`, string(data))
	var back config
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, cfg.Rules.Allocator, back.Rules.Allocator)
	assert.Equal(t, cfg.Limits, back.Limits)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"rules":{"allocator":{"promise":1}}}`), &back), "promise")
	back = config{}
	require.NoError(t, json.Unmarshal([]byte(`{"rules":{"allocator":{"staleAfter":"1h"}}}`), &back))
	assert.Equal(t, portfolio.Shares{Promote: 0.7, Kill: 0.2, StaleAfter: time.Hour}, back.Rules.Allocator, "over the default's values")
	back.Rules.Allocator = equal
	_, err = json.Marshal(back)
	require.ErrorContains(t, err, "Rules.Allocator")
}

// equal is a host's own Allocator: all projects run, with equal shares.
var equal = portfolio.AllocatorFunc(func(projects []portfolio.Project, has portfolio.Means) (orders []portfolio.Order, _ error) {
	for _, p := range projects {
		orders = append(orders, portfolio.Order{Project: p.ID, Action: portfolio.Keep, Budget: has.Budget / providers.NanoUSD(len(projects)), Runs: true})
	}
	return orders, nil
})

// A host replaces each rule, and the outcome is another one.
func TestRules(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(p *play)
		rounds []string
		err    error
	}{
		"an allocator of equal shares": {func(p *play) {
			p.cfg.Rules.Allocator = equal
			p.answers = map[string]any{"a 1/1.": answer(0, 1, 0.9), "b 1/1.": answer(0, 1, 0.1), "d 1/1.": answer(0, 1, 0.5)}
		}, []string{"a VALIDATING 1: 100", "b RESEARCHING 1: 100", "d BUILDING 1: 100"}, nil},
		"an allocator that kills without a reason": {func(p *play) {
			p.cfg.Rules.Allocator = portfolio.AllocatorFunc(func(projects []portfolio.Project, _ portfolio.Means) (orders []portfolio.Order, _ error) {
				for _, p := range projects {
					orders = append(orders, portfolio.Order{Project: p.ID, Action: portfolio.Kill})
				}
				return orders, nil
			})
			p.answers = nil
		}, nil, nil},
		"an allocator that gives more than there is": {func(p *play) {
			p.cfg.Rules.Allocator = portfolio.AllocatorFunc(func(projects []portfolio.Project, has portfolio.Means) ([]portfolio.Order, error) {
				orders, err := equal(projects, has)
				orders[0].Budget = has.Budget
				return orders, err
			})
			p.answers = nil
		}, nil, portfolio.ErrRule},
		"an allocator that forgets one": {func(p *play) {
			p.cfg.Rules.Allocator = portfolio.AllocatorFunc(func(projects []portfolio.Project, has portfolio.Means) ([]portfolio.Order, error) {
				return equal(projects[1:], has)
			})
			p.answers = nil
		}, nil, portfolio.ErrRule},
		"an allocator that panics": {func(p *play) {
			p.cfg.Rules.Allocator = portfolio.AllocatorFunc(func([]portfolio.Project, portfolio.Means) ([]portfolio.Order, error) { panic("oh") })
			p.answers = nil
		}, nil, portfolio.ErrRule},
		"an unknown action": {func(p *play) {
			p.cfg.Rules.Allocator = portfolio.AllocatorFunc(func(projects []portfolio.Project, has portfolio.Means) ([]portfolio.Order, error) {
				orders, err := equal(projects, has)
				orders[0].Action = "sell"
				return orders, err
			})
			p.answers = nil
		}, nil, portfolio.ErrRule},
		"a stage to which the action does not lead": {func(p *play) {
			p.cfg.Rules.Allocator = portfolio.AllocatorFunc(func(projects []portfolio.Project, has portfolio.Means) ([]portfolio.Order, error) {
				orders, err := equal(projects, has)
				orders[1].Stage = portfolio.Launching
				return orders, err
			})
			p.answers = nil
		}, nil, portfolio.ErrRule},
		"a score that is out of range": {func(p *play) {
			p.cfg.Rules.Score = func(portfolio.Project, made) *float64 { return new(7.0) }
			delete(p.answers, "a 2/1.")
		}, []string{"a BUILDING 1: 200", "b RESEARCHING 1: 100"}, portfolio.ErrNoRound},
		"limits of the input": {func(p *play) {
			p.in.Limits.Cost = 30 * providers.USD
			p.answers = map[string]any{"a 1/1.": answer(0, 1, 0.6), "b 1/1.": answer(0, 1, 0.1)}
		}, []string{"a BUILDING 1: 20", "b RESEARCHING 1: 10"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := staged()
			p.cfg.Bounds.Rounds = 1
			delete(p.answers, "a 2/1.")
			tt.change(&p)
			out, events, err := p.run(t)
			assert.Equal(t, tt.rounds, rounds(events))
			if tt.err == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, tt.err)
				require.ErrorIs(t, err, portfolio.ErrRule, "the code is kept")
				assert.Regexp(t, "^portfolio: ", err)
				assert.Contains(t, codes(out.Warnings)[0], "portfolio/rule ")
			}
			p.play(t).Sweep(t)
		})
	}
}

// An order with a stage of its own is told which one its action leads to.
func TestStageOfAnOrder(t *testing.T) {
	p := staged()
	p.answers = nil
	p.cfg.Rules.Allocator = portfolio.AllocatorFunc(func(projects []portfolio.Project, has portfolio.Means) ([]portfolio.Order, error) {
		orders, err := equal(projects, has)
		orders[0].Stage, orders[1].Action, orders[1].Stage = portfolio.Validating, portfolio.Promote, portfolio.Launching
		return orders, err
	})
	_, _, err := p.run(t)
	require.EqualError(t, err, `portfolio: Rules.Allocator: orders[1]: stage is "LAUNCHING", want "VALIDATING", to which promote leads, or none`)
}

// What rules get is a copy: to write to it changes nothing.
func TestRulesGetCopies(t *testing.T) {
	p := staged()
	want, _, err := p.run(t)
	require.NoError(t, err)
	rules := p.cfg.Rules
	p.cfg.Rules = portfolio.Rules[job, made]{
		Score: func(one portfolio.Project, out made) *float64 {
			score := *rules.Score(one, out)
			*out.Potential = 0.01
			return &score
		},
		Brief: func(one portfolio.Project, in job, last *made) job {
			in = rules.Brief(one, in, last)
			*one.Score = 0.02
			if last != nil {
				*last.Potential = 0.03
			}
			return in
		},
		Allocator: portfolio.AllocatorFunc(func(projects []portfolio.Project, has portfolio.Means) ([]portfolio.Order, error) {
			orders, err := rules.Allocator.Allocate(projects, has)
			for i := range projects {
				projects[i].Stage, *projects[i].Score = portfolio.Operating, 0.04
			}
			return orders, err
		}),
	}
	got, _, err := p.run(t)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}
