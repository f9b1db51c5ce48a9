package discussion_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// pairs is an answer that gives idea-1, idea-2, … these marks in each of two criteria.
func pairs(values ...[2]float64) string {
	var list []map[string]any
	for i, v := range values {
		list = append(list, map[string]any{"idea_id": "idea-" + string(rune('1'+i)), "criteria": map[string]float64{"novelty": v[0], "cost": v[1]}})
	}
	return string(agent.JSON(map[string]any{"evaluations": list}))
}

// tally is a Scorer with criteria of its own: their product, over ten.
type tally struct{}

func (tally) Names() []string { return []string{"novelty", "cost"} }
func (tally) Score(marks grading.Marks) (float64, error) {
	return marks[0].Value * marks[1].Value / 10, nil
}

// again allows so many tries of each role.
type again map[string]int

func (a again) Next(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	next := orchestrator.Again{Retry: len(tries) < a[of.Role], After: time.Minute, Feedback: "Be bold."}
	if of.Role == "ideas" {
		next.Agent = "muse"
	}
	return next
}

func (again) Agents() []string { return []string{"muse"} }

func TestRules(t *testing.T) {
	three := cast{discussion.Ideation: {ideas("Alpha", "Beta", "Gamma")}, discussion.Moderator: {scores(9, 8, 5)}}
	for _, tt := range []struct {
		name  string
		rules discussion.Rules
		cast  cast
		want  func(t *testing.T, p played)
	}{
		{"the default", discussion.Rules{}, three, func(t *testing.T, p played) {
			assert.Equal(t, "Alpha\n\nabout Alpha", p.out.Result())
			assert.Equal(t, []string{"idea-1", "idea-2", "idea-3"}, p.out.Ranking)
		}},
		{"Turns: ideation speaks twice, then the leader", discussion.Rules{Turns: discussion.TurnsFunc(func(r discussion.Round) discussion.Role {
			return append([]discussion.Role{discussion.Ideation, discussion.Ideation, discussion.TeamLeader}, "")[len(r.Spoken)]
		})}, three, func(t *testing.T, p played) {
			assert.Equal(t, []string{leader, ideation, ideation, leader, moderator, leader, creator}, p.roles())
		}},
		{"Grader: the shortest title is the best", discussion.Rules{Grader: orchestrator.GradeWith(func(_ *orchestrator.Context, w discussion.Work) (all []discussion.Evaluation, _ error) {
			for _, idea := range w.Discussion.Ideas {
				all = append(all, discussion.Evaluation{IdeaID: idea.ID, Score: new(float64(10 - len(idea.Title)))})
			}
			return all, nil
		})}, three, func(t *testing.T, p played) {
			assert.Equal(t, "Beta", p.out.FinalIdea.Title)
			assert.NotContains(t, p.roles(), moderator)
		}},
		{"Grader: half of what the moderator gives", discussion.Rules{Grader: orchestrator.GradeWith(func(c *orchestrator.Context, w discussion.Work) ([]discussion.Evaluation, error) {
			all, err := discussion.ByModerator{}.Grade(c, w)
			for i := range all {
				*all[i].Score /= 2
			}
			return all, err
		})}, three, func(t *testing.T, p played) { assert.InDelta(t, 4.5, *p.out.Score, 0) }},
		{"Scorer: weights of other criteria", discussion.Rules{Scorer: grading.Weighted{"cost": 3, "novelty": 1}}, cast{
			discussion.Ideation: three[discussion.Ideation], discussion.Moderator: {pairs([2]float64{9, 1}, [2]float64{2, 9}, [2]float64{5, 5})},
		}, func(t *testing.T, p played) {
			assert.Equal(t, "Beta", p.out.FinalIdea.Title)
			assert.InDelta(t, 7.25, *p.out.Score, 0)
			assert.Contains(t, p.prompts(discussion.Moderator)[0], `in cost and novelty, its pros`)
			assert.Contains(t, p.prompts(discussion.Moderator)[0], `"criteria":{"cost":0,"novelty":0}`)
			assert.Contains(t, string(p.asked[len(p.asked)-3].req.Output), `"required":["cost","novelty"]`)
		}},
		{"Scorer: a product", discussion.Rules{Scorer: tally{}}, cast{
			discussion.Ideation: three[discussion.Ideation], discussion.Moderator: {pairs([2]float64{9, 1}, [2]float64{2, 9}, [2]float64{5, 5})},
		}, func(t *testing.T, p played) {
			assert.Equal(t, "Gamma", p.out.FinalIdea.Title)
			assert.Equal(t, map[string]float64{"novelty": 5, "cost": 5}, p.out.FinalIdea.Criteria)
		}},
		{"Gate: nothing is good enough", discussion.Rules{Gate: grading.GateWith(func(grading.Standing) grading.Decision { return grading.Discard })}, three, func(t *testing.T, p played) {
			assert.Equal(t, orchestrator.Partial, p.out.Status)
			assert.True(t, p.out.BelowThreshold)
			assert.Empty(t, p.out.Shortlist)
		}},
		{"Ranker: the last one first", discussion.Rules{Ranker: grading.RankerFunc(func(all []grading.Ranked) []grading.Ranked {
			slices.Reverse(all)
			return all
		})}, three, func(t *testing.T, p played) {
			assert.Equal(t, "Gamma", p.out.FinalIdea.Title)
			assert.Equal(t, []string{"idea-3", "idea-2", "idea-1"}, p.out.Ranking)
			html, err := discussion.Page(p.out)
			require.NoError(t, err)
			assert.Less(t, strings.Index(html, "1. Gamma"), strings.Index(html, "3. Alpha"))
		}},
		{"Retrier: another round, and ideas of another agent", discussion.Rules{Retrier: again{"round": 2, "ideas": 2}}, cast{
			discussion.Ideation: {ideas("Alpha"), ideas("Beta")}, discussion.Moderator: {scores(9, 8, 7)}, discussion.Role("muse"): {ideas("Gamma")},
		}, func(t *testing.T, p played) {
			assert.Equal(t, []string{leader, ideation, "muse", leader, ideation, leader, moderator, leader, creator}, p.roles())
			assert.Equal(t, []string{"Alpha", "Gamma", "Beta"}, p.titles())
			assert.Contains(t, p.prompts("muse")[0], "\n\nBe bold.")
			assert.GreaterOrEqual(t, p.out.Elapsed, 2*time.Minute)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := discussion.Standard(nil)
			cfg.Rules, cfg.Policy.Attempts = tt.rules, 1
			d := debate{cfg: cfg, cast: tt.cast, extra: []discussion.Role{"muse"}}
			p := d.play(t)
			require.NoError(t, p.err)
			tt.want(t, p)
			c, _ := d.open(t)
			c.Quick = true
			c.Sweep(t)
		})
	}
}

