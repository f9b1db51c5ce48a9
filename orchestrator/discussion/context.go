package discussion

import (
	"fmt"
	"slices"
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
	return new(transcript).text(d, maxBytes)
}

// transcript makes the context of each turn of one discussion, in which messages and ideas are
// only added, and ideas only get scores. It renders each of them once. With a limit a turn costs
// what is kept, however long the discussion is: what is left out is not looked at, but for the
// kickoff and the last synthesis.
type transcript struct {
	topic     string
	messages  []string // rendered
	bytes     int      // size of all messages
	kickoffs  []int    // indexes of the messages that are always kept
	synthesis int      // index of the last synthesis, plus 1; 0: there is none
	ideas     []string // rendered, without scores
	work      int      // number of texts that were rendered, looked at or put together
}

const (
	messagesHead = "\nDiscussion so far:\n"
	elisionBytes = 50 // about, of the line about what is left out
)

// text is BuildContext of d, which is the discussion of the call before, or that with more.
func (t *transcript) text(d Discussion, maxBytes int) (text string, elided int) {
	t.read(d)
	scored := t.scored(d.Ideas)
	kept := t.always()
	from := t.from(kept, len(t.topic)+len(messagesHead)+len(scored), maxBytes)
	parts := []string{t.topic}
	if len(t.messages) > 0 {
		parts = append(parts, messagesHead)
	}
	old := kept[:countBelow(kept, from)]
	if elided = from - len(old); elided > 0 {
		first := 0 // index in old of the first message behind those that are left out first
		for first < len(old) && old[first] == first {
			first++
		}
		parts = append(parts, t.at(old[:first])...)
		parts = append(parts, fmt.Sprintf("[... messages left out here: %d ...]\n", elided))
		old = old[first:]
	}
	parts = append(append(parts, t.at(old)...), t.messages[from:]...)
	t.work += len(parts)
	return strings.TrimSuffix(strings.Join(append(parts, scored), ""), "\n"), elided
}

// at returns the messages at these indexes.
func (t *transcript) at(indexes []int) (parts []string) {
	for _, i := range indexes {
		parts = append(parts, t.messages[i])
	}
	return parts
}

// read renders what is new.
func (t *transcript) read(d Discussion) {
	if t.topic == "" {
		t.topic = "Topic:\n" + prompt.Delimit("topic", d.Topic, 0) + "\n"
	}
	for i := len(t.messages); i < len(d.Messages); i++ {
		m, name := d.Messages[i], fmt.Sprintf("message %d", i+1)
		text := fmt.Sprintf("[%s -> %s]: %s, %s\n%s\n", m.author(), m.To, name, m.Type, prompt.Delimit(name, m.Content, 0))
		t.messages = append(t.messages, text)
		t.bytes += len(text)
		t.work++
		switch m.Type {
		case "kickoff":
			t.kickoffs = append(t.kickoffs, i)
		case "synthesis":
			t.synthesis = i + 1
		}
	}
	for i := len(t.ideas); i < len(d.Ideas); i++ {
		idea := d.Ideas[i]
		text := prompt.OneLine(idea.Title)
		if more := prompt.OneLine(idea.Description); more != "" {
			text += " - " + more
		}
		t.ideas = append(t.ideas, fmt.Sprintf("%d. [%s]\n%s\n", i+1, idea.ID, prompt.Delimit(idea.ID, text, 0)))
		t.work++
	}
}

// scored returns the section of the ideas with their scores; "" without any.
func (t *transcript) scored(ideas []Idea) string {
	if len(ideas) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nIdeas:\n")
	for i, idea := range ideas {
		b.WriteString(t.ideas[i])
		if t.work++; idea.Validated {
			fmt.Fprintf(&b, "   Score: %.1f/%d\n", idea.Score, maxScore)
		}
	}
	return b.String()
}

// always returns the indexes of the messages that are kept, in order.
func (t *transcript) always() []int {
	kept := slices.Clone(t.kickoffs)
	if t.synthesis > 0 {
		kept = append(kept, t.synthesis-1)
		slices.Sort(kept)
	}
	return kept
}

// from returns the index from which on all messages are kept, going back from the last one. size
// is that of the rest of the context.
func (t *transcript) from(kept []int, size, most int) int {
	if most <= 0 || size+t.bytes <= most {
		return 0
	}
	size += elisionBytes
	for _, at := range kept {
		size += len(t.messages[at])
	}
	from := len(t.messages)
	for ; from > 0; from-- {
		t.work++
		if _, always := slices.BinarySearch(kept, from-1); always {
			continue
		}
		if size += len(t.messages[from-1]); size > most {
			break
		}
	}
	return from
}

// countBelow returns how many of the numbers, which are in order, are below a limit.
func countBelow(numbers []int, limit int) int {
	n, _ := slices.BinarySearch(numbers, limit)
	return n
}
