package routing

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// NodeState is what a node is doing, as far as scheduling is concerned.
type NodeState string

// The states of nodes. Done and Abandoned are final.
const (
	Waiting   NodeState = "waiting"   // needs other nodes, or has not been made ready yet
	Ready     NodeState = "ready"     // may be started
	Active    NodeState = "active"    // is worked on, counts against the limits
	Held      NodeState = "held"      // not scheduled, counts against no limit: in review, or a person is asked
	Done      NodeState = "done"      // it is finished: nodes that need it may start
	Abandoned NodeState = "abandoned" // it is given up: nodes that need it cannot start until that need is dropped
)

// state is a NodeState in one byte.
type state uint8

const (
	waiting state = iota
	ready
	active
	held
	done
	abandoned
	unknown
)

var states = [...]NodeState{Waiting, Ready, Active, Held, Done, Abandoned}

// moves are the states that a node may move to, by the state it is in.
var moves = [...][]state{
	waiting:   {ready, held, abandoned},
	ready:     {waiting, active, held, abandoned},
	active:    {waiting, ready, held, done, abandoned},
	held:      {waiting, ready, done, abandoned},
	done:      nil,
	abandoned: nil,
}

// stateOf returns the state of a name; no name is waiting.
func stateOf(name NodeState) state {
	for s, known := range states {
		if name == known {
			return state(s)
		}
	}
	if name == "" {
		return waiting
	}
	return unknown
}

// Node is a piece of work as a [Graph] sees it.
type Node struct {
	ID       string    // not empty, unique in its graph
	Needs    []string  // IDs of the nodes that must be done before this one is ready
	Profile  string    // who can do it: limits are per profile
	Phase    string    // decides between nodes of equal priority
	Priority int       // higher comes first
	Created  time.Time // the earlier comes first among nodes of equal priority and phase

	// State is that of a node taken from another graph. Empty means waiting.
	State NodeState
	Since time.Time // time at which it became ready, for ageing

	// A Graph reads neither of these; a Scheduler may.
	Number   int   // place in the order of adding, the last thing that decides between nodes
	Estimate int64 // expected cost, in one unit for all nodes, such as nano-USD; 0: not known
}

// Graph schedules nodes that depend on each other. It keeps track of which nodes are
// due and which one is next; the cost of a change depends on the nodes that it affects,
// not on the size of the graph.
//
// The order in which ready nodes are started is: priority, highest first; phase;
// creation, earliest first; then the order in which they were added. So the same
// calls always give the same order.
//
// A Graph is not safe for concurrent use. A method that returns an error has changed
// nothing. Create it with NewGraph; the zero value is not usable.
type Graph struct {
	age     time.Duration
	ranks   map[string]int   // places of phases in the preference
	index   map[string]int32 // indexes of nodes, by ID
	nodes   []node           // in the order in which they were added
	ids     []string         // IDs of nodes
	created []time.Time      // times at which nodes were created
	links   links
	due     []int32
	queues  []*queue
	active  int
	asker   uint32 // the last number that ask returned
}

// Preference is how ready nodes of a [Graph] are ordered. The zero value orders by
// priority, creation and order of adding.
type Preference struct {
	// Phases are the phases in the order in which they are preferred. All other
	// phases come last and are equal.
	Phases []string `json:"phases,omitempty"`

	// AgeEvery raises the priority of each ready node by one whenever the clock
	// passes a multiple of it, so that nodes of low priority cannot wait for ever.
	// Zero or less means never.
	AgeEvery time.Duration `json:"ageEvery,omitzero"`
}

// node is a Node in a graph, identified by its index. It is small and has no pointers,
// so that large graphs fit into the caches of the processor.
type node struct {
	priority   int
	needs      list
	dependents list   // the nodes that need this one
	asked      uint32 // number of the asker that looked this node up last; it finds duplicate needs
	unmet      int32  // how many of needs are not done
	place      int32  // in the queue, while the node is ready
	rank       int32  // place of the phase in the preference
	queue      int32  // index of the profile's queue
	state      state
	listed     bool // is in due
}

