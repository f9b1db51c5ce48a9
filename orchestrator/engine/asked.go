package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/dialect"
)

// Ask is a question as it is recorded, with the JSON Schema of its answer. It is
// the Data of an Asked record.
type Ask struct {
	Question
	Schema json.RawMessage `json:"schema,omitempty"` // JSON Schema of the answer

	// Again says that another question was asked before under the key. Its answer is not
	// the answer of this one.
	Again bool `json:"again,omitempty"`
}

// recordedAsk is an Ask whose Question has no form of its own.
type recordedAsk struct {
	recordedQuestion
	Schema json.RawMessage `json:"schema,omitempty"` // JSON Schema of the answer
	Again  bool            `json:"again,omitempty"`  // another question was asked before under the key
}

// MarshalJSON writes a as it is recorded.
func (a Ask) MarshalJSON() ([]byte, error) {
	return Encode(recordedAsk{recordedQuestion(a.Question), a.Schema, a.Again})
}

// UnmarshalJSON reads a record.
func (a *Ask) UnmarshalJSON(data []byte) error {
	in := recordedAsk{recordedQuestion(a.Question), a.Schema, a.Again}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*a = Ask{Question(in.recordedQuestion), in.Schema, in.Again}
	return nil
}

// Question is what a run asks the world outside: a human, a webhook.
type Question struct {
	Key       string          `json:"key"`                 // required, the name of the question in its run
	Text      string          `json:"text,omitempty"`      // question in words; "": none
	Options   []string        `json:"options,omitempty"`   // answers to choose from; nil: any answer
	OptionsOf string          `json:"optionsOf,omitempty"` // field of the answer that is one of Options; "": the answer itself
	Data      json.RawMessage `json:"data,omitempty"`      // JSON for the program that shows the question; nil: none
	Timeout   time.Duration   `json:"timeout,omitempty"`   // time until the question expires with ErrTimeout; 0: never
	Only      []string        `json:"only,omitempty"`      // who may answer, compared with AnswerOptions.By; nil: anybody
	Person    bool            `json:"person,omitempty"`    // only a person who was asked may answer: no agent, and nobody early
	Rejected  string          `json:"rejected,omitempty"`  // reason why an answer was dropped, set by Await; "": none was
	Secret    bool            `json:"secret,omitempty"`    // Data and the answer must not be shown: lists and exports have neither; false: they may be
	Hash      string          `json:"hash,omitempty"`      // hash of what is asked, set by the engine in Info.Questions; "": not asked
}

// recordedQuestion is a Question in the form in which it is recorded.
type recordedQuestion Question

// MarshalJSON writes q as hosts read it: Timeout is a text such as "5m0s". The record of a
// question, an [Ask], has it as a number of nanoseconds.
func (q Question) MarshalJSON() ([]byte, error) { return dialect.Encode(q) }

// UnmarshalJSON reads what MarshalJSON has written, and the record of a question.
func (q *Question) UnmarshalJSON(data []byte) error {
	in := struct {
		recordedQuestion
		Timeout json.RawMessage `json:"timeout"` // text or number
	}{recordedQuestion: recordedQuestion(*q)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	wait, words := &in.recordedQuestion.Timeout, ""
	switch {
	case len(in.Timeout) == 0:
	case json.Unmarshal(in.Timeout, &words) == nil && words != "":
		d, err := time.ParseDuration(words)
		if err != nil {
			return fmt.Errorf("timeout is %q, want a duration such as \"5m\"", words)
		}
		*wait = d
	default:
		if err := json.Unmarshal(in.Timeout, wait); err != nil {
			return fmt.Errorf("timeout is %.40s, want a duration such as \"5m\"", in.Timeout)
		}
	}
	*q = Question(in.recordedQuestion)
	return nil
}

// Shown returns the question as lists show it: a secret one without its Data.
func (q Question) Shown() Question {
	if q.Secret {
		q.Data = nil
	}
	return q
}
