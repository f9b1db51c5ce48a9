package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

var errBoom = errors.New("boom")

type object = map[string]any

// steps is a planner's answer of n steps.
func steps(n int) object { return needing(make([][]int, n)...) }

// needing is a plan whose steps need others.
func needing(needs ...[]int) object {
	list := []object{}
	for i, n := range needs {
		list = append(list, object{"number": i + 1, "description": fmt.Sprintf("do part %d of %d", i+1, len(needs)), "complexity": "medium", "dependsOn": n})
	}
	return object{"analysis": "in parts", "steps": list}
}

// code is a coder's answer.
func code() object {
	return object{
		"summary": "done", "files": []object{{"path": "a.go", "content": "package a"}},
		"tests": []object{{"path": "a_test.go", "content": "package a"}},
	}
}

// marks is a supervisor's answer that approves.
func marks(score float64) object {
	return object{"approved": true, "score": score, "evidence": []string{"the tests pass"}, "reason": "I looked at it", "recommendation": "name the units"}
}

var (
	passed  = object{"passed": true}
	failed  = object{"passed": false, "issues": []object{{"severity": "major", "category": "bug", "description": "it adds wrongly"}}}
	blocked = object{"summary": "", "blocked": true, "reason": "the format is not known"}
	tooMuch = object{"summary": "", "needsSubPlan": true, "reason": "it is too much"}
)

// always is an answer to all calls that are left.
type always struct{ answer any }

// project is a case: a team, and what its roles answer, in turn, by what they are
// asked: plan, subplan, code, fix, check, integrate, and the gates. What is left is
// answered well.
type project struct {
	cfg   delivery.Config
	in    delivery.Input
	cast  map[string][]any
	space agent.Agent // nil: there is no workspace
	more  []string    // further coders
}

var good = map[string]any{
	"plan": steps(2), "subplan": steps(1), "revise": object{"steps": []object{}}, "verify monitor": marks(90), "code": code(), "fix": code(), "check": passed, "integrate": passed,
	"verify plan": marks(90), "verify code": marks(90), "verify test": marks(90), "verify step": marks(90), "verify goal": marks(90),
}

// asked are the requests to all roles, by what they are asked.
type asked map[string][]agent.Request

func (a asked) total() (n int) {
	for _, reqs := range a {
		n += len(reqs)
	}
	return n
}

// of is how often a kind was asked.
func (a asked) of(kind string) int { return len(a[kind]) }

// played is the result of a run.
type played struct {
	out   delivery.Outcome
	err   error
	log   []runlog.Record
	asked asked
}

// iterations are the rules of a team with so many root plans.
func iterations(n int) delivery.Rules {
	return delivery.Rules{Retrier: delivery.Retries{Iteration: orchestrator.Attempts{Max: n}}}
}

// fixes are the rules of a team with so many root plans, and fixes of an attempt.
func fixes(iterations, n int) delivery.Rules {
	return delivery.Rules{Retrier: delivery.Retries{Iteration: orchestrator.Attempts{Max: iterations}, Fix: orchestrator.Attempts{Max: n + 1}}}
}

func config() delivery.Config {
	return delivery.Config{Agents: delivery.Agents{Planner: "planner", Coder: "coder", Tester: "tester", Supervisor: "supervisor"}}
}

// flow is the team's flow, and p's whole input.
func (p project) flow(t *testing.T) (orchestrator.Flow[delivery.Input, delivery.Outcome], delivery.Input) {
	t.Helper()
	p.cfg.Agents = config().Agents
	if p.space != nil {
		p.cfg.Agents.Workspace = "workspace"
	}
	if p.in.Goal == "" && p.in.From == nil {
		p.in.Goal = "a parser of durations"
	}
	flow, err := delivery.New(p.cfg)
	require.NoError(t, err)
	for kind := range p.cast {
		require.Contains(t, good, kind)
	}
	return flow, p.in
}

// roster are the agents; scripts gets what they say, by what they are asked.
func (p project) roster(tb testing.TB, scripts map[string]*flowtest.Script) agent.Roster {
	tb.Helper()
	for kind, answer := range good {
		answers := slices.Clone(p.cast[kind])
		if n := len(answers); n > 0 {
			if rest, ok := answers[n-1].(always); ok {
				answers, answer = answers[:n-1], rest.answer
			}
		}
		scripts[kind] = flowtest.NewScript(tb, answers...).Else(answer)
	}
	role := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		return scripts[kindOf(req)].Call(ctx, req)
	})
	roster := agent.Roster{"planner": role, "coder": role, "tester": role, "supervisor": role}
	for _, name := range p.more {
		roster[name] = role
	}
	if p.space != nil {
		roster["workspace"] = p.space
	}
	return roster
}