// NewGraph returns an empty graph.
func NewGraph(p Preference) *Graph {
	g := &Graph{age: p.AgeEvery, ranks: make(map[string]int, len(p.Phases)), index: map[string]int32{}}
	for i, phase := range p.Phases {
		if _, ok := g.ranks[phase]; !ok {
			g.ranks[phase] = i
		}
	}
	return g
}

// Add adds nodes, all or none. Nodes may need each other in any order. It keeps no
// slice of them.
//
// The error joins all faults: an empty or duplicate ID, a need that does not exist, is
// abandoned, is listed twice or is the node itself, an unknown state, and a state that
// requires all needs to be done when they are not. If nodes need each other in a
// circle, it is [ErrCycle] with the path.
func (g *Graph) Add(nodes ...Node) error {
	base, err := g.resolve(nodes, none)
	if err != nil {
		return fmt.Errorf("routing: %w", err)
	}
	g.insert(base)
	for i := range nodes {
		g.enter(int32(base+i), nodes[i].Since)
	}
	return nil
}

// none is the index of no node.
const none int32 = -1

// resolve adds nodes with their needs, but not yet as dependents of other nodes, and
// returns the index of the first. If there is an error, it adds none. Gone is a node
// that is about to be abandoned, or none.
func (g *Graph) resolve(ns []Node, gone int32) (base int, err error) {
	base, before := len(g.nodes), len(g.links)
	faults := g.register(ns)
	at := g.links.extend(total(ns))
	inOrder := true
	for i := range ns {
		id := int32(base + i)
		g.nodes[id].needs = list{at: at, room: int32(len(ns[i].Needs))}
		at += int32(len(ns[i].Needs))
		asker := g.ask()
		for _, name := range ns[i].Needs {
			need, fault := g.need(asker, ns[i].ID, name, base, gone)
			if need == id {
				fault = fmt.Errorf("%q needs itself", ns[i].ID)
			}
			if fault != nil {
				faults = append(faults, fault)
				continue
			}
			inOrder = inOrder && need < id
			g.nodes[id].needs = g.links.add(g.nodes[id].needs, need)
		}
		if fault := g.stateFault(&g.nodes[id], &ns[i]); fault != nil {
			faults = append(faults, fault)
		}
	}
	err = errors.Join(faults...)
	if err == nil && !inOrder { // a circle has a node that needs a later one
		err = g.circle(g.since(base), g.needs)
	}
	if err != nil {
		g.forget(base)
		g.links = g.links[:before]
		return 0, err
	}
	return base, nil
}

// since returns the nodes that were added last, from an index on.
func (g *Graph) since(base int) []int32 {
	all := make([]int32, len(g.nodes)-base)
	for i := range all {
		all[i] = int32(base + i)
	}
	return all
}

// total counts the needs of nodes.
func total(ns []Node) (n int) {
	for i := range ns {
		n += len(ns[i].Needs)
	}
	return n
}

// register adds nodes without needs to the index of IDs, and returns the faults of
// their IDs.
func (g *Graph) register(ns []Node) (faults []error) {
	if len(g.nodes) == 0 {
		g.index = make(map[string]int32, len(ns))
	}
	g.nodes = slices.Grow(g.nodes, len(ns))
	g.ids, g.created = slices.Grow(g.ids, len(ns)), slices.Grow(g.created, len(ns))
	for i := range ns {
		n := &ns[i]
		rank, ok := g.ranks[n.Phase]
		if !ok {
			rank = len(g.ranks)
		}
		if n.ID == "" {
			faults = append(faults, fmt.Errorf("node %d has no ID", i))
		} else if _, taken := g.index[n.ID]; taken {
			faults = append(faults, fmt.Errorf("ID %q is taken", n.ID))
		} else {
			g.index[n.ID] = int32(len(g.nodes))
		}
		g.nodes = append(g.nodes, node{state: stateOf(n.State), priority: n.Priority, queue: g.queueOf(n.Profile), rank: int32(rank)})
		g.ids, g.created = append(g.ids, n.ID), append(g.created, n.Created)
	}
	return faults
}

