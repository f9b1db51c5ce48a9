package blackboard_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/routing"
)

// slowBoard is a second implementation of an editor, as dumb as possible: it has no graph,
// looks at every task each time, and knows nothing of texts. Its rules are written down
// again, so that a mistake in those of the package shows as a difference.
type slowBoard struct {
	order []string
	tasks map[string]*slowTask
}

// slowTask has what a slowBoard knows of a task. It is compared as a text.
type slowTask struct {
	State                        blackboard.State
	Needs, Waiting               []string
	Retries, Conflicts, Attempts int
	Accepted, Delivered          bool
	Memory, Suggested            int
	Why                          blackboard.BlockType
	On                           []string
}

// slowEvents has the table of tasks again: from which states, to which, by whom.
var slowEvents = map[blackboard.Event]struct {
	from string
	to   blackboard.State
	by   blackboard.Role
}{
	"ready":    {"PLANNED", "READY", "director"},
	"block":    {"PLANNED READY", "BLOCKED", "director"},
	"unblock":  {"BLOCKED", "READY", "director"},
	"dispatch": {"READY", "ACTIVE", "director"},
	"deliver":  {"ACTIVE", "AWAITING_QA", "worker"},
	"pause":    {"ACTIVE", "BLOCKED", "director"},
	"lose":     {"ACTIVE", "READY", "director"},
	"release":  {"ACTIVE", "READY", "director"},
	"resolve":  {"ACTIVE", "READY", "director"},
	"ask":      {"ACTIVE BLOCKED", "WAITING_HUMAN", "director"},
	"pass":     {"AWAITING_QA", "COMPLETE", "strategist"},
	"fail":     {"AWAITING_QA", "FAILED_QA", "strategist"},
	"conflict": {"AWAITING_QA", "FAILED_QA", "strategist"},
	"ungraded": {"AWAITING_QA", "FAILED_QA", "strategist"},
	"phoenix":  {"FAILED_QA", "READY", "director"},
	"wait_fix": {"FAILED_QA", "BLOCKED", "director"},
	"escalate": {"FAILED_QA", "WAITING_HUMAN", "director"},
	"retry":    {"WAITING_HUMAN", "READY", "director"},
	"accept":   {"WAITING_HUMAN", "READY", "director"},
	"abandon":  {"PLANNED READY BLOCKED ACTIVE AWAITING_QA FAILED_QA WAITING_HUMAN", "ABANDONED", "director"},
}

// live returns the task with that ID unless it is final; nil: there is none.
func (b *slowBoard) live(id string) *slowTask {
	if t := b.tasks[id]; t != nil && t.State != "COMPLETE" && t.State != "ABANDONED" {
		return t
	}
	return nil
}

// unmet returns all that a task waits for.
func (b *slowBoard) unmet(t *slowTask) []string {
	all := slices.Concat(t.Needs, t.Waiting)
	return unique(slices.DeleteFunc(all, func(id string) bool { return b.tasks[id].State == "COMPLETE" }))
}

// unique returns ids in their order, each once.
func unique(ids []string) (once []string) {
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once
}

// fits reports whether a task can need each of ids: it is known, not abandoned, and not the
// task itself.
func (b *slowBoard) fits(id string, ids ...string) bool {
	return !slices.ContainsFunc(ids, func(need string) bool {
		return need == id || b.tasks[need] == nil || b.tasks[need].State == "ABANDONED"
	})
}

// round reports whether some task needs itself through others. An ABANDONED task needs
// nothing any more.
func (b *slowBoard) round() bool {
	for id := range b.tasks {
		seen, next := map[string]bool{}, []string{id}
		for len(next) > 0 {
			t := b.tasks[next[0]]
			next = next[1:]
			if t.State == "ABANDONED" {
				continue
			}
			for _, need := range slices.Concat(t.Needs, t.Waiting) {
				if need == id {
					return true
				}
				if !seen[need] {
					seen[need], next = true, append(next, need)
				}
			}
		}
	}
	return false
}

// copied returns a copy that shares nothing with b.
func (b *slowBoard) copied() *slowBoard {
	c := &slowBoard{order: slices.Clone(b.order), tasks: map[string]*slowTask{}}
	for id, t := range b.tasks {
		own := *t
		own.Needs, own.Waiting, own.On = slices.Clone(t.Needs), slices.Clone(t.Waiting), slices.Clone(t.On)
		c.tasks[id] = &own
	}
	return c
}

