package routing

import (
	"cmp"
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
	Active    NodeState = "active"    // is worked on, and counts against the limits
	Held      NodeState = "held"      // started or stopped, and counts against no limit: in review, or a person is asked
	Done      NodeState = "done"      // what needs it may start
	Abandoned NodeState = "abandoned" // what needs it cannot start until that need is dropped
)

// moves are the states that a node may move to, by the state it is in.
var moves = map[NodeState][]NodeState{
	Waiting: {Ready, Held, Abandoned},
	Ready:   {Waiting, Active, Held, Abandoned},
	Active:  {Waiting, Ready, Held, Done, Abandoned},
	Held:    {Waiting, Ready, Done, Abandoned},
}

// Node is a piece of work as a [Graph] sees it.
type Node struct {
	ID       string    // not empty, unique in its graph
	Needs    []string  // IDs of the nodes that must be done before this one is ready
	Profile  string    // who can do it: limits are per profile
	Phase    string    // decides between nodes of equal priority
	Priority int       // higher comes first
	Created  time.Time // the earlier comes first among nodes of equal priority and phase

	// State is where a node is that was in another graph before. Empty means waiting.
	State NodeState
	Since time.Time // of being ready, for ageing
}

// Graph schedules nodes that need each other. It always knows which nodes are due
// and which one is next; a change costs time for the nodes that it touches, not for
// the whole graph.
//
// The order in which ready nodes are started is: priority, highest first; phase;
// creation, earliest first; then the order in which they were added. So the same
// calls always give the same order.
//
// A Graph is for one goroutine at a time. A method that returns an error has changed
// nothing. NewGraph makes it; the zero value is of no use.
type Graph struct {
	age    time.Duration
	ranks  map[string]int // of phases
	nodes  map[string]*node
	size   int
	due    []*node
	queues []*queue
	active int
}

// Preference is how ready nodes of a [Graph] are ordered. The zero value orders by
// priority, creation and order of adding.
type Preference struct {
	// Phases are the phases in the order in which they are preferred. All other
	// phases come last and are equal.
	Phases []string

	// AgeEvery raises the priority of each ready node by one whenever the clock
	// passes a multiple of it, so that nodes of low priority cannot wait for ever.
	// Zero or less means never.
	AgeEvery time.Duration
}

// node is a Node in a graph.
type node struct {
	id         string
	created    time.Time
	state      NodeState
	needs      []*node
	dependents []*node // who needs this one
	asked      *node   // the last node that was given this one as a need
	queue      *queue  // of the profile
	priority   int
	urgency    int64 // the priority that decides in the queue
	seq        int   // counts the nodes in the order in which they were added
	rank       int   // of the phase
	unmet      int   // how many of needs are not done
	place      int   // in the queue, while the node is ready
	listed     bool  // is in due
}

// NewGraph returns an empty graph.
func NewGraph(p Preference) *Graph {
	g := &Graph{age: p.AgeEvery, ranks: make(map[string]int, len(p.Phases)), nodes: map[string]*node{}}
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
// The error joins all faults: an empty ID, one that is taken, a need that does not
// exist, was abandoned before, is listed twice or is the node itself, an unknown state,
// and one that needs all needs done though they are not. If nodes need each other in a
// circle, it is [ErrCycle] with the path.
func (g *Graph) Add(nodes ...Node) error {
	added, err := g.resolve(nodes, nil)
	if err != nil {
		return fmt.Errorf("routing: %w", err)
	}
	g.insert(added)
	for i, n := range nodes {
		g.enter(added[i], n.Since)
	}
	return nil
}

// resolve makes nodes that know their needs and can be found, but that nothing in the
// graph knows of yet: forget takes them back. Gone is a node that takes no part any
// more, or nil.
func (g *Graph) resolve(ns []Node, gone *node) (added []*node, err error) {
	added, faults := g.register(ns)
	needs := make([]*node, 0, total(ns))
	inOrder := true
	for i, n := range added {
		n.needs = needs[len(needs):len(needs):cap(needs)]
		for _, id := range ns[i].Needs {
			need := g.nodes[id]
			if fault := g.need(n, need, id, gone); fault != nil {
				faults = append(faults, fault)
				continue
			}
			inOrder = inOrder && need.seq < n.seq
		}
		needs = needs[:len(needs)+len(n.needs)]
		n.needs = slices.Clip(n.needs)
		if fault := n.stateFault(); fault != nil {
			faults = append(faults, fault)
		}
	}
	err = errors.Join(faults...)
	if err == nil && !inOrder { // a circle has a node that needs a later one
		err = circle(added, func(n *node) []*node { return n.needs })
	}
	if err != nil {
		g.forget(added)
		return nil, err
	}
	return added, nil
}

// total counts the needs of nodes.
func total(ns []Node) (n int) {
	for i := range ns {
		n += len(ns[i].Needs)
	}
	return n
}

// register makes nodes without needs that can be found by their IDs, and says which IDs
// are at fault.
func (g *Graph) register(ns []Node) (added []*node, faults []error) {
	batch := make([]node, len(ns))
	added = make([]*node, len(ns))
	if len(g.nodes) == 0 {
		g.nodes = make(map[string]*node, len(ns))
	}
	for i, n := range ns {
		rank, ok := g.ranks[n.Phase]
		if !ok {
			rank = len(g.ranks)
		}
		batch[i] = node{
			id: n.ID, created: n.Created, state: cmp.Or(n.State, Waiting), priority: n.Priority,
			queue: g.queueOf(n.Profile), seq: g.size + i, rank: rank,
		}
		added[i] = &batch[i]
		switch {
		case n.ID == "":
			faults = append(faults, fmt.Errorf("node %d has no ID", i))
		case g.nodes[n.ID] != nil:
			faults = append(faults, fmt.Errorf("ID %q is taken", n.ID))
		default:
			g.nodes[n.ID] = added[i]
		}
	}
	return added, faults
}

// forget takes back nodes that resolve has made.
func (g *Graph) forget(added []*node) {
	for _, n := range added {
		if g.nodes[n.id] == n {
			delete(g.nodes, n.id)
		}
	}
}

// need adds a need that has that ID, or is nil because nothing has, to a node that is
// not yet in the graph, or says why it cannot be one.
func (g *Graph) need(n, need *node, id string, gone *node) error {
	switch {
	case need == nil:
		return fmt.Errorf("%q needs %q, which does not exist", n.id, id)
	case need == n:
		return fmt.Errorf("%q needs itself", n.id)
	case need == gone || need.state == Abandoned && need.seq < g.size:
		return fmt.Errorf("%q needs %q, which is abandoned", n.id, id)
	case need.asked == n:
		return fmt.Errorf("%q needs %q twice", n.id, id)
	}
	need.asked = n
	n.needs = append(n.needs, need)
	return nil
}

// stateFault says why a new node cannot be in its state; nil: it can.
func (n *node) stateFault() error {
	if n.state != Abandoned && n.state != Done && moves[n.state] == nil {
		return fmt.Errorf("%q is %q, which is no state", n.id, n.state)
	}
	open := slices.IndexFunc(n.needs, func(need *node) bool { return need.state != Done })
	if (n.state == Ready || n.state == Done) && open >= 0 {
		return fmt.Errorf("%q is %s, but needs %q, which is %s", n.id, n.state, n.needs[open].id, n.needs[open].state)
	}
	return nil
}

// circle returns ErrCycle if some of nodes need each other in a circle. Abandoned ones
// do not count.
func circle(nodes []*node, needs func(*node) []*node) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return n.state == Abandoned })
	deps := make(map[string][]string, len(nodes))
	for _, n := range nodes {
		deps[n.id] = idsOf(needs(n))
	}
	_, err := waves(idsOf(nodes), deps)
	return err
}

