package director_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// roles are the answers of members of a team, by op.
type roles = map[string]func(asked) any

// always is an answer that does not depend on what is asked.
func always(answer any) func(asked) any { return func(asked) any { return answer } }

// first is an answer to the first attempt at a task alone.
func first(answer any) func(asked) any {
	return func(a asked) any {
		if a.attempt == 1 {
			return answer
		}
		return nil
	}
}

// also adds tasks to a case.
func (s script) also(tasks ...blackboard.Definition) script {
	s.in.Tasks = append(s.in.Tasks, tasks...)
	return s
}

// only leaves out all other tasks of a case.
func (s script) only(ids ...string) script {
	s.in.Tasks = slices.DeleteFunc(slices.Clone(s.in.Tasks), func(d blackboard.Definition) bool { return !slices.Contains(ids, d.ID) })
	return s
}

// under is a case with another Config.
func (s script) under(change func(cfg *director.Config)) script {
	change(&s.cfg)
	return s
}

// replied is a case in which people answer.
func (s script) replied(answers map[string]any) script {
	s.cfg.Policy.ReturnWhenWaiting, s.reply = false, answers
	return s
}

// with is a case in which members of the team answer otherwise.
func (s script) with(others roles) script {
	all := roles{}
	maps.Copy(all, s.roles)
	maps.Copy(all, others)
	s.roles = all
	return s
}

// inTrees is a case with worktrees, in which merges of tasks conflict.
func (s script) inTrees(conflicts ...string) script {
	s.cfg.Agents.Worktree = "worktree"
	return s.with(forks(conflicts...))
}

// hanging is a case in which the worker of a task does not answer for an hour.
func (s script) hanging(task string) script {
	return s.with(roles{"work": func(a asked) any {
		if a.task == task {
			return slow{time.Hour, nil}
		}
		return nil
	}})
}

// canceled is a case inside of another run, which cancels it after a time.
func (s script) canceled(t *testing.T, after time.Duration) *flowtest.Case[director.Input, director.Outcome] {
	t.Helper()
	flow, in := s.flow(t)
	around := orchestrator.Flow[director.Input, director.Outcome]{Name: "around", Agents: flow.Agents, Do: func(c *orchestrator.Context, in director.Input) (director.Outcome, error) {
		q := orchestrator.NewQueue[director.Outcome](c)
		q.Go("team", func(c *orchestrator.Context) (director.Outcome, error) { return flow.Child(c, in) })
		if err := c.Sleep(after); err != nil {
			return director.Outcome{}, err
		}
		q.CancelAll()
		r, _ := q.Next()
		// A process that resumes just then may cancel a call before it has made it again.
		r.Value.Spent.Calls, r.Value.Board.Spent.Calls = 0, 0
		return r.Value, r.Err
	}}
	return flowtest.New(around, in, func(tb testing.TB) agent.Roster {
		tb.Helper()
		return s.roster(tb, flow.Agents, newDiary())
	})
}

// once leaves no further attempts at tasks.
func once(cfg *director.Config) { cfg.Policy.Retry.Attempts = 1 }

// idle is a slice of a minute in which nothing is said, however often it is made.
func idle(ctx context.Context, req agent.Request) (agent.Response, error) {
	return respond(ctx, req, slow{time.Minute, agent.Response{More: true}})
}

// patient asks people for an hour.
func patient(cfg *director.Config) { cfg.Bounds.HumanTime = time.Hour }

// gaveUp abandons tasks without attempts left.
func gaveUp(cfg *director.Config) { cfg.Policy.Retry.Attempts, cfg.Policy.GiveUp = 1, true }

// from continues what came of another run.
func (p played) from(s script) script {
	s.in = director.Input{Board: p.out.Board, Files: p.out.Files, Drafts: p.out.Drafts}
	return s
}