// after returns the board after a change, and b itself if the change is to be refused.
func (b *slowBoard) after(c blackboard.Change) (next *slowBoard, ok bool) {
	next = b.copied()
	switch do := c.Do.(type) {
	case blackboard.AddTasks:
		ok = c.By == "director" && next.add(do.Tasks)
	case blackboard.Split:
		ok = c.By == "director" && next.split(c.Task, do.Into)
	case blackboard.Edit:
		ok = c.By == "director" && next.edit(c.Task, do)
	case blackboard.Move:
		ok = next.move(c, do)
	default:
		ok = next.note(c)
	}
	if !ok || next.round() {
		return b, false
	}
	return next, true
}

func (b *slowBoard) add(ds []blackboard.Definition) bool {
	for _, d := range ds {
		if b.tasks[d.ID] != nil {
			return false
		}
		b.tasks[d.ID] = &slowTask{State: "PLANNED", Needs: slices.Clone(d.DependsOn)}
		b.order = append(b.order, d.ID)
	}
	return !slices.ContainsFunc(ds, func(d blackboard.Definition) bool { return !b.fits(d.ID, d.DependsOn...) })
}

func (b *slowBoard) split(id string, parts []blackboard.Definition) bool {
	old := b.live(id)
	if old == nil {
		return false
	}
	isPart := func(id string) bool {
		return slices.ContainsFunc(parts, func(d blackboard.Definition) bool { return d.ID == id })
	}
	inherited, needed := slices.Concat(old.Needs, old.Waiting), map[string]bool{}
	parts = slices.Clone(parts)
	for i, d := range parts {
		for _, need := range d.DependsOn {
			needed[need] = true
		}
		if !slices.ContainsFunc(d.DependsOn, isPart) {
			parts[i].DependsOn = unique(slices.Concat(inherited, d.DependsOn))
		}
	}
	var last []string
	for _, d := range parts {
		if !needed[d.ID] {
			last = append(last, d.ID)
		}
	}
	b.abandon(old)
	if !b.add(parts) {
		return false
	}
	for _, other := range b.order {
		if t := b.tasks[other]; t.State != "ABANDONED" {
			t.Needs, t.Waiting = replaced(t.Needs, id, last), replaced(t.Waiting, id, last)
		}
	}
	return true
}

func replaced(ids []string, old string, others []string) []string {
	if i := slices.Index(ids, old); i >= 0 {
		return slices.Concat(ids[:i], others, ids[i+1:])
	}
	return ids
}

func (b *slowBoard) edit(id string, do blackboard.Edit) bool {
	t := b.live(id)
	if t == nil || len(do.AddNeeds) > 0 && strings.Contains("READY ACTIVE AWAITING_QA", string(t.State)) {
		return false
	}
	for _, need := range do.DropNeeds {
		if !slices.Contains(slices.Concat(t.Needs, t.Waiting), need) {
			return false
		}
		t.Needs, t.Waiting = replaced(t.Needs, need, nil), replaced(t.Waiting, need, nil)
	}
	return b.need(id, do.AddNeeds, &t.Needs)
}

// need adds needs to one of a task's lists. What the task needs already always fits.
func (b *slowBoard) need(id string, needs []string, list *[]string) bool {
	t := b.tasks[id]
	known := slices.Concat(t.Needs, t.Waiting)
	for _, need := range needs {
		if !slices.Contains(known, need) && !b.fits(id, need) {
			return false
		}
	}
	*list = unique(slices.Concat(*list, needs))
	return true
}

func (b *slowBoard) note(c blackboard.Change) bool {
	t := b.live(c.Task)
	switch c.Do.(type) {
	case blackboard.DropSuggestions:
		if t = b.tasks[c.Task]; t == nil || t.Suggested == 0 || c.By != "director" {
			return false
		}
		t.Suggested--
		return true
	case blackboard.Remember:
		if t == nil || c.By != "director" && (c.By != "worker" || t.State != "ACTIVE") {
			return false
		}
		t.Memory++
		return true
	case blackboard.Judge:
		return t != nil && c.By == "strategist" && t.State == "AWAITING_QA"
	case blackboard.Suggest:
		if t == nil || c.By != "worker" || t.State != "ACTIVE" {
			return false
		}
		t.Suggested += 2
		return true
	}
	return false
}

