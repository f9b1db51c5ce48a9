package blackboard_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

var (
	start      = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	preference = routing.Preference{Phases: []string{"plan", "build", "test"}}
)

// checker is a testing.T, a testing.B or a rapid.T.
type checker interface {
	require.TestingT
	Helper()
}

// run is an editor with a clock that advances by a second with each change.
type run struct {
	*blackboard.Editor
	t   checker
	now time.Time
}

func newRun(t checker, tasks ...blackboard.Definition) *run {
	t.Helper()
	b, err := blackboard.New("run-1", "Build a Todo Board web app", map[string]json.RawMessage{
		"db": json.RawMessage(`{"tables":["todos"]}`), "ui": json.RawMessage(`{"layout":"3-column-kanban"}`),
		"api": json.RawMessage(`{"style":"REST"}`),
	})
	require.NoError(t, err)
	e, err := blackboard.Open(b, preference)
	require.NoError(t, err)
	r := &run{Editor: e, t: t, now: start}
	if len(tasks) > 0 {
		r.do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: tasks})
	}
	return r
}

// try applies a change a second after the last one.
func (r *run) try(by blackboard.Role, task string, a blackboard.Action) error {
	r.now = r.now.Add(time.Second)
	return r.Apply(blackboard.Change{By: by, At: r.now, Task: task, Do: a})
}

func (r *run) do(by blackboard.Role, task string, a blackboard.Action) {
	r.t.Helper()
	require.NoError(r.t, r.try(by, task, a))
}

func (r *run) apply(changes ...blackboard.Change) {
	r.t.Helper()
	for _, c := range changes {
		require.NoError(r.t, r.Apply(c))
	}
}

func (r *run) evaluate() {
	r.t.Helper()
	r.now = r.now.Add(time.Second)
	r.apply(r.Evaluate(r.now)...)
}

func (r *run) task(id string) blackboard.Task {
	r.t.Helper()
	t, ok := r.Task(id)
	require.True(r.t, ok, id)
	return t
}

// is asserts the states of tasks, written as "id STATE, id STATE".
func (r *run) is(want string) {
	r.t.Helper()
	for part := range strings.SplitSeq(want, ", ") {
		id, state, _ := strings.Cut(part, " ")
		assert.Equal(r.t, blackboard.State(state), r.task(id).Status, id)
	}
}

// events to get a task that is READY further.

func (r *run) dispatch(id string) {
	r.t.Helper()
	r.do(blackboard.RoleDirector, id, blackboard.Move{Event: blackboard.EventDispatch, Branch: "task/x/" + id})
}

func frozen(id string) *blackboard.Frozen {
	return &blackboard.Frozen{Path: "artifacts/" + id + ".md", Branch: "task/x/" + id, Commit: "c-" + id}
}

func (r *run) deliver(id string) {
	r.t.Helper()
	r.dispatch(id)
	r.do(blackboard.RoleWorker, id, blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen(id), Summary: "made " + id})
}

func pass() blackboard.Move {
	return blackboard.Move{Event: blackboard.EventPass, QA: &blackboard.QA{Passed: true, Outcome: "PASS"}, Merged: "merge"}
}

func (r *run) complete(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		if r.task(id).Status != blackboard.Ready {
			r.evaluate()
		}
		r.deliver(id)
		r.do(blackboard.RoleStrategist, id, pass())
	}
}

func fail() blackboard.Move {
	return blackboard.Move{Event: blackboard.EventFail, QA: &blackboard.QA{Kind: blackboard.FailedReview, Feedback: "404 is not handled"}}
}

func system(text string) []providers.Message {
	return []providers.Message{{Role: providers.System, Text: text}}
}

func user(text string) []providers.Message {
	return []providers.Message{{Role: providers.User, Text: text}}
}

func task(id string, needs ...string) blackboard.Definition {
	component, phase, _ := strings.Cut(id, "_")
	if c, ok := strings.CutPrefix(id, "test-"); ok {
		component, phase = c, "test"
	}
	if phase == "" {
		phase = "build"
	}
	profiles := map[string]string{"plan": "planner_worker", "build": "code_worker", "test": "test_worker"}
	return blackboard.Definition{
		ID: id, Title: "The " + component + " " + phase, Component: component, Phase: phase, Profile: profiles[phase],
		Priority: 10, DependsOn: needs, Criteria: []string{"The artifact fulfils the task description"},
	}
}

// sevenTasks are those of the Todo Board.
func sevenTasks() []blackboard.Definition {
	return []blackboard.Definition{
		task("db_plan"), task("db_build", "db_plan"), task("db_test", "db_build"), task("api_plan", "db_plan"),
		task("api_build", "api_plan", "db_build"), task("views_plan", "api_plan"), task("views_build", "api_build", "views_plan"),
	}
}

func nineTasks() []blackboard.Definition {
	return append(sevenTasks(), task("test-api", "api_build"), task("test-views", "views_build"))
}

// picture is the board as JSON, to see that nothing has changed.
func (r *run) picture() string {
	r.t.Helper()
	data, err := r.Snapshot()
	require.NoError(r.t, err)
	return string(data)
}

// refuses asserts that a change is refused with such an error and changes nothing.
func (r *run) refuses(by blackboard.Role, id string, a blackboard.Action, want string) {
	r.t.Helper()
	before := r.picture()
	queue := r.ReadyQueue()
	require.ErrorContains(r.t, r.try(by, id, a), want)
	assert.Equal(r.t, before, r.picture())
	assert.True(r.t, slices.Equal(queue, r.ReadyQueue()))
}

// proves runs a test under each of its names.
func proves(t *testing.T, names []string, test func(t *testing.T)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, test)
	}
}
