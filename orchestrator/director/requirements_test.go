package director_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// todoSpec is the spec of the Todo Board.
var todoSpec = map[string]json.RawMessage{
	"db":             json.RawMessage(`{"table":"todos","columns":["id","title","status","due_date"],"status":["todo","doing","done"]}`),
	"ui":             json.RawMessage(`{"layout":"3-column-kanban","overdue":"#ef4444"}`),
	"business_rules": json.RawMessage(`["a task without a title is refused","an overdue task is red","a done task is never overdue"]`),
}

func TestRoles(t *testing.T) {
	t.Run("B2 what a worker says reaches its own attempt and the guardian, what is on the board reaches all", func(t *testing.T) {
		s := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("db_plan"), define("db_build", "db_plan")}}, roles: map[string]func(asked) any{
			"work": func(a asked) any {
				if a.task != "db_plan" || a.slice > 1 {
					return nil
				}
				said := messages(15)
				said[0].Text = "I whisper"
				return agent.Response{More: true, Messages: said, Usage: providers.Usage{ToolCalls: 15}}
			},
		}}
		work := s.roles["work"]
		s.roles["work"] = func(a asked) any {
			if answer := work(a); answer != nil || a.task != "db_plan" {
				return answer
			}
			result := done(a.task, a.attempt)
			result.Insights = []director.InsightPlan{{Summary: "I publish"}}
			return result
		}
		p := s.play(t)
		require.NoError(t, p.err)
		whispered, published := map[string]bool{}, map[string]bool{}
		for _, a := range p.asked {
			request := string(agent.JSON(a.req))
			who := a.op + " " + a.task
			whispered[who] = whispered[who] || strings.Contains(request, "I whisper")
			published[who] = published[who] || strings.Contains(request, "I publish")
		}
		assert.Equal(t, map[string]bool{"work db_plan": true, "assess db_plan": true, "qa db_plan": false, "work db_build": false, "qa db_build": false}, whispered)
		assert.True(t, published["work db_build"])
	})
	t.Run("B36 a worker gets the task that was dispatched, and no move is its own but the delivery", func(t *testing.T) {
		p := script{cfg: bare(), in: director.Input{Tasks: seven()}}.play(t)
		require.NoError(t, p.err)
		var dispatched, worked []string
		for _, e := range p.events(t, director.EventTaskDispatched) {
			dispatched = append(dispatched, e.Task+" "+e.Who)
		}
		for _, a := range p.of("work") {
			worked = append(worked, a.task+" "+a.agent)
		}
		assert.ElementsMatch(t, dispatched, worked)
		for _, e := range p.events(t, director.EventTaskMoved) {
			assert.Equal(t, e.On == string(blackboard.EventDeliver), e.Who == string(blackboard.RoleWorker), e.On)
		}
	})
	t.Run("B47 B48 code walks the graph, dispatches and resumes; the director plans and decides, and does no task", func(t *testing.T) {
		p := script{cfg: bare(), in: director.Input{Tasks: seven()}, roles: map[string]func(asked) any{
			"work": wants("db_plan", director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("find", "plan")}}}),
			"qa":   failing("views_build", 1),
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 8, p.out.Summary[blackboard.Complete])
		assert.Len(t, p.of("work"), 8+1+1, "one resumed, one anew")
		assert.Len(t, p.of("qa"), 8+1)
		assert.Len(t, p.asked, 19, "and no other call: nothing was to be planned or decided")

		p = script{cfg: bare(), roles: map[string]func(asked) any{
			"decompose": func(asked) any { return director.Decomposition{Tasks: []director.TaskPlan{plan("api_build", "build")}} },
			"work": wants("api_build", director.WorkerResult{
				Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"},
				Suggested: []director.Suggestion{{TaskPlan: plan("more", "build")}},
			}),
			"escalate": func(asked) any { return director.Resolution{Resolved: true, Clarification: "8080"} },
		}}.play(t)
		require.NoError(t, p.err)
		var decided []string
		for _, a := range p.asked {
			if a.agent == "director" {
				decided = append(decided, a.op)
				assert.NotContains(t, string(a.req.Output), "result_path")
			} else {
				assert.Contains(t, []string{"work", "qa"}, a.op)
			}
		}
		slices.Sort(decided)
		assert.Equal(t, []string{"decompose", "escalate", "review"}, decided)
	})
}

