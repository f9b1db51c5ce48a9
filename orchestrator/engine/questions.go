package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Questions are the open questions of a run and the answers that came, for engines
// to keep. One goroutine at a time uses it.
type Questions struct {
	keys map[string]question
}

type question struct {
	answer json.RawMessage // nil: none came
	open   []*Op
}

// Ask notes that op waits for an answer. ok: it is there already.
func (q *Questions) Ask(op *Op) (answer json.RawMessage, ok bool) {
	if q.keys == nil {
		q.keys = map[string]question{}
	}
	k := q.keys[op.Name]
	if k.answer != nil && op.Reject == "" {
		return k.answer, true
	}
	q.keys[op.Name] = question{open: append(k.open, op)}
	return nil, false
}

// Answer keeps the answer for those who ask later, and returns the effects that
// wait for it. The first answer counts.
func (q *Questions) Answer(key string, data json.RawMessage) (waiting []*Op) {
	if q.keys == nil {
		q.keys = map[string]question{}
	}
	k := q.keys[key]
	if k.answer == nil {
		q.keys[key] = question{answer: data}
	}
	return k.open
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

// Answer is the completion of an Await with its answer.
func Answer(op *Op, data json.RawMessage) Completion {
	return Completion{Op: op, Response: &agent.Response{Data: data}}
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