func (b *slowBoard) move(c blackboard.Change, m blackboard.Move) bool {
	t, rule := b.live(c.Task), slowEvents[m.Event]
	if t == nil || rule.by != c.By || !slices.Contains(strings.Fields(rule.from), string(t.State)) {
		return false
	}
	if m.Event == "accept" && !t.Delivered {
		return false
	}
	if m.Blocked != nil && !b.wait(c.Task, m) {
		return false
	}
	t.State, t.Why, t.On = rule.to, "", nil
	b.effect(t, m)
	if m.Blocked != nil {
		if t.Why, t.On = m.Blocked.Type, m.Blocked.WaitingOn; t.Why != blackboard.ByExternal {
			t.On = b.unmet(t)
		}
	}
	return rule.to == "BLOCKED" || !strings.Contains("READY ACTIVE COMPLETE", string(rule.to)) || len(b.unmet(t)) == 0
}

// wait checks the reason for which a task is to be BLOCKED, and adds its needs.
func (b *slowBoard) wait(id string, m blackboard.Move) bool {
	kind, t := m.Blocked.Type, b.tasks[id]
	switch {
	case m.Event == "pause" && kind == blackboard.ByDependency, m.Event == "wait_fix" && kind == blackboard.ByExternal:
		return false
	case kind == blackboard.ByExternal:
		return len(m.Needs) == 0
	}
	list := &t.Waiting
	if m.Event == "block" {
		list = &t.Needs
	}
	return b.need(id, m.Needs, list) && len(b.unmet(t)) > 0
}

func (b *slowBoard) effect(t *slowTask, m blackboard.Move) {
	switch m.Event { //nolint:exhaustive // the others have no effect beyond the state
	case "dispatch":
		if !t.Accepted {
			t.Attempts++
		}
	case "deliver":
		t.Accepted, t.Delivered = false, true
	case "lose":
		t.Retries, t.Memory, t.Waiting = t.Retries+1, 1, nil
	case "fail":
		t.Retries++
	case "conflict":
		t.Conflicts++
	case "phoenix":
		t.Memory, t.Waiting = 1, nil
	case "wait_fix":
		t.Memory, t.Waiting = 1, unique(m.Needs)
	case "retry":
		t.Retries, t.Conflicts = 0, 0
	case "accept":
		t.Accepted = true
	case "abandon":
		b.abandon(t)
	}
}

func (b *slowBoard) abandon(t *slowTask) {
	t.State, t.Accepted, t.Memory, t.Why, t.On = "ABANDONED", false, 0, "", nil
}

// due returns what Evaluate has to return, one change a line.
func (b *slowBoard) due() (lines []string) {
	for _, id := range b.order {
		t := b.tasks[id]
		open := b.unmet(t)
		switch {
		case t.State == "PLANNED" && len(open) > 0:
			lines = append(lines, fmt.Sprint(id, " block ", b.why(t), open))
		case t.State == "PLANNED":
			lines = append(lines, id+" ready")
		case t.State == "BLOCKED" && t.Why != blackboard.ByExternal && len(open) == 0:
			lines = append(lines, id+" unblock")
		}
	}
	return lines
}

func (b *slowBoard) why(t *slowTask) blackboard.BlockType {
	why := blackboard.ByDependency
	for _, id := range b.unmet(t) {
		if b.tasks[id].State == "ABANDONED" {
			return blackboard.ByAbandoned
		}
		if slices.Contains(t.Waiting, id) {
			why = blackboard.BySubtask
		}
	}
	return why
}