func TestGateIsToldAboutWhat(t *testing.T) {
	t.Parallel()
	d := judged(2, scores(7, 8))
	var asked []grading.Standing
	d.cfg.Rules.Gate = grading.GateWith(func(s grading.Standing) grading.Decision {
		asked = append(asked, s)
		return grading.Accept
	})
	d.play(t)
	first := grading.Standing{Of: grading.Subject{ID: "idea-1"}, Score: 7, Threshold: 6, Try: 1, Most: 1}
	second := first
	second.Of.ID, second.Score = "idea-2", 8
	assert.Equal(t, []grading.Standing{first, second}, asked[len(asked)-2:])
}

func TestRulesStandTheChecks(t *testing.T) {
	t.Parallel()
	c, _ := debate{cfg: discussion.Standard(nil)}.open(t)
	c.Quick = true
	flowtest.Rules(t, func() discussion.Config {
		cfg := discussion.Standard(nil)
		cfg.Rules = discussion.DefaultRules()
		return cfg
	}, discussion.New, c)
}

func TestRetrierEndsEarly(t *testing.T) {
	cfg := discussion.Extended(nil)
	cfg.Rules.Retrier, cfg.Policy.MinIdeas = orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
		return orchestrator.Again{Retry: of.Role == "ideas" && len(tries) < 2}
	}), 2
	p := debate{cfg: cfg, cast: cast{discussion.Ideation: {ideas("Alpha"), "in a deep dive", ideas("Beta")}, discussion.Moderator: {scores(9, 8)}}}.play(t)
	require.NoError(t, p.err)
	assert.Equal(t, 1, p.out.Discussion.Round)
	assert.Equal(t, []string{"Alpha", "Beta"}, p.titles(), "missing ideas are asked for after the last round")
}

