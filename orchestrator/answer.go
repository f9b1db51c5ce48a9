package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// AnswerOptions say who answers a question, and what they saw of it. The zero value says
// nothing.
type AnswerOptions struct {
	By   string // who answers, as the host has checked it: at most 1,000 bytes; "": not said
	Seen string // Question.Hash of the question that they were shown; "": not said, and nothing is compared

	// Agent says that an agent gives the answer: a tool, an MCP or ACP server, or another
	// flow sets it. It is set by itself where ctx is that of an agent's call.
	Agent bool

	// Early says that the question need not be asked yet. Then the answer waits for the
	// first question of its key.
	Early bool
}

// Answer answers a question of the run, in any process, and returns when the answer
// is kept. It is [Run.AnswerWith] without options.
func (r *Run) Answer(ctx context.Context, key string, value any) error {
	return r.AnswerWith(ctx, key, value, AnswerOptions{})
}

// AnswerWith answers a question of the run, in any process, and returns when the answer
// is kept, with By and Seen on record. The first answer counts: a later one is nil if it
// is equal JSON by the same By, else ErrAnswered. A run that no engine works on is
// resumed, if its flow is in Config.Flows.
//
// Nothing is lost by an answer that is refused; the question stays open:
//   - ErrMalformed: it does not fit the question's type, or is none of its Options
//   - ErrTooLarge: it has more than 4 MiB of JSON
//   - ErrChanged: Seen is not the Hash of the question that is asked now
//   - ErrNotAllowed: By is not in Question.Only, or an agent answers and Question.Person
//     wants a person
//   - ErrNoQuestion: the question has expired or was withdrawn, its run has ended, or it
//     was not asked yet
//
// With Early an answer may come before its question: at most 100 of 64 KiB wait for a run,
// more are ErrTooLarge. One that then does not fit the question is dropped on record, and
// Question.Rejected says why. So is each one whose question wants a person.
func (r *Run) AnswerWith(ctx context.Context, key string, value any, o AnswerOptions) error {
	data, err := engine.Encode(value)
	switch {
	case errors.Is(err, ErrTooLarge):
		return answerError(key, err)
	case err != nil:
		return answerError(key, fmt.Errorf("%w: %w", ErrMalformed, err))
	case key == "":
		return answerError(key, fmt.Errorf("%w: its key is empty", ErrMalformed))
	case len(o.By) > 1000 || !utf8.ValidString(o.By):
		return answerError(key, fmt.Errorf("%w: AnswerOptions.By has %d bytes, want valid UTF-8 of at most 1,000", ErrMalformed, len(o.By)))
	case len(data) > answer.MaxText:
		return answerError(key, fmt.Errorf("%w: %d bytes of JSON, at most %d are taken", ErrTooLarge, len(data), answer.MaxText))
	}
	given := engine.AnsweredData{Answer: data, By: o.By, Seen: o.Seen, Agent: o.Agent || agent.InfoFrom(ctx).Run != ""}
	for range 10 { // the question may change meanwhile
		err = r.answer(ctx, key, given, o.Early)
		if o.Seen != "" || !errors.Is(err, ErrChanged) {
			break
		}
	}
	if errors.Is(err, ErrNoQuestion) {
		err = r.nearest(ctx, key, err)
	}
	return err
}

// nearest returns err, which says that nothing asks key, with the open question whose key is
// almost that.
func (r *Run) nearest(ctx context.Context, key string, err error) error {
	v, unread := r.engine.driver.Look(ctx, r.id)
	if unread != nil {
		return err
	}
	var keys []string
	for _, q := range v.Questions {
		keys = append(keys, q.Key)
	}
	if near := text.Nearest(key, keys); near != "" && near != key {
		err = agent.ErrorOf(fmt.Errorf("%w; %q is open", err, near))
	}
	return err
}

// answer gives an answer to the question that is asked now.
func (r *Run) answer(ctx context.Context, key string, given engine.AnsweredData, early bool) error {
	q, open, err := r.question(ctx, key)
	if err != nil {
		return err
	}
	c := engine.Command{Kind: engine.AnswerIt, Key: key, Hash: q.Hash}
	switch {
	case open && given.Seen != "" && given.Seen != q.Hash:
		return answerError(key, fmt.Errorf("%w: it is not the one that was shown: show what it is now, and answer that", ErrChanged))
	case open:
		if given.Answer, err = admit(&q, given); err != nil {
			return answerError(key, err)
		}
	case q.Key != "":
		given.Answer = word(&q, given.Answer)
	default:
		given.Early = early && given.Seen == ""
	}
	if c.Data, err = given.Encode(); err != nil {
		return answerError(key, err)
	}
	return r.engine.driver.Tell(ctx, r.id, c)
}

