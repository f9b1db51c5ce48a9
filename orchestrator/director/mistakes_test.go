package director_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

func TestSuggestionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	again := func(id, title, component, phase string, needs ...string) director.TaskPlan {
		return director.TaskPlan{ID: id, Title: title, Component: component, Phase: phase, DependsOn: needs, Criteria: []string{"it has examples"}}
	}
	for _, tt := range []struct {
		name    string
		wanted  director.TaskPlan
		how     string
		why     string
		insight string
	}{
		{"BX14 the same title, however it is written", again("new", " the API  build", " api", "Implement"), "merged", "it is the task api_build", ""},
		{"BX14 the same ID", again("api_build", "", "x", "plan"), "merged", "it is the task api_build", ""},
		{"BX14 a task that is done", again("db_build", "", "db", "build"), "rejected", "there is a task db_build, which is COMPLETE", ""},
		{"BX13 B44 a new one", again("new", "", "db", "build"), "approved", "", ""},
		{"BX13 an unknown phase", again("new", "", "db", "ship"), "rejected", `phase is "ship"`, `Not done, though suggested: new (phase is "ship"`},
		{"BX13 an unknown need", again("new", "", "db", "build", "q"), "rejected", `"new" needs "q", which does not exist`, `Not done, though suggested: new (`},
		{"BX13 itself", again("new", "", "db", "build", "new"), "rejected", `"new" needs itself`, `Not done, though suggested: new (`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			suggested := done("db_build", 1)
			suggested.Suggested = []director.Suggestion{{TaskPlan: tt.wanted}}
			s := one(map[string]func(asked) any{"work": wants("db_build", suggested), "review": func(asked) any {
				return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}}}
			}})
			s.in.Tasks = append(s.in.Tasks, define("api_build", "db_build"))
			p := s.play(t)
			require.NoError(t, p.err)
			told := p.events(t, director.EventSuggestionReviewed)
			require.Len(t, told, 1)
			assert.Equal(t, tt.how, told[0].On)
			assert.Contains(t, told[0].Text, tt.why)
			assert.Equal(t, tt.how == "approved", len(p.out.Board.Tasks) == 3)
			assert.Equal(t, tt.how == "merged", len(p.task(t, "api_build").Criteria) == 2)
			if tt.insight == "" {
				assert.Empty(t, p.out.Board.Insights)
			} else {
				require.Len(t, p.out.Board.Insights, 1)
				assert.Contains(t, p.out.Board.Insights[0].Summary, tt.insight)
			}
		})
	}
	t.Run("BX15 no further task fits, which others learn", func(t *testing.T) {
		suggested := done("db_build", 1)
		suggested.Suggested = []director.Suggestion{{TaskPlan: again("new", "Exports", "db", "build")}}
		s := one(map[string]func(asked) any{"work": wants("db_build", suggested), "review": func(asked) any {
			return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}}}
		}})
		s.in.Tasks = append(s.in.Tasks, define("api_build", "db_build"))
		s.cfg.Bounds.Tasks = 1
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 2)
		require.Len(t, p.out.Board.Insights, 1)
		assert.Equal(t, "Not done, though suggested: Exports (there are 1 tasks already)", p.out.Board.Insights[0].Summary)
	})
	t.Run("B44 a suggestion that is judged twice: the last word counts", func(t *testing.T) {
		suggested := done("db_build", 1)
		suggested.Suggested = []director.Suggestion{{TaskPlan: again("new", "", "db", "build")}}
		p := one(map[string]func(asked) any{"work": wants("db_build", suggested), "review": func(asked) any {
			return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}, {Number: 1, Reason: "on second thought, no"}}}
		}}).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Board.Tasks, 1)
		assert.Equal(t, "on second thought, no", p.events(t, director.EventSuggestionReviewed)[0].Text)
	})
}