// forget removes the nodes from an index on.
func (g *Graph) forget(base int) {
	for i, id := range g.ids[base:] {
		if g.index[id] == int32(base+i) {
			delete(g.index, id)
		}
	}
	clear(g.ids[base:])
	g.nodes, g.ids, g.created = g.nodes[:base], g.ids[:base], g.created[:base]
}

// ask returns a number that no node has in asked yet.
func (g *Graph) ask() uint32 {
	g.asker++
	if g.asker == 0 { // all numbers have been used
		for i := range g.nodes {
			g.nodes[i].asked = 0
		}
		g.asker = 1
	}
	return g.asker
}

// need returns the node of an ID, or an error that says why it cannot be a need of who. Nodes
// from base on are being added.
func (g *Graph) need(asker uint32, who, id string, base int, gone int32) (int32, error) {
	i, found := g.index[id]
	if !found {
		return none, fmt.Errorf("%q needs %q, which does not exist", who, id)
	}
	switch need := &g.nodes[i]; {
	case i == gone || need.state == abandoned && int(i) < base:
		return i, fmt.Errorf("%q needs %q, which is abandoned", who, id)
	case need.asked == asker:
		return i, fmt.Errorf("%q needs %q twice", who, id)
	default:
		need.asked = asker
		return i, nil
	}
}

// stateFault says why a new node cannot be in its state; nil: it can.
func (g *Graph) stateFault(n *node, as *Node) error {
	if n.state == unknown {
		return fmt.Errorf("%q has the unknown state %q", as.ID, as.State)
	}
	if n.state != ready && n.state != done {
		return nil
	}
	for _, need := range g.links.of(n.needs) {
		if s := g.nodes[need].state; s != done && s != unknown {
			return fmt.Errorf("%q is %s, but needs %q, which is %s", as.ID, as.State, g.ids[need], states[s])
		}
	}
	return nil
}

// circle returns ErrCycle if some of nodes need each other in a circle. Abandoned ones
// do not count.
func (g *Graph) circle(nodes []int32, needs func(int32) []int32) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n int32) bool { return g.nodes[n].state == abandoned })
	deps := make(map[string][]string, len(nodes))
	for _, n := range nodes {
		deps[g.ids[n]] = g.names(needs(n))
	}
	_, err := waves(g.names(nodes), deps)
	return err
}

// insert adds the nodes that resolve made to the dependents of what they need; enter follows.
func (g *Graph) insert(base int) {
	added := g.nodes[base:]
	more := make([]int32, len(added)) // how many of added need each of them
	inner := 0
	for i := range added {
		for _, need := range g.links.of(added[i].needs) {
			if int(need) >= base {
				more[int(need)-base]++
				inner++
			}
		}
	}
	at := g.links.extend(inner)
	for i := range added {
		added[i].dependents = list{at: at, room: more[i]}
		at += more[i]
	}
	for i := range added {
		g.connect(int32(base+i), g.links.of(added[i].needs))
	}
}

// connect adds a node to the dependents of its needs, and counts the unmet ones.
func (g *Graph) connect(id int32, needs []int32) {
	n := &g.nodes[id]
	for _, need := range needs {
		m := &g.nodes[need]
		m.dependents = g.links.add(m.dependents, id)
		if m.state != done {
			n.unmet++
		}
	}
}

// look adds a node to due, if it is due.
func (g *Graph) look(id int32) {
	if n := &g.nodes[id]; n.isDue() && !n.listed {
		n.listed = true
		g.due = append(g.due, id)
	}
}

