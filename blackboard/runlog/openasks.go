package runlog

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"
)

// OpenAsk is a question that waits for an answer, of a run that has not ended.
type OpenAsk struct {
	Record                   // the Asked record that opened the question last; its Name is the key
	Flow   string            // name of the run's flow
	Labels map[string]string // labels of the run; nil: none
}

// AskPlace is a place in the order of open questions: by time, those of the same time by
// run, those of one run by Seq.
type AskPlace struct {
	At  time.Time // time of the Asked record
	Run string    // ID of the run
	Seq int64     // Seq of the Asked record
}

// Place is the place of the question: a cursor, which stays valid when the question is
// answered.
func (a *OpenAsk) Place() AskPlace { return AskPlace{a.At, a.Run, a.Seq} }

// Compare is negative if p comes before q, and positive if it comes behind it.
func (p AskPlace) Compare(q AskPlace) int {
	return cmp.Or(p.At.Compare(q.At), cmp.Compare(p.Run, q.Run), cmp.Compare(p.Seq, q.Seq))
}

// AskQuery selects open questions. A zero field selects all.
type AskQuery struct {
	Run    string    // questions of the run of that ID
	Flow   string    // questions of runs of that flow
	Label  string    // questions of runs that have that label; "name=value": that value of it
	Text   string    // questions that have that text in the key or in [AskChange.Text]; ASCII case is ignored
	Before time.Time // questions that were asked earlier
	Limit  int       // most questions to yield; 0 or less: all
	After  AskPlace  // questions behind that place: the cursor for the next page
}

// Selects tells whether q selects the question, but for Limit.
func (q *AskQuery) Selects(a *OpenAsk) bool {
	return (q.Run == "" || q.Run == a.Run) &&
		(q.Flow == "" || q.Flow == a.Flow) &&
		(q.Before.IsZero() || a.At.Before(q.Before)) &&
		a.Place().Compare(q.After) > 0 &&
		hasLabel(a.Labels, q.Label) &&
		(q.Text == "" || ChangeOf(a.Record).has(LowerASCII(q.Text)))
}

// AskChange is what a record says of the question whose key is its Name. A store's index
// of open questions has, for each key of an open run, the last change that counts:
//
//	c := ChangeOf(rec)
//	if c.Counts(last) { last = c }   // the zero AskChange if there is none
//
// The question is open if that Opens it. A run that has ended has no questions.
type AskChange struct {
	Key   string // key of the question
	Text  string // question in words, for AskQuery.Text; "": none, or another change than Opens
	Opens bool   // the question waits for an answer

	// Final is true for an answer: the first one counts, and the question stays closed
	// until a change Reopens it.
	Final bool

	// Reopens is true for a question that was asked because an early answer did not fit, or
	// because the flow asks something else under the key.
	Reopens bool
}

// ChangeOf returns what a record of the kinds [AskKind] says. Of Data it reads the
// fields text, rejected and again of an Asked record: engines keep these in Data whatever
// its size. Other Data has no text, and rejects nothing.
func ChangeOf(rec Record) AskChange {
	c := AskChange{Key: rec.Name, Opens: rec.Kind == Asked, Final: rec.Kind == Answered}
	if !c.Opens {
		return c
	}
	var d struct{ Text, Rejected, Again json.RawMessage }
	_ = json.Unmarshal(rec.Data, &d)
	_ = json.Unmarshal(d.Text, &c.Text)
	c.Reopens = !slices.Contains([]string{"", `""`, "null"}, string(d.Rejected)) || string(d.Again) == "true"
	return c
}

// Counts tells whether c takes the place of the last change of its key.
func (c AskChange) Counts(last AskChange) bool { return !last.Final || c.Reopens }

// SearchText is the text that AskQuery.Text is looked up in, with fields kept apart by
// zero bytes and ASCII letters in lower case. A store that keeps it finds all questions
// that may match by [LowerASCII] of the query's Text; [AskQuery.Selects] tells which do.
func (c AskChange) SearchText() string { return LowerASCII(c.Key + "\x00" + c.Text) }

// has tells whether one of the fields of SearchText has a text in lower case.
func (c AskChange) has(text string) bool {
	return strings.Contains(LowerASCII(c.Key), text) || strings.Contains(LowerASCII(c.Text), text)
}

// openAsks are the last changes of all keys of a run, with the records that made them.
type openAsks map[string]*openAsk

type openAsk struct {
	AskChange
	asked Record // record of the change
}

// add takes in a record of the kinds AskKind.
func (o openAsks) add(rec Record) {
	c := ChangeOf(rec)
	if last := o[c.Key]; last == nil {
		o[c.Key] = &openAsk{c, rec}
	} else if c.Counts(last.AskChange) {
		*last = openAsk{c, rec}
	}
}

// selected are the open questions of the run of l that q selects.
func (o openAsks) selected(q *AskQuery, l *Listing) (open []OpenAsk) {
	for _, k := range o {
		a := OpenAsk{k.asked, l.Flow, l.Labels}
		if k.Opens && !l.Ended && q.Selects(&a) {
			open = append(open, a)
		}
	}
	return open
}

// firstOf returns the first of all in their order, as many as q wants.
func firstOf(q *AskQuery, all []OpenAsk) []OpenAsk {
	slices.SortFunc(all, func(a, b OpenAsk) int { return a.Place().Compare(b.Place()) })
	if q.Limit > 0 && q.Limit < len(all) {
		all = all[:q.Limit]
	}
	return all
}

// OpenAsks yields what [OpenQuestions] yield, for any store. Without their index it reads
// the logs of all open runs that q selects, before it yields.
func OpenAsks(ctx context.Context, s Store, q AskQuery) iter.Seq2[OpenAsk, error] {
	if index, ok := As[OpenQuestions](s); ok {
		return index.OpenAsks(ctx, q)
	}
	return func(yield func(OpenAsk, error) bool) {
		all, err := scanOpenAsks(ctx, s, q)
		for i := 0; i < len(all) && err == nil; i++ {
			if err = ctx.Err(); err == nil && !yield(all[i], nil) {
				return
			}
		}
		if err != nil {
			yield(OpenAsk{}, err)
		}
	}
}

func scanOpenAsks(ctx context.Context, s Store, q AskQuery) (all []OpenAsk, err error) {
	for l, err := range s.List(ctx, Query{Open: true, Run: q.Run, Flow: q.Flow, Label: q.Label}) {
		if err != nil {
			return nil, err
		}
		asks := openAsks{}
		for rec, err := range Asks(ctx, s, l.Run, "") {
			if err != nil {
				return nil, err
			}
			asks.add(rec)
		}
		all = append(all, asks.selected(&q, &l)...)
	}
	return firstOf(&q, all), nil
}
