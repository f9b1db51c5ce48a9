package director_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/routing"
)

// noise is the text of a technical error.
const noise = "dial tcp 10.1.2.3:443"

// hears reports which requests have the text of a technical error.
func (p played) hears() (all []string) {
	for _, a := range p.asked {
		if strings.Contains(string(agent.JSON(a.req)), noise) {
			all = append(all, a.op+" "+a.task)
		}
	}
	return all
}

func TestTechnicalErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New(noise)
	message := func(t *testing.T, p played) string {
		t.Helper()
		memory := p.last(t, "db_build").req.History
		require.Len(t, memory, 1)
		return memory[0].Text
	}
	for name, tt := range map[string]struct {
		work func(asked) any
		says string
	}{
		"crash":   {first(broken), "Attempt 1 at this task has failed (crash).*the attempt broke off for a technical reason: the work is not at fault"},
		"timeout": {first(slow{time.Hour, nil}), "Attempt 1 at this task has failed (timeout).*the attempt took too long"},
		"stall":   {first(idle), "Attempt 1 at this task has failed (stalled).*the attempt was ended because nothing was said for too long"},
	} {
		t.Run("N15 BA28 the message says in fixed words: "+name, func(t *testing.T) {
			p := one(roles{"work": tt.work}).play(t)
			require.NoError(t, p.err)
			head, words, _ := strings.Cut(tt.says, ".*")
			assert.Contains(t, message(t, p), head)
			assert.Contains(t, message(t, p), words)
			assert.NotContains(t, message(t, p), "Bounds.")
			assert.Empty(t, p.hears())
			assert.Equal(t, 1, p.task(t, "db_build").RetryCount)
		})
	}
	t.Run("N15 what a worker says of itself and conflict markers are work, and are told", func(t *testing.T) {
		p := one(roles{"work": first(director.WorkerResult{Status: director.StatusFailed, Summary: "the calendar has no API"})}).play(t)
		require.NoError(t, p.err)
		assert.Contains(t, message(t, p), "the calendar has no API")
	})
	t.Run("N15 people get the error, the director who plans anew does not", func(t *testing.T) {
		s := one(roles{"work": func(a asked) any {
			if a.task == "db_build" || a.task == "web_plan" {
				return broken
			}
			return nil
		}})
		s.cfg.Policy.Retry.Attempts, s.cfg.Policy.Retry.Outages = 1, orchestrator.None
		s.cfg.Policy.OnAbandoned = "block"
		s.in.Tasks = append(s.in.Tasks, define("web_plan"), define("api_plan"), define("api_build", "api_plan"))
		s = s.with(roles{"qa": func(a asked) any {
			if a.task == "api_plan" {
				return broken
			}
			return nil
		}})
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		assert.Contains(t, p.task(t, "db_build").Reason, noise)
		assert.Contains(t, p.task(t, "api_plan").Reason, noise)
		assert.Contains(t, p.err.Error(), noise)
		assert.Empty(t, p.hears())

		p.out.Board.Tasks[1].Status = blackboard.Abandoned // what needs it can only be planned anew
		p.out.Board.Tasks[1].Reason = "gone"
		p.out.Board.Tasks[3].DependsOn = []string{"web_plan"}
		p.out.Board.Tasks[3].Blocked = &blackboard.BlockedReason{Type: blackboard.ByAbandoned, WaitingOn: []string{"web_plan"}}
		p = p.from(s).play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		require.Len(t, p.of("replan"), 1)
		why := string(p.of("replan")[0].req.Input)
		assert.Contains(t, why, "db_build is WAITING_HUMAN (the last attempt failed: the attempt broke off for a technical reason: the work is not at fault)")
		assert.Contains(t, why, "nobody could review or merge the work for a technical reason")
		assert.Empty(t, p.hears())
	})
	t.Run("N15 a person has work done again that nobody could review", func(t *testing.T) {
		s := hopeless(0, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionRetry}})
		p := s.with(roles{"qa": func(a asked) any {
			if a.attempt == 1 {
				return broken
			}
			return nil
		}}).play(t)
		require.NoError(t, p.err)
		assert.Contains(t, p.events(t, director.EventHumanAsked)[0].Text, noise)
		assert.Contains(t, message(t, p), "nobody could review or merge the work for a technical reason: it is not at fault")
		assert.Empty(t, p.hears())
	})
	t.Run("N15 a Router that fails when a suggestion is accepted or a subtask wanted", func(t *testing.T) {
		suggesting := done("db_build", 1)
		suggesting.Suggested = []director.Suggestion{{TaskPlan: plan("more", "document")}}
		for name, result := range map[string]director.WorkerResult{
			"suggestion": suggesting, "subtask": {Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("more", "document")}}},
		} {
			s := one(roles{"work": wants("db_build", result), "review": always(director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}}})})
			s.in.Tasks = append(s.in.Tasks, define("web_document", "db_build"))
			s.cfg.Rules.Router = orchestrator.RouteBy(routing.RouterFunc(func(string, []routing.Target) (routing.Route, error) { return routing.Route{}, broken }))
			p := s.play(t)
			require.NoError(t, p.err, name)
			assert.True(t, p.warned("rule"), name)
			assert.Empty(t, p.hears(), name)
			assert.Contains(t, string(agent.JSON(p.out.Warnings)), noise, name)
		}
	})
}