func TestRulesThatFail(t *testing.T) {
	for _, tt := range []struct {
		name, who, message string
		rules              discussion.Rules
	}{
		{"Turns panics", "", "Rules.Turns panicked: oh", discussion.Rules{Turns: discussion.TurnsFunc(func(discussion.Round) discussion.Role { panic("oh") })}},
		{"Turns names nobody", "", `Rules.Turns: the next to speak is "critic", want a member who speaks in rounds, or none`, discussion.Rules{Turns: discussion.TurnsFunc(func(discussion.Round) discussion.Role { return discussion.Critic })}},
		{"Turns never ends", "", "Rules.Turns: round 1 has more than 100 turns", discussion.Rules{Turns: discussion.TurnsFunc(func(discussion.Round) discussion.Role { return discussion.TeamLeader })}},
		{"Grader panics", "", "Rules.Grader panicked: oh", discussion.Rules{Grader: orchestrator.GradeWith(func(*orchestrator.Context, discussion.Work) ([]discussion.Evaluation, error) { panic("oh") })}},
		{"Grader is out of range", "", "Rules.Grader: the score is NaN, want 0 to 10", discussion.Rules{Grader: orchestrator.GradeWith(func(*orchestrator.Context, discussion.Work) ([]discussion.Evaluation, error) {
			return []discussion.Evaluation{{IdeaID: "idea-1", Score: new(math.NaN()), Criteria: map[string]float64{"impact": 3}}}, nil
		})}},
		{"Scorer errs", "idea-1", "Rules.Scorer: no", discussion.Rules{Scorer: grading.ScorerFunc(func(grading.Marks) (float64, error) { return 0, errors.New("no") })}},
		{"Scorer is out of range", "idea-1", "Rules.Scorer: it is 11, want 0 to 10", discussion.Rules{Scorer: grading.ScorerFunc(func(grading.Marks) (float64, error) { return 11, nil })}},
		{"Gate decides nothing", "idea-1", `Rules.Gate: it is "maybe", want one of ["accept" "revise" "discard"]`, discussion.Rules{Gate: grading.GateWith(func(grading.Standing) grading.Decision { return "maybe" })}},
		{"Ranker forgets one", "", "Rules.Ranker: 4 are ranked, want all 5", discussion.Rules{Ranker: grading.RankerFunc(func(all []grading.Ranked) []grading.Ranked { return all[1:] })}},
		{"Ranker repeats one", "", `Rules.Ranker: "idea-1" is ranked twice`, discussion.Rules{Ranker: grading.RankerFunc(func(all []grading.Ranked) []grading.Ranked { return append(all, all[0]) })}},
		{"Retrier panics", leader, "Rules.Retrier panicked: oh", discussion.Rules{Retrier: orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again { panic("oh") })}},
		{"Retrier names an agent that is not declared", ideation, `Rules.Retrier: Agent is "muse", which is no agent of the flow: the rule's method Agents() []string must name it`, discussion.Rules{Retrier: orchestrator.RetrierFunc(again{"ideas": 9}.Next)}},
		{"Retrier names an agent for a round", leader, `Rules.Retrier: its Agent is "critic", but a round is made by the whole team: want none for the role "round"`, discussion.Rules{Retrier: orchestrator.RetrierFunc(func(of orchestrator.Working, _ []orchestrator.Try) orchestrator.Again {
			return orchestrator.Again{Retry: of.Role == "round", Agent: "critic"}
		})}},
		{"Permit panics", "run", "start of run: Rules.Permit panicked: oh", discussion.Rules{Permit: orchestrator.PermitFunc(func(*orchestrator.Context, orchestrator.Move) error { panic("oh") })}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := discussion.Standard(map[discussion.Role]string{discussion.UICreator: "critic"})
			cfg.Rules = tt.rules
			if tt.who == ideation {
				cfg.Policy.MinIdeas = 9
			}
			five := map[string]float64{"feasibility": 8, "innovation": 8, "impact": 8, "clarity": 8, "completeness": 8}
			var graded []map[string]any
			for i := range 5 {
				graded = append(graded, map[string]any{"idea_id": i + 1, "criteria": five})
			}
			p := debate{cfg: cfg, cast: cast{discussion.Moderator: {string(agent.JSON(graded))}}}.play(t)
			require.ErrorIs(t, p.err, discussion.ErrRule)
			require.ErrorContains(t, p.err, tt.message[strings.Index(tt.message, "Rules."):])
			assert.Equal(t, orchestrator.Failed, p.out.Status)
			assert.Contains(t, p.out.Warnings, orchestrator.Warning{Code: "discussion/rule", Who: tt.who, Message: tt.message})
			asked := slices.DeleteFunc(p.roles(), func(role string) bool { return role != moderator })
			assert.LessOrEqual(t, len(asked), 1, "a model is not asked again for a rule that fails")
		})
	}
}