func TestTasksOfATeam(t *testing.T) {
	t.Run("B17 B18 B19 B54 tickets by component, phases, and a profile for each", func(t *testing.T) {
		cfg := director.Software()
		assert.Equal(t, []string{"plan", "build", "test", "document"}, cfg.Policy.Phases)
		phases := map[string][]string{}
		for _, p := range cfg.Profiles {
			phases[p.ID] = p.Phases
		}
		assert.Equal(t, map[string][]string{
			"planner_worker": {"plan"}, "code_worker": {"build"}, "test_worker": {"test"}, "writer_worker": {"document"}, "research_worker": nil,
		}, phases)
		p := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{
			define("db_plan"), define("db_build"), define("db_test"), define("db_document"), {ID: "find", Component: "db", Phase: "test", Profile: "research_worker", Criteria: []string{"it is found"}},
		}}}.play(t)
		require.NoError(t, p.err)
		for _, want := range []struct{ task, agent, duty string }{
			{"db_plan", "planner_worker", "design documents"},
			{"db_build", "code_worker", "with unit tests of your own code"},
			{"db_test", "test_worker", "acceptance and integration tests of the acceptance criteria, whatever the code intends"},
			{"db_document", "writer_worker", "README"},
			{"find", "research_worker", "Investigate"},
		} {
			a := p.last(t, want.task)
			assert.Equal(t, want.agent, a.agent)
			assert.Contains(t, a.req.Prompt, want.duty)
		}
		asked := script{cfg: bare(), roles: map[string]func(asked) any{
			"decompose": func(asked) any { return director.Decomposition{Tasks: []director.TaskPlan{plan("api_build", "build")}} },
		}}.play(t).of("decompose")[0]
		assert.Contains(t, asked.req.Prompt, "of the size of a ticket, not a single operation")
		assert.Contains(t, asked.req.Prompt, "a component goes through plan, build and test")
	})
	t.Run("BC31 IDs are any texts", func(t *testing.T) {
		ids := []string{"task_api_build", "../../etc", "api build; rm -rf /", "Größe ✓"}
		var tasks []blackboard.Definition
		for i, id := range ids {
			tasks = append(tasks, blackboard.Definition{ID: id, Component: "c", Phase: "build", Profile: "code_worker", Criteria: []string{"c"}, DependsOn: ids[:i]})
		}
		p := script{cfg: bare(), in: director.Input{Tasks: tasks}, roles: map[string]func(asked) any{"work": func(a asked) any {
			r := done("x", a.attempt)
			return r
		}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 4, p.out.Summary[blackboard.Complete])
		assert.Equal(t, ids[:3], p.task(t, "Größe ✓").DependsOn)
	})
	t.Run("BC38 B42 how many retries there are is the Config's; then a person is asked", func(t *testing.T) {
		s := script{cfg: bare(), roles: map[string]func(asked) any{
			"decompose": func(a asked) any {
				return `{"tasks":[{"id":"db_build","component":"db","phase":"build","acceptance_criteria":["c"],"max_task_retries":9}]}`
			},
			"qa": failing("db_build", 9),
		}}
		s.cfg.Policy.Retry.Attempts = 2
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrWaiting)
		require.Len(t, p.of("decompose"), 1)
		assert.Equal(t, "answer/extra-fields", p.out.Warnings[0].Code, "N14: what a task sets of it is dropped")
		assert.Equal(t, "PLANNED READY ACTIVE AWAITING_QA FAILED_QA READY ACTIVE AWAITING_QA FAILED_QA WAITING_HUMAN", p.states(t, "db_build"))
		assert.Equal(t, 2, p.task(t, "db_build").RetryCount)
	})
}

