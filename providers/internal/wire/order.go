package wire

import (
	"slices"

	"github.com/convene-go/convene/providers"
)

// Leading returns how many system messages a conversation begins with: its instructions.
func Leading(messages []providers.Message) int {
	other := slices.IndexFunc(messages, func(m providers.Message) bool { return m.Role != providers.System })
	if other < 0 {
		return len(messages)
	}
	return other
}

// Reminder returns a system message as a marked message of the user, for vendors that
// take none after the instructions.
func Reminder(m providers.Message) providers.Message {
	return providers.Message{Role: providers.User, Text: "<system-reminder>\n" + m.Text + "\n</system-reminder>"}
}

// InOrder returns messages for vendors that take system messages only at the beginning:
// some refuse a later one, others move it there. A later one becomes a [Reminder] in its
// place, or is left out if it is blank.
func InOrder(messages []providers.Message) []providers.Message {
	first := Leading(messages)
	if !slices.ContainsFunc(messages[first:], func(m providers.Message) bool { return m.Role == providers.System }) {
		return messages
	}
	out := slices.Clone(messages[:first])
	for _, m := range messages[first:] {
		switch {
		case m.Role != providers.System:
			out = append(out, m)
		case !Blank(m):
			out = append(out, Reminder(m))
		}
	}
	return out
}
