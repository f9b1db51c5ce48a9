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
//	questions.Accept(letter)     // in time and the first? Then its record is put in line
//	questions.Answer(key, …)     // when the record is committed, and applied
//	questions.Next()             // hands it to each effect that waits
//
// An answer is of the question with the hash in its record, and of no other of its key:
// the flow may have gone on to the next one by the time it is applied.
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

	answers map[string]json.RawMessage // applied answers, by the hash of their question; "": an early one, for the first that is asked
	first   string                     // hash of the question that was asked first; "": none was
	last    string                     // hash of the question that was asked last; "": none was
	old     json.RawMessage            // answer of a log in which all questions of a key had one; nil: none
	open    []waiter                   // effects that wait, all for questions of one hash (in old logs, of any)
}

// waiter is an effect that waits for the answer to a question.
type waiter struct {
	op   *Op
	hash string // hash of what it asks
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
		ask.Hash = k.Hash
		open = append(open, ask)
	}
	return open, nil
}

// Early is the number of answers that wait for a question that was not asked, that of key
// apart.
func (q *Questions) Early(key string) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range q.keys {
		if k.Kind == runlog.Answered && k.Ask == nil && k.Key != key {
			n++
		}
	}
	return n
}

// Ask notes that op waits for an answer, and puts the question on record by p.Emit,
// which calls Note behind a replay. It is false if there is something for Next: the answer
// is there already, or the key is taken by a question that says something else.
func (q *Questions) Ask(p Port, op *Op) bool {
	w := waiter{op, AskHash(op.Ask)}
	replay, _ := p.(*Replay)
	if replay != nil && replay.live {
		replay = nil
	}
	recorded, again, waits := q.wait(w, replay)
	if recorded {
		rec := runlog.Record{Kind: runlog.Asked, Branch: op.Branch, N: op.N, Name: op.Name, Hash: w.hash, Data: op.Ask}
		if again {
			rec.Data = askedAgain(rec.Data)
		}
		p.Emit(rec)
	}
	return waits
}

// askedAgain returns the Data of an Asked record with Ask.Again: another question of its
// key came before.
func askedAgain(data json.RawMessage) json.RawMessage {
	var ask Ask
	if json.Unmarshal(data, &ask) != nil {
		return data
	}
	ask.Again = true
	return agent.JSON(ask)
}

// wait notes that w waits, or hands over what is there for it. recorded: the question
// belongs on record; again: another one came before it. replay is nil behind the log.
func (q *Questions) wait(w waiter, replay *Replay) (recorded, again, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.of(w.op.Name)
	if w.op.Reject != "" {
		delete(k.answers, w.hash)
	}
	switch early := k.answers[""]; {
	case k.answers[w.hash] != nil:
		q.hand(w.op, k.answers[w.hash])
		return false, false, false
	case early != nil:
		delete(k.answers, "")
		k.keep(w.hash, early)
		q.hand(w.op, early)
		recorded = replay == nil || AnswerOf(early).Early // an old log has no such record
	case k.old != nil && w.op.Reject == "" && replay.isPast():
		q.hand(w.op, k.old)
		return false, false, false
	case !replay.asked(w.op) && slices.ContainsFunc(k.open, func(o waiter) bool { return o.hash != w.hash }):
		err := fmt.Errorf("%w: the question %q waits for its answer and says something else: give this one another Key", ErrMalformed, w.op.Name)
		q.line = append(q.line, Completion{Op: w.op, Err: agent.ErrorOf(err)})
		q.ready.Add(1)
		return false, false, false
	default:
		k.open = append(k.open, w)
		recorded, waits = true, true
	}
	again = k.last != "" && k.last != w.hash
	k.first, k.last = cmp.Or(k.first, w.hash), w.hash
	return recorded, again, waits
}

// keep notes the answer to the question of that hash.
func (k *question) keep(hash string, answer json.RawMessage) {
	if k.answers == nil {
		k.answers = map[string]json.RawMessage{}
	}
	k.answers[hash] = answer
}

// hand puts an answer in line for Next.
func (q *Questions) hand(op *Op, answer json.RawMessage) {
	q.line = append(q.line, Completion{Op: op, Response: &agent.Response{Data: answer}})
	q.ready.Add(1)
}

// Answer keeps the answer to the question of that hash for those who ask later, and
// returns the effects that waited for it, for Next. The first answer counts. Without a
// hash it came early, and is for the question that is asked first; or it is from an old
// log, and is for all who wait.
func (q *Questions) Answer(key, hash string, data json.RawMessage) (served []*Op) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.of(key)
	old := hash == "" && !AnswerOf(data).Early
	if hash == "" && !old {
		hash = k.first
	}
	if k.answers[hash] != nil {
		return nil
	}
	if old {
		k.old = data
	}
	k.open = slices.DeleteFunc(k.open, func(w waiter) bool {
		if !old && w.hash != hash {
			return false
		}
		if old {
			k.keep(w.hash, data)
		}
		served = append(served, w.op)
		q.hand(w.op, data)
		return true
	})
	if !old || served == nil {
		k.keep(hash, data)
	}
	return served
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
	n := len(k.open)
	k.open = slices.DeleteFunc(k.open, func(w waiter) bool { return w.op == op })
	return len(k.open) < n
}
