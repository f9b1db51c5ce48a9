package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// countTakeovers finds the runs of each process that was killed, and how long other
// processes were up until one of them resumed the run. Children do not count: their
// parents resume them.
func (s *storm) countTakeovers() {
	ready := map[int]time.Time{}
	for _, n := range s.ledger.notes {
		if n.Kind == noteReady {
			ready[n.Gen] = n.At
		}
	}
	for _, victim := range s.past[:s.kills] {
		owner := ownerOf(s.ledger.logs[fmt.Sprintf("hello-%d", victim.gen)])
		for _, log := range s.ledger.logs {
			at, ok := takenOver(log, owner, victim.ended)
			if owner == "" || !ok {
				continue
			}
			s.takeovers++
			s.slowest = max(s.slowest, s.uptime(ready, victim.ended, at))
		}
	}
}

// ownerOf is the name of the engine that began a run.
func ownerOf(log []runlog.Record) string {
	if len(log) == 0 {
		return ""
	}
	return whose(log[0])
}

// whose is the engine that owns the run according to a record, "" if it does not say.
func whose(rec runlog.Record) string {
	d := data(rec)
	if d.Parent != "" {
		return ""
	}
	return d.Owner
}

// ownerData is what a record says about the owner of the run.
type ownerData struct {
	Owner  string `json:"owner"`
	Parent string `json:"parent"`
}

func data(rec runlog.Record) (d ownerData) {
	if rec.Kind != runlog.Started && rec.Kind != runlog.Resumed || json.Unmarshal(rec.Data, &d) != nil {
		return ownerData{}
	}
	return d
}

// takenOver tells when another engine resumed a run that owner had when it was
// killed, false if it had not.
func takenOver(log []runlog.Record, owner string, killed time.Time) (time.Time, bool) {
	had := ""
	for _, rec := range log {
		name := whose(rec)
		if name == "" {
			continue
		}
		if rec.At.After(killed) {
			return rec.At, had == owner
		}
		had = name
	}
	return time.Time{}, false
}

// uptime is how long of the time between from and to a process was up.
func (s *storm) uptime(ready map[int]time.Time, from, to time.Time) time.Duration {
	var sum time.Duration
	for at := from; at.Before(to); {
		next := to // when nothing is up: the next process that comes up
		for _, p := range s.past {
			begin, ok := ready[p.gen]
			if !ok || !p.ended.After(at) {
				continue
			}
			if !begin.After(at) { // it is up
				end := p.ended
				if end.After(to) {
					end = to
				}
				sum += end.Sub(at)
				next = end
				break
			}
			if begin.Before(next) {
				next = begin
			}
		}
		at = next
	}
	return sum
}
