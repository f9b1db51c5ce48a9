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
	answers map[string]json.RawMessage
	open    map[string][]*Op
}

// Ask notes that op waits for an answer. ok: it is there already.
func (q *Questions) Ask(op *Op) (answer json.RawMessage, ok bool) {
	if op.Reject != "" {
		delete(q.answers, op.Name)
	}
	if answer, ok := q.answers[op.Name]; ok {
		return answer, true
	}
	if q.open == nil {
		q.open = map[string][]*Op{}
	}
	q.open[op.Name] = append(q.open[op.Name], op)
	return nil, false
}

// Answer keeps the answer for those who ask later, and returns the effects that
// wait for it. The first answer counts: ok is false for a later one.
func (q *Questions) Answer(key string, data json.RawMessage) (waiting []*Op, ok bool) {
	if _, ok := q.answers[key]; ok {
		return nil, false
	}
	if q.answers == nil {
		q.answers = map[string]json.RawMessage{}
	}
	q.answers[key] = data
	waiting = q.open[key]
	delete(q.open, key)
	return waiting, true
}

// Drop takes op out of those that wait, and tells whether it was among them.
func (q *Questions) Drop(op *Op) bool {
	i := slices.Index(q.open[op.Name], op)
	if i < 0 {
		return false
	}
	q.open[op.Name] = slices.Delete(q.open[op.Name], i, i+1)
	return true
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
