package docs_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/routing"
)

// Rules that change all that they get do not change what the team goes by.
func TestRulesThatMeddle(t *testing.T) {
	t.Run("hierarchy", func(t *testing.T) {
		byDefault := hierarchy.DefaultRules()
		meddling := hierarchy.Rules{
			Router: orchestrator.RouterFunc(func(c *orchestrator.Context, request string, targets []routing.Target) (routing.Route, error) {
				route, err := byDefault.Router.Route(c, request, targets)
				clear(targets[0].Keywords)
				clear(targets)
				return route, err
			}),
			Selector: routing.SelectorFunc(func(all []routing.Candidate, need routing.Need) []routing.Candidate {
				chosen := byDefault.Selector.Select(all, need)
				for i := range all {
					clear(all[i].Skills)
				}
				clear(all)
				return chosen
			}),
			Threshold: grading.ThresholdFunc(func(of grading.Subject, history []float64) float64 {
				score := byDefault.Threshold.Threshold(of, history)
				*of.Own, *of.Shared = 100, 100
				clear(history)
				return score
			}),
			Grader: orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
				*w.Agent.PassingThreshold, *w.Department.MinQuality = 100, 100
				clear(w.Output)
				clear(w.Department.Agents)
				return hierarchy.Grade{Score: new(70.0)}, nil
			}),
			Gates: hierarchy.Gates{Attempt: grading.GateWith(func(s grading.Standing) grading.Decision {
				decision := byDefault.Gates.Attempt.Decide(s)
				*s.Of.Own = 100
				clear(s.Before)
				return decision
			})},
		}
		outcome := func(rules hierarchy.Rules) string {
			d := hierarchy.NewDepartment("words", "editor",
				hierarchy.Agent{ID: "poet", Skills: []string{"verse"}, PassingThreshold: new(60.0)}, hierarchy.Agent{ID: "bard", Skills: []string{"song"}, PassingThreshold: new(65.0)})
			d.Keywords, d.MinQuality = map[string]int{"verse": 5}, new(50.0)
			flow, err := hierarchy.New(hierarchy.Config{Departments: []hierarchy.Department{d}, Rules: rules})
			require.NoError(t, err)
			in := hierarchy.Input{Prompt: "A detailed verse and a song of rain", History: map[string][]float64{"poet": {1, 2}}}
			return played(t, flow, in, map[string]string{})
		}
		plain := hierarchy.Rules{Grader: orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) {
			return hierarchy.Grade{Score: new(70.0)}, nil
		})}
		assert.Equal(t, outcome(plain), outcome(meddling))
	})
	t.Run("discussion", func(t *testing.T) {
		byDefault := discussion.DefaultRules()
		meddle := func(d discussion.Discussion) {
			for _, idea := range d.Ideas {
				clear(idea.Criteria)
			}
			clear(d.Ideas)
			clear(d.Messages)
		}
		meddling := discussion.Rules{
			Turns: discussion.TurnsFunc(func(r discussion.Round) discussion.Role {
				role := byDefault.Turns.Next(r)
				meddle(r.Discussion)
				clear(r.Members)
				clear(r.Spoken)
				return role
			}),
			Grader: orchestrator.GradeWith(func(c *orchestrator.Context, w discussion.Work) ([]discussion.Evaluation, error) {
				found, err := byDefault.Grader.Grade(c, w)
				meddle(w.Discussion)
				return found, err
			}),
			Ranker: grading.RankerFunc(func(entries []grading.Ranked) []grading.Ranked {
				ranked := byDefault.Ranker.Rank(entries)
				for _, e := range entries {
					*e.Score = 0
					clear(e.Marks)
				}
				return ranked
			}),
			Scorer: named{grading.ScorerFunc(func(marks grading.Marks) (float64, error) {
				score, err := byDefault.Scorer.Score(marks)
				clear(marks)
				return score, err
			}), byDefault.Scorer.(grading.Named)},
		}
		outcome := func(rules discussion.Rules) string {
			cfg := discussion.Standard(nil)
			cfg.Rules = rules
			flow, err := discussion.New(cfg)
			require.NoError(t, err)
			marks := `"criteria":{"feasibility":9,"innovation":8,"impact":7,"clarity":6,"completeness":5}`
			return played(t, flow, discussion.Input{Topic: "How might a small library attract teenagers?"}, map[string]string{
				string(discussion.Ideation):  `{"ideas":[{"title":"Podcast lab"},{"title":"Game night"},{"title":"Repair café"}]}`,
				string(discussion.Moderator): `{"evaluations":[{"idea_id":"idea-1",` + marks + `},{"idea_id":"idea-2","score":2},{"idea_id":"idea-3","score":3}]}`,
			})
		}
		assert.Equal(t, outcome(discussion.Rules{}), outcome(meddling))
	})
}

// named is a Scorer with the names of another.
type named struct {
	grading.ScorerFunc
	names grading.Named
}

func (n named) Names() []string { return n.names.Names() }

// played returns the JSON of the outcome of a run that has a result. Agents without an answer
// talk.
func played[I, O any](t *testing.T, flow orchestrator.Flow[I, O], in I, answers map[string]string) string {
	t.Helper()
	out, _, err := flowtest.New(flow, in, func(testing.TB) agent.Roster {
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			roster[name] = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				if text, ok := answers[name]; ok {
					return agent.Response{Text: text}, nil
				}
				return agent.Response{Text: "A lean boy in a torn vest, cheeky and kind."}, nil
			})
		}
		return roster
	}).Run(t)
	require.NoError(t, err)
	data, err := json.Marshal(out)
	require.NoError(t, err)
	require.Regexp(t, `"status":"(completed|partial)"`, string(data))
	return string(data)
}
