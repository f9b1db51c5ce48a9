package workers_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/research/workers"
)

// The whole team, with both workers on local sites and scripts for the others.
func TestTeam(t *testing.T) {
	news := serve(t, site{"/wards": page("Night wards"), "/beds": page("Empty beds"), "/abs/9901.00001v2": page("A paper")})
	arxiv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "all:triage AND all:nurses", r.URL.Query().Get("search_query"))
		_, _ = io.WriteString(w, regexp.MustCompile(`https?://arxiv\.org`).ReplaceAllString(recorded(t, "arxiv.xml"), news.URL))
	}))
	flow, err := research.New(research.Config{Workers: research.Catalogue(), Policy: research.Policy{MinShare: orchestrator.None}})
	require.NoError(t, err)
	writer := &flowtest.Script{}
	plan := agent.JSON(map[string]any{"complexity": 0.3, "steps": []map[string]any{
		{"id": "search", "category": "research", "mode": "PARALLEL", "workers": []string{"web_search", "academic_search"}},
		{"id": "read", "category": "research", "mode": "SEQUENTIAL", "workers": []string{"web_scraper"}, "depends_on": []string{"search"}},
		{"id": "write", "category": "writing", "mode": "SEQUENTIAL", "workers": []string{"article_writer"}},
	}})
	c := flowtest.New(flow, research.Input{Topic: "Triage by nurses", MinSources: 5, PreferredSources: []string{news.URL + "/beds"}}, func(tb testing.TB) agent.Roster {
		tb.Helper()
		search, err := workers.NewAcademicSearch(workers.SearchConfig{URL: arxiv.URL})
		require.NoError(tb, err)
		writer = flowtest.NewScript(tb, research.Draft{Title: "Triage", Content: "Words."})
		roster := agent.Roster{
			"planner":         flowtest.NewScript(tb, string(plan)),
			"supervisor":      flowtest.NewScript(tb, `{"article":0.9,"source":0.9,"factual":0.9,"writing":0.9}`),
			"web_search":      flowtest.NewScript(tb, research.Findings{Sources: []research.Source{{Title: "Wards", URL: news.URL + "/wards", Relevance: 0.7}, {Title: "Gone", URL: news.URL + "/gone"}}}),
			"web_scraper":     scraperOf(t, workers.ScraperConfig{}, news),
			"academic_search": search,
			"article_writer":  writer,
		}
		for _, name := range flow.Agents {
			if roster[name] == nil {
				roster[name] = flowtest.NewScript(tb)
			}
		}
		return roster
	})
	out, log, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, runlog.Ended, log[len(log)-1].Kind)
	require.NotNil(t, out.Article)
	var unread []string
	for _, w := range out.Warnings {
		if w.Code == "research/few-sources" {
			assert.Contains(t, w.Message, "beside 3 that were not read")
			continue
		}
		require.Equal(t, "research/unread", w.Code)
		unread = append(unread, w.Who+" "+w.Message)
	}
	assert.Contains(t, unread, "web_scraper "+news.URL+"/gone: status 404 Not Found")
	assert.Len(t, unread, 3)
	for i, source := range out.Sources {
		assert.Equal(t, i >= len(out.Sources)-3, strings.Contains(strings.Join(unread, "\n"), source.URL+": "), "pages that were not read stand last")
	}
	kinds := map[string]string{}
	for _, s := range out.Sources {
		kinds[s.URL] = s.Kind + ": " + s.Title
	}
	assert.Equal(t, "academic: Triage Assistants for Night Shifts: A Made-up Study", kinds[news.URL+"/abs/9901.00001v2"])
	assert.Equal(t, "web: Empty beds", kinds[news.URL+"/beds"], "the brief named it")
	assert.Equal(t, ": Wards", kinds[news.URL+"/wards"], "as it was found first")

	reqs := writer.Requests()
	require.Len(t, reqs, 1)
	var in research.WorkerInput
	require.NoError(t, json.Unmarshal(reqs[0].Input, &in))
	var read research.Findings
	require.NoError(t, json.Unmarshal(in.Inputs["web_scraper"], &read))
	assert.Equal(t, []string{"Empty beds", "A paper", "Night wards"}, titles(read), "the writer has the text of the pages")
	assert.Equal(t, "academic", read.Sources[1].Kind)
	assert.True(t, strings.HasPrefix(read.Sources[2].Excerpt, "A sentence about Night wards, "))
	assert.Contains(t, read.Summary, "Not read: ")
	assert.Contains(t, read.Summary, news.URL+"/gone: status 404 Not Found")
	assert.NotEmpty(t, in.Inputs["academic_search"])
}

// If no page can be read, the team takes what its fallback finds.
func TestTeamWithoutPages(t *testing.T) {
	news := serve(t, http.NotFoundHandler())
	flow, err := research.New(research.Config{Workers: research.Catalogue(), Policy: research.Policy{MinShare: orchestrator.None}})
	require.NoError(t, err)
	c := flowtest.New(flow, research.Input{Topic: "Triage", MinSources: 5, PreferredSources: []string{news.URL + "/a"}}, func(tb testing.TB) agent.Roster {
		tb.Helper()
		roster := agent.Roster{
			"planner":        flowtest.NewScript(tb, `{"complexity":0.3,"steps":[{"category":"research","mode":"SEQUENTIAL","workers":["web_scraper"]},{"category":"writing","mode":"SEQUENTIAL","workers":["article_writer"]}]}`),
			"supervisor":     flowtest.NewScript(tb, `{"article":0.9,"source":0.9,"factual":0.9,"writing":0.9}`),
			"web_scraper":    scraperOf(t, workers.ScraperConfig{}, news),
			"web_search":     flowtest.NewScript(tb, research.Findings{Sources: []research.Source{{Title: "Wards"}}}),
			"article_writer": flowtest.NewScript(tb, "Words."),
		}
		for _, name := range flow.Agents {
			if roster[name] == nil {
				roster[name] = flowtest.NewScript(tb)
			}
		}
		return roster
	})
	out, _, err := c.Run(t)
	require.NoError(t, err)
	require.Len(t, out.Warnings, 2)
	assert.Equal(t, "research/fallback", out.Warnings[0].Code)
	assert.Contains(t, out.Warnings[0].Message, news.URL+"/a: status 404 Not Found", "it says which pages were not read")
	assert.Equal(t, "research/few-sources", out.Warnings[1].Code)
	assert.Zero(t, out.Metrics.Retries, "a 404 is not tried again")
	assert.Equal(t, []research.Source{{Title: "Wards"}}, out.Sources)
}