// below returns the tasks that wait for one, sorted.
func (b *slowBoard) below(id string) []string {
	found := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for other, t := range b.tasks {
			waits := slices.ContainsFunc(slices.Concat(t.Needs, t.Waiting), func(need string) bool { return need == id || found[need] })
			if waits && !found[other] && t.State != "ABANDONED" {
				found[other], grown = true, true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// agrees asserts that an editor says the same as the model.
func (b *slowBoard) agrees(t *rapid.T, r *run) {
	t.Helper()
	var ids, ready []string
	for _, task := range r.Board().Tasks {
		ids = append(ids, task.ID)
		got := slowTask{
			State: task.Status, Needs: task.DependsOn, Waiting: task.WaitingFor, Retries: task.RetryCount, Conflicts: task.ConflictCount,
			Attempts: task.Attempt, Accepted: task.Accepted, Delivered: task.Frozen != nil, Memory: len(r.Board().Memories[task.ID]),
			Suggested: len(task.Suggested),
		}
		if task.Blocked != nil {
			got.Why, got.On = task.Blocked.Type, task.Blocked.WaitingOn
		}
		require.Equal(t, fmt.Sprintf("%+v", *b.tasks[task.ID]), fmt.Sprintf("%+v", got), task.ID)
		if task.Status == "READY" {
			ready = append(ready, task.ID)
		}
		require.Equal(t, b.below(task.ID), slices.Sorted(slices.Values(r.Descendants(task.ID))), "descendants of %s", task.ID)
	}
	require.Equal(t, b.order, ids)
	b.agreesByState(t, r)
	require.ElementsMatch(t, ready, r.ReadyQueue())
	for i, n := range preference.Order(r.Nodes(blackboard.Ready), routing.Moment{Now: r.now}) {
		require.Equal(t, r.ReadyQueue()[i], n.ID, "a scheduler that sorts the nodes finds the same order")
	}
	var due []string
	for _, c := range r.Evaluate(r.now) {
		m, _ := c.Do.(blackboard.Move)
		line := c.Task + " " + string(m.Event)
		if m.Blocked != nil {
			line = fmt.Sprint(line, " ", m.Blocked.Type, m.Blocked.WaitingOn)
		}
		due = append(due, line)
	}
	require.Equal(t, b.due(), due)
}

// agreesByState asserts that an editor finds in each state the tasks that are there.
func (b *slowBoard) agreesByState(t *rapid.T, r *run) {
	t.Helper()
	in, why := map[blackboard.State][]string{}, map[blackboard.BlockType][]string{}
	for _, id := range b.order {
		task := b.tasks[id]
		in[blackboard.State(task.State)] = append(in[blackboard.State(task.State)], id)
		if task.State == "BLOCKED" {
			why[task.Why] = append(why[task.Why], id)
		}
	}
	for _, state := range blackboard.TaskTable().States() {
		require.Equal(t, in[state], r.In(state), state)
		require.Equal(t, len(in[state]), r.Count(state), state)
		var nodes []string
		for _, n := range r.Nodes(state) {
			nodes = append(nodes, n.ID)
		}
		require.Equal(t, in[state], nodes, state)
	}
	var both []string
	for _, id := range b.order {
		if s := b.tasks[id].State; s == "READY" || s == "BLOCKED" {
			both = append(both, id)
		}
	}
	require.Equal(t, both, r.In(blackboard.Ready, blackboard.Blocked), "in the order of the board")
	for _, kind := range []blackboard.BlockType{blackboard.ByDependency, blackboard.BySubtask, blackboard.ByAbandoned, blackboard.ByExternal, blackboard.ByReplanning} {
		require.Equal(t, why[kind], r.BlockedBy(kind), kind)
	}
}

func TestBoardModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, count := newRun(t), 0
		model := &slowBoard{tasks: map[string]*slowTask{}}
		step := func(c blackboard.Change) {
			next, ok := model.after(c)
			err := r.Apply(c)
			require.Equal(t, ok, err == nil, "%s %+v: %v", c.Task, c, err)
			model = next
			model.agrees(t, r)
		}
		for range rapid.IntRange(10, 60).Draw(t, "changes") {
			step(drawChange(t, r, &count))
			if rapid.IntRange(0, 2).Draw(t, "evaluate") == 0 {
				for _, c := range r.Evaluate(r.now) {
					step(c)
				}
			}
		}
	})
}

// A circle that leads through an ABANDONED task stops nobody, and its board can be restored.
func TestCircleThroughAbandoned(t *testing.T) {
	r := newRun(t, task("a"), task("b", "a"), task("c", "b"))
	r.evaluate()
	r.do(blackboard.RoleDirector, "b", blackboard.Move{Event: blackboard.EventAbandon, Reason: "no"})
	why := &blackboard.BlockedReason{Type: blackboard.ByDependency}
	r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventBlock, Blocked: why, Needs: []string{"c"}})
	_, err := blackboard.Restore([]byte(r.picture()), preference)
	require.NoError(t, err)
	r.do(blackboard.RoleDirector, "c", blackboard.Edit{DropNeeds: []string{"b"}})
	r.evaluate()
	r.is("a BLOCKED, b ABANDONED, c READY")
	r.complete("c")
	r.evaluate()
	r.is("a READY")
}