func TestGraderFails(t *testing.T) {
	cfg, asked := discussion.Standard(nil), 0
	cfg.Rules.Grader = orchestrator.GradeWith(func(*orchestrator.Context, discussion.Work) ([]discussion.Evaluation, error) {
		asked++
		return nil, errors.New("no judge is there")
	})
	p := debate{cfg: cfg}.play(t)
	require.NoError(t, p.err)
	assert.Equal(t, 2, asked, "it is asked once more")
	assert.Equal(t, orchestrator.Partial, p.out.Status, "and the ideas are ungraded")
	assert.Equal(t, orchestrator.Warning{Code: "discussion/ungraded", Message: "no judge is there"}, p.out.Warnings[0], "it is not the moderator that failed")
	p = debate{cfg: discussion.Standard(nil), cast: cast{
		discussion.Moderator: {&agent.Error{Message: "their gate", Codes: []agent.Code{discussion.ErrRule, "permanent"}}},
	}}.play(t)
	require.NoError(t, p.err, "the rule of a moderator's own team is none of this one")
	assert.Contains(t, p.warned(), "discussion/ungraded")
	assert.NotContains(t, p.warned(), "discussion/rule")
	cfg = without(discussion.Standard(nil), discussion.Moderator)
	cfg.Rules.Grader, cfg.Policy.RequireThreshold = orchestrator.GradeWith(func(c *orchestrator.Context, w discussion.Work) ([]discussion.Evaluation, error) {
		return discussion.ByModerator{}.Grade(c, w)
	}), true
	p = debate{cfg: cfg}.play(t)
	assert.Contains(t, p.out.Warnings, orchestrator.Warning{Code: "discussion/ungraded", Message: "the team has no moderator"})
}

