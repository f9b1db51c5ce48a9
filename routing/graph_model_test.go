package routing_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/routing"
)

// slowGraph is a second Graph that keeps only its nodes in order of adding and recomputes
// everything at each call.
type slowGraph struct {
	age   time.Duration
	nodes []slowNode
}

type slowNode struct {
	routing.Node
	state routing.NodeState
	since time.Time // of being ready
}

func (s *slowGraph) clone() *slowGraph {
	c := &slowGraph{age: s.age, nodes: slices.Clone(s.nodes)}
	for i := range c.nodes {
		c.nodes[i].Needs = slices.Clone(c.nodes[i].Needs)
	}
	return c
}

func (s *slowGraph) find(id string) *slowNode {
	for i := range s.nodes {
		if s.nodes[i].ID == id {
			return &s.nodes[i]
		}
	}
	return nil
}

func (s *slowGraph) state(id string) routing.NodeState {
	if n := s.find(id); n != nil {
		return n.state
	}
	return ""
}

func (s *slowGraph) unmet(id string) []string {
	var ids []string
	if n := s.find(id); n != nil {
		for _, need := range n.Needs {
			if s.state(need) != routing.Done {
				ids = append(ids, need)
			}
		}
	}
	return ids
}

func (s *slowGraph) due() []string {
	var ids []string
	for _, n := range s.nodes {
		if n.state == routing.Waiting && len(s.unmet(n.ID)) == 0 {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

func (s *slowGraph) queue() []string {
	ready := slices.DeleteFunc(slices.Clone(s.nodes), func(n slowNode) bool { return n.state != routing.Ready })
	now := start.Add(1000 * time.Hour)
	points := func(n slowNode) int {
		if s.age == 0 {
			return n.Priority
		}
		return n.Priority + int(now.UnixNano()/int64(s.age)-n.since.UnixNano()/int64(s.age))
	}
	rank := func(n slowNode) int {
		if i := slices.Index(phases, n.Phase); i >= 0 {
			return i
		}
		return len(phases)
	}
	slices.SortStableFunc(ready, func(a, b slowNode) int {
		return cmp.Or(points(b)-points(a), rank(a)-rank(b), a.Created.Compare(b.Created))
	})
	var ids []string
	for _, n := range ready {
		ids = append(ids, n.ID)
	}
	return ids
}

func (s *slowGraph) next(l routing.Limits) string {
	active := map[string]int{}
	all := 0
	for _, n := range s.nodes {
		if n.state == routing.Active {
			active[n.Profile]++
			all++
		}
	}
	for _, id := range s.queue() {
		limit, limited := l.Profiles[s.find(id).Profile]
		if all < l.Global && (!limited || active[s.find(id).Profile] < limit) {
			return id
		}
	}
	return ""
}

// needs tells whether a node needs another one, directly or through others that are
// not abandoned.
func (s *slowGraph) needs(id, other string) bool {
	reached := map[string]bool{}
	var walk func(string)
	walk = func(at string) {
		for _, need := range s.find(at).Needs {
			n := s.find(need)
			if n == nil || reached[need] {
				continue
			}
			reached[need] = n.state != routing.Abandoned || need == other
			if n.state != routing.Abandoned {
				walk(need)
			}
		}
	}
	walk(id)
	return reached[other]
}

func (s *slowGraph) descendants(id string) []string {
	var ids []string
	for _, n := range s.nodes {
		if n.state != routing.Abandoned && s.needs(n.ID, id) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// fit tells whether the graph is valid, after needs were added to a valid graph.
func (s *slowGraph) fit(before *slowGraph) bool {
	seen := map[string]bool{}
	for _, n := range s.nodes {
		if n.ID == "" || seen[n.ID] || n.state != routing.Abandoned && s.needs(n.ID, n.ID) {
			return false
		}
		seen[n.ID] = true
		for i, need := range n.Needs {
			old := before.find(n.ID) != nil && slices.Contains(before.find(n.ID).Needs, need)
			gone := before.find(need) != nil && s.state(need) == routing.Abandoned
			if need == n.ID || s.find(need) == nil || slices.Contains(n.Needs[:i], need) || !old && gone {
				return false
			}
			if before.find(n.ID) == nil && (n.state == routing.Ready || n.state == routing.Done) && s.state(need) != routing.Done {
				return false
			}
		}
	}
	return true
}

func (s *slowGraph) open(id string) bool {
	return s.find(id) != nil && s.state(id) != routing.Done && s.state(id) != routing.Abandoned
}

func (s *slowGraph) add(nodes []routing.Node) {
	for _, n := range nodes {
		s.nodes = append(s.nodes, slowNode{Node: n, state: cmp.Or(n.State, routing.Waiting), since: n.Since})
	}
}

func (s *slowGraph) depend(id string, on []string) {
	n := s.find(id)
	for _, need := range on {
		if !slices.Contains(n.Needs, need) {
			n.Needs = append(n.Needs, need)
		}
	}
	if n.state == routing.Ready && len(s.unmet(id)) > 0 {
		n.state = routing.Waiting
	}
}

func (s *slowGraph) split(id string, into []routing.Node) {
	parent := s.find(id).Needs
	var last []string
	for _, n := range into {
		isInner := func(need string) bool {
			return slices.ContainsFunc(into, func(m routing.Node) bool { return m.ID == need })
		}
		if !slices.ContainsFunc(n.Needs, isInner) {
			own := slices.DeleteFunc(slices.Clone(n.Needs), func(need string) bool { return slices.Contains(parent, need) })
			n.Needs = slices.Concat(parent, own)
		}
		if !slices.ContainsFunc(into, func(m routing.Node) bool { return slices.Contains(m.Needs, n.ID) }) {
			last = append(last, n.ID)
		}
		s.add([]routing.Node{n})
	}
	s.find(id).state = routing.Abandoned
	for i := range s.nodes {
		n := &s.nodes[i]
		if at := slices.Index(n.Needs, id); at >= 0 && n.state != routing.Abandoned && !slices.ContainsFunc(into, func(m routing.Node) bool { return m.ID == n.ID }) {
			n.Needs = slices.Concat(n.Needs[:at], last, n.Needs[at+1:])
		}
	}
}

func (s *slowGraph) mayMove(id string, to routing.NodeState) bool {
	if !s.open(id) {
		return false
	}
	from := s.state(id)
	if (to == routing.Ready || to == routing.Active || to == routing.Done) && len(s.unmet(id)) > 0 {
		return false
	}
	switch to {
	case routing.Waiting:
		return from != routing.Waiting
	case routing.Ready:
		return from != routing.Ready
	case routing.Active:
		return from == routing.Ready
	case routing.Held:
		return from != routing.Held
	case routing.Done:
		return from == routing.Active || from == routing.Held
	case routing.Abandoned:
		return true
	}
	return false
}

// bothGraphs do the same and are compared after each step.
type bothGraphs struct {
	t      *rapid.T
	g      *routing.Graph
	slow   *slowGraph
	limits routing.Limits
	count  int
}

var allStates = []routing.NodeState{routing.Waiting, routing.Ready, routing.Active, routing.Held, routing.Done, routing.Abandoned}

// id draws the ID of a node, now and then of none.
func (b *bothGraphs) id(label string) string {
	i := rapid.IntRange(0, max(b.count, 1)).Draw(b.t, label)
	return fmt.Sprint("n", i)
}

func (b *bothGraphs) draw(more int) []routing.Node {
	nodes := make([]routing.Node, more)
	for i := range nodes {
		nodes[i] = routing.Node{
			ID:       fmt.Sprint("n", b.count+i),
			Profile:  rapid.SampledFrom([]string{"p", "q", "r"}).Draw(b.t, "profile"),
			Phase:    rapid.SampledFrom([]string{"plan", "build", "test", "odd"}).Draw(b.t, "phase"),
			Priority: rapid.IntRange(-1, 1).Draw(b.t, "priority"),
			Created:  start.Add(time.Duration(rapid.IntRange(0, 1).Draw(b.t, "created"))),
		}
		if rapid.IntRange(0, 4).Draw(b.t, "begun") == 0 {
			nodes[i].State, nodes[i].Since = rapid.SampledFrom(allStates).Draw(b.t, "state"), start
		}
		for range rapid.IntRange(0, 3).Draw(b.t, "needs") {
			need := fmt.Sprint("n", rapid.IntRange(0, b.count+i).Draw(b.t, "need"))
			if rapid.IntRange(0, 9).Draw(b.t, "wild") == 0 {
				need = fmt.Sprint("n", rapid.IntRange(0, b.count+more).Draw(b.t, "any need"))
			}
			if need != nodes[i].ID && !slices.Contains(nodes[i].Needs, need) {
				nodes[i].Needs = append(nodes[i].Needs, need)
			}
		}
	}
	return nodes
}

// try applies a change to the slow graph if that is fit afterwards, and says so.
func (b *bothGraphs) try(change func(*slowGraph)) bool {
	after := b.slow.clone()
	change(after)
	if !after.fit(b.slow) {
		return false
	}
	b.slow = after
	b.count = len(after.nodes)
	return true
}

func (b *bothGraphs) agree(ok bool, err error) {
	assert.Equal(b.t, ok, err == nil, "%v", err)
}

func (b *bothGraphs) Add(*rapid.T) {
	nodes := b.draw(rapid.IntRange(1, 4).Draw(b.t, "nodes"))
	b.agree(b.try(func(s *slowGraph) { s.add(nodes) }), b.g.Add(nodes...))
}

func (b *bothGraphs) Depend(*rapid.T) {
	id, on := b.id("node"), []string{b.id("on"), b.id("on")}
	b.agree(b.slow.open(id) && b.try(func(s *slowGraph) { s.depend(id, on) }), b.g.Depend(id, on...))
}

func (b *bothGraphs) Drop(*rapid.T) {
	id, need := b.id("node"), b.id("need")
	ok := b.slow.open(id) && slices.Contains(b.slow.find(id).Needs, need)
	if ok {
		n := b.slow.find(id)
		n.Needs = slices.DeleteFunc(n.Needs, func(m string) bool { return m == need })
	}
	b.agree(ok, b.g.Drop(id, need))
}

func (b *bothGraphs) Split(*rapid.T) {
	id, into := b.id("node"), b.draw(rapid.IntRange(0, 3).Draw(b.t, "into"))
	_, err := b.g.Split(id, into...)
	b.agree(b.slow.open(id) && len(into) > 0 && b.try(func(s *slowGraph) { s.split(id, into) }), err)
}

func (b *bothGraphs) Move(*rapid.T) {
	id, to := b.id("node"), rapid.SampledFrom(allStates).Draw(b.t, "to")
	at := start.Add(time.Duration(rapid.IntRange(0, 300).Draw(b.t, "at")) * time.Second)
	ok := b.slow.mayMove(id, to)
	if ok {
		n := b.slow.find(id)
		n.state, n.since = to, at
	}
	b.agree(ok, b.g.Move(id, to, at))
}

func (b *bothGraphs) Prioritize(*rapid.T) {
	id, priority := b.id("node"), rapid.IntRange(-2, 2).Draw(b.t, "priority")
	if n := b.slow.find(id); n != nil {
		n.Priority = priority
	}
	b.g.Prioritize(id, priority)
}

func (b *bothGraphs) Evaluate(*rapid.T) {
	for _, id := range evaluate(b.t, b.g) {
		n := b.slow.find(id)
		n.state, n.since = routing.Ready, start
	}
}

func (b *bothGraphs) Start(*rapid.T) {
	if id, ok := b.g.Next(b.limits); ok {
		require.NoError(b.t, b.g.Move(id, routing.Active, start))
		b.slow.find(id).state = routing.Active
	}
}

func (b *bothGraphs) Finish(*rapid.T) {
	for _, n := range b.slow.nodes {
		if n.state == routing.Active {
			b.agree(b.slow.mayMove(n.ID, routing.Done), b.g.Move(n.ID, routing.Done, start))
			if len(b.slow.unmet(n.ID)) == 0 {
				b.slow.find(n.ID).state = routing.Done
			}
			return
		}
	}
}

// Check compares all that a graph can be asked.
func (b *bothGraphs) Check(*rapid.T) {
	join := func(ids []string) string { return strings.Join(ids, " ") }
	assert.Equal(b.t, join(b.slow.due()), join(b.g.Due()), "due")
	assert.Equal(b.t, join(b.slow.queue()), join(b.g.Queue()), "queue")
	next, _ := b.g.Next(b.limits)
	assert.Equal(b.t, b.slow.next(b.limits), next, "next")
	for _, n := range b.slow.nodes {
		assert.Equal(b.t, n.state, b.g.State(n.ID), n.ID)
		assert.Equal(b.t, join(n.Needs), join(b.g.Needs(n.ID)), "needs of %s", n.ID)
		assert.Equal(b.t, join(b.slow.unmet(n.ID)), join(b.g.Unmet(n.ID)), "unmet of %s", n.ID)
		below := b.g.Descendants(n.ID)
		assert.ElementsMatch(b.t, b.slow.descendants(n.ID), below, "below %s", n.ID)
		for i, id := range below {
			for _, later := range below[i:] {
				assert.NotContains(b.t, b.slow.find(id).Needs, later, "order below %s", n.ID)
			}
		}
		var direct []string
		for _, d := range b.slow.nodes {
			if d.state != routing.Abandoned && slices.Contains(d.Needs, n.ID) {
				direct = append(direct, d.ID)
			}
		}
		assert.Equal(b.t, join(direct), join(b.g.Dependents(n.ID)), "dependents of %s", n.ID)
	}
}

func TestGraphLikeSlowGraph(t *testing.T) {
	t.Run("BC48 B33 B37 B40 BX22 the same as a graph that recomputes everything", rapid.MakeCheck(func(t *rapid.T) {
		age := time.Duration(rapid.SampledFrom([]int{0, 60}).Draw(t, "age")) * time.Second
		b := &bothGraphs{t: t, slow: &slowGraph{age: age}, g: routing.NewGraph(routing.Preference{Phases: phases, AgeEvery: age})}
		b.limits = routing.Limits{Global: rapid.IntRange(1, 4).Draw(t, "global"), Profiles: map[string]int{"p": 1, "q": 0}}
		t.Repeat(rapid.StateMachineActions(b))
	}))
}

// run completes a graph: each step finishes one active node, drawn by
// pick, and starts what the limits allow. It returns what was started in that order.
func run(t checker, nodes []routing.Node, limits routing.Limits, pick func(active int) int) []string {
	t.Helper()
	g := routing.NewGraph(routing.Preference{Phases: phases})
	require.NoError(t, g.Add(nodes...))
	byID := map[string]routing.Node{}
	for _, n := range nodes {
		byID[n.ID] = n
	}
	done, running := map[string]bool{}, map[string]int{}
	var started, active []string
	for {
		evaluate(t, g)
		for _, id := range dispatch(t, g, limits) {
			for _, need := range byID[id].Needs {
				require.True(t, done[need], "%s was started before %s was done", id, need)
			}
			running[byID[id].Profile]++
			active, started = append(active, id), append(started, id)
		}
		require.LessOrEqual(t, len(active), limits.Global)
		for profile, limit := range limits.Profiles {
			require.LessOrEqual(t, running[profile], limit)
		}
		for _, id := range g.Queue() { // a waiting node waits for a full limit
			p := byID[id].Profile
			limit, limited := limits.Profiles[p]
			require.True(t, len(active) == limits.Global || limited && running[p] == limit, "%s is left waiting", id)
		}
		if len(active) == 0 {
			return started
		}
		i := pick(len(active))
		move(t, g, routing.Done, active[i])
		done[active[i]] = true
		running[byID[active[i]].Profile]--
		active = slices.Delete(active, i, i+1)
	}
}

func TestGraphLaws(t *testing.T) {
	t.Run("B33 B39 B40 BX21 BX22 no node before its needs, no limit exceeded, no node left out, the same order again", rapid.MakeCheck(func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "nodes")
		nodes := make([]routing.Node, n)
		for i := range nodes {
			nodes[i] = routing.Node{
				ID: fmt.Sprint(i), Profile: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "profile"),
				Phase: rapid.SampledFrom(phases).Draw(t, "phase"), Priority: rapid.IntRange(0, 2).Draw(t, "priority"),
			}
			for j := range i {
				if rapid.IntRange(0, 7).Draw(t, "need") == 0 {
					nodes[i].Needs = append(nodes[i].Needs, fmt.Sprint(j))
				}
			}
		}
		order := rapid.Permutation(nodes).Draw(t, "order of adding")
		limits := routing.Limits{Global: rapid.IntRange(1, 4).Draw(t, "global"), Profiles: map[string]int{"p": rapid.IntRange(1, 2).Draw(t, "p")}}
		picks := rapid.SliceOfN(rapid.IntRange(0, 3), n, n).Draw(t, "picks")
		var orders [2][]string
		for i := range orders {
			at := 0
			orders[i] = run(t, order, limits, func(active int) int { at++; return picks[at-1] % active })
		}
		assert.Len(t, orders[0], n)
		assert.Equal(t, orders[0], orders[1])
	}))
}

func TestGraphQueue(t *testing.T) {
	t.Run("B37 B41 BX22 whichever ready nodes are taken out or get another priority, the others start in order", rapid.MakeCheck(func(t *rapid.T) {
		g := routing.NewGraph(routing.Preference{})
		var priorities []int // -1: taken out
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at := rapid.IntRange(0, max(len(priorities)-1, 0)).Draw(t, "node")
			id, priority := fmt.Sprint(at), rapid.IntRange(0, 50).Draw(t, "priority")
			switch what := rapid.IntRange(0, 4).Draw(t, "what"); {
			case what > 1 || len(priorities) == 0:
				addReady(t, g, &priorities, priority)
			case what == 1 && priorities[at] >= 0:
				g.Prioritize(id, priority)
				priorities[at] = priority
			case priorities[at] >= 0:
				require.NoError(t, g.Move(id, routing.Held, start))
				priorities[at] = -1
			}
		}
		require.Equal(t, byPriority(priorities), drain(t, g))
	}))
	t.Run("B37 one that takes the place of another may belong above its neighbours", func(t *testing.T) {
		g := routing.NewGraph(routing.Preference{})
		var priorities []int
		for _, p := range []int{50, 40, 49, 39, 38, 48} {
			addReady(t, g, &priorities, p)
		}
		require.NoError(t, g.Move("4", routing.Held, start)) // the last one, 48, comes to stand below 40
		priorities[4] = -1
		for range 4 {
			addReady(t, g, &priorities, 1)
		}
		require.Equal(t, []string{"0", "2", "5", "1", "3", "6", "7", "8", "9"}, drain(t, g))
	})
}

// addReady adds a ready node whose ID is its number.
func addReady(t checker, g *routing.Graph, priorities *[]int, priority int) {
	t.Helper()
	id := fmt.Sprint(len(*priorities))
	require.NoError(t, g.Add(routing.Node{ID: id, Priority: priority}))
	require.NoError(t, g.Move(id, routing.Ready, start))
	*priorities = append(*priorities, priority)
}

// byPriority returns the IDs of nodes in the order in which they are to start.
func byPriority(priorities []int) (ids []string) {
	for p := 50; p >= 0; p-- {
		for i, q := range priorities {
			if p == q {
				ids = append(ids, fmt.Sprint(i))
			}
		}
	}
	return ids
}

// drain starts all ready nodes, and returns their IDs in order.
func drain(t checker, g *routing.Graph) (ids []string) {
	t.Helper()
	limits := routing.Limits{Global: 1000}
	for id, ok := g.Next(limits); ok; id, ok = g.Next(limits) {
		require.NoError(t, g.Move(id, routing.Active, start))
		ids = append(ids, id)
	}
	return ids
}