func TestAnAnswerForATaskThatWasAbandoned(t *testing.T) {
	t.Parallel()
	t.Run("BX25 it is refused, and nothing comes of it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			cfg := config()
			cfg.Policy.Retry.Attempts, cfg.Policy.NoTestPlaceholders = 1, true
			flow, err := director.New(cfg)
			require.NoError(t, err)
			roster, asked := agent.Roster{}, make(chan struct{})
			for _, name := range flow.Agents {
				roster[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
					switch a := read(name, req); {
					case a.op == director.OpQA && a.task == "db_build":
						return respond(ctx, req, fail(req))
					case a.op == director.OpQA && a.task == "api_plan":
						<-asked
						r := fail(req)
						r.PlanWrong = true
						return respond(ctx, req, r)
					case a.op == director.OpReplan:
						return respond(ctx, req, director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build"}}})
					default:
						return respond(ctx, req, good(a))
					}
				})
			}
			engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			run, err := flow.Start(t.Context(), engine, director.Input{Objective: "x", Tasks: []blackboard.Definition{define("db_build"), define("api_plan")}}, orchestrator.StartOptions{})
			require.NoError(t, err)
			retry := director.Answer{Action: director.ActionRetry}
			for rec, err := range run.Events(t.Context(), 0) {
				require.NoError(t, err)
				var e director.Event
				if team.Kind(rec.Kind) == director.EventHumanAsked {
					decode(rec.Data, &e)
				}
				switch e.Task {
				case "db_build":
					close(asked)
				case "api_plan": // db_build is abandoned
					require.ErrorIs(t, run.Answer(t.Context(), "ask/db_build/1", retry), orchestrator.ErrNoQuestion)
					require.NoError(t, run.AnswerWith(t.Context(), "ask/api_plan/1", director.Answer{Action: director.ActionAbandon}, orchestrator.AnswerOptions{Early: true}))
				}
			}
			out, err := flow.Result(t.Context(), run)
			require.ErrorIs(t, err, director.ErrNothingDone)
			assert.Equal(t, map[blackboard.State]int{blackboard.Abandoned: 2}, out.Summary)
			require.NoError(t, engine.Close(t.Context()))
		})
	})
	t.Run("BX25 BX16 one that comes while its work is removed is dropped", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := forked(nil).under(once).replied(nil)
			flow, err := director.New(s.whole())
			require.NoError(t, err)
			roster, asked, answered := agent.Roster{}, make(chan struct{}), make(chan struct{})
			for _, name := range flow.Agents {
				roster[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
					a := read(name, req)
					switch {
					case a.op == director.OpQA && a.task == "db_build":
						return respond(ctx, req, fail(req))
					case a.op == director.OpQA:
						<-asked
						r := fail(req)
						r.PlanWrong = true
						return respond(ctx, req, r)
					case a.op == director.OpReplan:
						return respond(ctx, req, director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build"}}})
					case a.op == director.OpRemove:
						<-answered
					}
					if role := s.roles[a.op]; role != nil {
						return respond(ctx, req, role(a))
					}
					return respond(ctx, req, good(a))
				})
			}
			engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			run, err := flow.Start(t.Context(), engine, director.Input{Objective: "x", Tasks: []blackboard.Definition{define("db_build"), define("api_plan")}}, orchestrator.StartOptions{})
			require.NoError(t, err)
			for rec, err := range run.Events(t.Context(), 0) {
				require.NoError(t, err)
				var e director.Event
				switch team.Kind(rec.Kind) {
				case director.EventHumanAsked:
					decode(rec.Data, &e)
					if e.Task == "db_build" {
						close(asked)
					} else {
						require.NoError(t, run.AnswerWith(t.Context(), "ask/api_plan/1", director.Answer{Action: director.ActionAbandon}, orchestrator.AnswerOptions{Early: true}))
					}
				case director.EventTaskMoved:
					if decode(rec.Data, &e); e.Task == "db_build" && e.To == string(blackboard.Abandoned) {
						require.NoError(t, run.Answer(t.Context(), "ask/db_build/1", director.Answer{Action: director.ActionRetry}))
						close(answered)
					}
				}
			}
			out, err := flow.Result(t.Context(), run)
			require.ErrorIs(t, err, director.ErrNothingDone)
			assert.Equal(t, map[blackboard.State]int{blackboard.Abandoned: 2}, out.Summary)
			require.NoError(t, engine.Close(t.Context()))
		})
	})
}