func (n *node) isDue() bool { return n.state == waiting && n.unmet == 0 }

// Due returns the IDs of the waiting nodes whose needs are all done, in the order in
// which they were added. They stay due until they are moved.
func (g *Graph) Due() []string {
	g.due = slices.DeleteFunc(g.due, func(id int32) bool {
		n := &g.nodes[id]
		n.listed = n.isDue()
		return !n.listed
	})
	slices.Sort(g.due)
	return g.names(g.due)
}

// Move puts a node into another state at a time, which matters for ageing only.
//
// These moves are allowed: from waiting to ready, held and abandoned; from ready to
// waiting, active, held and abandoned; from active to all others; from held to all
// but active. Only a node whose needs are all done becomes ready, active or done.
// Any other move is an error that says why.
func (g *Graph) Move(id string, to NodeState, at time.Time) error {
	i, err := g.find(id)
	if err != nil {
		return err
	}
	n, next := &g.nodes[i], stateOf(to)
	if to == "" || !slices.Contains(moves[n.state], next) {
		return fmt.Errorf("routing: %q is %s and cannot become %s", id, states[n.state], to)
	}
	if n.unmet > 0 && (next == ready || next == active || next == done) {
		return fmt.Errorf("routing: %q cannot become %s: it needs %q", id, to, g.Unmet(id))
	}
	g.move(i, next, at)
	return nil
}

// move carries out a move that is allowed.
func (g *Graph) move(id int32, to state, at time.Time) {
	n := &g.nodes[id]
	switch n.state {
	case ready:
		g.queues[n.queue].remove(int(n.place))
	case active:
		g.queues[n.queue].active--
		g.active--
	case waiting, held, done, abandoned, unknown:
	}
	n.state = to
	g.enter(id, at)
	if to == done {
		for _, d := range g.links.of(n.dependents) {
			g.nodes[d].unmet--
			g.look(d)
		}
	}
}

// enter adds a node to the queue, the counts or the due nodes, depending on its state.
func (g *Graph) enter(id int32, at time.Time) {
	switch n := &g.nodes[id]; n.state {
	case ready:
		g.queues[n.queue].add(entry{minus(int64(n.priority), g.tick(at)), n.rank, id})
	case active:
		g.queues[n.queue].active++
		g.active++
	case waiting:
		g.look(id)
	case held, done, abandoned, unknown:
	}
}

// State returns the state of a node; "" if there is none of that ID.
func (g *Graph) State(id string) NodeState {
	if i, ok := g.index[id]; ok {
		return states[g.nodes[i].state]
	}
	return ""
}

// Needs returns the IDs of what a node needs, in their order; none for an unknown ID.
func (g *Graph) Needs(id string) []string {
	if i, ok := g.index[id]; ok {
		return g.names(g.needs(i))
	}
	return nil
}

// Unmet returns the IDs of the needs of a node that are not done, abandoned ones
// included, in their order; none for an unknown ID.
func (g *Graph) Unmet(id string) []string {
	i, ok := g.index[id]
	if !ok || g.nodes[i].unmet == 0 {
		return nil
	}
	var unmet []string
	for _, need := range g.needs(i) {
		if g.nodes[need].state != done {
			unmet = append(unmet, g.ids[need])
		}
	}
	return unmet
}

func (g *Graph) find(id string) (int32, error) {
	if i, ok := g.index[id]; ok {
		return i, nil
	}
	return none, fmt.Errorf("routing: node %q does not exist", id)
}

// needs and dependents return those of a node, which the caller must not change.
func (g *Graph) needs(id int32) []int32      { return g.links.of(g.nodes[id].needs) }
func (g *Graph) dependents(id int32) []int32 { return g.links.of(g.nodes[id].dependents) }

// names returns the IDs of nodes.
func (g *Graph) names(nodes []int32) []string {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = g.ids[n]
	}
	return ids
}