// question returns the question that was asked last under key, as an engine.Asker does, or
// in place of one.
func (r *Run) question(ctx context.Context, key string) (q engine.Ask, open bool, err error) {
	if d, ok := r.engine.driver.(engine.Asker); ok {
		return d.Question(ctx, r.id, key)
	}
	v, err := r.engine.driver.Look(ctx, r.id)
	if err != nil {
		return q, false, err
	}
	for _, q := range v.Questions {
		if q.Key == key {
			return q, true, nil
		}
	}
	s := engine.QuestionState{Key: key}
	for rec, err := range r.engine.driver.Log(ctx, r.id, 0) {
		if err != nil {
			return q, false, err
		}
		if runlog.AskKind(rec.Kind) && rec.Name == key {
			s = s.Note(rec)
		}
	}
	if s.Ask != nil {
		err = json.Unmarshal(s.Ask, &q)
		q.Hash = s.Hash
	}
	return q, false, err
}

func answerError(key string, err error) error {
	return agent.ErrorOf(fmt.Errorf("answer to the question %q: %w", key, err))
}

// admit returns an answer in the form in which it is recorded, or why q does not take it.
func admit(q *engine.Ask, given engine.AnsweredData) (json.RawMessage, error) {
	if err := allowed(&q.Question, &given); err != nil {
		return nil, err
	}
	data := word(q, given.Answer)
	shape, err := answer.FromSchema(q.Schema)
	if err == nil {
		err = shape.Check(data)
	}
	if err == nil {
		err = chosen(&q.Question, data)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, unquoted(&q.Question, err))
	}
	return data, nil
}

// unquoted returns why an answer to q does not fit. To a secret question it is not quoted.
func unquoted(q *Question, err error) error {
	if q.Secret {
		return errors.New("it does not fit the schema or the options of the question, and is not shown because the question is secret")
	}
	return err
}

// allowed is an error if who gave an answer may not answer q.
func allowed(q *Question, given *engine.AnsweredData) error {
	switch {
	case q.Person && given.Agent:
		return fmt.Errorf("%w: it wants the answer of a person, and an agent gives it", ErrNotAllowed)
	case q.Person && given.Early:
		return fmt.Errorf("%w: it wants the answer of a person who was asked, and this one came before", ErrNotAllowed)
	case len(q.Only) > 0 && !slices.Contains(q.Only, given.By):
		return fmt.Errorf("%w: only %s may answer it, and AnswerOptions.By is %q", ErrNotAllowed, quoted(q.Only), given.By)
	}
	return nil
}

// word returns true or false for the option of a question that has two and whose answer
// is a bool: the first one is true. Any other answer stays as it is.
func word(q *engine.Ask, data json.RawMessage) json.RawMessage {
	var schema struct{ Type any }
	var said string
	if len(q.Options) != 2 || q.OptionsOf != "" || json.Unmarshal(data, &said) != nil || json.Unmarshal(q.Schema, &schema) != nil {
		return data
	}
	types, _ := schema.Type.([]any)
	if schema.Type != "boolean" && !slices.Contains(types, any("boolean")) {
		return data
	}
	switch said {
	case q.Options[0]:
		return json.RawMessage("true")
	case q.Options[1]:
		return json.RawMessage("false")
	}
	return data
}

// chosen is an error if an answer is a text, or has one in the field OptionsOf, that is
// none of the options of q.
func chosen(q *Question, data json.RawMessage) error {
	if len(q.Options) == 0 {
		return nil
	}
	var said any
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	what := "it"
	if q.OptionsOf != "" {
		what = q.OptionsOf
		fields, _ := said.(map[string]any)
		if said = fields[what]; said == nil {
			said = ""
		}
	}
	text, ok := said.(string)
	switch {
	case ok && slices.Contains(q.Options, text), !ok && q.OptionsOf == "":
		return nil
	case !ok:
		text = fmt.Sprint(said)
	}
	return fmt.Errorf("%s is %q, want one of %s", what, text, quoted(q.Options))
}

// quoted is a list of names for a message.
func quoted(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", name)
	}
	return b.String()
}

// fault says what is wrong with a question whose answer has that schema.
func fault(q *Question, schema json.RawMessage) error {
	var object struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(schema, &object)
	switch {
	case q.Key == "":
		return errors.New("Question.Key is empty")
	case slices.Contains(q.Only, ""):
		return errors.New("Question.Only has an empty name: that is who does not say who they are")
	case q.OptionsOf != "" && len(q.Options) == 0:
		return fmt.Errorf("Question.OptionsOf is %q, and there are no Options", q.OptionsOf)
	case q.OptionsOf != "" && len(object.Properties) > 0 && object.Properties[q.OptionsOf] == nil:
		return fmt.Errorf("Question.OptionsOf is %q, and the answer has no such field", q.OptionsOf)
	case len(q.Data) > 0 && !json.Valid(bytes.TrimSpace(q.Data)):
		return errors.New("Question.Data is not JSON")
	}
	return nil
}
