package sched

import (
	"maps"
	"slices"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Lose implements engine.Execution. It records which calls are lost, except those whose
// usage was charged.
func (s *Sched) Lose(ops ...*engine.Op) {
	s.applied++
	calls := s.underWay()
	if len(ops) > 0 {
		calls = s.callsOf(ops)
	}
	slices.SortFunc(calls, byPlace)
	calls = slices.Compact(calls)
	var sum amounts
	var d engine.LostData
	s.front -= int64(len(calls))
	for i, e := range calls {
		givenUp, held := e.branch.wait != e, e.reservation()
		if e.charged {
			s.book(e, nil, nothing, amounts{})
		} else {
			s.book(e, nil, lost, held)
			e.at, e.held = nothing, amounts{} // it stays lost, whatever comes of another try
			sum.add(held)
			d.Of = append(d.Of, engine.LostCall{Branch: e.Branch, N: e.N, Agent: e.Name, Amount: e.Reserved, GivenUp: givenUp})
		}
		e.charged = false
		if givenUp {
			delete(s.dropped, e)
			e.phase = settled
		} else if !e.shielded {
			e.place = s.front + int64(i) // before all that wait
			s.enqueue(e)
		}
	}
	if d.Of != nil {
		d.Lost = sum.lost()
		s.port.Emit(runlog.Record{Kind: runlog.Lost, N: s.losses, Data: agent.JSON(d)})
		s.losses++
	}
	s.decideAll()
	for _, e := range calls {
		if e.queued && !e.known.Made { // it waits now
			s.cancel(e)
			e.phase = asked
		}
	}
}

// underWay returns the calls that the engine makes, wanted or not.
func (s *Sched) underWay() []*effect {
	calls := slices.Collect(maps.Keys(s.dropped))
	for _, b := range s.live {
		if e := b.wait; e != nil && e.Kind == engine.Call && !e.queued {
			calls = append(calls, e)
		}
	}
	return calls
}

// callsOf returns the calls of ops that are under way. Those that wait are left out.
func (s *Sched) callsOf(ops []*engine.Op) []*effect {
	var calls []*effect
	for _, op := range ops {
		switch e := s.effect(op, "lost"); {
		case e == nil:
		case e.Kind != engine.Call || e.phase == settled:
			s.broken("the engine lost effect %s, which is no call under way", op.Key())
		case !e.queued:
			calls = append(calls, e)
		}
	}
	return calls
}
