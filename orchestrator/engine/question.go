package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
)

// QuestionState is where the question of one key is. It follows from the records of the
// run's log in their order, and then from the letter that is to become the next one.
//
// A key can be asked again after its question has closed. Then a new round begins, and
// its letters have another address. So each address is used once, and which of an answer
// and an expiry comes first is decided by the store that keeps the letter:
//
//	record              before                     after
//	Asked               "", Asked                  Asked, the same round
//	Asked               Expired, Withdrawn         Asked, the next round
//	Asked               Answered                   no change; if the record says why the
//	                                               answer was rejected: Asked, the next round
//	Answered            any but Answered           Answered, the same round
//	Expired, Withdrawn  any but Answered           Expired or Withdrawn, the same round
//	any other           Answered                   no change: the first answer counts
//
// The wish to cancel a run is a question with Key "". It has one round.
//
// The zero value is a question that was not asked.
type QuestionState struct {
	Key   string          // key of the question; "": the cancel
	Round int             // how often it was opened again
	Kind  string          // Asked, Answered, Expired, Withdrawn, or Canceled; "": it was not asked, and answers may come early
	Data  json.RawMessage // Data of the record that tells Kind: an Ask, or the answer
}

// Note returns the state after a record of the question.
func (s QuestionState) Note(rec runlog.Record) QuestionState {
	switch {
	case rec.Kind != runlog.Asked:
		if s.Kind == runlog.Answered {
			return s
		}
	case s.Kind == runlog.Answered && !rejects(rec.Data):
		return s
	case s.Kind != "" && s.Kind != runlog.Asked:
		s.Round++
	}
	s.Kind, s.Data = rec.Kind, rec.Data
	return s
}

// rejects tells whether the Data of an Asked record says why an answer was dropped.
func rejects(data json.RawMessage) bool {
	var d struct {
		Rejected json.RawMessage `json:"rejected"`
	}
	_ = json.Unmarshal(data, &d) // other Data rejects nothing
	return !slices.Contains([]string{"", `""`, "null"}, string(d.Rejected))
}

// Takes tells whether a letter counts: it is of the present round, and the question is
// open. What was closed for one branch expires for another that waits for the same key.
func (s QuestionState) Takes(l *runlog.Letter) bool {
	open := s.Kind == "" || s.Kind == runlog.Asked
	return l.Round == s.Round && (open || l.Expired && s.Kind != runlog.Answered)
}

// Over tells whether a letter can be forgotten where s follows from what is on record:
// whatever comes, no record follows from the letter. One of a later round is not over.
func (s QuestionState) Over(l *runlog.Letter) bool {
	if l.Round != s.Round {
		return l.Round < s.Round
	}
	if l.Expired { // until it is on record, only the letter says that the time is over
		return s.Kind == runlog.Expired || s.Kind == runlog.Answered
	}
	return !s.Takes(l)
}

// Verdict is what an answer gets from the question: open if it takes one. Else err is nil
// if the same answer is there already.
func (s QuestionState) Verdict(answer json.RawMessage) (open bool, err error) {
	switch {
	case s.Kind == runlog.Expired:
		err = fmt.Errorf("%w: the question %q has expired", ErrNoQuestion, s.Key)
	case s.Kind == runlog.Withdrawn:
		err = fmt.Errorf("%w: the question %q was withdrawn", ErrNoQuestion, s.Key)
	case s.Kind != runlog.Answered:
		return true, nil
	case equalJSON(s.Data, answer):
		return false, nil
	default:
		err = fmt.Errorf("%w: the question %q has another answer", ErrAnswered, s.Key)
	}
	return false, agent.ErrorOf(err)
}

func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// LetterRecord is the record that a letter becomes. Branch and N of an Expired one are
// for who waits to fill in.
func LetterRecord(l *runlog.Letter) runlog.Record {
	rec := runlog.Record{Run: l.Run, Kind: runlog.Answered, Name: l.Key, Data: l.Data}
	if l.Expired {
		rec.Kind = runlog.Expired
	} else if l.Key == "" {
		rec.Kind = runlog.Canceled
	}
	return rec
}
