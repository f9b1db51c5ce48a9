package discussion_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// paid are the lines of a team, each of which costs something: grow more with each further call
// of the same agent.
func paid(cfg discussion.Config, cost, grow providers.NanoUSD) cast {
	all := cast{}
	for _, m := range cfg.Team {
		for n := range providers.NanoUSD(12) {
			all[m.Role] = append(all[m.Role], func(_ context.Context, req agent.Request) (agent.Response, error) {
				resp := agent.Response{}
				if text, ok := lines(m.Role)[0].(string); ok {
					resp.Text = text
				} else {
					resp = judge(req)
				}
				resp.Usage = providers.Usage{Calls: 1, Output: int64(cost + grow*n), Cost: cost + grow*n}
				return resp, nil
			})
		}
	}
	return all
}

func TestScoresAreSetAside(t *testing.T) {
	t.Parallel()
	full := func(change func(c *discussion.Config)) debate {
		d := debate{cfg: discussion.Full(nil)}
		change(&d.cfg)
		return d
	}
	notBegun := func(round string) string {
		return "round " + round + " was not begun: what is left would not do for it and for the scores"
	}
	unmoderated := func(calls int64, line any) debate {
		cfg := without(discussion.Full(nil), discussion.Moderator)
		cfg.Limits.Calls = calls
		return debate{cfg: cfg, cast: cast{discussion.TeamLeader: {line}}}
	}
	for _, tt := range []struct {
		name   string
		debate debate
		rounds int
		calls  int
		warn   []string
	}{
		// Full takes 1 call for kickoff, 7 a round, and 1 each for scores, selection and page.
		{"DC41 22 of 25 calls", limited(discussion.Full(nil), 22), 2, 18, []string{notBegun("3")}},
		{"DC41 all but the selection and the page", limited(discussion.Full(nil), 23), 3, 23, nil},
		{"DC41 one call too few for the second round", limited(discussion.Full(nil), 15), 1, 11, []string{notBegun("2")}},
		{"DC41 money, by the largest call so far", full(func(c *discussion.Config) { c.Limits.Cost = 229 }), 2, 18, []string{notBegun("3")}},
		{"DC41 money that is enough", full(func(c *discussion.Config) { c.Limits.Cost = 230 }), 3, 23, nil},
		{"DC41 money, by the estimate of the moderator", full(func(c *discussion.Config) { c.Limits.Cost, c.Team[5].Estimate = 239, 20 }), 2, 18, []string{notBegun("3")}},
		{"DC41 money, by the estimate of all calls", full(func(c *discussion.Config) { c.Limits.Cost, c.Limits.Estimate = 239, 20 }), 2, 18, []string{notBegun("3")}},
		// Without a moderator the leader's choice is what the run must have.
		{"DC41 without a moderator, enough for the choice", unmoderated(23, "Podcast lab"), 3, 23, nil},
		{"DC41 without a moderator, one call too few for the third round", unmoderated(22, "Podcast lab"), 2, 17, []string{
			"round 3 was not begun: what is left would not do for it and for the choice",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.debate
			if d.cfg.Limits.Cost > 0 {
				d.cast = paid(d.cfg, 10, 0)
			}
			p := d.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, orchestrator.Completed, p.out.Status)
			assert.NotNil(t, p.out.FinalIdea)
			assert.Equal(t, tt.rounds, p.out.Discussion.Round)
			assert.Len(t, p.asked, tt.calls)
			var messages []string
			for _, w := range p.out.Warnings {
				if w.Code == "discussion/budget" && w.Who == "" {
					messages = append(messages, w.Message)
				}
			}
			assert.Equal(t, tt.warn, messages)
			c, _ := d.open(t)
			c.Quick = true
			c.Sweep(t)
		})
	}
	t.Run("DC41 nothing is set aside where there will be no ideas", func(t *testing.T) {
		cfg := without(discussion.Extended(nil), discussion.Ideation, discussion.Moderator)
		cfg.Limits.Calls = 5 // kickoff, and two rounds of researcher and leader
		p := debate{cfg: cfg}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2, p.out.Discussion.Round)
		assert.Len(t, p.asked, 5)
	})
	t.Run("DC41 DC30 without ideas there is nothing to score: the run is out of budget", func(t *testing.T) {
		d := full(func(c *discussion.Config) {
			c.Limits.Calls = 11 // kickoff, 2 turns of the first round, and 8 of the second but for what is set aside
			c.Rules.Turns = discussion.TurnsFunc(func(r discussion.Round) discussion.Role {
				if len(r.Spoken) < []int{2, 8}[r.Number-1] {
					return discussion.Researcher
				}
				return ""
			})
		})
		p := d.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
		assert.Len(t, p.asked, 10)
	})
	for name, limits := range map[string]team.Limits{
		"DC41 a round that costs more than those before is cut short":        {Cost: 200},
		"DC41 a round that takes more tokens than those before is cut short": {Tokens: 200},
	} {
		t.Run(name, func(t *testing.T) {
			d := full(func(c *discussion.Config) { c.Limits = limits })
			d.cast = paid(d.cfg, 10, 4)
			p := d.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, orchestrator.Completed, p.out.Status)
			assert.Contains(t, p.types(), "validation")
			assert.True(t, slices.ContainsFunc(p.out.Warnings, func(w orchestrator.Warning) bool {
				return w.Message == "round 2 was cut short: what is left is for the scores"
			}), p.out.Warnings)
			c, _ := d.open(t)
			c.Quick = true
			c.Sweep(t)
		})
	}
	for name, limits := range map[string]team.Limits{
		"DC41 time that is up in a round is up for the scores, too": {Time: 10 * time.Minute},
		"DC41 so it is where something is set aside":                {Time: 10 * time.Minute, Calls: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			d := full(func(c *discussion.Config) { c.Limits, c.Bounds.CallTimeout = limits, time.Hour })
			d.cast = cast{discussion.Researcher: {"facts", flowtest.Hang()}}
			p := d.play(t)
			require.ErrorIs(t, p.err, orchestrator.ErrBudget)
			assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
			assert.NotEmpty(t, p.out.Discussion.Ideas)
			assert.Empty(t, p.out.Warnings)
		})
	}
	t.Run("DC41 where nothing is left for the scores the run is out of budget", func(t *testing.T) {
		d := full(func(c *discussion.Config) { c.Limits.Cost = 400 })
		d.cast = paid(d.cfg, 10, 0)
		d.cast[discussion.Researcher][1] = agent.Response{Text: "Facts.", Usage: providers.Usage{Calls: 1, Cost: 1000}}
		p := d.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("DC41 DX1 a run that is canceled in a round says nothing of money", func(t *testing.T) {
		d := full(func(c *discussion.Config) {
			c.Limits.Calls, c.Bounds.CallTimeout = 1000, time.Hour
			c.Rules.Turns = discussion.TurnsFunc(func(r discussion.Round) discussion.Role {
				return append([][]discussion.Role{{discussion.Ideation}, {discussion.Critic}}[r.Number-1], "")[len(r.Spoken)]
			})
		})
		out, _, err := canceledAt(t, d.cfg, discussion.Critic)
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		assert.NotEmpty(t, out.Discussion.Ideas)
		assert.Empty(t, out.Warnings)
	})
	t.Run("DC41 as much as the largest call is set aside, not as the latest", func(t *testing.T) {
		// The first round costs 90, the second 70: after them 119 are left, and 90 and 30 are wanted.
		d := full(func(c *discussion.Config) { c.Limits.Cost = 289 })
		d.cast = paid(d.cfg, 10, 0)
		dear := agent.Response{Text: "Facts.", Usage: providers.Usage{Calls: 1, Cost: 30}}
		d.cast[discussion.Researcher] = append([]any{dear}, d.cast[discussion.Researcher]...)
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2, p.out.Discussion.Round)
		assert.Len(t, p.asked, 18)
	})
	t.Run("DC41 models without a price are called in all rounds, if that is allowed", func(t *testing.T) {
		d := full(func(c *discussion.Config) { c.Limits.Cost, c.Limits.AllowUnpriced = 1000, true })
		d.cast = cast{discussion.Critic: {agent.Response{Text: "Why?", Usage: providers.Usage{Calls: 1, Unpriced: 1}}}}
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.asked, 25)
		assert.NotContains(t, p.warned(), "discussion/budget")
	})
}
