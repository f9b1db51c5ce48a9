package sched_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// model carries random programs out without coroutines, and without keeping count
// of anything: budgets are added up from all effects each time that somebody asks.
// It is what the scheduler is compared with.
type model struct {
	ready  []*line
	lines  []*line // all, in the order in which they were started
	ops    []*act  // all that were begun
	under  []*act  // what the engine holds
	queue  []*act  // calls that wait for room, the earliest first
	armed  *act    // the time limit that the engine holds
	seen   []seen  // of agents
	worked time.Duration
	told   []string
	notes  []string
	emits  []string
	stays  bool // the root does not end when it has done everything

	applied, losses int
}

// seen is what a call of an agent cost.
type seen struct {
	agent string
	cost  int64
	calls int64 // of models
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
	budgets  []*budget
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
	begun    bool // the engine has it
	open     bool // a call under way, for budgets
	gone     bool // given up
	told     bool // the engine is told to cancel it
	ends     bool // told to end, by its time or a cancel
	done     bool
	over     bool // lost for good, or left behind
	refused  bool
	charged  bool
	late     bool // left behind, and charged since
	wants    wants
	until    time.Duration // of a limit
	share    engine.Budget // of a child

	used       figures
	held       figures // of used: what counts only when what it wants does not any more
	lost       figures // its calls
	lostCost   providers.NanoUSD
	lostTokens int64
}

func newModel(p program, limit engine.Budget, stays bool) *model {
	m := &model{stays: stays}
	root := &line{m: m}
	m.lines, m.ready = []*line{root}, []*line{root}
	root.stack = []frame{{todo: p, under: root.budget(nil, limit)}}
	root.budgets = []*budget{root.stack[0].under}
	return m
}

// advance is Sched.Advance: how it ended, "done", "deadlock", or "" where it waits.
func (m *model) advance() string {
	for len(m.ready) > 0 && !m.lines[0].done {
		l := m.ready[0]
		m.ready = m.ready[1:]
		l.execute()
		if m.lines[0].done {
			m.withdraw()
		}
	}
	if m.lines[0].done {
		if slices.ContainsFunc(m.ops, func(a *act) bool {
			return (a.kind == engine.Child || a.kind == engine.Call) && a.begun && !a.done && !a.over && !a.refused
		}) {
			return ""
		}
		return "done"
	}
	m.arm()
	if !slices.ContainsFunc(m.lines, func(l *line) bool { return l.wait != nil }) {
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
	for l.wait == nil && l.result == "" && !l.parked && !l.asleep && !l.done {
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
		l.budgets = append(l.budgets, c)
		l.stack = append(l.stack, frame{todo: s.inner, under: c, shielded: f.shielded, ends: c})
	case s.inner != nil:
		f.todo = f.todo[1:]
		l.stack = append(l.stack, frame{todo: s.inner, under: f.under, shielded: true})
	case l.canceled && !f.shielded:
		l.heard("[canceled over]")
	default:
		a := &act{step: s, kind: s.kind, under: f.under, shielded: f.shielded, line: l, key: engine.Key(l.path, l.effects)}
		l.effects++
		l.m.ask(a)
	}
}

// ask has a start, wait for room, or be refused.
func (m *model) ask(a *act) {
	l := a.line
	calls := a.kind == engine.Call || a.kind == engine.Child
	verdict := "yes"
	switch {
	case a.shielded:
	case m.late(a.under):
		verdict = "no"
	case a.kind == engine.Child:
		if left := m.left(a.under); left.Calls < 0 || left.Cost < 0 || left.Tokens < 0 {
			verdict = "no"
		}
	case a.kind == engine.Call:
		if len(m.queue) == 0 {
			m.unblock()
		}
		verdict = m.judge(a)
	}
	m.ops = append(m.ops, a)
	switch verdict {
	case "no":
		if calls {
			m.refuse(a)
		}
		a.gone = true
		a.resolve("[budget over]")
		return
	case "yes":
		m.begin(a)
	default:
		m.queue = append(m.queue, a)
	}
	l.wait = a
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
		l.say("spent %d, left %+v", l.m.spent(f.ends).calls, l.m.left(f.ends))
	}
}

// begin starts a, unless the engine has it.
func (m *model) begin(a *act) {
	if a.kind == engine.Call {
		a.open = true
	}
	if a.kind == engine.Child {
		a.share = m.left(a.under)
	}
	if !a.begun {
		a.begun = true
		m.under = append(m.under, a)
		m.tell("start", a)
	}
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
	if l.team != nil {
		l.team.ended = append(l.team.ended, l.index)
		if l.parent.parked {
			l.parent.parked = false
			l.m.ready = append(l.m.ready, l.parent)
		}
	}
}

func (l *line) cancel() {
	if l.canceled || l.done || l.shielded {
		return
	}
	l.canceled = true
	if l.wait != nil && !l.wait.shielded {
		l.wait.giveUp("[canceled over]")
	}
	for _, t := range l.teams {
		for _, kid := range t.lines {
			kid.cancel()
		}
	}
}

