package director

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// beginSuggestions begins the reviews of what workers suggest, for each task one after the other.
func (r *run) beginSuggestions() {
	if r.over != nil {
		return
	}
	r.lists.suggested = slices.DeleteFunc(r.lists.suggested, func(id string) bool {
		t, _ := r.board.Task(id)
		if len(t.Suggested) > 0 {
			r.start("suggestions/"+id, func(c *orchestrator.Context) error { return r.reviewSuggestions(c, id, t.Suggested) })
		}
		return len(t.Suggested) == 0
	})
}

// reviewSuggestions is the branch in which the director reviews the suggestions of a worker. An
// answer that cannot be used approves none.
func (r *run) reviewSuggestions(c *orchestrator.Context, task string, suggested []blackboard.Suggestion) error {
	shown := each(suggested, func(s blackboard.Suggestion) wireSuggestion { return wireSuggestion{Task(s.Definition), s.Rationale} })
	q := r.toDirector(opReview, "change.tmpl", task, promptData{}, changeInput{Graph: r.graph(c), Task: task, Suggestions: shown})
	answer, err := ask(r, c, q, func(v changeReview) error {
		for i, s := range v.Suggestions {
			if s.Number < 1 || s.Number > len(suggested) {
				return fmt.Errorf("suggestions[%d].number is %d, want 1 to %d", i, s.Number, len(suggested))
			}
		}
		return nil
	})
	if err != nil {
		if team.Ends(err) {
			return err
		}
		r.warn(c, "suggestions", task, "they are rejected, as the director's answer cannot be used: %s", err)
	}
	r.direct(c, task, blackboard.DropSuggestions{Count: len(suggested)})
	for i, s := range suggested {
		approved, how, why := false, "rejected", ""
		for _, v := range answer.Suggestions {
			if v.Number == i+1 {
				approved, why = v.Approve, v.Reason
			}
		}
		if approved {
			how, why = r.acceptSuggestion(c, task, s.Definition, why)
		} else {
			why = cmp.Or(why, "not approved")
		}
		r.Emit(c, EventSuggestionReviewed, &Event{Event: team.Event{Who: s.ID, Text: why}, Task: task, On: how})
	}
	return nil
}

// acceptSuggestion adds a suggested task, or its criteria to a task that it repeats.
func (r *run) acceptSuggestion(c *orchestrator.Context, from string, d blackboard.Definition, why string) (how, reason string) {
	d.Parent = from
	err := r.fits(&d)
	if same := r.duplicateOf(d); same != nil {
		if err := r.change(c, byDirector(same.ID, blackboard.Edit{Criteria: union(same.Criteria, d.Criteria)})); err != nil {
			return "rejected", prompt.OneLine(err.Error())
		}
		return "merged", "it is the task " + same.ID
	}
	if old, taken := r.board.Task(d.ID); taken {
		return "rejected", fmt.Sprintf("there is a task %s, which is %s", old.ID, old.Status)
	}
	err = cmp.Or(err, r.mayCause(from))
	if err == nil {
		err = r.add(c, d)
	}
	if err != nil {
		if why = prompt.OneLine(err.Error()); r.IsHostError(err) { // insights reach models
			why = "nobody could be chosen for it"
		}
		r.post(c, blackboard.RoleDirector, blackboard.Insight{
			Topic: []string{d.Component}, SourceTask: from, Summary: fmt.Sprintf("Not done, though suggested: %s (%s)", cmp.Or(strings.TrimSpace(d.Title), d.ID), why),
		})
		return "rejected", why
	}
	return "approved", why
}

// add adds a task, if it fits the team and there is room for it.
func (r *run) add(c *orchestrator.Context, d blackboard.Definition) error {
	if err := r.fits(&d); err != nil {
		return err
	}
	if err := r.room(1); err != nil {
		return err
	}
	if err := r.route(c, &d); err != nil {
		return err
	}
	err := r.change(c, byDirector("", blackboard.AddTasks{Tasks: []blackboard.Definition{d}}))
	if err == nil {
		r.job(d.Parent).caused++
	}
	return err
}

// union is all, and what of more is not in it.
func union(all, more []string) []string {
	all = slices.Clone(all)
	for _, text := range more {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// duplicateOf is the live task that a suggested one repeats; nil: there is none.
func (r *run) duplicateOf(d blackboard.Definition) *blackboard.Task {
	b := r.board.Board()
	title := normalTitle(d.Title)
	i := slices.IndexFunc(b.Tasks, func(t blackboard.Task) bool {
		same := t.Component == d.Component && t.Phase == d.Phase && title != "" && normalTitle(t.Title) == title
		return !t.Final() && (t.ID == d.ID || same)
	})
	if i < 0 {
		return nil
	}
	return &b.Tasks[i]
}

// normalTitle is a title without what does not matter.
func normalTitle(title string) string { return text.Fold(prompt.OneLine(title)) }
