package research_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

func TestPage(t *testing.T) {
	out := research.Outcome{
		Outcome: orchestrator.Outcome{
			Asked: "Tea <b>", Status: orchestrator.Completed, Score: new(0.91), Spent: providers.Usage{Calls: 7, Cost: providers.Dollars(1.25)}, Elapsed: 3 * time.Minute,
			Warnings: []orchestrator.Warning{{Code: "research/agent-failed", Who: "news_search", Message: "News were not read"}},
		},
		Article:   &research.Article{Title: "On tea", Content: "## Leaves\n\nTea <script>alert(1)</script> is hot.", Words: 4, ReadMinutes: 1},
		Threshold: 0.8, Quality: map[string]float64{"overall": 0.91, "writing": 0.7},
		Sources: []research.Source{{Title: "A book", URL: "https://example.org/book", Kind: "book", Excerpt: "Leaves."}},
		Metrics: research.Metrics{Iterations: 2, Improvement: "+36% quality (0.55 → 0.91)"},
		Course: research.Course{
			History: []research.Iteration{{Quality: 0.55}, {Quality: 0.91}},
			Tasks: []research.Task{
				{Worker: "web_search", Iteration: 1, Status: "COMPLETED", Attempts: 1},
				{Worker: "news_search", Iteration: 1, Status: "FAILED", Attempts: 3, Error: "no <network>"},
				{Worker: "writer", Iteration: 2, Status: "COMPLETED", Attempts: 2, FallbackOf: "poet"},
			},
			Results: research.Results{Writing: []research.WorkerOutput{{Worker: "writer", Iteration: 2, Payload: json.RawMessage(`{"content":"Tea is hot."}`)}}},
		},
	}
	assert.Equal(t, out.Article.Content, out.Result())
	html, err := research.Page(out)
	require.NoError(t, err)
	at := 0
	for _, want := range []string{
		"On tea", "36% quality", "Tea &lt;script&gt;", "1.2500 USD", "3m0s", "News were not read", "Marks", "Writing",
		"Iteration 1, 0.55 below 0.80", "Web search", "failed, attempt 3", "no &lt;network&gt;", "Iteration 2, 0.91", "attempt 2, in place of poet", "Tea is hot.",
		"Sources", "A book", "https://example.org/book",
	} {
		i := strings.Index(html[at:], want)
		require.GreaterOrEqual(t, i, 0, "%q behind the others in:\n%s", want, html)
		at += i
	}
	assert.NotContains(t, html, "<script")
	assert.NotContains(t, html, "Tea <b>")

	html, err = research.Page(research.Outcome{Failure: &research.Failure{Message: "the topic is missing"}})
	require.NoError(t, err)
	assert.Contains(t, html, "There is no article")
	assert.Contains(t, html, "the topic is missing")
	assert.NotContains(t, html, "Marks")
}