func TestPermits(t *testing.T) {
	var moves []string
	cfg := discussion.Extended(nil)
	cfg.Rules.Permit = orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
		moves = append(moves, m.Key()+" "+m.From+" "+m.To)
		return nil
	})
	require.NoError(t, debate{cfg: cfg}.play(t).err)
	assert.Equal(t, []string{
		"permit/run/start created kickoff", "permit/run/replied kickoff exploring", "permit/run/round_done exploring exploring",
		"permit/run/to_validation exploring validating", "permit/run/to_report selecting visualizing",
	}, moves)
	for _, tt := range []struct {
		move     string
		cfg      discussion.Config
		messages int // said by then
	}{
		{"start", discussion.Standard(nil), 0},
		{"replied", discussion.Standard(nil), 1},
		{"round_done", discussion.Extended(nil), 7},
		{"to_validation", discussion.Standard(nil), 3},
		{"to_selection", without(discussion.Standard(nil), discussion.Moderator), 3},
		{"to_report", discussion.Standard(nil), 5},
	} {
		tt.cfg.Rules.Permit = orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool { return m.Event == tt.move }}
		for _, answer := range []bool{true, false} {
			t.Run(tt.move, func(t *testing.T) {
				t.Parallel()
				c, _ := debate{cfg: tt.cfg}.open(t)
				c.Answers = map[string]any{"permit/run/" + tt.move: answer}
				out, _, err := c.Run(t)
				if answer {
					require.NoError(t, err)
					require.NotEqual(t, orchestrator.Failed, out.Status)
					return
				}
				require.ErrorIs(t, err, discussion.ErrNotPermitted)
				require.ErrorIs(t, err, orchestrator.ErrNotPermitted)
				assert.Equal(t, orchestrator.Failed, out.Status)
				assert.Len(t, out.Discussion.Messages, tt.messages, "what was said is kept")
				require.Len(t, out.Warnings, 1)
				assert.Equal(t, "discussion/not-permitted run", out.Warnings[0].Code+" "+out.Warnings[0].Who)
				c.Quick = true
				c.Sweep(t)
			})
		}
	}
}

func TestRulesJSON(t *testing.T) {
	var cfg discussion.Config
	require.NoError(t, json.Unmarshal([]byte(`{"rules":{"scorer":{"novelty":2},"gate":{"margin":5},"retrier":{"wait":"3s"},"turns":{}}}`), &cfg))
	assert.Equal(t, discussion.Rules{
		Turns: discussion.InOrder{}, Scorer: grading.Weighted{"novelty": 2}, Gate: grading.Bands{Margin: 5}, Retrier: orchestrator.Attempts{Wait: 3 * time.Second},
	}, cfg.Rules)
	require.EqualError(t, json.Unmarshal([]byte(`{"rules":{"judge":{},"gate":{"margn":5},"permit":{}}}`), &cfg), "rules.gate.margn is unknown\nrules.judge is unknown\nrules.permit is unknown")
	cfg.Rules.Ranker = grading.RankerFunc(func(all []grading.Ranked) []grading.Ranked { return all })
	_, err := json.Marshal(cfg)
	require.ErrorContains(t, err, "Rules.Ranker is the program's own and has no JSON")
	cfg = discussion.Standard(nil)
	cfg.Rules.Scorer = grading.Weighted{"clarity": -1}
	_, err = discussion.New(cfg)
	require.ErrorContains(t, err, "Rules.Scorer: the weight of clarity is -1, want 0 or more")
}

func TestLimitsOfTheInput(t *testing.T) {
	cfg := discussion.Standard(nil)
	cfg.Limits.Calls, cfg.Limits.Estimate = 3, 5
	d := debate{cfg: cfg, in: discussion.Input{Topic: topic}}
	d.in.Limits.Calls = orchestrator.None
	p := d.play(t)
	require.NoError(t, p.err)
	assert.Equal(t, topic, p.out.Asked)
	assert.EqualValues(t, 5, p.asked[0].req.Limits.Estimate, "of members that have none")
	d.in.Limits.Calls = -3
	require.ErrorIs(t, d.play(t).err, discussion.ErrInput)
	require.EqualError(t, json.Unmarshal([]byte(`{"topic":"x","limits":{"tme":1}}`), &d.in), "limits.tme is unknown")
}
