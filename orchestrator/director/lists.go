package director

import "github.com/convene-go/convene/blackboard"

// lists has the IDs of tasks that the team looks for again and again, so that a large board is
// not read from end to end each time. Each is in the order of the board.
type lists struct {
	tests     map[string][]string // TEST tasks by component
	children  []string            // tasks that start from the work of their parents
	suggested []string            // tasks whose suggestions are to be reviewed, in the order in which they came
	delayed   []string            // tasks whose next attempt begins later
}

// note adds a task that is new on the board.
func (l *lists) note(d *blackboard.Definition) {
	if d.Phase == phaseTest {
		if l.tests == nil {
			l.tests = map[string][]string{}
		}
		l.tests[d.Component] = append(l.tests[d.Component], d.ID)
	}
	if d.FromParent {
		l.children = append(l.children, d.ID)
	}
}

// take adds the tasks of a board that another run has left.
func (l *lists) take(b *blackboard.Board) {
	for i := range b.Tasks {
		t := &b.Tasks[i]
		l.note(&t.Definition)
		if len(t.Suggested) > 0 {
			l.suggested = append(l.suggested, t.ID)
		}
		if !t.Final() && !t.NotBefore.IsZero() {
			l.delayed = append(l.delayed, t.ID)
		}
	}
}

// testOf returns the first TEST task of a component for which fits holds; nil: there is none.
func (r *run) testOf(component string, fits func(*blackboard.Task) bool) *blackboard.Task {
	for _, id := range r.lists.tests[component] {
		if t, _ := r.board.Task(id); fits(&t) {
			return &t
		}
	}
	return nil
}
