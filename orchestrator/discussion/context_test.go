package discussion_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// slowContext is BuildContext as its comment defines it: all is rendered, and the oldest
// messages are taken out one by one until the rest fits.
func slowContext(d discussion.Discussion, maxBytes int) (text string, elided int) {
	head, ideas := "Topic:\n"+prompt.Delimit("topic", d.Topic, 0)+"\n", ""
	for i, idea := range d.Ideas {
		if i == 0 {
			ideas = "\nIdeas:\n"
		}
		text := prompt.OneLine(idea.Title)
		if prompt.OneLine(idea.Description) != "" {
			text += " - " + prompt.OneLine(idea.Description)
		}
		ideas += fmt.Sprintf("%d. [%s]\n%s\n", i+1, idea.ID, prompt.Delimit(idea.ID, text, 0))
		if idea.Validated {
			ideas += fmt.Sprintf("   Score: %.1f/10\n", idea.Score)
		}
	}
	parts, keeps, synthesis := map[int]string{}, map[int]bool{}, -1
	for i, m := range d.Messages {
		author := m.By
		if author == "" {
			author = string(m.From)
		}
		name := fmt.Sprintf("message %d", i+1)
		parts[i] = fmt.Sprintf("[%s -> %s]: %s, %s\n%s\n", author, m.To, name, m.Type, prompt.Delimit(name, m.Content, 0))
		keeps[i] = m.Type == "kickoff"
		if m.Type == "synthesis" {
			synthesis = i
		}
	}
	keeps[synthesis] = true
	first := -1
	size := func() int {
		n := len(head) + len("\nDiscussion so far:\n") + len(ideas)
		for _, part := range parts {
			n += len(part)
		}
		if elided > 0 {
			n += 50 // what a line about what is left out takes, about
		}
		return n
	}
	for i := range d.Messages {
		if maxBytes <= 0 || size() <= maxBytes {
			break
		}
		if !keeps[i] {
			delete(parts, i)
			if elided++; first < 0 {
				first = i
			}
		}
	}
	text = head
	if len(d.Messages) > 0 {
		text += "\nDiscussion so far:\n"
	}
	for i := range d.Messages {
		if i == first {
			text += fmt.Sprintf("[... messages left out here: %d ...]\n", elided)
		}
		text += parts[i]
	}
	return strings.TrimSuffix(text+ideas, "\n"), elided
}

// TestContextIsThatOfItsDefinition has a discussion grow by random messages, ideas and scores,
// and reads it after each step, with and without what was rendered before.
func TestContextIsThatOfItsDefinition(t *testing.T) {
	t.Parallel()
	t.Run("D39 DX10 what is kept between turns changes nothing", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d, kept := discussion.Discussion{Topic: "t"}, discussion.NewTranscript()
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				switch what := rapid.SampledFrom([]string{"critic", "critic", "kickoff", "synthesis", "preamble", "idea", "score"}).Draw(t, "what"); what {
				case "idea":
					n := len(d.Ideas) + 1
					d.Ideas = append(d.Ideas, discussion.Idea{ID: fmt.Sprintf("idea-%d", n), Title: rapid.StringN(1, 9, -1).Draw(t, "title"), Description: rapid.StringN(0, 9, -1).Draw(t, "about")})
				case "score":
					for i := range d.Ideas {
						d.Ideas[i].Validated, d.Ideas[i].Score = true, rapid.Float64Range(0, 10).Draw(t, "score")
					}
				default:
					d.Messages = append(d.Messages, discussion.Message{
						From: "a", By: rapid.SampledFrom([]string{"", "b"}).Draw(t, "by"), To: "team", Type: discussion.MessageType(what),
						Content: strings.Repeat("x", rapid.IntRange(0, 300).Draw(t, "length")),
					})
				}
				most := rapid.IntRange(-1, 1500).Draw(t, "limit")
				want, elided := slowContext(d, most)
				text, n := kept.Text(d, most)
				if text != want || n != elided {
					t.Fatalf("limit %d: %d left out, want %d:\n%s\nwant\n%s", most, n, elided, text, want)
				}
				if text, n = discussion.BuildContext(d, most); text != want || n != elided {
					t.Fatalf("BuildContext: limit %d: %d left out, want %d:\n%s\nwant\n%s", most, n, elided, text, want)
				}
			}
		})
	})
}

func TestCostOfRounds(t *testing.T) {
	t.Parallel()
	t.Run("D38 each message and idea is rendered once", func(t *testing.T) {
		d := discussion.Discussion{Topic: "t", Messages: []discussion.Message{{Content: "before"}}, Ideas: []discussion.Idea{{Title: "old"}}}
		kept := discussion.NewTranscript()
		first, _ := kept.Text(d, 0)
		d.Messages[0].Content, d.Ideas[0].Title, d.Ideas[0].Validated = "after", "new", true
		again, _ := kept.Text(d, 0)
		assert.Equal(t, first+"\n   Score: 0.0/10", again)
	})
	t.Run("D38 DX10 ten times the rounds take at most eleven times the work", func(t *testing.T) {
		work := func(rounds int) (work int) {
			cfg, roster := long(rounds)
			flow, err := discussion.NewCounted(cfg, &work)
			require.NoError(t, err)
			out, err := flow.Run(t.Context(), orchestrator.Local(roster), discussion.Input{Topic: topic})
			require.NoError(t, err)
			require.Equal(t, rounds, out.Discussion.Round)
			require.Greater(t, len(out.Discussion.Messages), 7*rounds)
			return work
		}
		few, many := work(10), work(100)
		require.Positive(t, few)
		assert.LessOrEqual(t, many, 11*few)
		assert.Less(t, many, 40*7*100, "a turn looks at little more than the 10 messages that it keeps, and at 5 ideas")
	})
}
