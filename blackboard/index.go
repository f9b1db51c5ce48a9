package blackboard

import "slices"

// stateIndex has the places of tasks by state, so that asking for those in a state costs no
// look at the others. Places are in the order in which the tasks were added.
type stateIndex struct {
	slots  []slot         // slot of each task
	places map[slot][]int // places of the tasks in a slot
}

// slot is a state, and for BLOCKED the reason.
type slot struct {
	state State
	why   BlockType
}

func slotOf(t *Task) slot {
	if t.Blocked != nil {
		return slot{t.Status, t.Blocked.Type}
	}
	return slot{state: t.Status}
}

// note puts the task at a place, which may be a new one, into the slot that it is in now.
func (x *stateIndex) note(place int, t *Task) {
	to := slotOf(t)
	if place == len(x.slots) {
		x.slots = append(x.slots, to)
	} else {
		from := x.slots[place]
		if from == to {
			return
		}
		at, _ := slices.BinarySearch(x.places[from], place)
		x.places[from] = slices.Delete(x.places[from], at, at+1)
		x.slots[place] = to
	}
	at, _ := slices.BinarySearch(x.places[to], place)
	x.places[to] = slices.Insert(x.places[to], at, place)
}

// in returns the places of the tasks whose slots match, in order.
func (x *stateIndex) in(match func(slot) bool) []int {
	var found []int
	lists := 0
	for s, places := range x.places {
		if len(places) > 0 && match(s) {
			found = append(found, places...)
			lists++
		}
	}
	if lists > 1 {
		slices.Sort(found)
	}
	return found
}

// ids returns the IDs of the tasks at places.
func (e *Editor) ids(places []int) []string {
	var ids []string
	for _, i := range places {
		ids = append(ids, e.b.Tasks[i].ID)
	}
	return ids
}

// In returns the IDs of the tasks that are in one of the states, in the order in which
// they were added.
func (e *Editor) In(states ...State) []string {
	return e.ids(e.states.in(func(s slot) bool { return slices.Contains(states, s.state) }))
}

// BlockedBy returns the IDs of the tasks that are BLOCKED for one of the reasons, in the order
// in which they were added.
func (e *Editor) BlockedBy(reasons ...BlockType) []string {
	return e.ids(e.states.in(func(s slot) bool { return s.state == Blocked && slices.Contains(reasons, s.why) }))
}

// Count returns how many tasks are in one of the states.
func (e *Editor) Count(states ...State) (n int) {
	for s, places := range e.states.places {
		if slices.Contains(states, s.state) {
			n += len(places)
		}
	}
	return n
}