func (a *act) giveUp(why string) {
	m := a.line.m
	a.ends = true
	m.unqueue(a)
	if a.begun && !a.told {
		a.told = true
		m.tell("cancel", a)
	}
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
func (m *model) complete(a *act, how string) {
	if a.kind == engine.Limit {
		m.expire(a)
		return
	}
	said := "ok"
	if a.kind == engine.Call || a.kind == engine.Child {
		said = m.settle(a, how)
	}
	a.done = true
	if !a.gone && !m.lines[0].done {
		a.resolve(said)
	}
}

// settle counts what a call or a child cost, and says how it ended.
func (m *model) settle(a *act, how string) string {
	a.open, a.held = false, figures{}
	if how == "leave" {
		a.over = true
		a.used.calls++
		if a.kind == engine.Call {
			a.lost.calls += a.wants.lost() - 1
			a.lostCost, a.lostTokens = a.lostCost+a.wants.cost, a.lostTokens+a.wants.tokens
		} else {
			a.lost.calls += max(a.share.Calls-1, 0)
			a.lostCost, a.lostTokens = a.lostCost+max(a.share.Cost, 0), a.lostTokens+max(a.share.Tokens, 0)
		}
		return "[left-behind]"
	}
	a.used.cost += a.step.cost
	if a.kind == engine.Call {
		a.used.calls += a.step.models
		if a.step.cost > 0 || a.step.models > 1 || !a.step.fails {
			m.seen = append(m.seen, seen{a.step.agent, a.step.cost, a.step.models})
		}
		if a.step.fails {
			return "[acme/failed]"
		}
		return "ok"
	}
	a.used.calls++
	a.lost.calls += a.step.estimate // of a child: what it lost
	m.seen = append(m.seen, seen{"b", a.step.cost, 0})
	if !a.step.fails {
		return "ok"
	}
	a.done = true // its share is free
	top := m.lines[0].budgets[0]
	if left := m.left(top); a.line.canceled || m.late(top) || left.Calls < 0 || left.Cost < 0 || left.Tokens < 0 {
		return "[acme/failed over]"
	}
	return "[acme/failed]"
}

// charge is Sched.Charge, of 1 call that used 1.
func (m *model) charge(a *act) {
	a.used.calls++
	a.used.cost++
	switch {
	case a.over && a.done:
		if !a.late { // what was held for it is known now
			a.late = true
			if a.kind == engine.Call {
				a.lost.calls -= a.wants.lost() - 1
				a.lostCost, a.lostTokens = a.lostCost-a.wants.cost, a.lostTokens-a.wants.tokens
			} else {
				a.lost.calls -= max(a.share.Calls-1, 0)
				a.lostCost, a.lostTokens = a.lostCost-max(a.share.Cost, 0), a.lostTokens-max(a.share.Tokens, 0)
			}
		}
		if a.kind == engine.Call {
			m.seen = append(m.seen, seen{a.step.agent, 1, 1})
		}
	case !a.done && !a.over:
		a.charged = true
		a.held.calls++
		a.held.cost++
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
	if what == "drop" {
		m.take(key)
		return
	}
	m.applied++
	switch what {
	case "cancel":
		m.lines[0].cancel()
	case "lose":
		m.lose(key)
		return
	case "cut", "late":
		m.charge(m.find(key))
	default:
		m.worked += time.Second
		m.complete(m.take(key), what)
	}
	m.decide()
}

// find finds the effect of that key; the latest, if limits have the same.
func (m *model) find(key string) *act {
	i := slices.IndexFunc(m.ops, func(a *act) bool { return a.key == key && a.begun })
	return m.ops[i]
}

func (m *model) said() (told, notes, emits []string) { return m.told, m.notes, m.emits }

// tally is Sched.Tally.
func (m *model) tally() string {
	var spent, lost figures
	var cost providers.NanoUSD
	var tokens int64
	for _, a := range m.ops {
		spent.calls += a.used.calls
		spent.cost += a.used.cost
		lost.calls += a.lost.calls
		cost += a.lostCost
		tokens += a.lostTokens
	}
	return tallied(usageOf(spent), engine.Lost{Calls: lost.calls, Cost: cost, Tokens: tokens})
}

func tallied(spent providers.Usage, lost engine.Lost) string {
	return fmt.Sprintf("spent %d %d %d, lost %d %d %d", spent.Calls, spent.Cost, spent.Input, lost.Calls, lost.Cost, lost.Tokens)
}

// withdraw is what the engine is told when the root has ended.
func (m *model) withdraw() {
	m.queue = nil
	for _, l := range slices.Backward(m.lines) {
		a := l.wait
		if l.done || a == nil {
			continue
		}
		if a.begun && !a.told {
			a.told = true
			m.tell("cancel", a)
		}
		a.gone = a.kind != engine.Child
	}
	if m.armed != nil {
		m.tell("cancel", m.armed)
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
