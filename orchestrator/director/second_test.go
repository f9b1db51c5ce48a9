package director_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The second implementation of the team: event by event, without a board, an engine or a
// package of this module. It is written from the requirements, is slow, and knows one purpose:
// to say when each attempt begins and what becomes of each task. Nobody is asked, no plan is
// changed, and artifacts are texts.

// The ends of an attempt in a world.
const (
	delivers  = "delivers"
	givesUp   = "gives up"
	escalated = "escalates"
)

// world is what is given: the team's settings, and what its members will do.
type world struct {
	seed                                 uint64
	workers, attempts, conflicts, pauses int
	giveUp                               bool
	limits                               map[string]int // workers at once, by profile
	tasks                                []worldTask
}

// worldTask is a task of a world. The lists say what its attempts do; behind their ends each
// delivers, and each review passes.
type worldTask struct {
	id, phase, path string
	priority        int
	needs           []int
	ends            []string        // how an attempt ends
	fails           []bool          // whether a review fails it
	works, reviews  []time.Duration // how long they take
	advice          time.Duration   // how long the director takes to resolve an escalation
}

// nth is the n-th of a list, from 1, which goes on as then.
func nth[T any](list []T, n int, then T) T {
	if n <= len(list) {
		return list[n-1]
	}
	return then
}

// fate is what has become of a task, as both implementations tell it.
type fate struct {
	state                       string
	attempts, retries, conflict int
	starts                      []time.Duration
	moves                       []string // "FROM>TO by role"
}

// happening is something that will be over.
type happening struct {
	at   time.Duration
	task int
	what string // "work", "advice" or "review"
}

// second is a run of a world.
type second struct {
	w       world
	now     time.Duration
	fates   []fate
	pauses  []int
	shown   []int          // version of its path that an attempt was shown
	filed   []bool         // the task has delivered
	version map[string]int // of what is merged at a path; 0: nothing
	open    []happening
}

func (s *second) move(task int, to, role string) {
	f := &s.fates[task]
	f.moves = append(f.moves, fmt.Sprintf("%s>%s by %s", f.state, to, role))
	f.state = to
}

func (s *second) count(state, phase string) (n int) {
	for i := range s.fates {
		if s.fates[i].state == state && (phase == "" || s.w.tasks[i].phase == phase) {
			n++
		}
	}
	return n
}

// evaluate makes tasks READY whose needs are all COMPLETE, and BLOCKED those that are new and
// wait.
func (s *second) evaluate() {
	for i, t := range s.w.tasks {
		ready := !slices.ContainsFunc(t.needs, func(need int) bool { return s.fates[need].state != "COMPLETE" })
		switch state := s.fates[i].state; {
		case ready && (state == "PLANNED" || state == "BLOCKED"):
			s.move(i, "READY", "director")
		case state == "PLANNED":
			s.move(i, "BLOCKED", "director")
		}
	}
}

// first is the READY task that is due: by priority, phase and place, of a profile that has room.
func (s *second) first() (int, bool) {
	rank := []string{"plan", "build", "test"}
	best := -1
	for i, t := range s.w.tasks {
		limit, limited := s.w.limits[t.phase]
		if s.fates[i].state != "READY" || limited && s.count("ACTIVE", t.phase) >= limit {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(s.w.tasks[best].priority, t.priority), cmp.Compare(slices.Index(rank, t.phase), slices.Index(rank, s.w.tasks[best].phase))) < 0 {
			best = i
		}
	}
	return best, best >= 0 && s.count("ACTIVE", "") < s.w.workers
}

// dispatch begins attempts while there is room.
func (s *second) dispatch() {
	for i, ok := s.first(); ok; i, ok = s.first() {
		t, f := s.w.tasks[i], &s.fates[i]
		s.move(i, "ACTIVE", "director")
		f.attempts++
		f.starts = append(f.starts, s.now)
		s.shown[i] = 0
		seen := s.filed[i] || slices.ContainsFunc(t.needs, func(need int) bool { return s.w.tasks[need].path == t.path })
		if seen {
			s.shown[i] = s.version[t.path]
		}
		s.open = append(s.open, happening{s.now + nth(t.works, f.attempts, time.Second), i, "work"})
	}
}

