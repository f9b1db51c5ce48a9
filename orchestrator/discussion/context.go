package discussion

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// BuildContext returns a discussion as agents read it: the topic, the messages, and the
// ideas, each with its score if it has one. Every text of an agent or a user is delimited
// separately; its author, type, number and score are outside, where no text can forge
// them.
//
// If that exceeds maxBytes (0: no limit), one line with their number, elided, replaces the
// oldest messages, except the kickoff and the last synthesis. Ideas are always kept, so that
// the result may still be longer.
func BuildContext(d Discussion, maxBytes int) (text string, elided int) {
	parts := make([]string, len(d.Messages))
	head, ideas := "Topic:\n"+prompt.Delimit("topic", d.Topic, 0)+"\n", ideaList(d.Ideas)
	size, synthesis := len(head)+len(messagesHead)+len(ideas), -1
	for i, m := range d.Messages {
		name := fmt.Sprintf("message %d", i+1)
		parts[i] = fmt.Sprintf("[%s -> %s]: %s, %s\n%s\n", m.author(), m.To, name, m.Type, prompt.Delimit(name, m.Content, 0))
		size += len(parts[i])
		if m.Type == "synthesis" {
			synthesis = i
		}
	}
	first := -1 // index of the first message that is left out
	for i, m := range d.Messages {
		if maxBytes <= 0 || size <= maxBytes {
			break
		}
		if m.Type == "kickoff" || i == synthesis {
			continue
		}
		if first < 0 {
			first = i
			size += elisionBytes
		}
		size -= len(parts[i])
		parts[i] = ""
		elided++
	}
	if elided > 0 {
		parts[first] = fmt.Sprintf("[... messages left out here: %d ...]\n", elided)
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
