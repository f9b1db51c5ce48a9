package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
)

// ledger is what the storm has read so far: the logs of all runs, and the notes.
type ledger struct {
	store  runlog.Store
	reader noteReader
	late   *int // calls of processes that had lost their runs; nil: there are none

	notes  []note
	runs   []string
	logs   map[string][]runlog.Record
	sealed map[string]bool // calls that were on record before the notes behind sealed were read
}

func newLedger(store runlog.Store, reader noteReader) *ledger {
	return &ledger{store: store, reader: reader, logs: map[string][]runlog.Record{}, sealed: map[string]bool{}}
}

// look reads new records, then new notes, and then seals the records that it read: a
// note that follows tells of a call that was made when its record existed already.
func (l *ledger) look(ctx context.Context) error {
	var seen []string
	for _, id := range l.runs {
		keys, err := l.readLog(ctx, id)
		if err != nil {
			return err
		}
		seen = append(seen, keys...)
	}
	notes, err := l.reader.next()
	if err != nil {
		return err
	}
	for _, n := range notes {
		switch {
		case n.Kind == noteBegin && l.sealed[n.Key] && l.late != nil && !l.owns(n.Gen, n.Run):
			*l.late++
		case n.Kind == noteBegin && l.sealed[n.Key]:
			return fmt.Errorf("promise broken: call %s is on record, and process %d made it again", n.Key, n.Gen)
		case n.Kind == noteTrouble:
			return fmt.Errorf("process %d: %s", n.Gen, n.Text)
		case n.Kind == noteReady:
			l.know(fmt.Sprintf("hello-%d", n.Gen))
		default:
			l.know(n.Run)
		}
	}
	l.notes = append(l.notes, notes...)
	for _, key := range seen {
		l.sealed[key] = true
	}
	return nil
}

// owns reports whether the run belongs to the engine of a process, by the part of its log
// that was read.
func (l *ledger) owns(gen int, run string) bool {
	owner := ""
	for _, rec := range l.logs[run] {
		if d := data(rec); d.Owner != "" {
			owner = d.Owner
		}
	}
	return owner == ownerOf(l.logs[fmt.Sprintf("hello-%d", gen)])
}

// know adds a run, and the runs that it is a child of.
func (l *ledger) know(id string) {
	for {
		if _, ok := l.logs[id]; ok {
			return
		}
		l.logs[id] = nil
		l.runs = append(l.runs, id)
		end := strings.LastIndexByte(id, '/')
		if end < 0 {
			return
		}
		id = id[:end]
	}
}

// readLog reads the rest of a run's log, and returns the calls in it.
func (l *ledger) readLog(ctx context.Context, id string) (keys []string, err error) {
	log := l.logs[id]
	if ended(log) {
		return nil, nil
	}
	for rec, err := range l.store.Records(ctx, id, int64(len(log))) {
		if err != nil {
			return nil, fmt.Errorf("log of %s: %w", id, err)
		}
		if rec.Seq != int64(len(log)) {
			return nil, fmt.Errorf("promise broken: record %d of %s follows record %d", rec.Seq, id, len(log)-1)
		}
		log = append(log, rec)
		if rec.Kind == runlog.Called {
			keys = append(keys, keyOf(rec))
		}
	}
	l.logs[id] = log
	return keys, nil
}

// keyOf is what agents know a recorded call by.
func keyOf(rec runlog.Record) string { return rec.Run + "/" + engine.Key(rec.Branch, rec.N) }

func ended(log []runlog.Record) bool {
	return len(log) > 0 && log[len(log)-1].Kind == runlog.Ended
}

// open are the runs that are on record and have not ended.
func (l *ledger) open() []string {
	var ids []string
	for _, id := range l.runs {
		if log := l.logs[id]; len(log) > 0 && !ended(log) {
			ids = append(ids, id)
		}
	}
	return ids
}

// records counts all that was read.
func (l *ledger) records() int {
	n := 0
	for _, log := range l.logs {
		n += len(log)
	}
	return n
}

// questions are the keys of a run's questions that have no answer.
func (l *ledger) questions(id string) []string {
	var keys []string
	closed := map[string]bool{}
	for _, rec := range l.logs[id] {
		switch rec.Kind {
		case runlog.Asked:
			keys = append(keys, rec.Name)
		case runlog.Answered:
			closed[rec.Name] = true
		}
	}
	var open []string
	for _, key := range keys {
		if !closed[key] {
			open = append(open, key)
		}
	}
	return open
}

var errNever = errors.New("promise broken: a run does not end")