func TestWorkerResult(t *testing.T) {
	t.Run("B52 BC33 a result, suggestions, insights, an escalation and a status", func(t *testing.T) {
		s := one(map[string]func(asked) any{"work": func(a asked) any {
			if a.task != "db_build" {
				return nil
			}
			r := done(a.task, a.attempt)
			r.Insights = []director.InsightPlan{{Summary: "SQLite locks the file"}, {Summary: "dates are UTC", Topic: []string{"db"}}}
			r.Suggested = []director.Suggestion{{TaskPlan: plan("api_build", "build"), Rationale: "it is missing"}}
			r.Escalation = &director.EscalationRequest{Type: "SPEC_MISMATCH", Reason: "two colours", NonBlocking: true}
			return r
		}, "review": func(asked) any {
			return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Approve: true}}}
		}})
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "db_build COMPLETE, api_build COMPLETE")
		var insights []string
		for _, i := range p.out.Board.Insights {
			insights = append(insights, i.SourceTask+": "+i.Summary)
		}
		assert.Equal(t, []string{"db_build: SQLite locks the file", "db_build: dates are UTC"}, insights)
		raised := p.events(t, director.EventEscalationRaised)
		require.Len(t, raised, 1)
		assert.Equal(t, "SPEC_MISMATCH", raised[0].On)
		assert.Equal(t, "artifacts/db_build.md", p.task(t, "db_build").ResultPath)

		var shape struct{ Properties map[string]any }
		decode(p.of("work")[0].req.Output, &shape)
		for _, field := range []string{"status", "result_path", "artifact", "suggested_tasks", "insights", "decisions", "escalation", "checkpoint", "spawn"} {
			assert.Contains(t, shape.Properties, field)
		}
	})
	t.Run("B57 six types of escalations, and no other", func(t *testing.T) {
		types := []string{"NEEDS_RESEARCH", "NEEDS_REPLANNING", "SPEC_MISMATCH", "NEEDS_CLARIFICATION", "BLOCKED_EXTERNAL", "SCOPE_TOO_LARGE"}
		for _, kind := range append(types, "BORED") {
			s := one(map[string]func(asked) any{
				"work":     escalates("db_build", director.EscalationRequest{Type: kind, Reason: "r"}),
				"escalate": func(asked) any { return director.Resolution{Abandon: true} },
				"split": func(asked) any {
					return director.Decomposition{Tasks: []director.TaskPlan{plan("s1", "build")}}
				},
			})
			p := s.play(t)
			var raised []string
			for _, e := range p.events(t, director.EventEscalationRaised) {
				raised = append(raised, e.On)
			}
			if kind == "BORED" {
				assert.Empty(t, raised)
				first := slices.DeleteFunc(p.of("work"), func(a asked) bool { return a.attempt > 1 })
				assert.Equal(t, 1+2, len(first), "it is told twice")
				assert.Contains(t, p.of("work")[1].req.Prompt, `"BORED"`)
				continue
			}
			assert.Equal(t, []string{kind}, raised)
			assert.Zero(t, p.task(t, "db_build").RetryCount, kind)
		}
	})
	t.Run("B125 B127 what the director reads to decide", func(t *testing.T) {
		tasks := []blackboard.Definition{define("db_plan"), define("db_build", "db_plan"), define("api_build", "db_plan"), define("views_build", "db_plan")}
		tasks[1].Criteria = append(tasks[1].Criteria, "It keeps todos")
		p := script{cfg: bare(), budget: orchestrator.Budget{Wall: time.Hour}, in: director.Input{Objective: "Build a Todo Board web app", Spec: todoSpec, Tasks: tasks}, roles: map[string]func(asked) any{
			"work": func(a asked) any {
				r := done(a.task, a.attempt)
				switch {
				case a.task == "db_plan":
					r.Decisions = []director.DecisionPlan{{Area: "db", Summary: "SQLite", Reason: "one file"}}
				case a.task == "views_build":
					r.Suggested = []director.Suggestion{{TaskPlan: plan("dark", "build"), Rationale: "eyes"}}
				case a.task == "api_build" && a.attempt == 1:
					return director.WorkerResult{
						Status: director.StatusFailed, Checkpoint: &director.CheckpointPlan{Resume: "the handler"},
						Escalation: &director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?", Affected: []string{"views_build"}},
					}
				}
				return r
			},
			"qa":       failing("db_build", 3),
			"escalate": func(asked) any { return director.Resolution{Resolved: true, Clarification: "8080"} },
		}}.play(t)
		require.NoError(t, p.err)
		graph := func(g director.Graph) {
			t.Helper()
			assert.Equal(t, "Build a Todo Board web app", g.Objective)
			assert.JSONEq(t, string(todoSpec["business_rules"]), string(g.Spec["business_rules"]))
			assert.JSONEq(t, string(todoSpec["ui"]), string(g.Spec["ui"]))
			require.Len(t, g.DesignLog, 1)
			assert.Equal(t, "SQLite", g.DesignLog[0].Summary)
			require.Len(t, g.Tasks, 4)
			assert.Equal(t, blackboard.Complete, g.Tasks[0].Status)
			assert.Equal(t, "made db_plan", g.Tasks[0].Summary)
			assert.Equal(t, []string{"db_plan"}, g.Tasks[1].DependsOn)
			assert.Equal(t, []string{"plan", "build", "test", "document"}, g.Phases)
			assert.Len(t, g.Profiles, 5)
			assert.Equal(t, "60 minutes are left", g.Left)
		}
		var review director.ChangeInput
		decode(p.of("review")[0].req.Input, &review)
		graph(review.Graph)
		assert.Equal(t, "views_build", review.Task)
		assert.Equal(t, "dark", review.Suggestions[0].ID)
		assert.Equal(t, "eyes", review.Suggestions[0].Rationale)

		var escalation director.EscalationInput
		decode(p.of("escalate")[0].req.Input, &escalation)
		graph(escalation.Graph)
		assert.Equal(t, "api_build", escalation.Task.ID)
		assert.Equal(t, "which port?", escalation.Escalation.Reason)
		assert.Equal(t, []string{"views_build"}, escalation.Escalation.Affected)
		assert.Equal(t, []string{"views_build"}, p.task(t, "api_build").Escalation.Affected)
		assert.Equal(t, "the handler", escalation.Checkpoint.Resume)

		var replan director.ReplanInput
		decode(p.of("replan")[0].req.Input, &replan)
		graph(replan.Graph)
		assert.Contains(t, replan.Why, "3 reviews")
		assert.Equal(t, []string{"db_build (qa): the rule on dates is missing"}, replan.Failures)
		assert.Equal(t, 3, replan.Graph.Tasks[1].Retries)
		require.Len(t, replan.Graph.Tasks[1].Failure.Criteria, 1, "the other one is met")
		assert.Equal(t, "It does what db_build is for", replan.Graph.Tasks[1].Failure.Criteria[0].Criterion)
	})
	t.Run("BC47 the message of a new attempt is a prompt that can be replaced", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": failing("db_build", 1)})
		s.cfg.Prompts = fstest.MapFS{"phoenix.tmpl": {Data: []byte(`Again ({{.Attempt}}, {{.Kind}}): {{data "feedback" .Feedback}}`)}}
		p := s.play(t)
		require.NoError(t, p.err)
		history := p.last(t, "db_build").req.History
		require.Len(t, history, 1)
		assert.Equal(t, providers.System, history[0].Role)
		assert.Contains(t, history[0].Text, "Again (1, qa): ")
		assert.Contains(t, history[0].Text, "the rule on dates is missing")
	})
}