// ends are cases for every end that a run decides about, and every way to it: by "END, STATUS: way".
func ends(t *testing.T) map[string]script {
	t.Helper()
	reply := func(action string) map[string]any {
		return map[string]any{"ask/db_build/1": director.Answer{Action: action, Criteria: []string{"dates are text"}, Guidance: "use ISO dates"}}
	}
	escalated := func(kind string, decision any) script {
		return one(roles{"work": escalates("db_build", director.EscalationRequest{Type: kind, Reason: "r", Needs: "a key"}), "escalate": always(decision), "split": always(decision)})
	}
	doomed := func() script { return one(roles{"qa": failing("db_build", 9)}).under(once) }
	outage := func(work func(asked) any) script {
		return one(roles{"work": work}).also(define("api_plan")).under(func(cfg *director.Config) { cfg.Policy.Retry.Outages = 2 })
	}
	down := outage(always(slow{time.Second, errors.New("down")}))
	pausing := director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan"), FromParent: true}}}
	suggesting := done("db_build", 1)
	suggesting.Insights, suggesting.Decisions = []director.InsightPlan{{Summary: "dates are UTC"}}, []director.DecisionPlan{{Area: "db", Summary: "SQLite"}}
	suggesting.Suggested = []director.Suggestion{{TaskPlan: plan("more", "document")}, {TaskPlan: plan("less", "document")}}
	priced := func(cost providers.NanoUSD) script {
		return one(roles{
			"work": func(a asked) any { return costs(done(a.task, a.attempt), 10) },
			"qa":   func(a asked) any { return costs(pass(a.req), 1) },
		}).also(define("api_plan")).under(func(cfg *director.Config) { cfg.Limits.Cost = cost })
	}
	timed := func(s script) script {
		s.budget.Wall = 90 * time.Second
		return s
	}
	replanned := func(decision any) script {
		return one(roles{"qa": failing("db_build", 1), "replan": always(decision)}).also(define("api_plan")).under(func(cfg *director.Config) { cfg.Policy.Retry.Stagnation = 1 })
	}
	unreviewed := one(nil).under(func(cfg *director.Config) { cfg.Limits.Calls = 1 }).play(t)
	answered := doomed().play(t).from(one(nil))
	answered.in.Answers = map[string]director.Answer{"db_build": {Action: director.ActionRetry}}
	half := one(roles{"qa": edits("db_build", 1, func(r *director.Review) { r.Passed, r.Criteria[1].Passed = false, false })})
	half.in.Tasks[0].Criteria = []string{"a", "b"}
	abandoned := func(review any) script {
		return hopeless(9, reply(director.ActionAbandon)).also(define("db_test", "db_build")).with(roles{"review": always(review)})
	}
	whole := eventful()
	whole.long = true
	return map[string]script{
		"completed, completed: BX32 everything happens": whole,
		"completed, completed: B31 the director plans": {cfg: bare(), roles: roles{"decompose": func(a asked) any {
			if a.n == 1 {
				return "rubbish"
			}
			return director.Decomposition{Tasks: []director.TaskPlan{plan("p", "plan"), plan("b", "implement", "p")}}
		}}},
		"completed, completed: B72 tests follow from what is built": {
			in: director.Input{Tasks: []blackboard.Definition{define("api_build")}}, roles: roles{"qa": edits("api_build", 0, func(r *director.Review) { r.Refined = []string{"GET returns 200"} })},
		},
		"completed, completed: BC23 tests that find wrong code": one(roles{"qa": edits("db_test", 1, func(r *director.Review) {
			r.Passed, r.Tests = false, []blackboard.TestAnalysis{{Test: "T1", Fault: blackboard.CodeWrong}}
		})}).also(define("db_test", "db_build")),
		"completed, completed: BA16 BX30 a review fails":  one(roles{"qa": failing("db_build", 1)}).inTrees(),
		"completed, completed: BX10 nothing is delivered": one(roles{"work": first(director.WorkerResult{Status: director.StatusComplete, ResultPath: "x.md"})}),
		"completed, completed: B104 a re-plan changes tasks": replanned(director.Replan{
			Add: []director.TaskPlan{plan("extra", "document")}, Edit: []director.TaskEdit{{ID: "db_build", AddNeeds: []string{"extra"}}},
		}),
		"completed, completed: BA103 the plan is wrong":          one(roles{"qa": edits("db_build", 1, func(r *director.Review) { r.Passed, r.Criteria[0].Passed, r.PlanWrong = false, false, true })}),
		"completed, completed: B103 a re-plan abandons a branch": replanned(director.Replan{Abandon: []director.AbandonPlan{{ID: "db_build", Branch: true}}}).also(define("db_test", "db_build")),
		"completed, completed: BA85 a re-plan abandons work":     replanned(director.Replan{Abandon: []director.AbandonPlan{{ID: "api_plan"}}}).hanging("api_plan"),
		"completed, completed: B63 a split":                      escalated("SCOPE_TOO_LARGE", director.Decomposition{Tasks: []director.TaskPlan{plan("s1", "build"), plan("s2", "build", "s1")}}).inTrees(),
		"completed, completed: B64 a subtask":                    one(roles{"work": wants("db_build", pausing)}).inTrees(),
		"completed, completed: B59 planning":                     escalated("NEEDS_REPLANNING", director.Resolution{Resolved: true, Tasks: []director.TaskPlan{plan("schema", "plan")}}),
		"completed, completed: B59 it is abandoned":              escalated("NEEDS_REPLANNING", director.Resolution{Abandon: true}).also(define("api_plan")),
		"completed, completed: B44 suggestions": one(roles{"work": wants("db_build", suggesting), "review": always(director.ChangeReview{
			Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}},
		})}),
		"completed, completed: BA117 BX30 the Todo Board, with a failed review and a conflict": script{
			cfg: bare(), in: director.Input{Tasks: seven()}, roles: roles{"qa": failing("views_build", 1)}, long: true,
		}.inTrees("api_build"),
		"completed, completed: B100 BC63 conflicts, and the director lets it wait": one(roles{"conflict": func(a asked) any {
			if a.attempt == 1 {
				return director.ConflictAnswer{DependsOn: []string{"api_plan"}}
			}
			return nil
		}}).also(define("api_plan")).inTrees("db_build"),
		"completed, completed: BA52 nudges are ignored": one(roles{"work": func(a asked) any {
			if a.attempt == 1 {
				return toils(60, time.Second)(a)
			}
			return nil
		}, "assess": always(director.Assessment{Alignment: 20, Nudge: "work"})}),
		"completed, completed: BA67 the guardian is down": one(roles{"work": toils(20, time.Second), "assess": always(errors.New("down"))}),
		"completed, completed: BA61 B92 a check during a slice": one(roles{"work": toils(32, time.Second), "assess": always(slow{
			5 * time.Second, director.Assessment{Alignment: 60},
		})}).under(func(cfg *director.Config) { cfg.Bounds.Watch.Async = true }),
		"completed, completed: B87 a worker is silent":                        one(roles{"work": first(idle)}),
		"completed, completed: B91 a worker takes too long":                   one(roles{"work": first(slow{time.Hour, nil})}),
		"completed, completed: BX26 a person edits":                           hopeless(1, reply(director.ActionEdit)),
		"completed, completed: BX26 a person accepts":                         hopeless(9, reply(director.ActionAccept)).inTrees(),
		"completed, completed: BX26 a person abandons":                        hopeless(9, reply(director.ActionAbandonBranch)).also(define("db_test", "db_build"), define("api_plan")),
		"completed, completed: B102 a person abandons, and others do without": abandoned(director.ChangeReview{CanProceed: []string{"db_test"}}),
		"completed, completed: B62 a person provides":                         escalated("BLOCKED_EXTERNAL", nil).replied(reply(director.ActionProvided)),
		"completed, completed: BC45 an answer does not fit":                   hopeless(1, map[string]any{"ask/db_build/1": director.Answer{Action: director.ActionEdit}, "ask/db_build/1-2": director.Answer{Action: director.ActionRetry}}),
		"completed, completed: BX29 agents are down, then up":                 outage(first(slow{time.Second, errors.New("down")})).replied(map[string]any{"ask/run/1": director.Answer{Action: director.ActionRetry}}),
		"completed, completed: BC70 two write one path":                       shared(),
		"completed, completed: BC53 continued, to be reviewed":                unreviewed.from(one(nil)),
		"completed, completed: BC53 continued, with an answer":                answered,

		"completed, partial: BX25 no answer comes, it is given up":    hopeless(9, nil).also(define("api_plan")).under(patient).under(func(cfg *director.Config) { cfg.Policy.OnSilence = "abandon" }),
		"completed, partial: BC55 a task is given up":                 doomed().also(define("api_plan")).under(gaveUp).inTrees(),
		"completed, partial: BC69 pauses without end, it is given up": restless()["waiting_subtask"].also(define("api_plan")).under(func(cfg *director.Config) { cfg.Policy.GiveUp, cfg.Bounds.Pauses = true, 2 }),
		"completed, partial: B117 some criteria are met":              half.under(func(cfg *director.Config) { cfg.Policy.AllowPartial = true }),
		"completed, failed: BC55 all is given up":                     doomed().under(gaveUp),

		"waiting_human, partial: B77 no attempt is left":           doomed().also(define("api_plan"), define("db_test", "db_build")),
		"waiting_human, failed: B77 no attempt is left":            doomed().inTrees(),
		"waiting_human, failed: BC69 pauses without end":           restless()["NEEDS_CLARIFICATION"].under(func(cfg *director.Config) { cfg.Bounds.Pauses = 2 }),
		"waiting_human, partial: BC70 conflicts without worktrees": shared().under(func(cfg *director.Config) { cfg.Policy.Retry.Conflicts = orchestrator.None }).only("a_build", "b_build"),
		"waiting_human, failed: BA29 no review":                    one(roles{"qa": always("rubbish")}),
		"waiting_human, failed: BA27 conflicts without end":        one(nil).inTrees("db_build").under(func(cfg *director.Config) { cfg.Policy.Retry.Conflicts = 1 }),
		"waiting_human, failed: B62 something from outside":        escalated("BLOCKED_EXTERNAL", nil),
		"waiting_human, failed: B61 the director does not know":    escalated("NEEDS_CLARIFICATION", director.Resolution{}),
		"waiting_human, failed: BC56 a split that cannot be used":  escalated("SCOPE_TOO_LARGE", director.Decomposition{}),
		"waiting_human, failed: BX25 no answer comes":              hopeless(9, nil).under(patient),
		"waiting_human, failed: BX29 agents are down":              down,
		"waiting_human, failed: BX29 no answer comes for the run":  down.replied(nil).under(patient),
		"waiting_human, failed: BX29 a person stops the run":       down.replied(map[string]any{"ask/run/1": director.Answer{Action: director.ActionStop}}),

		"stuck, partial: BX23 what a task needs is given up": doomed().also(define("db_test", "db_build"), define("api_plan")).under(gaveUp),
		"stuck, failed: BX17 a subtask is given up":          one(roles{"work": wants("db_build", pausing), "qa": failing("find", 9)}).under(gaveUp).inTrees(),
		"stuck, failed: BC43 the director's answer is unfit": abandoned("rubbish"),

		"budget_exhausted, partial: BX27 money":                   priced(providers.USD / 5),
		"budget_exhausted, out-of-budget: BX27 money":             priced(providers.USD / 10000),
		"budget_exhausted, partial: B110 time":                    timed(one(nil).also(define("api_plan")).inTrees().hanging("api_plan")),
		"budget_exhausted, out-of-budget: B110 time":              timed(one(roles{"qa": always(slow{time.Hour, nil})}).inTrees()),
		"budget_exhausted, out-of-budget: B110 time for a plan":   timed(script{cfg: bare(), roles: roles{"decompose": always(slow{time.Hour, nil})}}),
		"budget_exhausted, out-of-budget: B110 time for a person": timed(hopeless(9, nil).under(patient)),
	}
}