func (p project) open(t *testing.T) (*flowtest.Case[delivery.Input, delivery.Outcome], map[string]*flowtest.Script) {
	t.Helper()
	flow, in := p.flow(t)
	scripts := map[string]*flowtest.Script{}
	return flowtest.New(flow, in, func(tb testing.TB) agent.Roster { tb.Helper(); return p.roster(tb, scripts) }), scripts
}

// stateAt is what a host sees during the n-th request of a kind.
func (p project) stateAt(t *testing.T, kind string, n int) (seen delivery.State) {
	t.Helper()
	flow, in := p.flow(t)
	flowtest.Bubble(t, func(t *testing.T) {
		roster := p.roster(t, map[string]*flowtest.Script{})
		asked, answer, count := make(chan struct{}), make(chan struct{}), 0
		for name, role := range roster {
			roster[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				if kindOf(req) == kind {
					if count++; count == n {
						close(asked)
						<-answer
					}
				}
				return role.Call(ctx, req)
			})
		}
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, err)
		run, err := flow.Start(t.Context(), e, in, orchestrator.StartOptions{})
		require.NoError(t, err)
		<-asked
		require.NoError(t, run.State(t.Context(), &seen))
		close(answer)
		_, err = flow.Result(t.Context(), run)
		require.NoError(t, err)
		require.NoError(t, e.Close(t.Context()))
	})
	return seen
}

// kindOf says what is asked.
func kindOf(req agent.Request) string {
	if req.Op != delivery.OpVerify {
		return req.Op
	}
	var in delivery.VerifyInput
	if err := json.Unmarshal(req.Input, &in); err != nil {
		panic(err)
	}
	return "verify " + string(in.Gate)
}

func (p project) play(t *testing.T) played {
	t.Helper()
	c, scripts := p.open(t)
	got := played{asked: asked{}}
	got.out, got.log, got.err = c.Run(t)
	for kind, s := range scripts {
		if reqs := s.Requests(); len(reqs) > 0 {
			got.asked[kind] = reqs
		}
	}
	require.Equal(t, runlog.Ended, got.log[len(got.log)-1].Kind)
	return got
}

// events are the run's own records of a kind.
func (p played) events(t *testing.T, kind team.Kind) (found []delivery.Event) {
	t.Helper()
	for _, rec := range p.log {
		if rec.Kind == string(kind) {
			var e delivery.Event
			require.NoError(t, json.Unmarshal(rec.Data, &e))
			found = append(found, e)
		}
	}
	return found
}

// levels are those of the verdicts, in order.
func (p played) levels() (all []delivery.Level) {
	for _, v := range p.out.Report.Verdicts {
		all = append(all, v.Level)
	}
	return all
}

// sent counts messages.
func (p played) sent(m string) (n int) {
	for _, h := range p.out.State.EventLog {
		if h.Message == m {
			n++
		}
	}
	return n
}

// slept are the waits before further tries, in seconds.
func (p played) slept(t *testing.T) (all []float64) {
	t.Helper()
	for _, e := range p.events(t, delivery.EventAgentRetried) {
		all = append(all, e.Wait.Seconds())
	}
	return all
}

// step is a step of the outcome.
func (p played) step(t *testing.T, id string) delivery.Step {
	t.Helper()
	for _, plan := range p.out.State.Plans {
		for _, s := range plan.Steps {
			if s.ID == id {
				return s
			}
		}
	}
	t.Fatalf("no step %s", id)
	return delivery.Step{}
}

// trace are the events of the run's machine.
func (p played) trace(t *testing.T) string {
	t.Helper()
	var all []string
	for _, e := range p.events(t, delivery.EventPhaseChanged) {
		require.Len(t, e.Moves, 1)
		move := strings.Fields(e.Moves[0])[1]
		all = append(all, strings.Trim(move, "->"))
	}
	return strings.Join(all, " ")
}

// input is what a role got with a request.
func input[T any](t *testing.T, req agent.Request) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(req.Input, &v))
	return v
}

// with is an answer with other fields.
func with(o object, more object) object {
	o = maps.Clone(o)
	maps.Copy(o, more)
	return o
}

// times is an answer several times.
func times(n int, answer any) []any { return slices.Repeat([]any{answer}, n) }
