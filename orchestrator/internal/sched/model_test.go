package sched_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/engine"
)

// model carries random programs out without coroutines, and without keeping count
// of anything: budgets are added up from all effects each time that somebody asks.
// It is what the scheduler is compared with.
type model struct {
	ready  []*line
	lines  []*line // all, in the order in which they were started
	ops    []*act  // all that were begun
	under  []*act  // what the engine holds
	worked time.Duration
	told   []string
	notes  []string
	stays  bool // the root does not end when it has done everything
}

// line is a branch.
type line struct {
	m        *model
	path     string
	parent   *line
	team     *team // that it belongs to
	index    int
	stack    []frame
	effects  int64
	kids     int
	wait     *act
	result   string // of the effect that it waited for; "": none came
	parked   bool   // it waits for its groups
	asleep   bool   // it has done everything, and stays
	canceled bool
	shielded bool
	begun    bool
	done     bool
	teams    []*team
	limits   []*act
}

// frame is a program on its way.
type frame struct {
	todo     program
	under    *budget // its budget
	shielded bool
	team     *team   // a group on its way
	ends     *budget // the budget that ends with it, if one does
}

// team is a group.
type team struct {
	step  step
	lines []*line
	ended []int
	taken int
	asked bool // for the next one that ends
}

func (t *team) running() int {
	n := len(t.lines)
	for _, l := range t.lines {
		if l.done {
			n--
		}
	}
	return n
}

// act is an effect.
type act struct {
	step     step
	key      string
	kind     engine.Kind
	line     *line
	under    *budget
	shielded bool
	gone     bool // given up
	done     bool
}

func newModel(p program, limit engine.Budget, stays bool) *model {
	m := &model{stays: stays}
	root := &line{m: m}
	m.lines, m.ready = []*line{root}, []*line{root}
	root.stack = []frame{{todo: p, under: root.budget(nil, limit)}}
	return m
}

// advance is Sched.Advance: how it ended, "done", "deadlock", or "" where it waits.
func (m *model) advance() string {
	for len(m.ready) > 0 {
		l := m.ready[0]
		m.ready = m.ready[1:]
		l.execute()
		if m.lines[0].done {
			m.withdraw()
			return "done"
		}
	}
	if !slices.ContainsFunc(m.ops, func(a *act) bool { return !a.done && !a.gone }) {
		return "deadlock"
	}
	return ""
}

func (m *model) tell(what string, a *act) {
	kind := map[engine.Kind]string{engine.Call: "call", engine.Sleep: "sleep", engine.Limit: "limit", engine.Await: "await", engine.Child: "child"}[a.kind]
	m.told = append(m.told, fmt.Sprintf("%s %s %s", what, kind, a.key))
}

func (l *line) say(format string, args ...any) {
	l.m.notes = append(l.m.notes, fmt.Sprintf("%q ", l.path)+fmt.Sprintf(format, args...))
}

// execute lets l go on until it waits or ends.
func (l *line) execute() {
	l.begun, l.parked = true, false
	if l.result != "" {
		said := l.result
		l.result = ""
		l.heard(said)
	}
	for l.wait == nil && !l.parked && !l.asleep && !l.done {
		f := l.top()
		switch {
		case f.team != nil:
			l.gather(f)
		case len(f.todo) > 0:
			l.step(f, f.todo[0])
		case len(l.stack) > 1:
			l.pop()
		case l.parent == nil && l.m.stays:
			l.asleep = true
		default:
			l.finish()
		}
	}
}

func (l *line) top() *frame { return &l.stack[len(l.stack)-1] }

func (l *line) step(f *frame, s step) {
	switch {
	case s.kids != nil:
		f.todo = f.todo[1:]
		f.team = &team{step: s}
		l.teams = append(l.teams, f.team)
	case s.budget != nil:
		f.todo = f.todo[1:]
		c := l.budget(f.under, *s.budget)
		l.stack = append(l.stack, frame{todo: s.inner, under: c, shielded: f.shielded, ends: c})
	case s.inner != nil:
		f.todo = f.todo[1:]
		l.stack = append(l.stack, frame{todo: s.inner, under: f.under, shielded: true})
	case l.canceled && !f.shielded:
		l.heard("[canceled]")
	case !f.shielded && l.m.refuses(s, f.under):
		l.heard("[budget]")
	default:
		l.wait = l.begin(&act{step: s, kind: s.kind, under: f.under, shielded: f.shielded})
	}
}

// heard is what an effect comes to.
func (l *line) heard(said string) {
	l.say("%s", said)
	s := l.top().todo[0]
	l.top().todo = l.top().todo[1:]
	if said == "ok" || !s.stops {
		return
	}
	for len(l.stack) > 1 {
		l.pop()
	}
	l.top().todo = nil
}

