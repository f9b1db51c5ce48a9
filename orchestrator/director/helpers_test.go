package director_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// asked is a request to a member of the team, as scripts see it.
type asked struct {
	agent, op string
	task      string
	attempt   int
	slice     int
	n         int       // of the op in the run so far for that agent and task, from 1
	at        time.Time // when it was asked first
	req       agent.Request
}

// script is a case: a team, and what its members answer. What is nil, or answers nil,
// is answered well.
type script struct {
	cfg    director.Config
	in     director.Input
	roles  map[string]func(a asked) any // by op: decompose, review, escalate, split, replan, conflict, qa, assess, work
	extra  func(tb testing.TB) agent.Roster
	reply  map[string]any // answers to questions
	budget orchestrator.Budget
	long   bool // a sweep of it only kills
}

// slow is an answer that takes time.
type slow struct {
	d    time.Duration
	then any
}

// played is what became of a run.
type played struct {
	out   director.Outcome
	err   error
	log   []runlog.Record
	asked []asked
}

func (p played) of(op string) (found []asked) {
	for _, a := range p.asked {
		if a.op == op {
			found = append(found, a)
		}
	}
	return found
}

// done is a worker's good answer.
func done(task string, attempt int) director.WorkerResult {
	return director.WorkerResult{
		Status: director.StatusComplete, ResultPath: "/artifacts/" + task + ".md", Artifact: fmt.Sprintf("%s by attempt %d", task, attempt), Summary: "made " + task,
	}
}

// pass is a strategist's answer that passes everything.
func pass(req agent.Request) director.Review {
	var in director.ReviewInput
	decode(req.Input, &in)
	r := director.Review{Passed: true, Feedback: "good"}
	for _, c := range in.Criteria {
		r.Criteria = append(r.Criteria, director.CriterionAnswer{Number: c.Number, Passed: true, Reasoning: "it is there"})
	}
	return r
}

// fail is one that fails the first criterion.
func fail(req agent.Request) director.Review {
	r := pass(req)
	r.Passed, r.Feedback, r.Focus = false, "the rule on dates is missing", "start with the calendar"
	r.Criteria[0] = director.CriterionAnswer{Number: 1, Reasoning: "it is not there", Suggestions: "add it"}
	return r
}

func decode(data json.RawMessage, v any) {
	if err := json.Unmarshal(data, v); err != nil {
		panic(err)
	}
}

// read is what a request is about.
func read(name string, req agent.Request) asked {
	a := asked{agent: name, op: req.Op, req: req, slice: 1}
	var in struct {
		Task    json.RawMessage `json:"task"`
		Attempt int             `json:"attempt"`
		Slice   int             `json:"slice"`
	}
	decode(req.Input, &in)
	if len(in.Task) > 0 && json.Unmarshal(in.Task, &a.task) != nil {
		var d blackboard.Definition
		decode(in.Task, &d)
		a.task = d.ID
	}
	a.attempt, a.slice = in.Attempt, max(1, in.Slice)
	if a.op == director.OpContinue {
		a.op = director.OpWork
	}
	return a
}

// good is what a member answers that has no script.
func good(a asked) any {
	switch a.op {
	case director.OpWork:
		return done(a.task, a.attempt)
	case director.OpQA:
		return pass(a.req)
	case director.OpAssess:
		return director.Assessment{Alignment: 95, Trajectory: "STABLE"}
	case director.OpReplan:
		return director.Replan{}
	case director.OpReview:
		return director.ChangeReview{}
	case director.OpConflict:
		return director.ConflictAnswer{}
	}
	return fmt.Errorf("%s is not scripted", a.op)
}

// config is a team for software.
func config() director.Config {
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "director", Strategist: "strategist", Guardian: "guardian"}
	return cfg
}

