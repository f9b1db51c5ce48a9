package routing

import "slices"

// links are lists of nodes, one behind the other in one piece of memory.
type links []int32

// list is where a list is in links.
type list struct{ at, n, room int32 }

// extend makes room for so many more nodes, and returns where it is.
func (l *links) extend(n int) (at int32) {
	at = int32(len(*l))
	*l = append(*l, make([]int32, n)...)
	return at
}

// of returns the nodes of a list, which stay as they are.
func (l *links) of(x list) []int32 { return (*l)[x.at : x.at+x.n : x.at+x.n] }

// add returns a list with one more node. A list whose room is used moves to the end:
// what it leaves is less than what it gets.
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
