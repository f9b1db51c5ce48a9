package director

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/internal/team"
)

// wish is what a worker suggests.
type wish struct {
	task        string
	attempt     int
	suggestions []Suggestion
}

// beginWishes begins the reviews of suggestions.
func (r *run) beginWishes() {
	for _, w := range r.wishes {
		r.start(attemptKey("suggestions", w.task, w.attempt), func(c *orchestrator.Context) error { return r.consider(c, w) })
	}
	r.wishes = nil
}

// consider is the branch in which the director reviews the suggestions of a worker. An
// answer that cannot be used approves none.
func (r *run) consider(c *orchestrator.Context, w wish) error {
	q := r.toDirector(OpReview, "change.tmpl", w.task, ChangeInput{Graph: r.graph(c), Task: w.task, Suggestions: w.suggestions})
	answer, err := ask(r, c, q, func(v ChangeReview) error {
		for i, s := range v.Suggestions {
			if s.Number < 1 || s.Number > len(w.suggestions) {
				return fmt.Errorf("suggestions[%d].number is %d, want 1 to %d", i, s.Number, len(w.suggestions))
			}
		}
		return nil
	})
	if err != nil {
		if team.Ends(err) {
			return err
		}
		r.warn(c, "suggestions", w.task, "they are rejected, as the director's answer cannot be used: %s", err)
	}
	for i, s := range w.suggestions {
		approved, why := false, "not approved"
		for _, v := range answer.Suggestions {
			if v.Number == i+1 {
				approved, why = v.Approve, cmp.Or(v.Reason, why)
			}
		}
		how := "rejected"
		if approved {
			how, why = r.take(c, w.task, s, why)
		}
		c.Emit(EventSuggestionReviewed, Event{Task: w.task, Who: s.ID, On: how, Text: why})
	}
	return nil
}

// take adds a suggested task, or unites it with one that is there.
func (r *run) take(c *orchestrator.Context, from string, s Suggestion, why string) (how, reason string) {
	d := s.definition()
	d.Parent = from
	if same := r.same(d); same != nil {
		if err := r.change(c, board.Change{By: board.RoleDirector, Task: same.ID, Do: board.Edit{Criteria: union(same.Criteria, d.Criteria)}}); err != nil {
			return "rejected", prompt.OneLine(err.Error())
		}
		return "merged", "it is the task " + same.ID
	}
	err := fmt.Errorf("it would be caused by tasks, %d deep", r.depth(from)+1)
	if r.depth(from) < r.Limits.Depth {
		err = r.add(c, d)
	}
	if err != nil {
		r.post(c, board.RoleDirector, board.Insight{Topic: []string{d.Component}, SourceTask: from, Summary: "Not done, though suggested: " + firstOf(s.Title, s.ID)})
		return "rejected", prompt.OneLine(err.Error())
	}
	return "approved", why
}

// add adds a task, if it fits the team and there is room for it.
func (r *run) add(c *orchestrator.Context, d board.Definition) error {
	if err := r.fits(&d); err != nil {
		return err
	}
	if r.liveTasks() >= r.Limits.Tasks {
		return fmt.Errorf("there are %d tasks already", r.Limits.Tasks)
	}
	return r.change(c, board.Change{By: board.RoleDirector, Do: board.AddTasks{Tasks: []board.Definition{d}}})
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

// same is the live task that a suggested one repeats; nil: there is none.
func (r *run) same(d board.Definition) *board.Task {
	b := r.board.Board()
	title := normal(d.Title)
	i := slices.IndexFunc(b.Tasks, func(t board.Task) bool {
		same := t.Component == d.Component && t.Phase == d.Phase && title != "" && normal(t.Title) == title
		return !t.Final() && (t.ID == d.ID || same)
	})
	if i < 0 {
		return nil
	}
	return &b.Tasks[i]
}

// normal is a title without what does not matter.
func normal(title string) string { return strings.ToLower(prompt.OneLine(title)) }
