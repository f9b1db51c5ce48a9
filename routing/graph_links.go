package routing

import "slices"

// links stores lists of nodes one after another in one slice.
type links []int32

// list says where in links a list is, how long it is, and how long it can get there.
type list struct{ at, n, room int32 }

// extend adds room for n nodes and returns its start.
func (l *links) extend(n int) (at int32) {
	at = int32(len(*l))
	*l = append(*l, make([]int32, n)...)
	return at
}

// of returns the nodes of a list, which the caller must not change.
func (l *links) of(x list) []int32 { return (*l)[x.at : x.at+x.n : x.at+x.n] }

// add returns a list with one more node. A full list moves to the end, where it gets
// more room than it leaves behind.
func (l *links) add(x list, id int32) list {
	if x.n == x.room {
		room := max(2*x.room, 2)
		at := l.extend(int(room))
		copy((*l)[at:], l.of(x))
		x.at, x.room = at, room
	}
	(*l)[x.at+x.n] = id
	x.n++
	return x
}

// put returns a new list of nodes.
func (l *links) put(nodes []int32) list {
	at := l.extend(len(nodes))
	copy((*l)[at:], nodes)
	return list{at, int32(len(nodes)), int32(len(nodes))}
}

// without returns a list without a node that is in it.
func (l *links) without(x list, id int32) list {
	nodes := (*l)[x.at : x.at+x.n]
	i := slices.Index(nodes, id)
	copy(nodes[i:], nodes[i+1:])
	x.n--
	return x
}
