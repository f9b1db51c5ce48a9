package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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
//	Asked               ""                         Asked, the same round
//	Asked               Asked                      Asked; if it asks another question: the next round
//	Asked               Expired, Withdrawn         Asked, the next round
//	Asked               Answered                   no change; if it asks another question, or says
//	                                               why the answer was rejected: Asked, the next round
//	Answered            any but Answered           Answered, the same round
//	Expired, Withdrawn  any but Answered           Expired or Withdrawn, the same round
//	any other           Answered                   no change: the first answer counts
//
// Another question has another hash: see Ask.Again. An answer that came early has no
// question until the first Asked record, and is bound to the hash of that one.
//
// The wish to cancel a run is a question with Key "". It has one round.
//
// The zero value is a question that was not asked.
type QuestionState struct {
	Key   string          // key of the question; "": the cancel
	Round int             // how often it was opened again
	Kind  string          // Asked, Answered, Expired, Withdrawn, or Canceled; "": it was not asked, and answers may come early
	Data  json.RawMessage // Data of the record that tells Kind: an Ask, or an AnsweredData
	Hash  string          // hash of the question that was asked last; "": it was not asked
	Ask   json.RawMessage // the Ask that was asked last; nil: it was not asked
}

// AskHash is the hash of what a question says: its key, text, options, data and the schema
// of its answer. Its Timeout, and who may answer, may change between a run and its
// resumption. data is an [Ask] as it is recorded.
func AskHash(data json.RawMessage) string {
	var a Ask
	if err := json.Unmarshal(data, &a); err != nil {
		a = Ask{Schema: data} // damaged: it is like no other
	}
	b := field(field(nil, a.Key), a.Text)
	b = binary.AppendUvarint(b, uint64(len(a.Options)))
	for _, option := range a.Options {
		b = field(b, option)
	}
	b = field(field(b, string(a.Data)), string(a.Schema))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Note returns the state after a record of the question.
func (s QuestionState) Note(rec runlog.Record) QuestionState {
	if rec.Kind == runlog.Asked {
		return s.asked(rec)
	}
	if s.Kind != runlog.Answered {
		s.Kind, s.Data = rec.Kind, rec.Data
	}
	return s
}

// asked is Note for an Asked record.
func (s QuestionState) asked(rec runlog.Record) QuestionState {
	hash := cmp.Or(rec.Hash, AskHash(rec.Data))
	drops, again := reopens(rec.Data)
	switch s.Kind {
	case "":
	case runlog.Answered:
		if !drops && !again {
			if s.Ask == nil { // an early answer
				s.Hash, s.Ask = hash, rec.Data
			}
			return s
		}
		s.Round++
	case runlog.Asked:
		if again {
			s.Round++
		}
	default:
		s.Round++
	}
	s.Kind, s.Data, s.Hash, s.Ask = rec.Kind, rec.Data, hash, rec.Data
	return s
}

// reopens tells from the Data of an Asked record whether it drops the answer that is
// there, and whether it asks another question than the one before.
func reopens(data json.RawMessage) (drops, again bool) {
	var d struct {
		Rejected, Again json.RawMessage
	}
	_ = json.Unmarshal(data, &d) // other Data does neither
	return !slices.Contains([]string{"", `""`, "null"}, string(d.Rejected)), string(d.Again) == "true"
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

// Verdict is what the question says to an answer that a host gives: open if it takes one.
// Else err is nil if the same answer, by the same person, is there already.
func (s QuestionState) Verdict(c *Command) (open bool, err error) {
	given := AnswerOf(c.Data)
	switch {
	case s.Closed() != nil:
		return false, s.Closed()
	case s.Kind == "":
		err = s.early(&given)
		return err == nil, err
	case s.Hash != c.Hash && s.Kind == runlog.Asked, given.Seen != "" && given.Seen != s.Hash:
		err = fmt.Errorf("%w: the question %q is not the one that was shown: show what it is now, and answer that", ErrChanged, s.Key)
	case s.Kind == runlog.Asked:
		return true, nil
	default:
		there := AnswerOf(s.Data)
		if equalJSON(there.Answer, given.Answer) && there.By == given.By {
			return false, nil
		}
		err = fmt.Errorf("%w: the question %q has another answer", ErrAnswered, s.Key)
		if there.By != "" {
			err = fmt.Errorf("%w, by %q", err, there.By)
		}
	}
	return false, agent.ErrorOf(err)
}

// early says why a question that was not asked takes no such answer; nil: it does.
func (s QuestionState) early(given *AnsweredData) error {
	switch {
	case !given.Early:
		return agent.ErrorOf(fmt.Errorf("%w: the question %q was not asked (yet): wait until Info.Questions shows it, or set AnswerOptions.Early to answer what may come", ErrNoQuestion, s.Key))
	case len(given.Answer) > MaxEarlyData:
		return agent.ErrorOf(fmt.Errorf("%w: the early answer to the question %q has %d bytes, at most %d are kept", ErrTooLarge, s.Key, len(given.Answer), MaxEarlyData))
	}
	return nil
}

// Closed is an ErrNoQuestion that says why the question takes no answer any more; nil: it
// may, or it has one.
func (s QuestionState) Closed() error {
	switch s.Kind {
	case runlog.Expired:
		return agent.ErrorOf(fmt.Errorf("%w: the question %q has expired", ErrNoQuestion, s.Key))
	case runlog.Withdrawn:
		return agent.ErrorOf(fmt.Errorf("%w: the question %q was withdrawn", ErrNoQuestion, s.Key))
	}
	return nil
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
