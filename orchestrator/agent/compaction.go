package agent

import (
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
)

// Compaction says how a conversation was made shorter once, before a turn of the model.
// It is recorded with the answer of the call, so a replay makes the same change without
// a call. A text that stays is not in it again.
type Compaction struct {
	Turn   int             `json:"turn"`            // turn of the model that was shown the shorter conversation, from 1
	At     int             `json:"at,omitempty"`    // number of Response.Messages that had been said before
	Pieces []Piece         `json:"pieces"`          // conversation from then on
	Turns  int             `json:"turns,omitempty"` // turns for the last prompt that the conversation does not show any more
	Before int64           `json:"before"`          // size of the conversation before, by providers.Tokens
	After  int64           `json:"after"`           // size of the conversation behind it, likewise
	Usage  providers.Usage `json:"usage,omitzero"`  // usage of the compaction, a part of Response.Usage
}

// Piece is a part of a conversation that was made shorter: a new Message, or messages of
// the conversation before.
type Piece struct {
	From    int                `json:"from,omitempty"`    // first message that stays, from 0
	To      int                `json:"to,omitempty"`      // end of those that stay, itself not one of them
	Message *providers.Message `json:"message,omitempty"` // new message; nil: From and To count
}

// apply returns talk as it is after c. What c says of messages that talk does not have is
// left out.
func (c Compaction) apply(talk []providers.Message) []providers.Message {
	var now []providers.Message
	for _, p := range c.Pieces {
		switch {
		case p.Message != nil:
			now = append(now, *p.Message)
		case 0 <= p.From && p.From < p.To && p.To <= len(talk):
			now = append(now, talk[p.From:p.To]...)
		}
	}
	return now
}

// compacted returns the conversation after talk and what resp adds, without its answer.
func compacted(talk []providers.Message, resp Response) []providers.Message {
	done := 0
	for _, c := range resp.Compactions {
		at := min(max(c.At, done), len(resp.Messages))
		talk, done = c.apply(append(talk, resp.Messages[done:at]...)), at
	}
	return append(talk, resp.Messages[done:]...)
}

// piecesOf returns how now is made of old. A message that is in old keeps its place there.
func piecesOf(old, now []providers.Message) []Piece {
	var pieces []Piece
	next := 0 // first message of old that may stay
	for i := range now {
		at := slices.IndexFunc(old[next:], func(m providers.Message) bool { return sameMessage(&m, &now[i]) })
		if at < 0 {
			m := now[i]
			m.Text = strings.ToValidUTF8(m.Text, "?")
			pieces = append(pieces, Piece{Message: &m})
			continue
		}
		at += next
		next = at + 1
		if last := len(pieces) - 1; last >= 0 && pieces[last].Message == nil && pieces[last].To == at {
			pieces[last].To++
			continue
		}
		pieces = append(pieces, Piece{From: at, To: at + 1})
	}
	return pieces
}

// sameMessage reports whether a and b say the same. Parts are compared by their number
// and texts, as they are seldom copied.
func sameMessage(a, b *providers.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.ToolID == b.ToolID &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(c, d providers.ToolCall) bool {
			return c.ID == d.ID && c.Name == d.Name && string(c.Input) == string(d.Input) && string(c.Extra) == string(d.Extra)
		}) &&
		slices.EqualFunc(a.Parts, b.Parts, func(p, q providers.Part) bool {
			return p.Kind == q.Kind && p.Text == q.Text && p.URL == q.URL && p.Media == q.Media && p.Name == q.Name && string(p.Data) == string(q.Data)
		})
}

// turnsOf returns how many turns of the model stand behind the last user's message.
func turnsOf(talk []providers.Message) int {
	turns := 0
	for _, m := range talk {
		switch m.Role { //nolint:exhaustive // the others are no turns
		case providers.User:
			turns = 0
		case providers.Assistant:
			turns++
		}
	}
	return turns
}
