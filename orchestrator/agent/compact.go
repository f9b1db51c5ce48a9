package agent

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/providers"
)

// Compact is the default [Compactor]. It makes a conversation half as large as it may be,
// so that not each turn has to, in steps, and stops at the first that is enough:
//
//  1. Results of tools are dropped, oldest first. A mark says how long each was.
//  2. The messages before the last turns become one message of notes, which Model writes.
//     Without Model, or where the notes do not fit into the limits of the call or fail,
//     the oldest messages are dropped. A mark says how many.
//
// These stay as they are: system messages at the beginning, the first and the last message
// of the user's, and the last Keep turns with their results. Only where the conversation
// still does not fit, those turns lose their results, then go, oldest first, then the
// first message of the user's; the last message of the user's and the last turn never go.
//
// Its zero value asks no model. It is safe for concurrent use if Model is.
type Compact struct {
	Model        providers.Model // writes the notes; nil: old messages are dropped
	Keep         int             // number of the last turns that stay as they are; 0: 3
	Fresh        bool            // true: the notes hand over to a fresh context, with only the last turn and what follows the user's last message; needs Model
	MaxTokens    int             // tokens of the notes; 0: 2,000
	Instructions string          // system message for Model; "": one that asks for facts, decisions, open ends
}

//go:embed notes.txt
var notesText string

// Bounds of notes and of what they are made of.
const (
	notesTokens = 2_000   // tokens of the notes without Compact.MaxTokens
	shownResult = 2 << 10 // bytes of a tool's result that the writer of the notes sees
	shownText   = 8 << 10 // bytes of another message that it sees
	perToken    = 2       // bytes of text in a token of providers.Tokens
)

// Validate returns every fault of c joined into one error, or nil.
func (c Compact) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Keep < 0 {
		bad("Keep is %d, want 0 or more", c.Keep)
	}
	if c.MaxTokens < 0 {
		bad("MaxTokens is %d, want 0 or more", c.MaxTokens)
	}
	if c.Fresh && c.Model == nil {
		bad("Fresh is set and Model is nil: nobody writes what is handed over")
	}
	return errors.Join(errs...)
}

// Compact implements [Compactor]. A conversation that fits is returned as it is.
func (c Compact) Compact(ctx context.Context, talk *Talk) ([]providers.Message, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("agent: Compact: %w", err)
	}
	d := newDraft(talk, cmp.Or(c.Keep, 3))
	if talk.Size(talk.Messages) <= talk.Most {
		return talk.Messages, nil
	}
	aim := talk.Most / 2
	if !c.Fresh {
		d.dropResults(0, d.tail, aim)
	}
	if d.size() > aim && c.Model != nil {
		if err := c.write(ctx, talk, d); err != nil {
			return nil, err
		}
	}
	d.dropResults(0, d.tail, aim)
	d.dropMiddle(aim)
	d.squeeze(talk.Most)
	return d.messages(), nil
}

// write has Model write notes for the messages that are to go.
func (c Compact) write(ctx context.Context, talk *Talk, d *draft) error {
	tail, first := d.tail, d.first
	if c.Fresh {
		d.tail, d.first = d.last, -1
	}
	notes, err := c.notes(ctx, talk, d)
	if notes == "" {
		d.tail, d.first = tail, first
		return err
	}
	d.fold(notes)
	return nil
}

// notes returns what Model writes of the messages that are to go. "": there are none, or
// it cannot be asked. Its error is that of ctx.
func (c Compact) notes(ctx context.Context, talk *Talk, d *draft) (string, error) {
	most := cmp.Or(c.MaxTokens, notesTokens)
	room := talk.Most
	if w := int64(providers.Window(c.Model)); w > 0 {
		room = min(room, w-int64(most))
	}
	told := d.transcript(int(max(room-int64(len(notesText)+len(c.Instructions)), 1)) * perToken * 3 / 4)
	if told == "" {
		return "", nil
	}
	resp, err := talk.Ask(ctx, c.Model, providers.Request{MaxTokens: most, Messages: []providers.Message{
		{Role: providers.System, Text: cmp.Or(c.Instructions, notesText)},
		{Role: providers.User, Text: told},
	}})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		InfoFrom(ctx).Log.Warn("no notes of a conversation that is made shorter", "err", err)
		return "", nil
	case resp.Stop == providers.StopFilter:
		return "", nil
	}
	return strings.TrimSpace(resp.Text), nil
}

// isNotes reports whether m is what an earlier Compact has put in the place of messages.
func isNotes(m providers.Message) bool {
	return m.Role == providers.User && (strings.HasPrefix(m.Text, notesHead) || strings.HasPrefix(m.Text, goneHead))
}

// Beginnings of the messages that a Compact writes.
const (
	notesHead = "Notes on earlier messages of this conversation, which were removed to save room:\n"
	goneHead  = "Earlier messages of this conversation were removed to save room: "
	droppedAs = "(result dropped to save room: "
)

// goneIn returns how many messages m stands for, if it is a goneOf.
func goneIn(m providers.Message) int {
	n := 0
	if m.Role == providers.User && strings.HasPrefix(m.Text, goneHead) {
		_, _ = fmt.Sscanf(m.Text[len(goneHead):], "%d of them.", &n) // 0: it is another message
	}
	return n
}

// notesOf is the message of notes.
func notesOf(notes string) providers.Message {
	return providers.Message{Role: providers.User, Text: notesHead + text.Delimit("data", ` name="notes"`, notes)}
}

// goneOf is the message that says how many messages went.
func goneOf(n int) providers.Message {
	return providers.Message{Role: providers.User, Text: fmt.Sprintf("%s%d of them.", goneHead, n)}
}

// dropped is a result of a tool without its text, or m itself if that is not longer.
func dropped(m providers.Message) providers.Message {
	mark := fmt.Sprintf("%s%d bytes; call the tool again if it is needed)", droppedAs, len(m.Text))
	if m.Role != providers.ToolRole || strings.HasPrefix(m.Text, droppedAs) || len(m.Parts) == 0 && len(mark) >= len(m.Text) {
		return m
	}
	m.Text, m.Parts = mark, nil
	return m
}
