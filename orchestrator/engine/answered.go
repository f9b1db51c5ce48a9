package engine

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/orchestrator/agent"
)

// The limits of answers that come before their questions.
const (
	MaxEarly     = 100      // early answers that wait for one run
	MaxEarlyData = 64 << 10 // bytes of one early answer
)

// answerKey begins an [AnsweredData] that says more than the answer.
const answerKey = `{"$answer":`

// AnsweredData is the Data of an Answered record, and of the letter that becomes one: an
// answer, and what is known about it. Its JSON is the answer as it is if nothing else is
// known, as in all logs before there was more to know. [AnswerOf] reads both forms.
type AnsweredData struct {
	Answer json.RawMessage `json:"$answer"`         // answer, as compact JSON
	By     string          `json:"by,omitempty"`    // who gave it, as the host says; "": not said
	Seen   string          `json:"seen,omitempty"`  // Question.Hash that was shown to them; "": not said
	Agent  bool            `json:"agent,omitempty"` // an agent gave it, and no person
	Early  bool            `json:"early,omitempty"` // it was given before its question was asked
}

// Encode returns d in the form in which it is recorded. More than [MaxData] bytes are
// ErrTooLarge.
func (d AnsweredData) Encode() (json.RawMessage, error) {
	if d.By == "" && d.Seen == "" && !d.Agent && !d.Early && !bytes.HasPrefix(d.Answer, []byte(answerKey)) {
		return d.Answer, nil
	}
	return Encode(d)
}

// AnswerOf reads the Data of an Answered record. Data that does not say more than the
// answer is the answer.
func AnswerOf(data json.RawMessage) (d AnsweredData) {
	if !bytes.HasPrefix(data, []byte(answerKey)) || json.Unmarshal(data, &d) != nil {
		return AnsweredData{Answer: data}
	}
	return d
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
