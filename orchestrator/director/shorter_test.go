package director_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
)

// A worker whose conversation has become too long goes on with the shorter one, and so
// does the memory of its task.
func TestConversationsThatAreMadeShorter(t *testing.T) {
	notes := providers.Message{Role: providers.User, Text: "notes on all that was read"}
	var history []providers.Message
	s := one(map[string]func(asked) any{"work": func(a asked) any {
		if a.req.Op == director.OpWork {
			return agent.Response{More: true, Messages: messages(3), Usage: providers.Usage{ToolCalls: 3, Compacted: 1}, Compactions: []agent.Compaction{
				{Turn: 3, At: 4, Pieces: []agent.Piece{{Message: &notes}, {From: 0, To: 1}}},
			}}
		}
		history = a.req.History
		return done(a.task, a.attempt)
	}})
	p := s.play(t)
	require.NoError(t, p.err)
	require.Len(t, history, 4, "the notes, the prompt, and what came behind them")
	assert.Equal(t, notes, history[0])
	assert.Equal(t, messages(3)[4:], history[2:])
	assert.EqualValues(t, 1, p.out.Spent.Compacted)
	memory := p.out.Board.Memories["db_build"]
	assert.Equal(t, history, memory[:4])
	s.sweep(t)
}