// causes are cases that fail, by why.
func causes() map[agent.Code]script {
	blank, dear, dirty := one(nil), one(nil), one(nil).inTrees()
	blank.in.Objective = " "
	dear.cfg.Rules.Plan = func([]blackboard.Definition) ([]blackboard.Definition, error) { return nil, errors.New("too dear") }
	dirty.roles[director.OpOpen] = always(errors.New("not committed"))
	return map[agent.Code]script{
		director.ErrInput: blank, director.ErrRule: dear, director.ErrWorktree: dirty,
		director.ErrDecomposition: {cfg: bare(), roles: roles{"decompose": always("rubbish")}},
	}
}

// limited is a run of six calls, which has so many: the repository is opened, a worktree
// made, worked in, committed, looked at and reviewed. What passed is merged and removed
// whatever is left.
func limited(calls int64) script {
	return one(nil).inTrees().under(func(cfg *director.Config) { cfg.Limits.Calls = calls })
}

// reasons are the errors of ends.
var reasons = map[director.Phase]error{
	director.Waiting: director.ErrWaiting, director.Stuck: director.ErrStuck,
	director.BudgetExhausted: orchestrator.ErrBudget, director.Canceled: orchestrator.ErrCanceled,
}

// TestEnds has every end come out the same, wherever the run was killed and in whatever
// order its calls came back.
func TestEnds(t *testing.T) {
	seen := map[director.Phase]bool{director.Failed: true, director.Canceled: true}
	check := func(t *testing.T, c *flowtest.Case[director.Input, director.Outcome], end director.Phase, status orchestrator.Status, want error) {
		t.Helper()
		out, _, err := c.Run(t)
		require.Equal(t, end, out.End, "%v", err)
		assert.Equal(t, status, out.Status)
		if want == nil {
			require.NoError(t, err)
		}
		require.ErrorIs(t, err, want)
		c.Quick = !roundtest.All()
		c.Sweep(t)
		c.Determinism(t)
	}
	for name, s := range ends(t) {
		how, _, _ := strings.Cut(name, ":")
		end, status, _ := strings.Cut(how, ", ")
		seen[director.Phase(end)] = true
		t.Run("BC55 "+name, func(t *testing.T) {
			t.Parallel()
			want := reasons[director.Phase(end)]
			if end == "completed" && status == "failed" {
				want = director.ErrNothingDone
			}
			c, _ := s.open(t)
			check(t, c, director.Phase(end), orchestrator.Status(status), want)
		})
	}
	for cause, s := range causes() {
		t.Run("BC55 failed: "+string(cause), func(t *testing.T) {
			t.Parallel()
			c, _ := s.open(t)
			check(t, c, director.Failed, orchestrator.Failed, cause)
		})
	}
	for calls := range int64(6) {
		t.Run(fmt.Sprintf("BX27 N4 of 6 calls there are %d", calls+1), func(t *testing.T) {
			t.Parallel()
			c, _ := limited(calls + 1).open(t)
			if calls+1 < 6 {
				check(t, c, director.BudgetExhausted, orchestrator.OutOfBudget, orchestrator.ErrBudget)
			} else {
				check(t, c, director.Completed, orchestrator.Completed, nil)
			}
		})
	}
	for name, s := range map[string]script{
		"a worker": one(nil).also(define("api_plan")).inTrees().hanging("api_plan"),
		"a review": one(roles{"qa": always(slow{time.Hour, nil})}).inTrees(),
		"a person": hopeless(9, nil).under(patient),
		"the plan": {cfg: bare(), roles: roles{"decompose": always(slow{time.Hour, nil})}},
	} {
		t.Run("BX1 BC55 canceled, while it waits for "+name, func(t *testing.T) {
			t.Parallel()
			check(t, s.canceled(t, time.Minute), director.Canceled, orchestrator.Canceled, orchestrator.ErrCanceled)
		})
	}
	for _, phase := range director.Phases().States() {
		assert.Equal(t, director.Phases().Terminal(phase), seen[phase], phase)
	}
}