// review begins reviews, as many as there may be workers.
func (s *second) review() {
	for i, t := range s.w.tasks {
		under := func(h happening) bool { return h.what == "review" && h.task == i }
		all := 0
		for _, h := range s.open {
			if h.what == "review" {
				all++
			}
		}
		if s.fates[i].state == "AWAITING_QA" && all < s.w.workers && !slices.ContainsFunc(s.open, under) {
			s.open = append(s.open, happening{s.now + nth(t.reviews, s.fates[i].attempts, time.Second), i, "review"})
		}
	}
}

// abandon gives a task up, and has those that need it wait for a decision.
func (s *second) abandon(task int) {
	s.move(task, "ABANDONED", "director")
	for i, t := range s.w.tasks {
		if slices.Contains(t.needs, task) && s.fates[i].state == "BLOCKED" {
			s.move(i, "BLOCKED", "director")
		}
	}
}

// over is the end of all attempts at a task that is in a state.
func (s *second) over(task int) {
	if s.w.giveUp {
		s.abandon(task)
	} else {
		s.move(task, "WAITING_HUMAN", "director")
	}
}

// worked is the end of a worker's answer.
func (s *second) worked(i int) {
	f := &s.fates[i]
	switch nth(s.w.tasks[i].ends, f.attempts, delivers) {
	case delivers:
		s.filed[i] = true
		s.move(i, "AWAITING_QA", "worker")
	case givesUp:
		f.retries++
		if f.retries < s.w.attempts || s.w.giveUp {
			s.move(i, "READY", "director")
		}
		if f.retries >= s.w.attempts {
			s.over(i)
		}
	case escalated:
		if s.pauses[i]++; s.pauses[i] > s.w.pauses {
			s.over(i)
			return
		}
		s.open = append(s.open, happening{s.now + s.w.tasks[i].advice, i, "advice"})
	}
}

// reviewed is the end of a review: what passes is merged at once.
func (s *second) reviewed(i int) {
	t, f := s.w.tasks[i], &s.fates[i]
	taken := s.version[t.path] > 0 && s.version[t.path] != s.shown[i]
	switch {
	case nth(t.fails, f.attempts, false):
		s.move(i, "FAILED_QA", "strategist")
		if f.retries++; f.retries >= s.w.attempts {
			s.over(i)
			return
		}
		s.move(i, "READY", "director")
	case taken:
		s.move(i, "FAILED_QA", "strategist")
		if f.conflict++; f.conflict > s.w.conflicts {
			s.over(i)
			return
		}
		s.move(i, "READY", "director")
	default:
		s.version[t.path]++
		s.move(i, "COMPLETE", "strategist")
	}
}

// play is what becomes of the tasks of a world, and how the run ends.
func (w world) play() ([]fate, string) {
	n := len(w.tasks)
	s := &second{w: w, fates: make([]fate, n), pauses: make([]int, n), shown: make([]int, n), filed: make([]bool, n), version: map[string]int{}}
	for i := range s.fates {
		s.fates[i].state = "PLANNED"
	}
	for {
		s.evaluate()
		s.dispatch()
		s.review()
		if len(s.open) == 0 {
			break
		}
		next := slices.MinFunc(s.open, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
		s.open = slices.DeleteFunc(s.open, func(h happening) bool { return h == next })
		s.now = next.at
		switch next.what {
		case "work":
			s.worked(next.task)
		case "advice":
			s.move(next.task, "READY", "director")
		case "review":
			s.reviewed(next.task)
		}
	}
	switch {
	case s.count("WAITING_HUMAN", "") > 0:
		return s.fates, "waiting_human"
	case s.count("COMPLETE", "")+s.count("ABANDONED", "") < n:
		return s.fates, "stuck"
	}
	return s.fates, "completed"
}
