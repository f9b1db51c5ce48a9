package director

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/blackboard"
)

// reasons returns why tasks are not done, in words for people.
func (r *run) reasons() string {
	all := r.reasonsBy(func(t *blackboard.Task) string { return t.Reason })
	return strings.Join(append(all, r.forPermits()...), "; ")
}

// told returns the reason of a task in words for models: the board's may have technical errors.
func told(t *blackboard.Task) string {
	switch {
	case t.QA != nil && !t.QA.Passed:
		return lastOf(*t.QA)
	case t.Status == blackboard.WaitingHuman && t.Escalation != nil:
		return fmt.Sprintf("%s: %s", t.Escalation.Type, t.Escalation.Reason)
	}
	return ""
}

// reasonsBy returns why tasks are not done. For a task that waits for no other, reason says it.
func (r *run) reasonsBy(reason func(*blackboard.Task) string) (all []string) {
	for _, id := range r.board.In(blackboard.Ready, blackboard.Blocked, blackboard.WaitingHuman) {
		t, _ := r.board.Task(id)
		why := reason(&t)
		if t.Blocked != nil {
			why = strings.TrimSpace(fmt.Sprintf("%s %s", t.Blocked.Type, strings.Join(t.Blocked.WaitingOn, ", ")))
		}
		if why != "" {
			why = " (" + why + ")"
		}
		all = append(all, fmt.Sprintf("%s is %s%s", id, t.Status, why))
	}
	return all
}
