package board_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/board"
)

func TestView(t *testing.T) {
	r := newRun(t, sevenTasks()...)
	r.complete("db_plan", "db_build")
	add := func(i board.Insight) { r.do(board.RoleWorker, "", board.AddInsight{Insight: i}) }
	add(board.Insight{ID: "all", Summary: "for everybody"})
	add(board.Insight{ID: "tag", Topic: []string{"Python", "API"}, Summary: "of the component"})
	add(board.Insight{ID: "criterion", Topic: []string{"task description"}, Summary: "words of a criterion"})
	add(board.Insight{ID: "need", Topic: []string{"css"}, Summary: "of what it waited for", SourceTask: "db_build"})
	add(board.Insight{ID: "other", Topic: []string{"css", "task force", "-"}, Summary: "of no interest", SourceTask: "db_plan"})
	decide := func(d board.Decision) { r.do(board.RoleDirector, "", board.AddDecision{Decision: d}) }
	decide(board.Decision{ID: "named", Area: "views", Summary: "s", AppliesTo: []string{"db_plan", "api_build"}})
	decide(board.Decision{ID: "component", Area: "api", Summary: "s"})
	decide(board.Decision{ID: "general", Area: "style", Summary: "s"})
	decide(board.Decision{ID: "other component", Area: "db", Summary: "s"})
	decide(board.Decision{ID: "other task", Area: "api", Summary: "s", AppliesTo: []string{"api_plan"}})
	v, err := r.View("api_build")
	require.NoError(t, err)
	t.Run("B50 B122 the spec but the parts of other components", func(t *testing.T) {
		assert.Equal(t, "Build a Todo Board web app", v.Objective)
		assert.Equal(t, []string{"api", "ui"}, slices.Sorted(maps.Keys(v.Spec)))
	})
	t.Run("B50 B122 BA98 decisions that apply to it", func(t *testing.T) {
		var ids []string
		for _, d := range v.Decisions {
			ids = append(ids, d.ID)
		}
		assert.Equal(t, []string{"named", "component", "general"}, ids)
	})
	t.Run("B50 B122 insights on its topics", func(t *testing.T) {
		var ids []string
		for _, i := range v.Insights {
			ids = append(ids, i.ID)
		}
		assert.Equal(t, []string{"all", "tag", "criterion", "need"}, ids)
	})
	t.Run("B122 results of what it depends on, and the task itself", func(t *testing.T) {
		assert.Equal(t, []board.Result{
			{Task: "api_plan", Title: "The api plan", Status: board.Ready},
			{Task: "db_build", Title: "The db build", Status: board.Complete, Path: "artifacts/db_build.md", Summary: "made db_build"},
		}, v.Inputs)
		assert.Equal(t, r.task("api_build"), v.Task)
		assert.Empty(t, v.Memory)
	})
	t.Run("B50 its own memory alone", func(t *testing.T) {
		r.evaluate()
		r.dispatch("api_plan")
		r.do(board.RoleWorker, "api_plan", board.Remember{Messages: user("mine")})
		v, err := r.View("api_plan")
		require.NoError(t, err)
		assert.Equal(t, user("mine"), v.Memory)
		v, err = r.View("views_plan")
		require.NoError(t, err)
		assert.Empty(t, v.Memory)
		_, err = r.View("x")
		require.ErrorIs(t, err, board.ErrNoTask)
	})
}
