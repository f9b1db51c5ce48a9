package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// QuestionQuery selects questions that wait for an answer. A zero field selects all.
type QuestionQuery struct {
	Run    string    // ID of the run that asks
	Flow   string    // name of the flow that asks
	Label  string    // name of a label that the run has; "name=value": the label has that value
	Text   string    // text in the key or in the text of the question; ASCII case is ignored
	Before time.Time // questions that were asked before this time
	Limit  int       // number of questions at most; 0: all
	After  string    // Cursor of the question before the first one, for the next page
}

// OpenQuestion is a question that waits for an answer, with the run that asks it.
type OpenQuestion struct {
	Run      string            `json:"run"`              // ID of the run: Engine.Open and Run.Answer take it from here
	Flow     string            `json:"flow"`             // name of the flow
	Labels   map[string]string `json:"labels,omitempty"` // labels from StartOptions; nil: none
	Asked    time.Time         `json:"asked"`            // time when it was asked last
	Question Question          `json:"question"`         // the question, as in Info.Questions
	Cursor   string            `json:"cursor"`           // place of the question, for QuestionQuery.After; it stays valid when the question is answered
}

// Questions yields the questions that wait for an answer over all runs, oldest first: of
// runs that this engine, another one or no engine works on. An engine with Fleet.Observe
// sees them too. A question stays until its answer is on record, which takes as long as
// no engine works on its run. With a store that is a runlog.OpenQuestions the cost of a
// page does not depend on logs; with another one, the logs of all open runs are read. An
// After that is no Cursor is ErrMalformed. An engine that is no engine.Surveyor yields
// an error that wraps errors.ErrUnsupported.
func (e *Engine) Questions(ctx context.Context, q QuestionQuery) iter.Seq2[OpenQuestion, error] {
	return func(yield func(OpenQuestion, error) bool) {
		d, err := optional[engine.Surveyor](e, "find the questions of all runs")
		query := runlog.AskQuery{Run: q.Run, Flow: q.Flow, Label: q.Label, Text: q.Text, Before: q.Before, Limit: q.Limit}
		if err == nil {
			query.After, err = placeOf(q.After)
		}
		if err != nil {
			yield(OpenQuestion{}, err)
			return
		}
		for a, err := range d.OpenAsks(ctx, query) {
			var open OpenQuestion
			if err == nil {
				open, err = openQuestion(&a)
			}
			if !yield(open, err) || err != nil {
				return
			}
		}
	}
}

func openQuestion(a *runlog.OpenAsk) (OpenQuestion, error) {
	var ask engine.Ask
	if err := json.Unmarshal(a.Data, &ask); err != nil {
		return OpenQuestion{}, fmt.Errorf("orchestrator: question %q of run %q: %w: %w", a.Name, a.Run, runlog.ErrDamaged, err)
	}
	ask.Hash = cmp.Or(a.Hash, engine.AskHash(a.Data))
	return OpenQuestion{
		Run: a.Run, Flow: a.Flow, Labels: a.Labels, Asked: a.At, Question: ask.Shown(), Cursor: cursorOf(a.Place()),
	}, nil
}

// cursorOf writes a place as its time in RFC 3339, its Seq and its run.
func cursorOf(p runlog.AskPlace) string {
	return p.At.UTC().Format(time.RFC3339Nano) + "/" + strconv.FormatInt(p.Seq, 10) + "/" + p.Run
}

// placeOf reads what cursorOf wrote; "" is the place before all questions.
func placeOf(cursor string) (p runlog.AskPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	at, rest, _ := strings.Cut(cursor, "/")
	seq, run, found := strings.Cut(rest, "/")
	if p.At, err = time.Parse(time.RFC3339Nano, at); err == nil {
		p.Seq, err = strconv.ParseInt(seq, 10, 64)
	}
	if p.Run = run; err != nil || !found {
		return p, agent.ErrorOf(fmt.Errorf("%w: QuestionQuery.After is %q, want the Cursor of a question", ErrMalformed, cursor))
	}
	return p, nil
}
