package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Questions are all questions of a run. The zero value is ready to use, costs nothing
// until the first question, and is safe for concurrent use.
//
// It knows each question twice, because the log is ahead of the flow:
//
//   - where it is, by the log and by letters that are about to be put there: Note,
//     Accept, State and Open. Note and Accept come in the order of the log. An engine
//     holds a lock of its own while it calls one of them and puts the record in line.
//   - what the flow knows of it: Ask, Answer, Next and Drop. The goroutine that drives
//     the flow calls them, in the order in which it applies records, also in a replay.
//
// How an answer comes to the flow:
//
//	questions.Accept(letter)      // in time and the first? Then its record is put in line
//	questions.Answer(key, data)   // when the record is committed, and applied
//	questions.Next()              // hands it to each effect that waits
type Questions struct {
	ready atomic.Int64 // completions for Next

	mu    sync.Mutex
	keys  map[string]*question // every key that was met; "": the cancel
	moves int64                // changes of states so far
	line  []Completion         // completions for Next
}

// question is what Questions know of a key.
type question struct {
	QuestionState
	moved int64 // when the state changed last, counted in moves

	answer json.RawMessage // answer for those who ask; nil: none was applied
	open   []*Op           // effects that wait
}

// of returns the question of a key, made if need be.
func (q *Questions) of(key string) *question {
	k := q.keys[key]
	if k == nil {
		if q.keys == nil {
			q.keys = map[string]*question{}
		}
		k = &question{QuestionState: QuestionState{Key: key}}
		q.keys[key] = k
	}
	return k
}

// Note takes in a record of the log, or one that is put in line for it. It looks only at
// those about questions, and at Canceled.
func (q *Questions) Note(rec runlog.Record) {
	if !Noted(rec.Kind) {
		return
	}
	key := rec.Name
	if rec.Kind == runlog.Canceled {
		key = ""
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.of(key)
	k.move(q, k.Note(rec))
}

// Noted tells whether Note looks at records of that kind.
func Noted(kind string) bool { return runlog.AskKind(kind) || kind == runlog.Canceled }

// move sets the state, and counts that as a change.
func (k *question) move(q *Questions, s QuestionState) {
	q.moves++
	k.QuestionState, k.moved = s, q.moves
}

// Accept notes a letter, as Note would note its record, and tells whether it did: not if
// the question takes none any more, or if the letter is not of the present round.
func (q *Questions) Accept(l runlog.Letter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.of(l.Key)
	taken := k.Takes(&l)
	if taken {
		k.move(q, k.Note(LetterRecord(&l)))
	}
	return taken
}

// State tells where the question of a key is.
func (q *Questions) State(key string) QuestionState {
	q.mu.Lock()
	defer q.mu.Unlock()
	if k := q.keys[key]; k != nil {
		return k.QuestionState
	}
	return QuestionState{Key: key}
}

// Open are the questions that wait for an answer, in the order in which they were
// asked.
func (q *Questions) Open() (open []Ask, err error) {
	q.mu.Lock()
	var asked []question
	for _, k := range q.keys {
		if k.Kind == runlog.Asked {
			asked = append(asked, *k)
		}
	}
	q.mu.Unlock()
	slices.SortFunc(asked, func(a, b question) int { return cmp.Compare(a.moved, b.moved) })
	for _, k := range asked {
		var ask Ask
		if err := json.Unmarshal(k.Data, &ask); err != nil {
			return nil, fmt.Errorf("question %q: %w: %w", k.Key, runlog.ErrDamaged, err)
		}
		open = append(open, ask)
	}
	return open, nil
}

// Ask notes that op waits for an answer, and puts the question on record by p.Emit,
// which calls Note behind a replay. It is false if the answer is there already, for Next.
func (q *Questions) Ask(p Port, op *Op) bool {
	if !q.wait(op) {
		return false
	}
	p.Emit(runlog.Record{Kind: runlog.Asked, Branch: op.Branch, N: op.N, Name: op.Name, Data: op.Ask})
	return true
}

// wait notes that op waits, or hands over the answer that is there.
func (q *Questions) wait(op *Op) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.of(op.Name)
	if k.answer != nil && op.Reject == "" {
		q.hand(op, k.answer)
		return false
	}
	k.answer = nil
	k.open = append(k.open, op)
	return true
}

// hand puts an answer in line for Next.
func (q *Questions) hand(op *Op, answer json.RawMessage) {
	q.line = append(q.line, Completion{Op: op, Response: &agent.Response{Data: answer}})
	q.ready.Add(1)
}

// Answer keeps the answer for those who ask later, and returns the effects that
// waited for it, for Next. The first answer counts.
func (q *Questions) Answer(key string, data json.RawMessage) []*Op {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.of(key)
	open := k.open
	if k.answer == nil {
		k.answer, k.open = data, nil
	}
	for _, op := range open {
		q.hand(op, data)
	}
	return open
}

// Next is the next answer to hand over. It needs no record of its own. It takes no lock
// if there is none, so that a driver may call it after every step.
func (q *Questions) Next() (c Completion, ok bool) {
	if q.ready.Load() == 0 {
		return c, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c, q.line = q.line[0], q.line[1:]
	q.ready.Add(-1)
	return c, true
}

// Drop takes op out of those that wait, and tells whether it was among them.
func (q *Questions) Drop(op *Op) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.of(op.Name)
	i := slices.Index(k.open, op)
	if i >= 0 {
		k.open = slices.Delete(k.open, i, i+1)
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