func TestReport(t *testing.T) {
	six := []string{"research", "synthesis", "outline", "draft", "edit", "citations"}
	profile := map[string]string{"research": "research_worker", "synthesis": "research_worker", "outline": "writer_worker", "draft": "writer_worker", "edit": "editor_worker", "citations": "editor_worker"}
	phase := map[string]string{"research": "plan", "edit": "qa", "citations": "qa"}
	cfg := director.Report()
	cfg.Agents = director.Agents{Director: "director", Strategist: "strategist", Guardian: "guardian"}
	answer := func() (d director.Decomposition) {
		for i, component := range six {
			task := director.TaskPlan{ID: component, Component: component, Phase: "execute", Profile: profile[component], Criteria: []string{component + " is done"}}
			if p := phase[component]; p != "" {
				task.Phase = p
			}
			if i > 0 {
				task.DependsOn = six[i-1 : i]
			}
			d.Tasks = append(d.Tasks, task)
		}
		return d
	}
	spec := map[string]json.RawMessage{"research": json.RawMessage(`{"scope":"EU","audience":"mayors","depth":"deep"}`)}
	t.Run("B111 BA128 B18 B19 a report, by configuration alone", func(t *testing.T) {
		p := script{cfg: cfg, in: director.Input{Objective: "A report about trams", Spec: spec}, roles: map[string]func(asked) any{
			"decompose": func(asked) any { return answer() },
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, director.Completed, p.out.End)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		var order []string
		for _, a := range p.of("work") {
			order = append(order, a.task)
			assert.Equal(t, profile[a.task], a.agent)
		}
		assert.Equal(t, six, order, "no TEST tasks: there is no build phase")
		in := director.PlanInput{}
		decode(p.of("decompose")[0].req.Input, &in)
		assert.Equal(t, []string{"plan", "execute", "qa"}, in.Phases)
		assert.Equal(t, six, in.Components)
		assert.NotContains(t, p.of("decompose")[0].req.Prompt, "build")
		var qa director.ReviewInput
		decode(p.of("qa")[0].req.Input, &qa)
		assert.JSONEq(t, `{"scope":"EU","audience":"mayors","depth":"deep"}`, string(qa.Spec["research"]))
	})
	t.Run("B111 BC1 what is of another domain is refused", func(t *testing.T) {
		p := script{cfg: cfg, in: director.Input{Objective: "A report about trams"}, roles: map[string]func(asked) any{
			"decompose": func(a asked) any {
				d := answer()
				switch a.n {
				case 1:
					d.Tasks[0].Phase = "build"
				case 2:
					d.Tasks[0].Component = "db"
				}
				return d
			},
		}}.play(t)
		require.NoError(t, p.err)
		told := p.of("decompose")
		require.Len(t, told, 3)
		assert.Contains(t, string(agent.JSON(told[1].req)), `phase is \"build\"`)
		assert.Contains(t, string(agent.JSON(told[2].req)), `component is \"db\"`)
	})
}

// forks are git worktrees as a script has them: merges of the tasks in conflicts fail until
// their third attempt.
func forks(conflicts ...string) map[string]func(asked) any {
	return map[string]func(asked) any{
		director.OpOpen: func(asked) any { return director.Opened{Branch: "main", Prefix: "task"} },
		director.OpCreate: func(a asked) any {
			var in director.CreateRequest
			decode(a.req.Input, &in)
			out := director.Created{Head: "base"}
			out.Tree.Task, out.Tree.Attempt, out.Tree.Branch, out.Tree.Path, out.Tree.Base = in.Task, in.Attempt, fmt.Sprintf("task/%s/a%d", in.Task, in.Attempt), "/w/"+in.Task, "base"
			return out
		},
		director.OpCommit: func(a asked) any {
			var in director.CommitRequest
			decode(a.req.Input, &in)
			if in.Path == "" {
				return director.Committed{Commit: in.Since}
			}
			return director.Committed{Commit: "c-" + in.Tree.Task, Files: 1, Found: true}
		},
		director.OpInspect: func(asked) any {
			return director.Inspected{Artifact: worktree.Artifact{Path: "a.md", Size: 1, Text: "a"}, Diff: "+a"}
		},
		director.OpMerge: func(a asked) any {
			var in director.MergeRequest
			decode(a.req.Input, &in)
			var out director.Merged
			if out.Merged = in.Tree.Attempt > 2 || !slices.Contains(conflicts, in.Tree.Task); out.Merged {
				out.Commit, out.Files = "m-"+in.Tree.Task, map[string]string{"a.md": "h"}
			} else {
				out.Conflicts = []string{"a.md"}
			}
			return out
		},
		director.OpRemove: func(asked) any { return struct{}{} },
	}
}

// forked is a run with such worktrees.
func forked(roles map[string]func(asked) any, tasks ...blackboard.Definition) script {
	s := script{cfg: bare(), in: director.Input{Tasks: tasks}, roles: forks()}
	maps.Copy(s.roles, roles)
	s.cfg.Agents.Worktree = "worktree"
	return s
}

// eventful is a run in which everything happens but that money ends.
func eventful() script {
	s := script{cfg: bare(), in: director.Input{Spec: todoSpec}, roles: forks("api_build"), reply: map[string]any{"ask/views_build/1": director.Answer{Action: director.ActionRetry}}}
	s.cfg.Agents.Worktree, s.cfg.Policy.Retry, s.cfg.Policy.ReturnWhenWaiting = "worktree", director.Retry{Attempts: 2, Stagnation: 2}, false
	s.roles["decompose"] = func(asked) any {
		return director.Decomposition{Tasks: []director.TaskPlan{plan("api_plan", "plan"), plan("api_build", "build", "api_plan"), plan("views_build", "build", "api_build"), plan("never", "build")}}
	}
	s.roles["work"] = func(a asked) any {
		r := done(a.task, a.attempt)
		switch {
		case a.task == "never":
			if a.slice == 1 {
				return slow{time.Minute, agent.Response{More: true, Messages: messages(15), Usage: providers.Usage{ToolCalls: 15}}}
			}
			return slow{5 * time.Minute, r}
		case a.task == "views_build" && a.attempt == 2:
			return slow{3 * time.Minute, r}
		case a.task == "api_plan" && a.attempt == 1:
			return agent.Response{Data: agent.JSON(director.WorkerResult{Status: director.StatusFailed, Summary: "I give up"})}
		case a.task == "api_plan":
			r.Decisions = []director.DecisionPlan{{Area: "api", Summary: "REST"}}
			r.Insights = []director.InsightPlan{{Summary: "dates are UTC"}}
			r.Suggested = []director.Suggestion{{TaskPlan: plan("more", "build")}}
		case a.task == "api_build" && a.attempt == 1:
			return director.WorkerResult{Status: director.StatusFailed, Escalation: &director.EscalationRequest{Type: "SPEC_MISMATCH", Reason: "two colours"}}
		}
		return r
	}
	s.roles["escalate"] = func(asked) any {
		return director.Resolution{Resolved: true, Clarification: "red", Spec: map[string]json.RawMessage{"ui": json.RawMessage(`{"overdue":"red"}`)}}
	}
	s.roles["review"] = func(asked) any {
		return director.ChangeReview{Suggestions: []director.SuggestionVerdict{{Number: 1, Reason: "later"}}}
	}
	s.roles["assess"] = func(asked) any { return director.Assessment{Alignment: 60, Issue: "it plays", Nudge: "work"} }
	s.roles["qa"] = failing("views_build", 2)
	s.roles["replan"] = func(asked) any {
		return director.Replan{Abandon: []director.AbandonPlan{{ID: "never", Reason: "no time"}}, Edit: []director.TaskEdit{{ID: "views_build", Description: "smaller"}}}
	}
	return s
}

func TestEvents(t *testing.T) {
	p := eventful().play(t)
	require.NoError(t, p.err)
	fields := map[team.Kind]string{
		director.EventPhaseChanged:       "from to on",
		director.EventTaskAdded:          "task definition",
		director.EventTaskEdited:         "task edit",
		director.EventTaskMoved:          "task from to on who",
		director.EventTaskDispatched:     "task attempt who branch",
		director.EventSliceFinished:      "task attempt text",
		director.EventCheckFinished:      "task attempt alignment on",
		director.EventWorkerNudged:       "task attempt on",
		director.EventInsightShared:      "task text",
		director.EventDecisionLogged:     "text",
		director.EventSpecChanged:        "text",
		director.EventSuggestionReviewed: "task who on text",
		director.EventEscalationRaised:   "task attempt on text",
		director.EventReviewFinished:     "task attempt on",
		director.EventCommitMerged:       "task attempt text",
		director.EventMergeFailed:        "task attempt on files",
		director.EventAttemptFailed:      "task attempt on text",
		director.EventAttemptReset:       "task attempt",
		director.EventResultDropped:      "task attempt",
		director.EventRunStagnated:       "count",
		director.EventRunReplanned:       "count on",
		director.EventHumanAsked:         "task on text",
		director.EventHumanAnswered:      "task on text",
		"director.run.started":           "asked",
		"director.run.finished":          "to status usage",
	}
	t.Run("BX32 what happens is told, each kind with its fields", func(t *testing.T) {
		seen := map[team.Kind]int{}
		for _, rec := range p.log {
			if !strings.HasPrefix(rec.Kind, "director.") {
				continue
			}
			seen[team.Kind(rec.Kind)]++
			var data map[string]any
			decode(rec.Data, &data)
			require.Contains(t, fields, team.Kind(rec.Kind))
			for field := range strings.FieldsSeq(fields[team.Kind(rec.Kind)]) {
				assert.Contains(t, data, field, "%s %s", rec.Kind, rec.Data)
			}
		}
		for kind := range fields {
			assert.Positive(t, seen[kind], kind)
		}
	})
	t.Run("BX32 warnings and the end of the money", func(t *testing.T) {
		s := one(map[string]func(asked) any{"qa": func(asked) any { return "rubbish" }})
		s.in.Tasks = append(s.in.Tasks, define("api_plan", "db_build"))
		warned := s.play(t).events(t, "director.warning.raised")
		require.NotEmpty(t, warned)
		assert.Equal(t, "director/ungraded", warned[0].Warning.Code)
		s = one(nil)
		s.in.Tasks = append(s.in.Tasks, define("api_plan"), define("ui_plan"))
		s.cfg.Limits.Calls = 1
		over := s.play(t)
		require.ErrorIs(t, over.err, orchestrator.ErrBudget)
		require.Len(t, over.events(t, director.EventBudgetExceeded), 1)
		assert.Equal(t, over.err.Error(), over.events(t, "director.run.finished")[0].Text)
		s = one(roles{"qa": edits("db_build", 1, func(r *director.Review) { r.Passed, r.Criteria[0].Passed, r.PlanWrong = false, false, true })})
		s.cfg.Limits.Calls = 2
		over = s.play(t)
		require.ErrorIs(t, over.err, orchestrator.ErrBudget)
		require.Len(t, over.events(t, director.EventBudgetExceeded), 1, "that it ended at the re-plan is told, too")
	})
	t.Run("BC66 the changes of the tasks follow from the log, and conversations are in calls alone", func(t *testing.T) {
		states, criteria := map[string]blackboard.State{}, map[string][]string{}
		for _, rec := range p.log {
			if !strings.HasPrefix(rec.Kind, "director.") {
				continue
			}
			assert.NotContains(t, string(rec.Data), "tool_calls")
			var e director.Event
			decode(rec.Data, &e)
			switch team.Kind(rec.Kind) {
			case director.EventTaskAdded:
				states[e.Task], criteria[e.Task] = blackboard.Planned, e.Definition.Criteria
			case director.EventTaskEdited:
				if e.Edit.Criteria != nil {
					criteria[e.Task] = e.Edit.Criteria
				}
			case director.EventTaskMoved:
				assert.Equal(t, states[e.Task], blackboard.State(e.From), e.Task)
				states[e.Task] = blackboard.State(e.To)
			}
		}
		require.Len(t, states, len(p.out.Board.Tasks))
		for _, task := range p.out.Board.Tasks {
			assert.Equal(t, task.Status, states[task.ID], task.ID)
			assert.Equal(t, task.Criteria, criteria[task.ID], task.ID)
		}
	})
}

func TestForks(t *testing.T) {
	// forked is a case with worktrees.
	t.Run("BC55 what was paid for is committed and merged after the last call that the budget allows", func(t *testing.T) {
		// open, create, work, commit, inspect, qa, merge
		for calls, want := range map[int64]string{3: "db_build AWAITING_QA", 6: "db_build COMPLETE"} {
			s := forked(nil, define("db_build"), define("api_plan", "db_build"))
			s.cfg.Limits.Calls = calls
			p := s.play(t)
			require.ErrorIs(t, p.err, orchestrator.ErrBudget)
			p.is(t, want)
			assert.Len(t, p.of(director.OpRemove), 1, "and its worktree is removed, once")
		}
	})
	t.Run("B95 one merge after the other, in the order of the reviews", func(t *testing.T) {
		merging := crowd{}
		s := forked(map[string]func(asked) any{director.OpMerge: func(a asked) any {
			return func(ctx context.Context, req agent.Request) (agent.Response, error) {
				merging.stay(time.Minute)
				return respond(ctx, req, forks()[director.OpMerge](a))
			}
		}, "qa": func(a asked) any {
			return slow{map[string]time.Duration{"a_plan": 3, "b_plan": 2, "c_plan": 1}[a.task] * time.Second, nil}
		}}, define("a_plan"), define("b_plan"), define("c_plan"))
		p := s.play(t)
		require.NoError(t, p.err)
		var merged []string
		for _, e := range p.events(t, director.EventCommitMerged) {
			merged = append(merged, e.Task)
		}
		assert.Equal(t, []string{"c_plan", "b_plan", "a_plan"}, merged)
		assert.Equal(t, 1, merging.most)
		assert.Len(t, p.of("qa"), 3, "what waits for its merge is not reviewed again")
	})
	t.Run("BC22 BC60 a task that pauses twice goes on from its last attempt, into which its last subtask is merged", func(t *testing.T) {
		p := forked(map[string]func(asked) any{director.OpCommit: func(a asked) any {
			var in director.CommitRequest
			decode(a.req.Input, &in)
			if in.Tree.Task == "db_build" {
				return director.Committed{Commit: in.Since, Found: true} // its last attempt needs to change nothing
			}
			return forks()[director.OpCommit](a)
		}, "work": func(a asked) any {
			if a.task == "db_build" && a.attempt < 3 {
				return director.WorkerResult{
					Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan(fmt.Sprint("sub", a.attempt), "build"), FromParent: true}},
				}
			}
			return nil
		}}, define("db_build")).play(t)
		require.NoError(t, p.err)
		bases, into := map[string]string{}, map[string]string{}
		for _, a := range p.of(director.OpCreate) {
			var in director.CreateRequest
			decode(a.req.Input, &in)
			bases[fmt.Sprintf("%s/%d", in.Task, in.Attempt)] = in.Base
		}
		for _, a := range p.of(director.OpMerge) {
			var in director.MergeRequest
			decode(a.req.Input, &in)
			into[in.Tree.Task] = in.Into
		}
		for _, a := range p.of(director.OpInspect) {
			var in director.InspectRequest
			decode(a.req.Input, &in)
			assert.Equal(t, into[in.Tree.Task], in.Into, "the difference is to where it is merged")
		}
		var review director.ReviewInput
		decode(p.of("qa")[0].req.Input, &review)
		assert.Equal(t, "+a", review.Diff)
		assert.Equal(t, map[string]string{
			"db_build/1": "", "sub1/1": "task/db_build/a1", "db_build/2": "task/db_build/a1", "sub2/1": "task/db_build/a2", "db_build/3": "task/db_build/a2",
		}, bases)
		assert.Equal(t, map[string]string{"sub1": "task/db_build/a1", "sub2": "task/db_build/a2", "db_build": ""}, into)
		assert.Len(t, p.of(director.OpCreate), 5)
		assert.Len(t, p.of(director.OpRemove), 5, "in each pause, and when a task is complete")
	})
	t.Run("B65 B94 the worktree of an escalation is committed and removed, and what was split leaves nothing", func(t *testing.T) {
		s := forked(map[string]func(asked) any{
			"work":     escalates("db_build", director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "which port?"}),
			"escalate": func(asked) any { return director.Resolution{Resolved: true} },
			"split":    func(asked) any { return director.Decomposition{Tasks: []director.TaskPlan{plan("s1", "build")}} },
		}, define("db_build"))
		ops := func(p played) (all []string) {
			require.NoError(t, p.err)
			for _, a := range p.asked {
				if a.op == director.OpRemove {
					var in director.RemoveRequest
					decode(a.req.Input, &in)
					a.op += fmt.Sprint(" ", in.Trees[0].Task, " ", in.Branches)
				}
				all = append(all, a.op)
			}
			return all
		}
		assert.Equal(t, []string{
			"open", "create", "work", "commit", "escalate", "remove db_build false", "create", "work", "commit", "inspect", "qa", "merge", "remove db_build true",
		}, ops(s.play(t)))
		s.roles["work"] = escalates("db_build", director.EscalationRequest{Type: "SCOPE_TOO_LARGE", Reason: "too much"})
		assert.Equal(t, []string{
			"open", "create", "work", "commit", "split", "remove db_build true", "create", "work", "commit", "inspect", "qa", "merge", "remove s1 true",
		}, ops(s.play(t)))
	})
	t.Run("B98 a worktree that cannot be removed is a warning, and tried again at the end", func(t *testing.T) {
		p := forked(map[string]func(asked) any{director.OpRemove: func(a asked) any {
			if a.n <= 2 {
				return errors.New("it is open")
			}
			return struct{}{}
		}}, define("db_build")).play(t)
		require.NoError(t, p.err)
		assert.True(t, p.warned("worktree"))
		require.Len(t, p.of(director.OpRemove), 3)
		var in director.RemoveRequest
		decode(p.of(director.OpRemove)[2].req.Input, &in)
		assert.True(t, in.Branches, "its task is complete")
	})
	t.Run("B98 a worktree that was removed in a pause is not removed again at the end", func(t *testing.T) {
		s := forked(map[string]func(asked) any{"work": escalates("db_build", director.EscalationRequest{Type: "BLOCKED_EXTERNAL", Reason: "no key"})}, define("db_build"))
		assert.Len(t, s.play(t).of(director.OpRemove), 1)
	})
	t.Run("BX7 a slice that leaves its worktree by a link ends the attempt", func(t *testing.T) {
		p := forked(map[string]func(asked) any{"work": func(a asked) any {
			if a.attempt == 1 && a.slice == 1 {
				return agent.Response{More: true, Messages: messages(1)}
			}
			return nil
		}, director.OpCommit: func(a asked) any {
			var in director.CommitRequest
			if decode(a.req.Input, &in); in.Path == "" {
				return director.Committed{Commit: in.Since, Unsafe: "x leads out of the worktree"}
			}
			return forks()[director.OpCommit](a)
		}}, define("db_build")).play(t)
		require.NoError(t, p.err)
		lost := p.events(t, director.EventAttemptFailed)
		require.Len(t, lost, 1)
		assert.Equal(t, "x leads out of the worktree", lost[0].Text)
	})
	t.Run("BX3 the folder that could not follow is a warning", func(t *testing.T) {
		p := forked(map[string]func(asked) any{director.OpMerge: func(a asked) any {
			var out director.Merged
			out.Merged, out.Commit, out.Behind = true, "m", "/repo"
			return out
		}}, define("db_build")).play(t)
		require.NoError(t, p.err)
		assert.True(t, p.warned("checkout"))
	})
	t.Run("BX1 BX19 what git could not do is done again, once", func(t *testing.T) {
		for _, op := range []string{director.OpOpen, director.OpCreate, director.OpCommit, director.OpInspect, director.OpMerge, director.OpRemove} {
			p := forked(map[string]func(asked) any{op: func(a asked) any {
				if a.n == 1 {
					return errors.New("it was killed")
				}
				return forks()[op](a)
			}}, define("db_build")).play(t)
			require.NoError(t, p.err, op)
			p.is(t, "db_build COMPLETE")
			assert.Len(t, p.of("work"), 1, op)
			assert.Len(t, p.of(op), 2, op)
			assert.Empty(t, p.out.Warnings, op)
			assert.Zero(t, p.task(t, "db_build").RetryCount, op)
		}
		p := forked(map[string]func(asked) any{director.OpMerge: func(asked) any { return errors.New("the disk is full") }}, define("db_build")).play(t)
		p.is(t, "db_build WAITING_HUMAN")
		assert.Len(t, p.of(director.OpMerge), 2)
		assert.Len(t, p.events(t, director.EventMergeFailed), 1)
	})
	t.Run("BX4 BA26 a merge is checked anew whenever others were first, three times, and so again after a while", func(t *testing.T) {
		for moved, want := range map[int]string{3: "COMPLETE", 4: "COMPLETE", 28: "COMPLETE", 29: "WAITING_HUMAN"} { // five calls, six times
			s := forked(map[string]func(asked) any{"check": func(asked) any { return green }, director.OpMerge: func(a asked) any {
				var out director.Merged
				if out.Merged = a.n > moved+1; out.Merged {
					out.Commit = "m"
				} else {
					out.Prepared, out.Onto = fmt.Sprint("p", a.n), "main"
				}
				return out
			}}, define("db_build"))
			s.cfg.Agents.Check, s.cfg.Policy.Retry.Conflicts = "check", orchestrator.None
			s.cfg = s.whole()
			s.cfg.Profiles[1].Check = []string{"true"}
			p := s.play(t)
			p.is(t, "db_build "+want)
			if want != "COMPLETE" {
				qa := p.task(t, "db_build").QA
				assert.Equal(t, blackboard.MergeConflict, qa.Kind)
				assert.Equal(t, "FAIL", qa.Outcome)
				assert.Contains(t, qa.Feedback, "others moved the branch")
				assert.Empty(t, p.of("conflict"), "no attempt is left")
			}
		}
	})
	t.Run("BC61 which tests keep a merge from landing", func(t *testing.T) {
		broken := director.CheckResult{Output: "exit code 2"}
		for _, tt := range []struct {
			name          string
			before, after director.CheckResult
			revise        bool
			want          string
		}{
			{"it passed before", green, red, false, "WAITING_HUMAN"},
			{"it failed before", red, red, false, "COMPLETE"},
			{"the review says that it is wrong", green, red, true, "COMPLETE"},
			{"the command itself", green, broken, false, "WAITING_HUMAN"},
			{"the command itself, before, too", broken, broken, false, "COMPLETE"},
		} {
			s := forked(map[string]func(asked) any{"check": func(a asked) any {
				var in director.CheckInput
				decode(a.req.Input, &in)
				return map[string]director.CheckResult{"c-db_build": green, "p": tt.after, "main": tt.before}[in.Commit]
			}, "qa": edits("db_build", 0, func(r *director.Review) {
				if tt.revise {
					r.Tests = []blackboard.TestAnalysis{{Test: "TestBoth", Fault: blackboard.TestWrong}}
				}
			}), director.OpMerge: func(a asked) any {
				var in director.MergeRequest
				decode(a.req.Input, &in)
				if in.Prepare && in.Checked == "" {
					return director.Merged{Prepared: "p", Onto: "main"}
				}
				return forks()[director.OpMerge](a)
			}}, define("db_build"))
			s.cfg.Agents.Check, s.cfg.Policy.Retry.Conflicts = "check", orchestrator.None
			s.cfg = s.whole()
			s.cfg.Profiles[1].Check = []string{"true"}
			assert.Equal(t, blackboard.State(tt.want), s.play(t).task(t, "db_build").Status, tt.name)
		}
	})
	t.Run("BX16 B99 work that is abandoned after its review is not merged", func(t *testing.T) {
		// slow_plan waits for its check and late_plan for that merge when the re-plan abandons them.
		s := forked(map[string]func(asked) any{
			"work": func(a asked) any {
				if a.task == "db_build" {
					return slow{time.Minute, nil}
				}
				return nil
			},
			"qa": failing("db_build", 3),
			"check": func(a asked) any {
				var in director.CheckInput
				if decode(a.req.Input, &in); in.Commit == "p" {
					return slow{10 * time.Minute, green}
				}
				return green
			},
			"replan": func(asked) any {
				return director.Replan{Abandon: []director.AbandonPlan{{ID: "slow_plan"}, {ID: "late_plan"}}}
			},
			director.OpMerge: func(a asked) any {
				var in director.MergeRequest
				decode(a.req.Input, &in)
				if in.Prepare && in.Checked == "" {
					return director.Merged{Prepared: "p", Onto: "main"}
				}
				return forks()[director.OpMerge](a)
			},
		}, define("slow_plan"), define("late_plan"), define("db_build"))
		s.cfg.Agents.Check = "check"
		s.cfg.Bounds.CallTime = time.Hour
		s.cfg = s.whole()
		s.cfg.Profiles[0].Check = []string{"true"}
		p := s.play(t)
		require.NoError(t, p.err)
		p.is(t, "slow_plan ABANDONED, late_plan ABANDONED, db_build COMPLETE")
		assert.Less(t, p.out.Elapsed, 5*time.Minute)
		var merged []string
		for _, a := range p.of(director.OpMerge) {
			var in director.MergeRequest
			if decode(a.req.Input, &in); !in.Prepare || in.Checked != "" {
				merged = append(merged, in.Tree.Task)
			}
		}
		assert.Equal(t, []string{"db_build"}, merged)
	})
}
