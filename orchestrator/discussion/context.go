package discussion

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/internal/prompt"
)

// BuildContext returns what an agent gets to read of a discussion (D38-D40): the
// topic, a line for each message, and the ideas, each with its score if it has one.
//
// If that exceeds maxBytes (0: no limit), the oldest messages but for the kickoff and
// the last synthesis give way to one line with their number; ideas never do, so that
// the result may still be longer (DX10).
func BuildContext(d Discussion, maxBytes int) string {
	text, _ := buildContext(d, maxBytes)
	return text
}

// buildContext also returns how many messages were left out.
func buildContext(d Discussion, maxBytes int) (text string, elided int) {
	lines := make([]string, len(d.Messages))
	size := 0
	for i, m := range d.Messages {
		lines[i] = fmt.Sprintf("[%s -> %s]: %s\n", m.From, m.To, m.Content)
		size += len(lines[i])
	}
	head := "Topic: " + prompt.OneLine(d.Topic) + "\n"
	ideas := ideaLines(d.Ideas)
	keep := kept(d.Messages)
	at := -1 // where the line about what is left out goes
	if over := len(head) + len(messagesHead) + size + len(ideas) - maxBytes; maxBytes > 0 && over > 0 {
		for i := 0; i < len(lines) && over > 0; i++ {
			if keep[i] {
				continue
			}
			if at < 0 {
				at = i
				over += elisionBytes
			}
			over -= len(lines[i])
			lines[i] = ""
			elided++
		}
	}
	var b strings.Builder
	b.WriteString(head)
	if len(lines) > 0 {
		b.WriteString(messagesHead)
	}
	for i, line := range lines {
		if i == at {
			fmt.Fprintf(&b, "[... messages left out here: %d ...]\n", elided)
		}
		b.WriteString(line)
	}
	b.WriteString(ideas)
	return strings.TrimSuffix(b.String(), "\n"), elided
}

const (
	messagesHead = "\nDiscussion so far:\n"
	elisionBytes = 50 // about, of the line about what is left out
)

// kept marks the messages that are never left out.
func kept(messages []Message) []bool {
	keep := make([]bool, len(messages))
	last := -1
	for i, m := range messages {
		keep[i] = m.Type == TypeKickoff
		if m.Type == TypeSynthesis {
			last = i
		}
	}
	if last >= 0 {
		keep[last] = true
	}
	return keep
}

// ideaLines is the section of the ideas; "" without any (D40).
func ideaLines(ideas []Idea) string {
	if len(ideas) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nIdeas:\n")
	for i, idea := range ideas {
		fmt.Fprintf(&b, "%d. %s", i+1, prompt.OneLine(idea.Title))
		if text := prompt.OneLine(idea.Description); text != "" {
			b.WriteString(" - " + text)
		}
		fmt.Fprintf(&b, " [%s]\n", idea.ID)
		if idea.Validated {
			fmt.Fprintf(&b, "   Score: %.1f/10\n", idea.Score) // DC26
		}
	}
	return b.String()
}
