package blackboard_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
)

func director(task string, e blackboard.Event) blackboard.Change {
	return blackboard.Change{By: blackboard.RoleDirector, At: start, Task: task, Do: blackboard.Move{Event: e}}
}

func TestTimesAreAsInTheSnapshot(t *testing.T) {
	r := newRun(t)
	local := time.Now().In(time.FixedZone("east", 3600)) // with a monotonic clock
	r.apply(blackboard.Change{By: blackboard.RoleDirector, At: local, Do: blackboard.AddTasks{Tasks: []blackboard.Definition{task("a")}}})
	again, err := blackboard.Restore([]byte(r.picture()), preference)
	require.NoError(t, err)
	assert.Equal(t, again.Board().Tasks, r.Board().Tasks, "a restored board is the same value")
	assert.Equal(t, time.UTC, r.task("a").CreatedAt.Location())
}

func TestSpecIsCopied(t *testing.T) {
	value := json.RawMessage(`{"a":1}`)
	b, err := blackboard.New("run-1", "x", map[string]json.RawMessage{"db": value})
	require.NoError(t, err)
	value[2] = 'b'
	assert.JSONEq(t, `{"a":1}`, string(b.Spec["db"]))
}

// A task can both depend on another one and have paused for it. A wiped memory ends the
// pause and keeps the dependency.
func TestWipeKeepsDependencies(t *testing.T) {
	r := newRun(t, task("a"), task("b", "a"), task("c"))
	r.evaluate()
	r.complete("a")
	r.evaluate()
	r.dispatch("b")
	r.do(blackboard.RoleDirector, "b", blackboard.Move{
		Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{"a", "c"},
	})
	assert.Equal(t, []string{"a", "c"}, r.task("b").WaitingFor)
	r.complete("c")
	r.evaluate()
	r.dispatch("b")
	r.do(blackboard.RoleDirector, "b", blackboard.Move{
		Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.Crashed}, Messages: system("again"),
	})
	assert.Empty(t, r.task("b").WaitingFor)
	assert.Equal(t, []string{"a"}, r.task("b").DependsOn)
	r.refuses(blackboard.RoleDirector, "b", blackboard.Edit{DropNeeds: []string{"c"}}, `it does not depend on "c"`)
	r.do(blackboard.RoleDirector, "b", blackboard.Edit{DropNeeds: []string{"a"}})
	assert.Empty(t, r.task("b").DependsOn)
}

func TestAbandonedTaskKeepsNoWork(t *testing.T) {
	r := newRun(t, task("a"))
	r.evaluate()
	r.dispatch("a")
	r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: user("x")})
	r.do(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: blackboard.Watch{Tokens: 5}})
	r.do(blackboard.RoleDirector, "a", blackboard.Move{
		Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.ByExternal, WaitingOn: []string{"key"}},
		Checkpoint: &blackboard.Checkpoint{Resume: "go on"},
	})
	require.NotNil(t, r.task("a").Checkpoint)
	r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAbandon, Reason: "no"})
	got := r.task("a")
	assert.Nil(t, got.Checkpoint, "nobody resumes it")
	assert.Nil(t, got.Blocked)
	assert.Equal(t, "no", got.Reason)
	assert.NotContains(t, r.Board().Memories, "a")
	assert.NotContains(t, r.Board().Guardian.Watches, "a")
	require.ErrorIs(t, r.Apply(director("a", blackboard.EventRetry)), blackboard.ErrTerminal)
}
