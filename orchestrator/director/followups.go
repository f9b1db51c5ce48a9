package director

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// refine gives the TEST task of what was built its criteria; one that has been started
// gets them as an insight.
func (r *run) refine(c *orchestrator.Context, t *blackboard.Task, criteria []string) {
	p := r.placeholderOf(t)
	criteria = slices.DeleteFunc(slices.Clone(criteria), func(s string) bool { return strings.TrimSpace(s) == "" })
	if p == nil || len(criteria) == 0 {
		return
	}
	if untouched(p) {
		r.must(c, blackboard.Change{By: blackboard.RoleStrategist, Task: p.ID, Do: blackboard.Refine{Criteria: criteria}})
		return
	}
	r.post(c, blackboard.RoleStrategist, blackboard.Insight{
		Topic: []string{t.Component}, SourceTask: t.ID, Summary: "Tests should cover: " + strings.Join(criteria, "; "),
	})
}

// revise has tests corrected that were wrong where the code was right.
func (r *run) revise(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA) {
	criteria := each(qa.TestsToRevise, func(test string) string {
		return fmt.Sprintf("The test %s is revised: what it expects is wrong", test)
	})
	if len(criteria) == 0 {
		return
	}
	if p := r.testOf(t.Component, untouched); p != nil {
		r.direct(c, p.ID, blackboard.Edit{Criteria: union(p.Criteria, criteria)})
		return
	}
	r.addFollowUp(c, t, blackboard.Definition{ID: "revise-tests-" + t.Component, Title: "Revise tests of " + t.Component, Phase: phaseTest, Criteria: criteria})
}

// followUp is the task that gets the criteria which a task that completed in part has not
// met.
func (r *run) followUp(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA) {
	criteria := each(unmet(qa.Criteria), func(c blackboard.CriterionResult) string { return c.Criterion })
	r.addFollowUp(c, t, blackboard.Definition{ID: "rest-" + t.ID, Title: "The rest of " + cmp.Or(t.Title, t.ID), Phase: t.Phase, Profile: t.Profile, Criteria: criteria})
}

// addFollowUp adds a task that follows from t; a number is added to its ID.
func (r *run) addFollowUp(c *orchestrator.Context, t *blackboard.Task, d blackboard.Definition) {
	d.ID, d.Description, d.Component, d.Priority, d.Parent = r.freeID(d.ID), t.Description, t.Component, t.Priority, t.ID
	err := r.mayCause(t.ID)
	if err == nil {
		err = r.add(c, d)
	}
	if err != nil {
		r.warn(c, "task", t.ID, "%s cannot be added: %s", d.ID, prompt.OneLine(err.Error()))
	}
}

// room returns why the run cannot have n further tasks; nil: it can.
func (r *run) room(n int) error {
	switch live := r.liveTasks(); {
	case live+n > r.Bounds.Tasks && live >= r.Bounds.Tasks:
		return fmt.Errorf("there are %d tasks already", r.Bounds.Tasks)
	case live+n > r.Bounds.Tasks:
		return fmt.Errorf("there are %d, want at most %d in all", live, r.Bounds.Tasks)
	case r.begunWork() && r.added+n > r.Bounds.Added:
		return fmt.Errorf("%d tasks were added to the plan, and may be at most %d (Bounds.Added)", r.added, r.Bounds.Added)
	}
	return nil
}

// begunWork reports whether the tasks that the run begins with are on the board.
func (r *run) begunWork() bool { return r.state.Phase != opening && r.state.Phase != decomposing }

// mayCause returns why no further task may follow from one; nil: one may.
func (r *run) mayCause(id string) error {
	switch depth, caused := r.depth(id), r.job(id).caused; {
	case depth >= r.Bounds.Depth:
		return fmt.Errorf("it would be caused by tasks, %d deep", depth+1)
	case caused >= r.Bounds.Pauses:
		return fmt.Errorf("%d tasks follow from %s already (Bounds.Pauses)", caused, id)
	}
	return nil
}
