package sched

import (
	"time"

	"github.com/convene-go/convene/orchestrator/engine"
)

// refuseLate refuses e if the time of a budget around it is up and the log does not know
// e. Else it notes when e has to end.
func (s *Sched) refuseLate(e *effect) (refused bool) {
	due := e.scope.due
	if _, worked := s.port.Now(); worked >= due.until && !e.recorded() {
		s.refuse(e, timeIsUp(due))
		return true
	}
	if due.until > 0 {
		e.until = due.until
		made(&s.timed)[e.until]++
	}
	return false
}

// arm keeps one time limit at the engine: the earliest at which an effect has to end.
// Without such an effect it keeps none.
func (s *Sched) arm() {
	var first time.Duration
	for until := range s.timed { // the order does not matter to a minimum
		if first == 0 || until < first {
			first = until
		}
	}
	if s.armed != nil && s.armed.Worked != first {
		s.port.Cancel(s.armed)
		s.armed = nil
	}
	if s.armed == nil && first > 0 {
		s.armed = &engine.Op{Kind: engine.Limit, N: -int64(first), Worked: first}
		s.port.Start(s.armed)
	}
}

// untime forgets the time limit of e.
func (s *Sched) untime(e *effect) {
	if e.until == 0 {
		return
	}
	if s.timed[e.until]--; s.timed[e.until] == 0 {
		delete(s.timed, e.until)
	}
	e.until = 0
}

// expire abandons the effects under budgets whose time is up.
func (s *Sched) expire(op *engine.Op) {
	if s.armed == op {
		s.armed = nil
	}
	_, worked := s.port.Now()
	worked = max(worked, op.Worked)
	for _, b := range s.live {
		if e := b.wait; e != nil && e.until != 0 && e.until <= worked {
			e.scope.due.until = -1
			s.abandon(e, timeIsUp(e.scope.due))
		}
	}
}