// pop ends a program inside of a program.
func (l *line) pop() {
	f := l.top()
	l.stack = l.stack[:len(l.stack)-1]
	if f.ends != nil {
		l.say("spent %d, left %+v", l.m.spent(f.ends).Calls, l.m.left(f.ends))
	}
}

func (l *line) begin(a *act) *act {
	a.line, a.key = l, engine.Key(l.path, l.effects)
	l.effects++
	l.m.ops = append(l.m.ops, a)
	l.m.under = append(l.m.under, a)
	l.m.tell("start", a)
	return a
}

// gather starts branches of a group, and takes one.
func (l *line) gather(f *frame) {
	t := f.team
	for !t.asked && len(t.lines) < len(t.step.kids) && (t.step.limit == 0 || t.running() < t.step.limit) {
		l.start(f)
	}
	switch {
	case t.taken == t.step.take || len(t.ended) == 0 && t.running() == 0:
		f.team = nil
	case len(t.ended) == 0:
		t.asked, l.parked = true, true
	default:
		i := t.ended[0]
		t.ended, t.asked = t.ended[1:], false
		l.say("takes %d", i)
		if c := t.step.cancels[t.taken]; c >= 0 && c < len(t.lines) {
			t.lines[c].cancel()
		}
		t.taken++
	}
}

// start starts the next branch of a group.
func (l *line) start(f *frame) {
	path := fmt.Sprint(l.kids)
	if l.path != "" {
		path = l.path + "." + path
	}
	l.kids++
	n := len(f.team.lines)
	kid := &line{
		m: l.m, path: path, parent: l, team: f.team, index: n, shielded: f.shielded, canceled: l.canceled && !f.shielded,
		stack: []frame{{todo: f.team.step.kids[n], under: f.under, shielded: f.shielded}},
	}
	f.team.lines = append(f.team.lines, kid)
	l.m.lines, l.m.ready = append(l.m.lines, kid), append(l.m.ready, kid)
}

func (l *line) finish() {
	l.say("leaves")
	l.done = true
	l.dropLimits()
	if l.team != nil {
		l.team.ended = append(l.team.ended, l.index)
		if l.parent.parked {
			l.parent.parked = false
			l.m.ready = append(l.m.ready, l.parent)
		}
	}
}

func (l *line) dropLimits() {
	for _, a := range l.limits {
		if !a.done && !a.gone {
			a.gone = true
			l.m.tell("cancel", a)
		}
	}
}

func (l *line) cancel() {
	if l.canceled || l.done || l.shielded {
		return
	}
	l.canceled = true
	if l.wait != nil && !l.wait.shielded {
		l.wait.giveUp("[canceled]")
	}
	for _, t := range l.teams {
		for _, kid := range t.lines {
			kid.cancel()
		}
	}
}

func (a *act) giveUp(why string) {
	a.line.m.tell("cancel", a)
	if a.kind != engine.Child {
		a.gone = true
		a.resolve(why)
	}
}

func (a *act) resolve(said string) {
	a.line.wait, a.line.result = nil, said
	a.line.m.ready = append(a.line.m.ready, a.line)
}

// complete is Sched.Complete.
func (m *model) complete(a *act) {
	a.done = true
	switch {
	case a.gone:
	case a.kind == engine.Limit:
		a.under.expired = true
		for _, l := range m.lines {
			if l.wait != nil && !l.wait.shielded && l.wait.under.within(a.under) {
				l.wait.giveUp("[budget]")
			}
		}
	case a.step.fails && (a.kind == engine.Call || a.kind == engine.Child):
		a.resolve("[acme/failed]")
	default:
		a.resolve("ok")
	}
}

// key and move are what the engine does; see player.
func (m *model) key(i int) string {
	if i < len(m.under) {
		return m.under[i].key
	}
	return ""
}

func (m *model) take(key string) *act {
	i := slices.IndexFunc(m.under, func(a *act) bool { return a.key == key })
	a := m.under[i]
	m.under = slices.Delete(m.under, i, i+1)
	return a
}

func (m *model) move(what, key string) {
	switch what {
	case "cancel":
		m.lines[0].cancel()
	case "drop":
		m.take(key)
	default:
		m.worked += time.Second
		m.complete(m.take(key))
	}
}

func (m *model) said() (told, notes []string) { return m.told, m.notes }

// withdraw is what the engine is told when the root has ended.
func (m *model) withdraw() {
	for _, l := range slices.Backward(m.lines) {
		if l.done {
			continue
		}
		if l.wait != nil {
			m.tell("cancel", l.wait)
		}
		l.dropLimits()
	}
}

// leave unwinds what is left.
func (m *model) leave() {
	for _, l := range slices.Backward(m.lines) {
		if l.begun && !l.done {
			l.say("leaves")
		}
	}
}
