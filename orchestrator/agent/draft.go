package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/providers"
)

// draft is a conversation that a [Compact] makes shorter, in units that stay together: a
// message with the results of the tools that it calls. Its order is
//
//	system messages, [head] first, what is gone, old messages, notes, [tail] last turns
//
// and prompt is in either part. If it is before tail, the notes are before prompt, so that
// it stays the user's last message. From last on nothing goes.
type draft struct {
	units  []unit
	head   int    // number of units at the beginning that are the system's
	first  int    // unit of the user's first message; -1: none
	prompt int    // unit of the user's last message; -1: none
	tail   int    // first unit of the last turns
	last   int    // first unit that the model must see to go on
	gone   int    // number of messages that nothing but a count stands for
	notes  string // text that stands for others; "": none
}

// unit is a message with the results of the tools that it calls.
type unit struct {
	was   []providers.Message // messages as they came
	said  []providers.Message // messages as they are now; nil: they are gone
	size  int64
	notes bool // it was written by a Compact
}

func (u *unit) role() providers.Role { return u.was[0].Role }

// say changes what u says now.
func (u *unit) say(said []providers.Message) { u.said, u.size = said, sizeOf(said...) }

// sizeOf is at least the size of messages as [Talk.Size] counts it, and a sum of its parts.
func sizeOf(messages ...providers.Message) int64 {
	size := int64(0)
	for i := range messages {
		size += providers.Tokens(providers.Request{Messages: messages[i : i+1]}) + 1
	}
	return size
}

// newDraft returns a draft of talk whose tail has that many turns of the model.
func newDraft(talk *Talk, keep int) *draft {
	d := &draft{first: -1, prompt: -1}
	for i, m := range talk.Messages {
		if n := len(d.units); n > 0 && m.Role == providers.ToolRole {
			d.units[n-1].was = talk.Messages[i-len(d.units[n-1].was) : i+1]
			continue
		}
		d.units = append(d.units, unit{was: talk.Messages[i : i+1], notes: isNotes(m)})
	}
	for i := range d.units {
		u := &d.units[i]
		u.say(u.was)
		switch {
		case u.role() == providers.System && d.head == i:
			d.head++
		case u.role() == providers.User:
			d.prompt = i
			if d.first < 0 && !u.notes {
				d.first = i
			}
		}
	}
	d.place(keep)
	for i := range d.units {
		if n := goneIn(d.units[i].was[0]); n > 0 && i != d.prompt {
			d.gone += n
			d.units[i].say(nil)
		}
	}
	return d
}

// place sets tail and last.
func (d *draft) place(keep int) {
	d.tail, d.last = len(d.units), max(d.prompt, 0)
	for i := len(d.units) - 1; i >= d.head && keep > 0; i-- {
		if d.units[i].role() == providers.Assistant {
			if d.tail == len(d.units) {
				d.last = max(d.last, i)
			}
			d.tail = i
			keep--
		}
	}
	if d.prompt < 0 && d.tail == len(d.units) {
		d.last = max(len(d.units)-1, 0)
	}
}

// notesAt is the unit before which the notes stand.
func (d *draft) notesAt() int {
	if d.prompt >= 0 {
		return min(d.prompt, d.tail)
	}
	return d.tail
}

// goneAt is the unit before which the count of what is gone stands.
func (d *draft) goneAt() int {
	if d.first >= 0 && d.first != d.prompt {
		return min(d.first+1, d.notesAt())
	}
	return min(d.head, d.notesAt())
}

// written are the messages before unit i that stand for others.
func (d *draft) written(i int) []providers.Message {
	var w []providers.Message
	if i == d.goneAt() && d.gone > 0 {
		w = append(w, goneOf(d.gone))
	}
	if i == d.notesAt() && d.notes != "" {
		w = append(w, notesOf(d.notes))
	}
	return w
}

// messages returns the conversation as it is now.
func (d *draft) messages() []providers.Message {
	var all []providers.Message
	for i, u := range d.units {
		all = append(append(all, d.written(i)...), u.said...)
	}
	return append(all, d.written(len(d.units))...)
}

func (d *draft) size() int64 {
	var size int64
	if d.gone > 0 {
		size += sizeOf(goneOf(d.gone))
	}
	if d.notes != "" {
		size += sizeOf(notesOf(d.notes))
	}
	for _, u := range d.units {
		size += u.size
	}
	return size
}

// middle returns the units that notes may stand for.
func (d *draft) middle() []int {
	var units []int
	for i := d.head; i < min(d.tail, d.last); i++ {
		if i != d.first && i != d.prompt && d.units[i].said != nil {
			units = append(units, i)
		}
	}
	return units
}

// dropResults drops results of tools in the units from up to before to, oldest first, until
// the size is at most most.
func (d *draft) dropResults(from, to int, most int64) {
	size := d.size()
	for i := from; i < to && size > most; i++ {
		u := &d.units[i]
		for n := range u.said {
			short := dropped(u.said[n])
			if size <= most || sameMessage(&short, &u.said[n]) {
				continue
			}
			said := slices.Clone(u.said)
			said[n] = short
			size -= u.size
			u.say(said)
			size += u.size
		}
	}
}

// fold has notes stand for the middle.
func (d *draft) fold(notes string) {
	for _, i := range d.middle() {
		d.units[i].say(nil)
	}
	d.gone, d.notes = 0, notes
}

// drop leaves a unit out.
func (d *draft) drop(i int) {
	if u := &d.units[i]; u.said != nil {
		d.gone += len(u.said)
		u.say(nil)
	}
}

// dropMiddle leaves out old messages but notes, oldest first, until the size is at most aim.
func (d *draft) dropMiddle(aim int64) {
	for _, i := range d.middle() {
		if d.size() <= aim {
			return
		}
		if !d.units[i].notes {
			d.drop(i)
		}
	}
}

// squeeze leaves out what would better stay, the most useful last, until the size is at
// most most.
func (d *draft) squeeze(most int64) {
	d.dropResults(0, d.last, most)
	for i := d.tail; i < d.last && d.size() > most; i++ {
		if i != d.prompt {
			d.drop(i)
		}
	}
	if d.first >= 0 && d.first < d.last && d.first != d.prompt && d.size() > most {
		d.drop(d.first)
	}
	d.dropResults(d.last, len(d.units), most)
	if d.size() <= most {
		return
	}
	d.notes = ""
	for i := range d.units[:d.last] {
		if d.units[i].notes && i != d.prompt && d.size() > most {
			d.drop(i)
		}
	}
}

// transcript is what the writer of the notes sees: the messages that are to go, at most
// that many bytes, the last ones. "": there are none but notes.
func (d *draft) transcript(most int) string {
	var b strings.Builder
	fresh := false
	for _, i := range d.middle() {
		fresh = fresh || !d.units[i].notes
		for _, m := range d.units[i].was {
			limit := shownText
			if m.Role == providers.ToolRole {
				limit = shownResult
			}
			fmt.Fprintf(&b, "%s: %s\n", m.Role, text.Cut(m.Text, limit))
			for _, call := range m.ToolCalls {
				fmt.Fprintf(&b, "%s calls %s %s\n", m.Role, call.Name, text.Cut(string(call.Input), shownResult))
			}
		}
	}
	if !fresh {
		return ""
	}
	task := ""
	if d.prompt >= 0 {
		task = text.Delimit("data", ` name="task"`, text.Cut(d.units[d.prompt].was[0].Text, min(shownText, most/4))) + "\n\n"
	}
	return task + text.Delimit("data", ` name="conversation"`, text.Ends(b.String(), max(most-len(task), 0)))
}