// insert makes the graph know nodes that resolve has made; enter follows.
func (g *Graph) insert(added []*node) {
	g.size += len(added)
	for _, n := range added {
		for _, need := range n.needs {
			need.dependents = append(need.dependents, n)
			if need.state != Done {
				n.unmet++
			}
		}
	}
}

// look notes that n is due, if it is.
func (g *Graph) look(n *node) {
	if n.isDue() && !n.listed {
		n.listed = true
		g.due = append(g.due, n)
	}
}

func (n *node) isDue() bool { return n.state == Waiting && n.unmet == 0 }

// Due returns the IDs of the waiting nodes whose needs are all done, in the order in
// which they were added. They stay due until they are moved.
func (g *Graph) Due() []string {
	g.due = slices.DeleteFunc(g.due, func(n *node) bool {
		n.listed = n.isDue()
		return !n.listed
	})
	slices.SortFunc(g.due, bySeq)
	return idsOf(g.due)
}

// Move puts a node into another state at a time, which matters for ageing only.
//
// These moves are allowed: from waiting to ready, held and abandoned; from ready to
// waiting, active, held and abandoned; from active to all others; from held to all
// but active. Only a node whose needs are all done becomes ready, active or done.
// Any other move is an error that says why.
func (g *Graph) Move(id string, to NodeState, at time.Time) error {
	n, err := g.find(id)
	if err != nil {
		return err
	}
	if !slices.Contains(moves[n.state], to) {
		return fmt.Errorf("routing: %q is %s and cannot become %s", id, n.state, to)
	}
	if n.unmet > 0 && (to == Ready || to == Active || to == Done) {
		return fmt.Errorf("routing: %q cannot become %s: it needs %q", id, to, g.Unmet(id))
	}
	g.move(n, to, at)
	return nil
}

// move carries out a move that is allowed.
func (g *Graph) move(n *node, to NodeState, at time.Time) {
	switch n.state {
	case Ready:
		n.queue.remove(n)
	case Active:
		n.queue.active--
		g.active--
	case Waiting, Held, Done, Abandoned:
	}
	n.state = to
	g.enter(n, at)
	if to == Done {
		for _, d := range n.dependents {
			d.unmet--
			g.look(d)
		}
	}
}

// enter notes that a node is in its state since a time.
func (g *Graph) enter(n *node, at time.Time) {
	switch n.state {
	case Ready:
		n.urgency = int64(n.priority) - g.tick(at)
		n.queue.add(n)
	case Active:
		n.queue.active++
		g.active++
	case Waiting:
		g.look(n)
	case Held, Done, Abandoned:
	}
}

// State returns the state of a node; "" if there is none of that ID.
func (g *Graph) State(id string) NodeState {
	if n := g.nodes[id]; n != nil {
		return n.state
	}
	return ""
}

// Needs returns the IDs of what a node needs, in their order; none for an unknown ID.
func (g *Graph) Needs(id string) []string {
	if n := g.nodes[id]; n != nil {
		return idsOf(n.needs)
	}
	return nil
}

// Unmet returns the IDs of what a node needs and is not done, in their order; none
// for an unknown ID. Abandoned ones are among them.
func (g *Graph) Unmet(id string) []string {
	var unmet []string
	if n := g.nodes[id]; n != nil {
		for _, need := range n.needs {
			if need.state != Done {
				unmet = append(unmet, need.id)
			}
		}
	}
	return unmet
}

func (g *Graph) find(id string) (*node, error) {
	if n := g.nodes[id]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("routing: node %q does not exist", id)
}

func bySeq(a, b *node) int { return a.seq - b.seq }

func idsOf(nodes []*node) []string {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.id
	}
	return ids
}
