package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Questions are the open questions of a run and the answers that came, for engines
// to keep. One goroutine at a time uses it.
type Questions struct {
	keys  map[string]question
	ready []Completion // of those whose answer came
}

type question struct {
	answer json.RawMessage // nil: none came
	open   []*Op
}

// Ask notes that op waits for an answer, and puts the question on record. It is false
// if the answer is there already, for Next.
func (q *Questions) Ask(p Port, op *Op) bool {
	if q.keys == nil {
		q.keys = map[string]question{}
	}
	k := q.keys[op.Name]
	if k.answer != nil && op.Reject == "" {
		q.ready = append(q.ready, Completion{Op: op, Response: &agent.Response{Data: k.answer}})
		return false
	}
	q.keys[op.Name] = question{open: append(k.open, op)}
	p.Emit(runlog.Record{Kind: runlog.Asked, Branch: op.Branch, N: op.N, Name: op.Name, Data: op.Ask})
	return true
}

// Answer keeps the answer for those who ask later, and returns the effects that
// waited for it, for Next. The first answer counts.
func (q *Questions) Answer(key string, data json.RawMessage) []*Op {
	if q.keys == nil {
		q.keys = map[string]question{}
	}
	k := q.keys[key]
	if k.answer == nil {
		q.keys[key] = question{answer: data}
	}
	for _, op := range k.open {
		q.ready = append(q.ready, Completion{Op: op, Response: &agent.Response{Data: data}})
	}
	return k.open
}

// Next is the next answer to hand over. It needs no record of its own.
func (q *Questions) Next() (c Completion, ok bool) {
	if ok = len(q.ready) > 0; ok {
		c, q.ready = q.ready[0], q.ready[1:]
	}
	return c, ok
}

// Drop takes op out of those that wait, and tells whether it was among them.
func (q *Questions) Drop(op *Op) bool {
	k := q.keys[op.Name]
	i := slices.Index(k.open, op)
	if i >= 0 {
		k.open = slices.Delete(k.open, i, i+1)
		q.keys[op.Name] = k
	}
	return i >= 0
}

// Expired is the completion of an Await whose time is over.
func Expired(op *Op) Completion {
	return Completion{Op: op, Err: agent.ErrorOf(fmt.Errorf("%w: no answer to the question %q", ErrTimeout, op.Name))}
}

// CanceledBy is the completion that cancels a run; reason is a JSON string.
func CanceledBy(reason json.RawMessage) Completion {
	message := "the run was canceled"
	var why string
	if json.Unmarshal(reason, &why) == nil && why != "" {
		message += ": " + why
	}
	return Completion{Err: &agent.Error{Message: message, Codes: []agent.Code{ErrCanceled, ErrOver}}}
}
