package blackboard_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
)

func TestView(t *testing.T) {
	r := newRun(t, sevenTasks()...)
	r.complete("db_plan", "db_build")
	add := func(i blackboard.Insight) { r.do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: i}) }
	add(blackboard.Insight{ID: "all", Summary: "for everybody"})
	add(blackboard.Insight{ID: "tag", Topic: []string{"Python", "API"}, Summary: "of the component"})
	add(blackboard.Insight{ID: "blank", Topic: []string{"", "++"}, Summary: "of interest to all"})
	add(blackboard.Insight{ID: "criterion", Topic: []string{"task description"}, Summary: "words of a criterion"})
	add(blackboard.Insight{ID: "need", Topic: []string{"css"}, Summary: "of what it waited for", SourceTask: "db_build"})
	add(blackboard.Insight{ID: "other", Topic: []string{"css", "task force", "-"}, Summary: "of no interest", SourceTask: "db_plan"})
	decide := func(d blackboard.Decision) { r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: d}) }
	decide(blackboard.Decision{ID: "named", Area: "views", Summary: "s", AppliesTo: []string{"db_plan", "api_build"}})
	decide(blackboard.Decision{ID: "component", Area: "api", Summary: "s"})
	decide(blackboard.Decision{ID: "general", Area: "style", Summary: "s"})
	decide(blackboard.Decision{ID: "other component", Area: "db", Summary: "s"})
	decide(blackboard.Decision{ID: "other task", Area: "api", Summary: "s", AppliesTo: []string{"api_plan"}})
	v, err := r.View("api_build")
	require.NoError(t, err)
	t.Run("B50 B122 the spec but the parts of components that it does not build on", func(t *testing.T) {
		assert.Equal(t, "Build a Todo Board web app", v.Objective)
		areas := map[string][]string{}
		for _, id := range []string{"db_build", "api_build", "views_build"} {
			v, err := r.View(id)
			require.NoError(t, err)
			areas[id] = slices.Sorted(maps.Keys(v.Spec))
		}
		assert.Equal(t, map[string][]string{
			"db_build":    {"db", "ui"},
			"api_build":   {"api", "db", "ui"},
			"views_build": {"api", "db", "ui"},
		}, areas)
	})
	t.Run("B4 B50 B111 an area that is named like another component is no secret to a task without one", func(t *testing.T) {
		b, err := blackboard.New("run-1", "A report on AI in healthcare", map[string]json.RawMessage{"research": json.RawMessage(`{"audience":"nurses"}`)})
		require.NoError(t, err)
		e, err := blackboard.Open(b, preference)
		require.NoError(t, err)
		task := func(component string) blackboard.Definition {
			return blackboard.Definition{ID: component, Component: component, Phase: "build", Profile: "p", Criteria: []string{"c"}}
		}
		require.NoError(t, e.Apply(blackboard.Change{By: blackboard.RoleDirector, Do: blackboard.AddTasks{Tasks: []blackboard.Definition{task("research"), task("draft")}}}))
		v, err := e.View("draft")
		require.NoError(t, err)
		assert.Contains(t, v.Spec, "research")
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
		assert.Equal(t, []string{"all", "tag", "blank", "criterion", "need"}, ids)
	})
	t.Run("B122 results of what it depends on, and the task itself", func(t *testing.T) {
		assert.Equal(t, []blackboard.Result{
			{Task: "api_plan", Title: "The api plan", Status: blackboard.Ready},
			{Task: "db_build", Title: "The db build", Status: blackboard.Complete, Path: "artifacts/db_build.md", Summary: "made db_build"},
		}, v.Inputs)
		assert.Equal(t, r.task("api_build"), v.Task)
		assert.Empty(t, v.Memory)
	})
	t.Run("B50 its own memory alone", func(t *testing.T) {
		r.evaluate()
		r.dispatch("api_plan")
		r.do(blackboard.RoleWorker, "api_plan", blackboard.Remember{Messages: user("mine")})
		v, err := r.View("api_plan")
		require.NoError(t, err)
		assert.Equal(t, user("mine"), v.Memory)
		v, err = r.View("views_plan")
		require.NoError(t, err)
		assert.Empty(t, v.Memory)
		_, err = r.View("x")
		require.ErrorIs(t, err, blackboard.ErrNoTask)
	})
}