func TestIDsOfModels(t *testing.T) {
	t.Parallel()
	t.Run("N20 suggestions are dropped, and insights get an ID of the board", func(t *testing.T) {
		result := done("db_build", 1)
		work := func(a asked) any {
			if a.task == "db_build" {
				return result
			}
			return at("x.md", "x")
		}
		result.Insights = []director.InsightPlan{{ID: "a\nb", Summary: "dates are UTC"}, {ID: "api/v1.2:x", Summary: "IDs are text"}}
		result.Suggested = []director.Suggestion{{TaskPlan: plan("a b", "document")}, {TaskPlan: plan("größe/1.2:x_y-z", "document")}, {TaskPlan: plan(strings.Repeat("x", 128), "document")}}
		p := one(roles{"work": work, "review": always(director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}, {Number: 2, Approve: true}}})}).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "i1", p.out.Board.Insights[0].ID)
		assert.Equal(t, "api/v1.2:x", p.out.Board.Insights[1].ID)
		p.is(t, "db_build COMPLETE, größe/1.2:x_y-z COMPLETE, "+strings.Repeat("x", 128)+" COMPLETE")
		require.Len(t, p.out.Warnings, 1)
		assert.Equal(t, "a suggestion was dropped: id has ' ' at character 2, want letters, digits and -_.:/ only", p.out.Warnings[0].Message)
	})
	t.Run("N20 a subtask is asked for again, also by an escalation and a new plan", func(t *testing.T) {
		bad := []director.Suggestion{{TaskPlan: plan("find it", "plan")}}
		p := one(roles{"work": func(a asked) any {
			if a.n == 1 {
				return director.WorkerResult{Status: director.StatusWaiting, Spawn: bad}
			}
			return nil
		}}).play(t)
		require.NoError(t, p.err)
		assert.Contains(t, p.of("work")[1].req.Prompt, "id has ' ' at character 5")
		assert.Len(t, p.out.Board.Tasks, 1)
	})
}

// extra is an answer as text, with an extra field.
func extra(answer any) string {
	return strings.Replace(string(agent.JSON(answer)), "{", `{"confidence":0.9,`, 1)
}

func TestExtraFields(t *testing.T) {
	t.Parallel()
	t.Run("N14 extra fields are dropped, with one warning a run", func(t *testing.T) {
		s := script{cfg: bare(), roles: roles{
			"decompose": func(asked) any {
				return extra(director.Decomposition{Tasks: []director.TaskPlan{plan("a", "build"), plan("b", "build")}})
			},
			"work":   func(a asked) any { return extra(done(a.task, a.attempt)) },
			"qa":     func(a asked) any { return extra(pass(a.req)) },
			"assess": func(asked) any { return extra(director.Assessment{Alignment: 95}) },
		}}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.asked, 5, "nobody is asked again")
		require.Len(t, p.out.Warnings, 1)
		assert.Equal(t, "answer/extra-fields", p.out.Warnings[0].Code)
		assert.Equal(t, "director", p.out.Warnings[0].Who)
		assert.Contains(t, p.out.Warnings[0].Message, "confidence")
	})
	t.Run("N14 a worker's answer, whose slices no Seat reads", func(t *testing.T) {
		p := one(roles{"work": func(a asked) any { return extra(done(a.task, a.attempt)) }}).also(define("api_plan")).play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.of("work"), 2)
		require.Len(t, p.out.Warnings, 1)
		assert.Equal(t, "answer/extra-fields", p.out.Warnings[0].Code)
		assert.Equal(t, "code_worker", p.out.Warnings[0].Who)
	})
	t.Run("N14 BC61 the result of a check", func(t *testing.T) {
		s := one(roles{"check": func(asked) any { return extra(green) }}).inTrees()
		s.cfg.Agents.Check = "check"
		s.cfg = s.whole()
		s.cfg.Profiles[1].Check = []string{"true"}
		p := s.play(t)
		require.NoError(t, p.err)
		require.Len(t, p.out.Warnings, 1)
		assert.Equal(t, "check", p.out.Warnings[0].Who)
	})
}
