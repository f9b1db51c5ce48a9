package research_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/research"
)

func TestPrompts(t *testing.T) {
	template := func(name, text string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(text)}} }
	t.Run("every template has the brief, the iteration and who is asked", func(t *testing.T) {
		for name, who := range map[string]string{
			"plan.tmpl": "planner", "strategy.tmpl": "strategist", "work.tmpl": "web_search", "evaluate.tmpl": "supervisor", "merge.tmpl": "merger",
		} {
			p := scored(0.9).merged(research.Draft{Content: "merged"})
			p.cfg.Agents.Strategist = "strategist"
			p.cast["strategist"] = []any{`{"drop":[]}`}
			p.cfg.Prompts = template(name, "{{.Worker}}: {{.Brief.Topic}}, {{.Iteration}}")
			got := p.play(t)
			require.NoError(t, got.err)
			assert.Equal(t, who+": AI in healthcare, 1", got.asked[who][0].Prompt, name)
		}
	})
	const broken = `{{if .Brief.Topic}}{{index .Brief.PreferredSources 9}}{{end}}` // where there is a topic
	t.Run("RX18 a template that cannot be filled is a failure of the agent: what was written stays", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Prompts = template("evaluate.tmpl", broken)
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Contains(t, got.out.Article.Content, "Words of article_writer.")
		assert.Contains(t, got.warning(t, "research/ungraded").Message, "evaluate.tmpl")
		assert.Empty(t, got.asked["supervisor"])
	})
	t.Run("RX27 a template that cannot be filled is not tried again", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Prompts = template("plan.tmpl", broken)
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrAgent)
		assert.Contains(t, got.out.Failure.Message, "planner failed after 1 attempt: ")
		assert.Empty(t, got.waits(t, "planner"))
	})
}
