package director

// failureRoute is what follows a failed attempt.
type failureRoute string

const (
	phoenix  failureRoute = "phoenix" // another attempt, with a wiped memory
	askHuman failureRoute = "human"
	giveUp   failureRoute = "abandon"
)

// limits of attempts at one task.
type attempts struct {
	retries   int  // further attempts after failures, 0 or more
	conflicts int  // failed merges, 0 or more
	giveUp    bool // a task without attempts left is abandoned, not asked about
}

// after returns what follows when a task has failed and conflicted so often, this time
// included.
func (a attempts) after(failures, conflicts int) failureRoute {
	switch {
	case failures <= a.retries && conflicts <= a.conflicts:
		return phoenix
	case a.giveUp:
		return giveUp
	}
	return askHuman
}

// stagnation counts failed reviews since the tasks were last planned anew. The zero
// value has seen none.
type stagnation struct {
	row   int            // failures in a row, of any tasks
	tasks map[string]int // failures by task
	worst int            // the most that one task has
}

func (s *stagnation) failed(task string) {
	if s.tasks == nil {
		s.tasks = map[string]int{}
	}
	s.row++
	s.tasks[task]++
	s.worst = max(s.worst, s.tasks[task])
}

func (s *stagnation) passed() { s.row = 0 }

func (s *stagnation) replanned() { *s = stagnation{} }

// reached says whether the run stagnates, at a threshold of 1 or more.
func (s *stagnation) reached(threshold int) bool { return max(s.row, s.worst) >= threshold }