// whole is the Config of a case.
func (s script) whole() director.Config {
	if s.cfg.Profiles != nil {
		return s.cfg
	}
	cfg := config()
	phases := cfg.Policy.Phases
	cfg.Policy, cfg.Limits, cfg.Bounds, cfg.Rules, cfg.Prompts = s.cfg.Policy, s.cfg.Limits, s.cfg.Bounds, s.cfg.Rules, s.cfg.Prompts
	if cfg.Policy.Phases == nil {
		cfg.Policy.Phases = phases
	}
	cfg.Agents.Worktree, cfg.Agents.Check = s.cfg.Agents.Worktree, s.cfg.Agents.Check
	return cfg
}

// flow is the flow and the input of a case.
func (s script) flow(t *testing.T) (orchestrator.Flow[director.Input, director.Outcome], director.Input) {
	t.Helper()
	in := s.in
	if in.Objective == "" && in.Board == nil {
		in.Objective = "Build a Todo Board web app"
	}
	flow, err := director.New(s.whole())
	require.NoError(t, err)
	return flow, in
}

// diary has the requests of a run.
type diary struct {
	mu   sync.Mutex
	all  []asked
	seen map[string]asked // by the key of the call
	last map[string]int   // numbers by op and task
}

// note numbers a request. One that is made again keeps its number and its time.
func (d *diary) note(a asked, key string) asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	if first, ok := d.seen[key]; ok {
		a.n, a.at = first.n, first.at
		return a
	}
	d.last[a.op+"/"+a.task]++
	a.n, a.at = d.last[a.op+"/"+a.task], time.Now()
	d.seen[key] = a
	d.all = append(d.all, a)
	return a
}

func newDiary() *diary { return &diary{seen: map[string]asked{}, last: map[string]int{}} }

// roster has the members of the team, who answer as the script says.
func (s script) roster(tb testing.TB, names []string, d *diary) agent.Roster {
	tb.Helper()
	roster := agent.Roster{}
	for _, name := range names {
		roster[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			a := d.note(read(name, req), agent.InfoFrom(ctx).Key)
			var answer any
			if role := s.roles[a.op]; role != nil {
				answer = role(a)
			}
			if wait, ok := answer.(slow); ok {
				wait.d -= time.Since(a.at) // a call that is made again is answered when the first one would have been
				if answer = wait; wait.then == nil {
					answer = slow{wait.d, good(a)}
				}
			}
			if answer == nil {
				answer = good(a)
			}
			return respond(ctx, req, answer)
		})
	}
	if s.extra != nil {
		maps.Copy(roster, s.extra(tb))
	}
	return roster
}

func (s script) open(t *testing.T) (*flowtest.Case[director.Input, director.Outcome], func() []asked) {
	t.Helper()
	flow, in := s.flow(t)
	var d *diary
	c := flowtest.New(flow, in, func(tb testing.TB) agent.Roster {
		tb.Helper()
		d = newDiary()
		return s.roster(tb, flow.Agents, d)
	})
	c.Answers, c.Options.Budget, c.Quick = s.reply, s.budget, s.long
	return c, func() []asked { return d.all }
}

func respond(ctx context.Context, req agent.Request, answer any) (agent.Response, error) {
	switch v := answer.(type) {
	case slow:
		select {
		case <-ctx.Done():
			return agent.Response{}, context.Cause(ctx)
		case <-time.After(v.d):
		}
		return respond(ctx, req, v.then)
	case error:
		return agent.Response{}, v
	case agent.Response:
		return v, nil
	case func(context.Context, agent.Request) (agent.Response, error):
		return v(ctx, req)
	case string:
		return agent.Response{Text: v}, nil
	}
	return agent.Response{Data: agent.JSON(answer)}, nil
}

func (s script) play(t *testing.T) played {
	t.Helper()
	c, all := s.open(t)
	var p played
	p.out, p.log, p.err = c.Run(t)
	require.Equal(t, runlog.Ended, p.log[len(p.log)-1].Kind)
	p.asked = all()
	return p
}

