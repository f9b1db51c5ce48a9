package discussion

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/internal/prompt"
)

// BuildContext returns what an agent gets to read of a discussion: the topic, the
// messages, and the ideas, each with its score if it has one. Every text of an agent or
// a user is delimited by itself; who wrote it, as what, its number and its score stand
// outside, where no text can forge them.
//
// If that exceeds maxBytes (0: no limit), the oldest messages but for the kickoff and
// the last synthesis give way to one line with their number; ideas never do, so that
// the result may still be longer.
func BuildContext(d Discussion, maxBytes int) string {
	text, _ := buildContext(d, maxBytes)
	return text
}

// buildContext also returns how many messages were left out.
func buildContext(d Discussion, maxBytes int) (text string, elided int) {
	parts := make([]string, len(d.Messages))
	head, ideas := "Topic:\n"+prompt.Delimit("topic", d.Topic, 0)+"\n", ideaList(d.Ideas)
	size := len(head) + len(messagesHead) + len(ideas)
	for i, m := range d.Messages {
		name := fmt.Sprintf("message %d", i+1)
		parts[i] = fmt.Sprintf("[%s -> %s]: %s, %s\n%s\n", m.From, m.To, name, m.Type, prompt.Delimit(name, m.Content, 0))
		size += len(parts[i])
	}
	keep := kept(d.Messages)
	at := -1 // where the line about what is left out goes
	if over := size - maxBytes; maxBytes > 0 && over > 0 {
		for i := 0; i < len(parts) && over > 0; i++ {
			if keep[i] {
				continue
			}
			if at < 0 {
				at = i
				over += elisionBytes
			}
			over -= len(parts[i])
			parts[i] = ""
			elided++
		}
	}
	if at >= 0 {
		parts[at] = fmt.Sprintf("[... messages left out here: %d ...]\n", elided)
	}
	if len(parts) > 0 {
		head += messagesHead
	}
	return strings.TrimSuffix(head+strings.Join(parts, "")+ideas, "\n"), elided
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

// ideaList is the section of the ideas; "" without any.
func ideaList(ideas []Idea) string {
	if len(ideas) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nIdeas:\n")
	for i, idea := range ideas {
		text := prompt.OneLine(idea.Title)
		if more := prompt.OneLine(idea.Description); more != "" {
			text += " - " + more
		}
		fmt.Fprintf(&b, "%d. [%s]\n%s\n", i+1, idea.ID, prompt.Delimit(idea.ID, text, 0))
		if idea.Validated {
			fmt.Fprintf(&b, "   Score: %.1f/%d\n", idea.Score, maxScore)
		}
	}
	return b.String()
}