// sweep kills the run before every record, and replays it in other orders. TestEnds has all
// other ways in which a process ends.
func (s script) sweep(t *testing.T) {
	t.Helper()
	c, _ := s.open(t)
	c.Quick = true
	c.Sweep(t)
	c.Determinism(t)
}

// events are the run's own records of a kind.
func (p played) events(t *testing.T, kind team.Kind) (found []director.Event) {
	t.Helper()
	for _, rec := range p.log {
		if team.Kind(rec.Kind) == kind {
			var e director.Event
			require.NoError(t, json.Unmarshal(rec.Data, &e))
			found = append(found, e)
		}
	}
	return found
}

// at is the time of the first record of a kind.
func (p played) at(t *testing.T, kind team.Kind) time.Time {
	t.Helper()
	i := slices.IndexFunc(p.log, func(rec runlog.Record) bool { return team.Kind(rec.Kind) == kind })
	require.GreaterOrEqual(t, i, 0, "no record %s", kind)
	return p.log[i].At
}

// states are those that a task went through.
func (p played) states(t *testing.T, task string) string {
	t.Helper()
	all := []string{"PLANNED"}
	for _, e := range p.events(t, director.EventTaskMoved) {
		if e.Task == task {
			all = append(all, e.To)
		}
	}
	return strings.Join(all, " ")
}

// task is a task of the outcome.
func (p played) task(t *testing.T, id string) blackboard.Task {
	t.Helper()
	require.NotNil(t, p.out.Board)
	i := slices.IndexFunc(p.out.Board.Tasks, func(task blackboard.Task) bool { return task.ID == id })
	require.GreaterOrEqual(t, i, 0, "no task %s", id)
	return p.out.Board.Tasks[i]
}

// is checks the states of tasks at the end: "a COMPLETE, b BLOCKED".
func (p played) is(t *testing.T, want string) {
	t.Helper()
	for pair := range strings.SplitSeq(want, ", ") {
		id, state, _ := strings.Cut(pair, " ")
		require.Equal(t, blackboard.State(state), p.task(t, id).Status, id)
	}
}

// warned says whether there is a warning of a code.
func (p played) warned(code string) bool {
	return slices.ContainsFunc(p.out.Warnings, func(w orchestrator.Warning) bool { return w.Code == "director/"+code })
}

// define is a task with a criterion; its ID is component_phase, or the phase is build.
func define(id string, needs ...string) blackboard.Definition {
	component, phase, ok := strings.Cut(id, "_")
	if !ok {
		phase = director.PhaseBuild
	}
	profile := map[string]string{"plan": "planner_worker", "test": "test_worker", "document": "writer_worker"}[phase]
	if profile == "" {
		profile = "code_worker"
	}
	return blackboard.Definition{
		ID: id, Title: "The " + strings.ReplaceAll(id, "_", " "), Component: component, Phase: phase, Profile: profile, Priority: 10,
		DependsOn: needs, Criteria: []string{"It does what " + id + " is for"},
	}
}

// seven are the tasks of the Todo Board.
func seven() []blackboard.Definition {
	return []blackboard.Definition{
		define("db_plan"), define("db_build", "db_plan"), define("db_test", "db_build"),
		define("api_plan", "db_plan"), define("api_build", "api_plan", "db_build"),
		define("views_plan", "api_plan"), define("views_build", "api_build", "views_plan"),
	}
}

// crowd knows how many agents were at work at once.
type crowd struct {
	mu        sync.Mutex
	now, most int
}

// stay lets one be at work for a time.
func (c *crowd) stay(d time.Duration) {
	c.add(1)
	<-time.After(d)
	c.add(-1)
}

func (c *crowd) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

// calls is a slice of n tool calls, with their cost.
func messages(n int) (all []providers.Message) {
	for i := range n {
		id := fmt.Sprint("c", i)
		all = append(all,
			providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: id, Name: "look", Input: json.RawMessage(`{}`)}}},
			providers.Message{Role: providers.ToolRole, ToolID: id, Text: "seen"})
	}
	return all
}
